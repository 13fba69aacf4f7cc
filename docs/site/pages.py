"""Every page of the site: where its text is, what is written for it, and how pages hang together."""

from pathlib import Path

from docs.site import references
from docs.site.gallery import gallery_page
from docs.site.methods import INDEX, method_pages
from docs.site.sections import Places, anchors, sections
from polars_microagg.core import registry

__all__ = ["START", "pages", "tree"]

START = "index.md"
WRITTEN = {
    "sql/README.md": "guides/duckdb.md",
    "CHANGELOG.md": "about/changelog.md",
    "CONTRIBUTING.md": "about/contributing.md",
    "docs/README.md": START,
    "docs/command_line.md": "reference/command_line.md",
    "docs/gallery.md": "gallery.md",
    "docs/loss.md": "benchmarks/loss.md",
    "docs/methods.md": INDEX,
    "docs/papers.md": "papers.md",
    "docs/scale_mdav.md": "benchmarks/scale_mdav.md",
    "docs/decisions.md": "about/decisions.md",
    "docs/mutation.md": "about/mutation.md",
    "README.md": START,
}
"""Page of each file; any other file of docs/ is a guide."""

FROM_README = {
    "polars": (
        "Polars",
        [
            "Three ways to call",
            "Options",
            "In a lazy plan",
            "Check a release",
            "Choosing a method and k",
            "Errors",
        ],
    ),
    "etl": ("ETL", ["From a file to a release", "Tables larger than memory"]),
}
"""Guides made of sections of the README, while docs/ has no page of that name."""

GUIDES = ["polars", "duckdb", "etl", "keys", "persons", "scale", "report"]
"""Which guides come first, in this order."""

NAMES = {
    "guides/duckdb": "DuckDB",
    "guides/keys": "Keys",
    "guides/persons": "Persons and secrets",
    "benchmarks/scale_mdav": "Exact MDAV",
    "papers": "Papers",
}
"""How pages are called at the side, where that is not their heading."""

MACHINES = """
```{raw} html
<p>For machines: <a href="llms.txt">llms.txt</a> lists these pages as plain text.</p>
```
"""


def _cut(root: Path, places: Places) -> dict[str, str]:
    """Divide the README between the start and guides, and note which anchor is where."""
    parts = sections((root / "README.md").read_text(encoding="utf-8"))
    texts = {}
    for name, (title, wanted) in FROM_README.items():
        there = [parts.pop(section) for section in wanted if section in parts]
        if (root / "docs" / f"{name}.md").exists() or not there:
            continue
        page = f"guides/{name}.md"
        texts[page] = f"# {title}\n\n" + "".join(there)
        places.pages |= {f"README.md#{anchor}": page for anchor in anchors(texts[page])}
    return {START: "".join(parts.values()), **texts}


def pages(root: Path) -> tuple[dict[str, str], set[str]]:
    """Return the text of every page by its path on the site, and the files that they offer.

    Nothing here needs the generator of the site.
    """
    places = Places(root)
    for path in sorted((root / "docs").glob("*.md")):
        places.pages[f"docs/{path.name}"] = f"guides/{path.name}"
    places.pages |= WRITTEN
    places.pages |= {f"docs/methods.md#{name}": f"methods/{name}.md" for name in registry.methods()}
    made = {
        page: places.rewritten(text, "README.md", page) for page, text in _cut(root, places).items()
    }
    for source, page in places.pages.items():
        if "#" not in source and page not in (START, INDEX):
            text = (root / source).read_text(encoding="utf-8")
            made[page] = places.rewritten(text, source, page)
    made["gallery.md"] = gallery_page(made["gallery.md"])
    made |= method_pages(places) | references.api_pages()
    made["reference/commands.md"] = references.commands_page()
    made["reference/macros.md"] = references.macros_page()
    made["benchmarks/index.md"] = references.benchmark_page(root)
    made[START] += MACHINES + tree(made)
    return made, places.files


def tree(made: dict[str, str]) -> str:
    """Return the table of contents at the side, which holds every page once."""
    guides = [page for name in GUIDES if (page := f"guides/{name}.md") in made]
    guides += sorted(page for page in made if page.startswith("guides/") and page not in guides)
    reference = ["command_line", "commands", "macros", "functions", "measures", "classes", "errors"]
    figures = ["papers", "benchmarks/loss", "benchmarks/scale_mdav", "benchmarks/index"]
    groups = {
        "Guides": guides,
        "Methods": [INDEX, "gallery.md"],
        "Reference": [f"reference/{name}.md" for name in [*reference, *references.ROOMS]],
        "Figures": [f"{name}.md" for name in figures],
        "About": [f"about/{n}.md" for n in ("decisions", "changelog", "contributing", "mutation")],
    }
    trees = []
    for caption, listed in groups.items():
        named = [page.removesuffix(".md") for page in listed]
        rows = [f"{NAMES[page]} <{page}>" if page in NAMES else page for page in named]
        trees.append(
            "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *rows, "```"])
        )
    return "\n" + "\n\n".join(trees) + "\n"
