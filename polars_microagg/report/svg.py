"""Charts as inline SVG: no script, no address, and words for those who do not see them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from polars_microagg.charts.style import printable

__all__ = ["drawable", "svg"]

TAG = re.compile(r"<[^<>]*>")
LONG = re.compile(r"-?\d+\.\d{3,}")
"""A position in a drawing that is written closer than anybody can see."""


def drawable() -> bool:
    """Return whether what draws charts is installed."""
    return all(find_spec(name) for name in ("altair", "vl_convert"))


def _short(position: re.Match[str]) -> str:
    return f"{float(position[0]):.2f}"


def svg(words: str, chart: Callable[..., Any], *values: Any, **options: Any) -> str:
    """Draw a chart as an SVG element no wider than it was drawn, or nothing where nothing draws.

    >>> from polars_microagg.charts.altair_charts import loss_chart
    >>> import polars as pl
    >>> losses = pl.DataFrame({"column": ["a<b"], "loss": [3.2]})
    >>> drawn = svg('Loss of "a<b"', loss_chart, losses)
    >>> drawn[:58], "a&lt;b</text>" in drawn
    ('<svg class="chart" role="img" aria-label="Loss of &quot;a&', True)
    """
    if not drawable():
        return ""
    import vl_convert

    spec = chart(*values, **options).to_dict(validate=False)
    spec["config"] |= {"aria": False, "background": "transparent"}
    # With no base allowed, nothing is fetched whatever the chart asks for.
    drawn = vl_convert.vegalite_to_svg(json.dumps(spec), allowed_base_urls=[])
    head, _, body = drawn.partition(">")
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
    wide, high = box.groups() if box else ("400", "300")
    body = TAG.sub(lambda tag: LONG.sub(_short, tag[0]), body)
    return (
        f'<svg class="chart" role="img" aria-label="{html.escape(printable(words, 2000))}" '
        f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">{body}'
    )
