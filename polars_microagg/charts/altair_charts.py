"""Altair charts of tables of aggregates."""

from __future__ import annotations

import itertools
import json
from typing import Any
from unicodedata import east_asian_width

import polars as pl

from polars_microagg.charts.style import (
    AFTER,
    BEFORE,
    INK,
    MARK,
    SHADES,
    altair,
    dressed,
    heights,
    printable,
    started,
)

__all__ = [
    "categories",
    "class_size_chart",
    "correlations",
    "distribution",
    "linkage",
    "loss_chart",
]

CHANGES = ("0.05 or more weaker", "weaker", "within 0.01", "stronger", "0.05 or more stronger")
"""Changes of a correlation, in the order of their colours."""
WIDEST = 16
"""Letters of a name beside a chart."""
MOST, WRITTEN = 12, 7
"""Columns of a picture of correlations, at most, and those whose cells have room for numbers."""


def _labels(names: list[str]) -> str:
    """Return an expression that looks up a name, shortened as Vega cuts characters in half."""
    # A string that names a function of Vega would be taken for it; none begins with a space.
    return f"{json.dumps([' ' + _short(name) for name in names])}[datum.value]"


def _short(name: str) -> str:
    """Leave out the middle of a name that is too wide: names differ at their ends."""
    name = printable(name)
    if sum(map(_width, name)) <= WIDEST:
        return name
    begin, end = (_fitting(part, WIDEST // 2) for part in (name, name[::-1]))
    return f"{begin}\u2026{end[::-1]}"


def _fitting(name: str, wide: int) -> str:
    """Return the beginning of a name that fits a width."""
    widths = itertools.accumulate(map(_width, name))
    return name[: sum(width <= wide for width in widths)]


def _width(character: str) -> int:
    """Return the width of a character in letters."""
    return 2 if east_asian_width(character) in "WF" else 1


def distribution(table: pl.DataFrame, name: str, *, width: int = 330, height: int = 150) -> Any:
    """Return a chart of a `histogram` before (filled) and after (line).

    Areas are shares of the records, so a wide bin is a low one.

    >>> from polars_microagg.charts.histograms import histogram
    >>> ages = pl.Series([23, 25, 31, 47, 52, 58])
    >>> type(distribution(histogram(ages, ages, 3), "age")).__name__
    'LayerChart'
    """
    alt = altair()
    ends = (table["low"][0], table["high"][-1]) if len(table) else (0.0, 1.0)
    ticks = table.filter(pl.col("tick").is_not_null()).select("low", "tick").rows()
    ticks = ticks[:: max(1, -(-len(ticks) // 4))]
    places, labels = (json.dumps([tick[i] for tick in ticks]) for i in (0, 1))
    written = f"{labels}[indexof({places}, datum.value)]"
    axis = alt.Axis(values=json.loads(places), labelExpr=written, grid=False, title=None)
    x = alt.X("x:Q", axis=axis, scale=alt.Scale(domain=list(ends), nice=False, zero=False))
    y = alt.Y("y:Q", axis=None)
    layers = []
    for when in ("before", "after"):
        shares = table[when] / max(table[when].sum(), 1) / (table["high"] - table["low"])
        points = [(ends[0], 0.0), *zip(table["low"], shares, strict=True), (ends[1], 0.0)]
        chart = started([{"x": a, "y": b, "i": i} for i, (a, b) in enumerate(points)])
        if when == "before":
            chart = chart.mark_area(color=BEFORE, opacity=1, interpolate="step-after")
        else:
            chart = chart.mark_line(color=AFTER, strokeWidth=2, interpolate="step-after")
        layers.append(chart.encode(x, y, order=alt.Order("i:Q")))
    words = f"Values of {printable(name)}: before as a filled area, after as a line."
    return dressed(layers, words, width, height)


def categories(table: pl.DataFrame, name: str, *, width: int = 230) -> Any:
    """Return a chart of `category_shares` before (wide bars) and after (narrow bars).

    >>> table = pl.DataFrame({"label": ["f", None], "before": [3, 2], "after": [5, 0]})
    >>> categories(table, "sex").description
    'Shares of the categories of sex: before as wide bars, after as narrow ones.'
    """
    alt = altair()
    rows = [
        {
            "at": i,
            **{when: row[when] / max(table[when].sum(), 1) for when in ("before", "after")},
        }
        for i, row in enumerate(table.iter_rows(named=True))
    ]
    for row in rows:
        row["text"] = f"{100 * row['before']:.1f} to {100 * row['after']:.1f} %"
        row["end"] = max(row["before"], row["after"])
    labels = _labels([name or "all others" for name in table["label"]])
    y = alt.Y("at:O", axis=alt.Axis(title=None, ticks=False, domain=False, labelExpr=labels))
    top = max([0.01, *(row["end"] for row in rows)])
    scale = alt.Scale(domain=[0, top * 1.6])
    layers = [
        started(rows)
        .mark_bar(color=color, height=size)
        .encode(alt.X(f"{when}:Q", axis=None, scale=scale), y)
        for when, color, size in (("before", BEFORE, 16), ("after", AFTER, 6))
    ]
    text = started(rows).mark_text(color=INK, align="left", dx=5, fontSize=12)
    layers.append(text.encode(alt.X("end:Q", axis=None, scale=scale), y, text="text:N"))
    words = (
        f"Shares of the categories of {printable(name)}: before as wide bars, after as narrow ones."
    )
    return dressed(layers, words, width, max(40, 26 * len(rows)))


def _apart(names: dict[float, str], pixel: float) -> list[float]:
    """Return the places whose names do not touch, with `pixel` the size of a pixel on the axis."""
    places, end = list[float](), -float("inf")
    for place, name in names.items():
        half = 4.5 * len(name) * pixel
        if place - half > end:
            places.append(place)
            end = place + half
    return places


def class_size_chart(table: pl.DataFrame, k: int, *, width: int = 330, height: int = 190) -> Any:
    """Return a chart of a `class_table`: the records in groups of each size, with k marked.

    Sizes below k have a colour of their own.

    >>> from polars_microagg.charts.aggregates import class_table
    >>> table = class_table(pl.DataFrame({"age": [30, 30, 41]}), ["age"], 2)
    >>> class_size_chart(table, 2).description
    'Records by the size of their group; the smallest size allowed is 2.'
    """
    alt = altair()
    rows = [
        {"x": row["low"] - 0.45, "x2": row["high"] - 0.55, "y": row["records"], "y2": 0}
        | {"colour": AFTER if row["low"] >= k else MARK}
        for row in table.to_dicts()
    ]
    low, high = min([k - 1, *table["low"]]) - 0.5, max([2 * k, *table["high"]]) - 0.4
    middles = (table["low"] + table["high"] - 1) / 2
    names = dict(zip(middles.to_list(), table["label"].to_list(), strict=True))
    places = _apart(names, (high - low) / width)
    written = (
        f"{json.dumps([names[a] for a in places])}[indexof({json.dumps(places)}, datum.value)]"
    )
    title = "records that are alike"
    axis = alt.Axis(values=places, labelExpr=written, grid=False, title=title, ticks=False)
    x = alt.X("x:Q", axis=axis, scale=alt.Scale(domain=[low, high], nice=False, zero=False))
    colour = alt.Color("colour:N", scale=None)
    y = heights("y", "records")
    bars = started(rows).mark_rect().encode(x, alt.X2("x2"), y, alt.Y2("y2"), colour)
    at = started([{"x": k - 0.5, "text": f"k = {k}"}])
    rule = at.mark_rule(color=MARK, strokeWidth=2, strokeDash=[5, 3]).encode(x)
    shape = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -3, "fontWeight": "bold"}
    text = at.mark_text(color=MARK, fontSize=12, **shape).encode(x, text="text:N", y=alt.value(0))
    words = f"Records by the size of their group; the smallest size allowed is {k}."
    return dressed([bars, rule, text], words, width, height)


def loss_chart(table: pl.DataFrame, *, width: int = 230) -> Any:
    """Return a chart of a `loss_table`, the greatest loss first.

    >>> loss_chart(pl.DataFrame({"column": ["age"], "loss": [3.2]})).description
    'Per cent of the variation of each column that is lost.'
    """
    alt = altair()
    table = table.filter(pl.col("loss").is_not_null()).sort("loss", descending=True)
    names = table["column"].to_list()
    rows = [{"at": i, "loss": b, "text": f"{b:.1f} %"} for i, b in enumerate(table["loss"])]
    top = max([1.0, *table["loss"]])
    x = alt.X("loss:Q", axis=None, scale=alt.Scale(domain=[0, top * 1.22]))
    axis = alt.Axis(title=None, ticks=False, domain=False, labelExpr=_labels(names))
    y = alt.Y("at:O", axis=axis)
    bars = started(rows).mark_bar(color=AFTER, height=14).encode(x, y)
    text = started(rows).mark_text(color=INK, align="left", dx=5, fontSize=12)
    layers = [bars, text.encode(x, y, text="text:N")]
    words = "Per cent of the variation of each column that is lost."
    return dressed(layers, words, width, max(40, 26 * len(rows)))


def linkage(table: pl.DataFrame, k: int | None, *, width: int = 330, height: int = 190) -> Any:
    """Return a chart of a `linkage_table`: how often an intruder finds the right record.

    1 in k is marked, unless k is None.

    >>> linkage(pl.DataFrame({"known": [1, 2], "dld": [3.1, 7.4]}), 5).description
    'Per cent of records linked rightly, by the number of columns that an intruder knows.'
    """
    alt = altair()
    rows = [
        {"x": str(a), "y": b, "text": f"{b:.1f}"} for a, b in table.select("known", "dld").rows()
    ]
    axis = alt.Axis(title="columns known", labelAngle=0, ticks=False, labelOverlap=True)
    x = alt.X("x:O", sort=None, axis=axis, scale=alt.Scale(paddingInner=0.35))
    most = 100 / k if k else 0.0
    y = heights("y", "linked rightly, %", 1.15 * max([most, *table["dld"].drop_nulls()]))
    bars = started(rows).mark_bar(color=AFTER).encode(x, y)
    layers = [bars]
    if len(rows) <= 10:
        text = started(rows).mark_text(color=INK, dy=-7, fontSize=12)
        layers.append(text.encode(x, y, text="text:N"))
    if k:
        at = started([{"y": most, "text": f"1 in {k}"}])
        shape = {"align": "right", "baseline": "bottom", "dy": -3, "fontWeight": "bold"}
        layers.append(at.mark_rule(color=MARK, strokeWidth=2, strokeDash=[5, 3]).encode(y))
        text = at.mark_text(color=MARK, fontSize=12, **shape)
        layers.append(text.encode(y, text="text:N", x=alt.value(width)))
    words = "Per cent of records linked rightly, by the number of columns that an intruder knows."
    return dressed(layers, words, width, height)


def correlations(table: pl.DataFrame, *, size: int = 330) -> Any:
    """Return a chart of a `correlation_table`: what each correlation becomes.

    Of more than 12 columns it shows those 12 whose correlations change most.

    >>> change = {"first": ["b"], "second": ["a"], "before": [0.8], "after": [1.0], "change": [0.2]}
    >>> correlations(pl.DataFrame(change)).description
    'Change of each correlation between two columns.'
    """
    alt = altair()
    both = pl.concat([table.select(name=pl.col(name), by="change") for name in ("first", "second")])
    changes = both.group_by("name", maintain_order=True).agg(pl.col("by").abs().sum())
    kept = set(changes.sort("by", descending=True, maintain_order=True)["name"].head(MOST))
    shown = table.filter(pl.col("first").is_in(kept) & pl.col("second").is_in(kept))
    names = list(dict.fromkeys([*shown["second"], *shown["first"]]))
    rows = []
    for row in shown.to_dicts():
        # A correlation that goes towards 0 is weaker, whatever its sign.
        change = row["change"] * (-1 if row["before"] < 0 else 1)
        size_of = 0 if abs(change) < 0.01 else 1 if abs(change) < 0.05 else 2
        kind = 2 + (size_of if change > 0 else -size_of)
        text = f"{row['change']:+.2f}" if abs(row["change"]) >= 0.005 else "0"
        at = names.index(row["first"]), names.index(row["second"])
        cell = {"first": at[0], "second": at[1], "text": text}
        rows.append(cell | {"kind": CHANGES[kind]})
    axis = {"title": None, "ticks": False, "domain": False, "labelExpr": _labels(names)}
    across = alt.Axis(**axis, labelAngle=-40 if len(names) > 3 else 0)
    x = alt.X("second:O", axis=across, scale=alt.Scale(padding=0.05))
    y = alt.Y("first:O", axis=alt.Axis(**axis), scale=alt.Scale(padding=0.05))
    scale = alt.Scale(domain=list(CHANGES), range=list(SHADES))
    cells = started(rows).mark_rect(cornerRadius=3)
    cells = cells.encode(x, y, alt.Color("kind:N", scale=scale, legend=None))
    layers = [cells]
    if len(names) <= WRITTEN:
        text = started(rows).mark_text(color=INK, fontSize=12)
        layers.append(text.encode(x, y, text="text:N"))
    words = "Change of each correlation between two columns."
    height = min(size, 48 * max(1, len(names) - 1))
    return dressed(layers, words, size - 80, height)
