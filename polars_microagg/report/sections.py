"""The sections of a report, each a heading, a picture, its words and its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from polars_microagg.analysis.recommend import recommend
from polars_microagg.charts import altair_charts, risk_map
from polars_microagg.core.requirements import measure_of
from polars_microagg.errors import MicroaggError
from polars_microagg.report.facts import Block, Facts
from polars_microagg.report.markup import counted, escaped, listed, number, percent, section, table
from polars_microagg.report.svg import beside, figure, svg

__all__ = ["changes", "choices", "distributions", "groups", "intruders", "settings_rows"]


def choices(facts: Facts, compared: pl.DataFrame | None, required: Sequence[str]) -> str:
    """Show other methods and ks on a map of loss and risk, and which loses least."""
    compared = facts.compared(compared)
    if compared is None or compared.is_empty():
        return ""
    loss, risk = facts.measures.get("loss"), facts.measures.get("dr")
    chosen = None if loss is None or risk is None else (loss, risk)
    rows = compared.filter(pl.col("loss").is_not_null() & pl.col("dr").is_not_null())
    if rows.is_empty():
        return ""
    words = (
        f"Map of {len(rows)} combinations of a method and a group size: information loss across, "
        f"disclosure risk upwards. {int(rows['pareto'].sum())} of them lie on the line of best "
        "trade-offs. The table below has the numbers."
    )
    wide, high = risk_map.risk_utility(rows, chosen=chosen), 340
    narrow = risk_map.risk_utility(rows, chosen=chosen, width=270, height=high)
    drawn = (
        f'<div class="wide">{svg(wide, words)}</div><div class="narrow">{svg(narrow, words)}</div>'
    )
    lines = [
        [escaped(row["method"]), str(row["k"])]
        + [percent(row[name]) for name in ("loss", "dld", "dr")]
        + ["yes" if row["pareto"] else "no"]
        for row in rows.sort("loss").to_dicts()
    ]
    head = ["Method", "k", "Loss", "Linked rightly", "Risk", "Best trade-off"]
    numbers = table("Methods and group sizes compared, the lowest loss first", head, lines)
    caption = (
        "Each mark is the same table masked in another way. Further left keeps more of the data, "
        "further down protects better. Nothing beats the marks on the line in both."
        + (" The ring is this release." if chosen else "")
        + _best(compared, required, facts.k)
    )
    return section("choices", "What else could have been done", beside(drawn, caption, numbers))


def _best(compared: pl.DataFrame, required: Sequence[str], k: int) -> str:
    """Recommend a line of at least k, by the requirements that the comparison measured."""
    asked = [text for text in required if measure_of(text) in compared.columns]
    if not asked:
        return ""
    try:
        reason = recommend(compared, require=asked, k=k)["reason"].item()
    except MicroaggError:
        return ""
    return f" <strong>{escaped(reason)}</strong>"


def distributions(facts: Facts) -> str:
    """Show each column before and after."""
    if not facts.histograms:
        return ""
    figures = []
    for name in facts.names:
        bins, shown = facts.histograms[name], escaped(facts.shown[name])
        title = f"<code>{shown}</code>"
        if bins.is_empty():
            none = f"Fewer than {facts.k} records have a value, so nothing is drawn."
            figures.append(figure("", none, title=title))
            continue
        words = (
            f"Values of {facts.shown[name]} in {len(bins)} intervals: before masking as a filled "
            "area, after masking as a line."
        )
        total = {when: max(bins[when].sum(), 1) for when in ("before", "after")}
        lines = [
            [escaped(row["label"])] + [percent(100 * row[when] / total[when]) for when in total]
            for row in bins.to_dicts()
        ]
        numbers = table(f"Records by {shown}", ["Values", "Before", "After"], lines)
        drawn = svg(altair_charts.distribution(bins, facts.shown[name]), words)
        figures.append(figure(drawn, "", numbers, title).replace("<figcaption></figcaption>", ""))
    key = (
        '<p><span class="key before"></span> before <span class="key after"></span> after. '
        "The area is the share of the records. An interval holds its lower end; the outer "
        f"intervals are open, and every one has at least {facts.k} original records, so nobody's "
        "value can be read off.</p>"
    )
    body = f'<div class="grid">{"".join(figures)}</div>'
    return section("distributions", "The columns before and after", key, body)


def groups(facts: Facts) -> str:
    """Show how many records are alike."""
    shown = facts.blocks[:4]
    figures = [_sizes(facts, block, many=len(facts.blocks) > 1) for block in shown]
    rest = len(facts.blocks) - len(shown)
    more = f"<p>{counted(rest, 'more set')} of columns: counted, and not drawn.</p>" if rest else ""
    body = f'<div class="grid">{"".join(figures)}</div>' if len(figures) > 1 else figures[0]
    return section("groups", "How many records are alike", body, more)


def _sizes(facts: Facts, block: Block, *, many: bool) -> str:
    names = listed([escaped(name) for name in facts.named(block.names)])
    some = facts.rows
    alike = f", of {number(some / block.groups, 1)} on average" if block.groups else ""
    below = (
        f"<b>{counted(block.small_records, 'record')}</b> in groups below {facts.k}."
        if block.small_groups
        else f"None is in a group below {facts.k}."
    )
    hidden = f" {counted(facts.emptied, 'record')} without any value." if facts.emptied else ""
    groups = counted(block.groups, "group")
    caption = f"{counted(some, 'record')} in {groups}{alike}. {below}{hidden}"
    words = (
        f"Records by the size of their group, from {number(block.smallest)} upwards; "
        f"k = {facts.k} is marked."
    )
    lines = [
        [escaped(row["label"]), number(row["groups"]), number(row["records"])]
        for row in block.sizes.to_dicts()
    ]
    numbers = table("Groups by size", ["Records alike", "Groups", "Records"], lines)
    drawn = svg(altair_charts.class_size_chart(block.sizes, facts.k), words)
    if not many:
        return beside(drawn, caption, numbers)
    return figure(drawn, caption, numbers, f"<code>{names}</code>")


def intruders(facts: Facts) -> str:
    """Show what an intruder finds who knows some of the columns."""
    known = facts.linkage.filter(pl.col("dld").is_not_null())
    if known.is_empty():
        return ""
    last = known.row(-1, named=True)
    guess = 100.0 / facts.rows if facts.rows else None
    words = (
        "Per cent of records that an intruder links rightly, by the number of masked columns "
        f"they know, from {percent(known['dld'][0])} for one column to {percent(last['dld'])} "
        f"for {last['known']}."
    )
    lines = [[str(row["known"]), percent(row["dld"]), str(row["sets"])] for row in known.to_dicts()]
    head = ["Columns known", "Linked rightly", "Choices of columns tried"]
    numbers = table("Linkage by what the intruder knows", head, lines)
    together = facts.holds and len(facts.blocks) == 1
    limit = f" Even the right group gives a chance of only 1 in {facts.k}." if together else ""
    caption = (
        "An intruder who knows exact original values looks for the nearest released record, and "
        f"picks one of those that are alike.{limit} A blind guess is right in {percent(guess)} of "
        "cases. What else an intruder knows, such as kept columns, is not in these numbers."
    )
    drawn = svg(altair_charts.linkage(known, facts.k if together else None), words)
    return section("intruders", "Can a known person be found?", beside(drawn, caption, numbers))


def changes(facts: Facts) -> str:
    """Show what each column and each correlation loses."""
    figures = []
    some = facts.losses.filter(pl.col("loss").is_not_null()).sort("loss", descending=True)
    if len(some):
        words = (
            f"Loss of each column, from {percent(some['loss'][0])} for {some['column'][0]} "
            f"down to {percent(some['loss'][-1])}."
        )
        lines = [
            [escaped(row["column"]), percent(row["loss"]), percent(row["spread"])]
            for row in some.to_dicts()
        ]
        head = ["Column", "Variation lost", "Spread kept"]
        numbers = table("Loss of each column", head, lines)
        caption = (
            "How much of the differences between records is gone. Spread is the standard "
            "deviation after, as a share of that before."
        )
        drawn = svg(altair_charts.loss_chart(some), words)
        figures.append(figure(drawn, caption, numbers, "Variation lost in each column"))
    if len(facts.correlations):
        figures.append(_correlations(facts.correlations))
    if not figures:
        return ""
    body = f'<div class="grid">{"".join(figures)}</div>'
    return section("changes", "What analyses will notice", body)


def _correlations(pairs: pl.DataFrame) -> str:
    worst = pairs.sort(pl.col("change").abs(), descending=True).row(0, named=True)
    words = (
        f"Changes of {len(pairs)} correlations. The largest, between {worst['first']} and "
        f"{worst['second']}, goes from {worst['before']:.2f} to {worst['after']:.2f}."
    )
    lines = [
        [f"{escaped(row['first'])} and {escaped(row['second'])}"]
        + [f"{row[key]:.3f}" for key in ("before", "after", "change")]
        for row in pairs.sort(pl.col("change").abs(), descending=True).head(200).to_dicts()
    ]
    numbers = table("Correlations", ["Columns", "Before", "After", "Change"], lines)
    keys = " ".join(
        f'<span class="pair"><span class="key shade{i}"></span> {text}</span>'
        for i, text in enumerate(altair_charts.CHANGES)
    )
    drawn = svg(altair_charts.correlations(pairs), words)
    names = {*pairs["first"], *pairs["second"]}
    some = (
        f" The {altair_charts.MOST} that change most are drawn."
        if len(names) > altair_charts.MOST
        else ""
    )
    caption = f"How the columns move together: after minus before.{some} {keys}"
    return figure(drawn, caption, numbers, "Change of each correlation")


def settings_rows(told: Mapping[str, Any], within: str = "") -> Iterable[list[str]]:
    """Write a mapping as rows of a table, with the names of its parts joined by points."""
    for key, value in told.items():
        name = f"{within}.{key}" if within else str(key)
        if isinstance(value, Mapping) and value:
            yield from settings_rows(value, name)
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            numbered = {str(i + 1): item for i, item in enumerate(value)}
            yield from settings_rows(numbered, name)
        else:
            several = isinstance(value, list | tuple)
            text = ", ".join(map(str, value)) if several else str(value)
            yield [escaped(name, 120), escaped(text, 300)]
