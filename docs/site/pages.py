"""Every page of the site: where its text is, what is written for it, and how pages hang together."""

import json
from pathlib import Path

from docs.site import references
from docs.site.gallery import gallery_page
from docs.site.methods import INDEX, method_pages
from docs.site.notebook_page import FOLDER, notebook_page
from docs.site.sections import Places
from polars_microagg.core import registry

__all__ = ["START", "pages", "places_on_site", "tree"]

START = "index.md"
WRITTEN = {
    "sql/README.md": "guides/duckdb.md",
    "CHANGELOG.md": "about/changelog.md",
    "CONTRIBUTING.md": "about/contributing.md",
    "SECURITY.md": "about/security.md",
    "dbt/README.md": "guides/dbt.md",
    "docs/README.md": START,
    "docs/command_line.md": "reference/command_line.md",
    "docs/gallery.md": "gallery.md",
    "docs/loss.md": "benchmarks/loss.md",
    "docs/methods.md": INDEX,
    "docs/papers.md": "papers.md",
    "docs/scale_mdav.md": "benchmarks/scale_mdav.md",
    "docs/decisions.md": "about/decisions.md",
    "docs/mutation.md": "about/mutation.md",
    "docs/new_method.md": "about/new_method.md",
    "README.md": START,
}
"""Page of each file; any other file of docs/ is a guide."""

GUIDES = ["polars", "duckdb", "etl", "dbt", "options", "keys", "persons", "choosing", "checks"]
GUIDES += ["scale", "report", "comparison"]
"""Which guides come first, in this order."""

NOTEBOOKS = ["visits", "adult", "etl_job", "choose_method"]
"""Which notebooks come first, in this order."""

NAMES = {
    "guides/duckdb": "DuckDB",
    "guides/etl": "ETL",
    "guides/keys": "Keys",
    "guides/comparison": "Comparison",
    "guides/persons": "Persons and secrets",
    "benchmarks/scale_mdav": "Exact MDAV",
    "papers": "Papers",
}
"""How pages are called at the side, where that is not their heading."""

DOWNLOAD = "[Download this notebook]({}) to run it in Jupyter; what it shows here is tested."

MACHINES = """
```{raw} html
<p>For machines: <a href="llms.txt">llms.txt</a> lists these pages as plain text.</p>
```
"""


def places_on_site(root: Path) -> Places:
    """Return which page of the site each file of the repository is."""
    places = Places(root)
    for path in sorted((root / "docs").glob("*.md")):
        places.pages[f"docs/{path.name}"] = f"guides/{path.name}"
    for path in sorted((root / FOLDER).glob("*.ipynb")):
        places.pages[f"{FOLDER}/{path.name}"] = f"notebooks/{path.stem}.md"
    places.pages |= WRITTEN
    places.pages |= {f"docs/methods.md#{name}": f"methods/{name}.md" for name in registry.methods()}
    return places


def pages(root: Path) -> tuple[dict[str, str], set[str]]:
    """Return the text of every page by its path on the site, and the files that they offer.

    Nothing here needs the generator of the site.
    """
    places = places_on_site(root)
    readme = (root / "README.md").read_text(encoding="utf-8")
    made = {START: places.rewritten(readme, "README.md", START)}
    for source, page in places.pages.items():
        if "#" in source or page in (START, INDEX):
            continue
        text = (root / source).read_text(encoding="utf-8")
        if source.endswith(".ipynb"):
            title, _, rest = notebook_page(json.loads(text)).partition("\n")
            places.files.add(source)
            made[page] = places.rewritten(rest, source, page)
            link = places.between(page, f"files/{source}")
            made[page] = f"{title}\n\n{DOWNLOAD.format(link)}\n{made[page]}"
        else:
            made[page] = places.rewritten(text, source, page)
    made["gallery.md"] = gallery_page(made["gallery.md"])
    made |= method_pages(places) | references.api_pages()
    made["reference/commands.md"] = references.commands_page()
    made["reference/macros.md"] = references.macros_page()
    made["benchmarks/index.md"] = references.benchmark_page(root)
    made[START] += MACHINES + tree(made)
    return made, places.files


def _first(made: dict[str, str], folder: str, names: list[str]) -> list[str]:
    """Return the pages of a folder, those that are named first."""
    first = [page for name in names if (page := f"{folder}/{name}.md") in made]
    return first + sorted(
        page for page in made if page.startswith(f"{folder}/") and page not in first
    )


def tree(made: dict[str, str]) -> str:
    """Return the table of contents at the side, which holds every page once."""
    guides, notebooks = _first(made, "guides", GUIDES), _first(made, "notebooks", NOTEBOOKS)
    reference = ["command_line", "commands", "macros", "functions", "measures", "classes", "errors"]
    figures = ["papers", "benchmarks/loss", "benchmarks/scale_mdav", "benchmarks/index"]
    about = ["decisions", "changelog", "security", "contributing", "new_method", "mutation"]
    groups = {
        "Guides": guides,
        "Notebooks": notebooks,
        "Methods": [INDEX, "gallery.md"],
        "Reference": [f"reference/{name}.md" for name in [*reference, *references.ROOMS]],
        "Figures": [f"{name}.md" for name in figures],
        "About": [f"about/{name}.md" for name in about],
    }
    trees = []
    for caption, listed in groups.items():
        named = [page.removesuffix(".md") for page in listed]
        rows = [f"{NAMES[page]} <{page}>" if page in NAMES else page for page in named]
        trees.append(
            "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *rows, "```"])
        )
    return "\n" + "\n\n".join(trees) + "\n"
