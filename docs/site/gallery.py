"""The gallery: pictures beside the code that made them."""

import re
from typing import Any

from polars_microagg.report.svg import svg

__all__ = ["BLOCK", "gallery_page", "picture_of"]

TOLD = re.compile(r' (?:role="graphics-[^"]*"|aria-[a-z]+="[^"]*")')
"""What a chart of several says of each of its marks; its words are those of the whole."""

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n", re.M | re.S)


def picture_of(chart: Any) -> str:
    """Return an Altair chart as an SVG element, with its description for those who do not see it."""
    head, end, body = svg(chart.to_dict()["description"], lambda: chart).partition(">")
    return f"{head}{end}{TOLD.sub('', body)}"


def gallery_page(text: str) -> str:
    """Run the blocks of the page in order, and put each chart after the block that made it."""
    names: dict[str, Any] = {}
    parts, at = [], 0
    for block in BLOCK.finditer(text):
        names.pop("chart", None)
        exec(compile(block["code"], "gallery.md", "exec"), names)
        parts.append(text[at : block.end()])
        at = block.end()
        chart = names.get("chart")
        if chart is not None:
            parts.append(f"\n```{{raw}} html\n{picture_of(chart)}\n```\n")
    return "".join(parts) + text[at:]
