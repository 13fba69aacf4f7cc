"""Charts as inline SVG: no script, no address, and words for those who do not see them."""

from __future__ import annotations

import json
import re
from typing import Any

from polars_microagg.charts.style import INSTALL
from polars_microagg.report.markup import escaped

__all__ = ["beside", "figure", "svg"]

MISSING = f"Reports need vl-convert-python, which is not installed. {INSTALL}"


TAG = re.compile(r"<[^<>]*>")
LONG = re.compile(r"-?\d+\.\d{3,}")
"""A position in a drawing that is written closer than anybody can see."""


def _short(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}"


def svg(chart: Any, words: str) -> str:
    """Draw a chart as an SVG element for a page.

    Parameters
    ----------
    chart : altair chart
        The chart.
    words : str
        What it shows, as plain text.

    Returns
    -------
    str
        The element, which grows no wider than it was drawn.

    Examples
    --------
    >>> from polars_microagg.charts.altair_charts import loss
    >>> import polars as pl
    >>> drawn = svg(loss(pl.DataFrame({"column": ["a<b"], "loss": [3.2]})), 'Loss of "a<b"')
    >>> drawn[:58], "a&lt;b</text>" in drawn
    ('<svg class="chart" role="img" aria-label="Loss of &quot;a&', True)
    """
    try:
        import vl_convert
    except ModuleNotFoundError:
        raise ModuleNotFoundError(MISSING, name="vl_convert") from None
    spec = chart.to_dict(validate=False)
    spec["config"] |= {"aria": False, "background": "transparent"}
    # With no base allowed, nothing is fetched whatever the chart asks for.
    drawn = vl_convert.vegalite_to_svg(json.dumps(spec), allowed_base_urls=[])
    head, _, body = drawn.partition(">")
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
    wide, high = box.groups() if box else ("400", "300")
    body = TAG.sub(lambda tag: LONG.sub(_short, tag[0]), body)
    return (
        f'<svg class="chart" role="img" aria-label="{escaped(words, 2000)}" '
        f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">{body}'
    )


def figure(drawn: str, caption: str, numbers: str = "", title: str = "") -> str:
    """Put a drawing, its caption and its numbers together; all of it is HTML already.

    Examples
    --------
    >>> figure("<svg></svg>", "What it is.")
    '<figure><svg></svg><figcaption>What it is.</figcaption></figure>'
    """
    head = f"<h3>{title}</h3>" if title else ""
    more = f"<details><summary>The numbers</summary>{numbers}</details>" if numbers else ""
    return f"<figure>{head}{drawn}<figcaption>{caption}</figcaption>{more}</figure>"


def beside(drawn: str, caption: str, numbers: str) -> str:
    """Put the words of a large drawing beside it where there is room; all is HTML already.

    Examples
    --------
    >>> beside("<svg></svg>", "What it is.", "")[:29]
    '<figure class="beside"><div><'
    """
    more = f"<details><summary>The numbers</summary>{numbers}</details>" if numbers else ""
    return (
        f'<figure class="beside"><div>{drawn}</div><figcaption>{caption}</figcaption>'
        f"{more}</figure>"
    )
