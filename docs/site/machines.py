"""The copy of the site for machines: `llms.txt`, and all text in one file."""

import inspect
import re

import polars_microagg as mg
from docs.site.pages import START
from polars_microagg.core import registry

__all__ = ["for_machines"]

RAW = re.compile(r"^```\{raw\} html\n.*?^```\n", re.M | re.S)
CALLS = re.compile(r"^\.\. auto\w+:: ([\w.]+)$", re.M)
TREE = re.compile(r"^```\{toctree\}\n.*?^```\n", re.M | re.S)


def _title(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("# ")).removeprefix("# ")


def _said(path: str) -> str:
    name = path.rpartition(".")[2]
    if path.startswith("polars_microagg.") and path.count(".") == 1:
        if name in registry.methods() and name != "mdav":
            return f"polars_microagg.{name}: parameters as of polars_microagg.mdav, and its own options"
        return f"{path}\n\n{inspect.getdoc(getattr(mg, name)) or ''}"
    return path


def _plain(text: str) -> str:
    """Return a page without pictures, with docstrings in place of the calls that fetch them."""
    text = TREE.sub("", RAW.sub("", text))

    def fetched(block: re.Match[str]) -> str:
        said = "\n\n".join(_said(path) for path in CALLS.findall(block[0]))
        return f"```text\n{said}\n```\n"

    return re.sub(r"^```\{eval-rst\}\n.*?^```\n", fetched, text, flags=re.M | re.S).strip() + "\n"


def for_machines(made: dict[str, str]) -> dict[str, str]:
    """Return the list of pages with what each is about, and the text of all of them."""
    plain = {page: _plain(text) for page, text in made.items()}
    groups: dict[str, list[str]] = {}
    for page in sorted(plain, key=lambda page: (page != START, page)):
        folder = page.rpartition("/")[0] or "start"
        groups.setdefault(folder, []).append(f"- [{_title(plain[page])}](_sources/{page}.txt)")
    lines = "\n\n".join(f"## {folder}\n\n" + "\n".join(listed) for folder, listed in groups.items())
    head = (
        "# polars_microagg\n\n> k-anonymous microaggregation for Polars and DuckDB: tables whose "
        "numbers stay usable.\n\nAll text in one file: [llms-full.txt](llms-full.txt)."
    )
    whole = "\n\n".join(f"<!-- {page} -->\n\n{text}" for page, text in plain.items())
    return {"llms.txt": f"{head}\n\n{lines}\n", "llms-full.txt": whole}
