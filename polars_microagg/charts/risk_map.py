"""The risk-utility map: the loss and the risk of each method and k."""

from __future__ import annotations

from typing import Any

import polars as pl

from polars_microagg.charts.style import AFTER, INK, MARK, REST, altair, dressed, printable, started

__all__ = ["risk_utility"]


def risk_utility(
    compared: pl.DataFrame,
    *,
    chosen: tuple[float, float] | None = None,
    width: int = 560,
    height: int = 330,
) -> Any:
    """Return a chart of the loss and the risk of each method and k, with the Pareto line.

    `compared` is a result of `compare`; `chosen` is the `loss` and `dr` of a release, to be marked.
    What lies on the line cannot be bettered in one without the other.

    >>> table = {"method": ["mdav"], "k": [3], "loss": [9.1], "dr": [40.0], "pareto": [True]}
    >>> risk_utility(pl.DataFrame(table)).description
    'Information loss across, disclosure risk upwards; the line joins the best trade-offs.'
    """
    alt = altair()
    there = pl.col("loss").is_not_null() & pl.col("dr").is_not_null()
    rows = compared.filter(there).sort("loss", "k", descending=[False, True])
    points = [
        {"x": row["loss"], "y": row["dr"], "k": f"k = {row['k']}", "best": row["pareto"]}
        | {"text": printable(f"{row['method']} {row['k']}")}
        for row in rows.select("method", "k", "loss", "dr", "pareto").to_dicts()
    ]
    spots = [(p["x"], p["y"]) for p in points] + ([chosen] if chosen else [])
    # Room for words on the left of the first mark and below the last.
    left, right = _span([spot[0] for spot in spots], 95 / width)
    low, high = _span([spot[1] for spot in spots], 40 / height)
    shown = "datum.value < 0 ? '' : datum.label"
    axis = {"tickCount": 5, "domain": False, "ticks": False, "labelExpr": shown}
    x = alt.X("x:Q", axis=alt.Axis(title="information loss, %", **axis))
    y = alt.Y("y:Q", axis=alt.Axis(title="disclosure risk, %", **axis))
    x = x.scale(domain=[left, right], nice=False, zero=False)
    y = y.scale(domain=[low, high], nice=False, zero=False)
    ks = [f"k = {k}" for k in sorted(set(rows["k"]))]
    shapes = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
    shapes = (shapes * (len(ks) // len(shapes) + 1))[: len(ks)]
    shape = alt.Shape("k:N", sort=ks, scale=alt.Scale(domain=ks, range=shapes))
    best = [point for point in points if point["best"]]
    line = started(best).mark_line(color=AFTER, strokeWidth=2, opacity=0.55).encode(x, y)
    layers = [line]
    for marked, colour in (([p for p in points if not p["best"]], REST), (best, AFTER)):
        marks = started(marked).mark_point(color=colour, fill=colour, size=70, opacity=1)
        layers.append(marks.encode(x, y, shape))
    taken = (
        [((chosen[0] - left) / (right - left), (chosen[1] - low) / (high - low))] if chosen else []
    )
    named = []
    for point in best:
        at = (point["x"] - left) / (right - left), (point["y"] - low) / (high - low)
        if all(abs(at[0] - a) * width > 80 or abs(at[1] - b) * height > 22 for a, b in taken):
            named.append(point)
            taken.append(at)
    # Nothing lies below and left of the line.
    look = {"align": "right", "dx": -8, "dy": 11, "fontSize": 12}
    text = started(named).mark_text(color=INK, **look)
    layers.append(text.encode(x, y, text="text:N"))
    if chosen:
        at = started([{"x": chosen[0], "y": chosen[1], "text": "this release"}])
        ring = at.mark_point(color=MARK, size=260, strokeWidth=3, shape="circle", opacity=1)
        text = at.mark_text(color=MARK, fontWeight="bold", **(look | {"dx": -12, "dy": 14}))
        layers += [ring.encode(x, y), text.encode(x, y, text="text:N")]
    words = "Information loss across, disclosure risk upwards; the line joins the best trade-offs."
    return dressed(layers, words, width, height)


def _span(values: list[float], share: float) -> tuple[float, float]:
    """Return the ends of an axis, with a share of it before the values and a little after them."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    wide = (high - low or abs(high) or 1.0) / (0.94 - share)
    return low - share * wide, high + 0.06 * wide
