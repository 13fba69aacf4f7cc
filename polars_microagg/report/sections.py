"""The contents of a report's sections: drawings, and the rows of their tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from polars_microagg.analysis.recommend import recommend
from polars_microagg.charts import altair_charts, risk_map
from polars_microagg.charts.style import printable
from polars_microagg.core import registry
from polars_microagg.core.requirements import measure_of
from polars_microagg.errors import MicroaggError
from polars_microagg.report.facts import Block, Facts
from polars_microagg.report.svg import svg
from polars_microagg.report.text import number, percent
from polars_microagg.report.verdict import Requirement

__all__ = ["charts", "measures", "rows_of", "settings", "short"]

Section = dict[str, Any] | None
"""The contents of a template, or None where there is nothing to show."""


def charts(
    facts: Facts, compared: pl.DataFrame | None, required: Sequence[Requirement]
) -> dict[str, Any]:
    """Draw what is measured, by the name that the templates give it."""
    return {
        "choices": _choices(facts, compared, required),
        "distributions": [_distribution(facts, name) for name in facts.histograms],
        "groups": [_sizes(facts, block) for block in facts.blocks[:4]],
        "losses": _losses(facts),
        "correlations": _correlations(facts.correlations),
        "intruders": _intruders(facts),
    }


def _choices(
    facts: Facts, compared: pl.DataFrame | None, required: Sequence[Requirement]
) -> Section:
    """Map other methods and ks by loss and risk, and recommend one."""
    rows = facts.compared(compared)
    if rows is None or compared is None:
        return None
    if rows.is_empty():
        few = compared["loss"].count() > 0
        reason = (
            "The table has so few values that the numbers of a comparison could disclose them."
            if few
            else "No method could be measured in the time given. Allow more seconds."
        )
        return {"rows": [], "reason": reason}
    loss, risk = facts.measures.get("loss"), facts.measures.get("dr")
    chosen = None if loss is None or risk is None else (loss, risk)
    words = (
        f"Map of {len(rows)} combinations of a method and a group size: information loss across, "
        f"disclosure risk upwards. {int(rows['pareto'].sum())} of them lie on the line of best "
        "trade-offs. The table below has the numbers."
    )
    narrow = {"width": 270, "height": 340}
    return {
        "wide": svg(words, risk_map.risk_utility, rows, chosen=chosen),
        "narrow": svg(words, risk_map.risk_utility, rows, chosen=chosen, **narrow),
        "ring": chosen is not None,
        "advice": _advice(rows, required, facts.k),
        "rows": [
            [printable(row["method"]), row["k"]]
            + [percent(row[name]) for name in ("loss", "dld", "dr")]
            + ["yes" if row["pareto"] else "no"]
            for row in rows.sort("loss").to_dicts()
        ],
    }


def _advice(compared: pl.DataFrame, required: Sequence[Requirement], k: int) -> str:
    """Recommend a line of at least k, by the requirements that the comparison measured."""
    measured = [row.text for row in required if measure_of(row.text) in compared.columns]
    if not measured:
        return ""
    try:
        return printable(recommend(compared, require=measured, k=k)["reason"].item())
    except MicroaggError:
        return ""


def _distribution(facts: Facts, name: str) -> dict[str, Any]:
    """Show a column before and after."""
    bins, shown = facts.histograms[name], facts.shown[name]
    words = (
        f"Values of {shown} in {len(bins)} intervals: before masking as a filled area, after "
        "masking as a line."
    )
    total = {when: max(bins[when].sum(), 1) for when in ("before", "after")}
    return {
        "name": shown,
        "drawing": "" if bins.is_empty() else svg(words, altair_charts.distribution, bins, shown),
        "rows": [
            [row["label"]] + [percent(100 * row[when] / total[when]) for when in total]
            for row in bins.to_dicts()
        ],
    }


def _sizes(facts: Facts, block: Block) -> dict[str, Any]:
    """Show how many records are alike in a block of columns."""
    words = (
        f"Records by the size of their group, from {number(block.smallest)} upwards; "
        f"k = {facts.k} is marked."
    )
    return {
        "block": block,
        "names": facts.named(block.names),
        "drawing": svg(words, altair_charts.class_size_chart, block.sizes, facts.k),
        "rows": [
            [row["label"], number(row["groups"]), number(row["records"])]
            for row in block.sizes.to_dicts()
        ],
    }


def _intruders(facts: Facts) -> Section:
    """Show what an intruder finds who knows some of the columns."""
    known = facts.linkage.filter(pl.col("dld").is_not_null())
    if known.is_empty():
        return None
    last = known.row(-1, named=True)
    words = (
        "Per cent of records that an intruder links rightly, by the number of masked columns "
        f"they know, from {percent(known['dld'][0])} for one column to {percent(last['dld'])} "
        f"for {last['known']}."
    )
    limited = facts.holds and len(facts.blocks) == 1
    return {
        "limited": limited,
        "guess": percent(100.0 / facts.rows if facts.rows else None),
        "drawing": svg(words, altair_charts.linkage, known, facts.k if limited else None),
        "rows": [[row["known"], percent(row["dld"]), row["sets"]] for row in known.to_dicts()],
    }


def _losses(facts: Facts) -> Section:
    """Show what each column loses."""
    losses = facts.losses.filter(pl.col("loss").is_not_null()).sort("loss", descending=True)
    if losses.is_empty():
        return None
    words = (
        f"Loss of each column, from {percent(losses['loss'][0])} for {losses['column'][0]} "
        f"down to {percent(losses['loss'][-1])}."
    )
    return {
        "drawing": svg(words, altair_charts.loss_chart, losses),
        "rows": [
            [row["column"], percent(row["loss"]), percent(row["spread"])]
            for row in losses.to_dicts()
        ],
    }


def _correlations(pairs: pl.DataFrame) -> Section:
    """Show how much each correlation changes."""
    if pairs.is_empty():
        return None
    rows = pairs.sort(pl.col("change").abs(), descending=True).head(200).to_dicts()
    worst, most = rows[0], altair_charts.MOST
    words = (
        f"Changes of {len(pairs)} correlations. The largest, between {worst['first']} and "
        f"{worst['second']}, goes from {worst['before']:.2f} to {worst['after']:.2f}."
    )
    return {
        "drawing": svg(words, altair_charts.correlations, pairs),
        "most": most if len({*pairs["first"], *pairs["second"]}) > most else 0,
        "shades": altair_charts.CHANGES,
        "rows": [
            [f"{row['first']} and {row['second']}"]
            + [f"{row[key]:.3f}" for key in ("before", "after", "change")]
            for row in rows
        ],
    }


def settings(facts: Facts, wanted: Mapping[str, Any] | None) -> list[list[str]]:
    """List the roles of the columns and the settings."""
    blocks = [f"[{', '.join(facts.named(block.names))}]" for block in facts.blocks]
    roles = {
        "columns": blocks if len(blocks) > 1 else facts.named(facts.names),
        "k": facts.k,
        "strata": facts.named(facts.strata),
    }
    others = {n: short(v) for n, v in (wanted or {}).items() if n not in roles}
    return list(rows_of({**roles, **others}))


def short(value: Any) -> Any:
    """Write trees by the number of their names, which are many."""
    if not isinstance(value, Mapping):
        return value
    if isinstance(names := value.get("parents"), Mapping) and "taxonomy" in value:
        return f"a tree of {len(names) + 1:,} names"
    return {name: short(item) for name, item in value.items()}


def measures(facts: Facts) -> list[list[str]]:
    """List each measure with its value and what it is."""
    known = registry.metrics()
    return [
        [name, "-" if value is None else f"{value:.4g}", known[name].summary]
        for name, value in facts.measures.items()
    ]


def rows_of(mapping: Mapping[str, Any], within: str = "") -> Iterable[list[str]]:
    """Write a mapping as rows of a table, with the names of its parts joined by points."""
    for key, value in mapping.items():
        name = f"{within}.{key}" if within else str(key)
        if isinstance(value, Mapping) and value:
            yield from rows_of(value, name)
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            yield from rows_of({str(i + 1): item for i, item in enumerate(value)}, name)
        else:
            several = isinstance(value, list | tuple)
            text = ", ".join(map(str, value)) if several else str(value)
            yield [printable(name, 120), printable(text, 300)]
