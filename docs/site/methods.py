"""A page for each method, from the register, with its picture; and one that shows all."""

from docs.site import pictures
from docs.site.sections import Places, sections
from polars_microagg.core import registry

__all__ = ["INDEX", "method_pages"]

SOURCE, INDEX = "docs/methods.md", "methods/index.md"
SECONDS = {
    "n": "about two seconds for a thousand records at `effort=1`",
    "n log n": "hundredths of a second for 10,000 records",
    "n^2/k": "about a tenth of a second for 10,000 records",
    "n^2": "up to a second or so for 10,000 records",
}
"""CPU seconds by the cost that a method is registered with, three columns, k=5, one core."""


def seconds(entry: registry.Method) -> str:
    """Return the class of time of a method."""
    if entry.seconds and entry.seconds[0] >= 1e-3:
        return f"about {1000 * entry.seconds[0]:g} seconds for 1,000 records"
    return SECONDS.get(entry.cost, "not measured")


def page_of(name: str) -> str:
    """Return where the page of a method is."""
    return f"methods/{name}.md"


def _facts(entry: registry.Method) -> str:
    told = pictures.figures(entry.name)
    limit = f"{entry.limit:,} at a time" if entry.limit else "any number"
    rows = {
        "k counts": f"{entry.unit}s",
        "group sizes": entry.sizes,
        "groups in the picture": told["groups"],
        "[loss](index.md#loss) of the picture": told["loss"],
        "[dld](index.md#metrics) of the picture": told["dld"],
        "time": f"grows with n like {entry.cost}; {seconds(entry)}",
        "records of a stratum": limit,
        "from": entry.cite,
    }
    lines = "".join(f"| {name} | {value} |\n" for name, value in rows.items())
    return f"| what | of this method |\n| --- | --- |\n{lines}"


def _page(entry: registry.Method, about: str) -> str:
    example = f"```{{eval-rst}}\n.. autofunction:: polars_microagg.{entry.name}\n```\n"
    return (
        f"# {entry.name}\n\n{about}\n"
        f"```{{raw}} html\n{pictures.picture(entry.name)}\n```\n\n"
        f"Dots are records, squares what they become with k={pictures.K}; every method has the same "
        f"table of two\ncolumns.\n\n{_facts(entry)}\n## Call\n\n{example}"
    )


def method_pages(places: Places) -> dict[str, str]:
    """Return the pages of all methods, and the one that shows them beside each other."""
    text = (places.root / SOURCE).read_text(encoding="utf-8")
    parts, entries = sections(text), registry.methods()
    pages, tiles = {}, []
    for name, entry in entries.items():
        about = parts.pop(name).partition("\n")[2].strip() + "\n"
        pages[page_of(name)] = _page(entry, places.rewritten(about, SOURCE, page_of(name)))
        drawn = pictures.picture(name, small=True)
        tiles.append(f'<a href="{name}.html">{drawn}<span>{name}</span></a>')
    rest = places.rewritten("".join(parts.values()), SOURCE, INDEX)
    for name in entries:
        rest = rest.replace(f"| `{name}` |", f"| [`{name}`]({name}.md) |")
    head, metrics, tail = rest.partition("## Metrics")
    shown = (
        f'## Side by side\n\n```{{raw}} html\n<div class="tiles">{"".join(tiles)}</div>\n```\n\n'
    )
    listed = "\n".join(entries)
    tree = f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n\n"
    pages[INDEX] = f"{head}{tree}{shown}{metrics}{tail}"
    return pages
