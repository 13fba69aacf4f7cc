"""The look of a chart, and altair where it is installed."""

from __future__ import annotations

import unicodedata
from typing import Any

__all__ = ["INSTALL", "altair", "dressed", "heights", "printable", "started"]

QUIET, GRID, INK = "#5a6877", "#dfe5eb", "#1d2733"
BEFORE, AFTER, MARK, REST = "#b7cbe3", "#0b5cad", "#c2410c", "#8795a5"
SHADES = ("#f2a97e", "#f9dcca", "#edf1f5", "#cfe1f5", "#8fbce8")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
INSTALL = "Run: pip install jinja2 altair vl-convert-python"
"""Command that installs what draws charts, by names that registries have."""

MISSING = f"Charts need altair, which is not installed. {INSTALL}"


def altair() -> Any:
    """Return altair, imported when the first chart is drawn."""
    try:
        import altair
    except ModuleNotFoundError:
        raise ModuleNotFoundError(MISSING, name="altair") from None
    return altair


def dressed(layers: list[Any], words: str, width: int, height: int) -> Any:
    """Return a chart of layers with a size, a look, and a description in words."""
    text = {"labelColor": QUIET, "titleColor": QUIET, "labelFontSize": 12, "titleFontSize": 12}
    lines = {"domainColor": GRID, "tickColor": GRID, "gridColor": GRID}
    return (
        altair()
        .layer(*layers)
        .properties(width=width, height=height, description=words)
        .configure(background="white", font=FONT, padding=6)
        .configure_view(stroke=None)
        .configure_axis(**text, **lines, titleFontWeight="normal", labelLimit=0, titlePadding=8)
        .configure_legend(**text, title=None, orient="top", labelLimit=0)
    )


def started(rows: list[dict[str, Any]]) -> Any:
    """Return a chart of rows; names of columns are values of its data, and never read as code."""
    alt = altair()
    return alt.Chart(alt.Data(values=rows))


def heights(field: str, title: str, top: float | None = None) -> Any:
    """Return a vertical axis that counts a field upwards from 0."""
    alt = altair()
    axis = alt.Axis(title=title, tickCount=4, domain=False, ticks=False)
    scale = alt.Scale(domainMin=0, nice=True) if top is None else alt.Scale(domain=[0, top])
    return alt.Y(f"{field}:Q", axis=axis, scale=scale)


def printable(text: object, longest: int = 500) -> str:
    r"""Return a text without control characters, cut where it is too long.

    >>> printable("a\x00b"), printable("abcdef", 4)
    ('a\ufffdb', 'abc\u2026')
    """
    shown = str(text)[: longest + 1]
    shown = "".join("\ufffd" if _unfit(character) else character for character in shown)
    return shown if len(shown) <= longest else shown[: longest - 1] + "\u2026"


def _unfit(character: str) -> bool:
    """Return whether a character cannot be in XML, or turns the direction of writing."""
    # The first end the whole process in vl-convert.
    return character in "\ufffe\uffff" or unicodedata.category(character) in ("Cc", "Cf", "Cs")
