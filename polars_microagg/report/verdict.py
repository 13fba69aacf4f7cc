"""The verdict of a report, in words for everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polars_microagg.report.facts import Facts
from polars_microagg.report.markup import counted, escaped, listed, number, percent

__all__ = ["Verdict", "requirements", "tiles"]


@dataclass(frozen=True)
class Verdict:
    """A word for the colour (good, care or stop), a headline and a sentence, as HTML."""

    word: str
    title: str
    text: str

    @classmethod
    def of(cls, facts: Facts, manifest: Mapping[str, Any] | None, warned: int) -> Verdict:
        """Decide from what was measured, what was required and what was warned of.

        Parameters
        ----------
        facts : Facts
            What was measured.
        manifest : mapping or None
            The record of the release, for its requirements.
        warned : int
            Number of warnings.

        Returns
        -------
        Verdict
            The worst that holds.
        """
        unmet = [row for row in requirements(manifest) if not row[2]]
        if not facts.holds:
            return cls("stop", "Do not release this table", _small(facts))
        if unmet:
            asked = listed([f"<b>{escaped(row[0])}</b> (found {row[1]})" for row in unmet])
            text = f"The groups are large enough, but what was required is not met: {asked}."
            return cls("stop", "Do not release this table", text)
        if not facts.cells:
            text = "No masked column has a value, so nothing of them is released."
            return cls("care", "There is nothing to release", text)
        if len(facts.blocks) > 1:
            title = "Nobody stands alone, one set of columns at a time"
            return cls("care", title, _blocks(facts) + _suppressed(facts))
        if warned:
            many = "a warning" if warned == 1 else counted(warned, "warning")
            title = f"Nobody stands alone, but read {many} first"
            return cls("care", title, _alike(facts) + _suppressed(facts))
        title = "Nobody stands alone in the masked columns"
        return cls("good", title, _alike(facts) + _suppressed(facts))


def _small(facts: Facts) -> str:
    records = sum(block.small_records for block in facts.blocks)
    groups = sum(block.small_groups for block in facts.blocks)
    are = "is" if records == 1 else "are"
    return (
        f"{counted(records, 'record')} {are} in {counted(groups, 'group')} of fewer than {facts.k} alike "
        f"(the smallest group has {number(facts.smallest)}). Who is in such a group may be "
        "recognised. Mask these columns together, with this number, and check again."
    )


def _suppressed(facts: Facts) -> str:
    """What is said of records that were emptied or dropped, if there are any."""
    counts = {"emptied": facts.emptied, "left out": facts.dropped}
    parts = [
        f"{counted(n, 'record')} {'was' if n == 1 else 'were'} {how}"
        for how, n in counts.items()
        if n
    ]
    if not parts:
        return ""
    return f" {' and '.join(parts)}, {percent(facts.suppressed)} of all."


def _alike(facts: Facts) -> str:
    within = f" within each {_names(facts, facts.strata)}" if facts.strata else ""
    least = number((facts.smallest or 1) - 1)
    others = "other" if least == "1" else "others"
    return (
        f"In the masked columns ({_names(facts, facts.blocks[0].names)}) every record has exactly "
        f"the same values as at least {least} {others}{within}. This was counted on the released "
        'values. It is <a href="#not-protected">not protection against everything</a>.'
    )


def _blocks(facts: Facts) -> str:
    sets = "; ".join(_names(facts, block.names) for block in facts.blocks[:6])
    more = f"; and {len(facts.blocks) - 6} more" if len(facts.blocks) > 6 else ""
    return (
        f"Each value, or set of values, is shared by at least {number(facts.smallest)} records in "
        f"each of {len(facts.blocks)} sets of columns that were masked on their own: {sets}{more}. "
        "Across the sets a record may still be the only one of its kind."
    )


def _names(facts: Facts, names: Sequence[str]) -> str:
    return listed([f"<b>{escaped(name)}</b>" for name in facts.named(names)])


def requirements(manifest: Mapping[str, Any] | None) -> list[tuple[str, str, bool]]:
    """Requirements of a manifest: as written, what was found, and whether that meets it.

    Examples
    --------
    >>> told = {"requirement": "dld<=10", "found": 8.25, "met": True}
    >>> requirements({"verdict": {"requirements": [told]}})
    [('dld<=10', '8.25', True)]
    """
    verdict = (manifest or {}).get("verdict")
    rows = verdict.get("requirements") if isinstance(verdict, Mapping) else None
    found = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping):
            value = row.get("found")
            text = f"{value:.4g}" if isinstance(value, int | float) else "not told"
            found.append((str(row.get("requirement")), text, row.get("met") is True))
    return found


def tiles(facts: Facts) -> str:
    """The numbers that decide, each with its words, as HTML."""
    cells = [
        (
            number(facts.smallest),
            "smallest group",
            f"{facts.k} or more were asked for, among {number(facts.rows)} records.",
        ),
        *(_measured(facts) if facts.measures else []),
        (
            percent(facts.suppressed),
            "of records suppressed",
            f"{number(facts.emptied)} emptied and {number(facts.dropped)} left out.",
        ),
    ]
    items = "".join(
        f"<div><dt>{title}</dt><dd><strong>{value}</strong> <span>{text}</span></dd></div>"
        for value, title, text in cells
    )
    return f'<dl class="tiles">{items}</dl>'


def _measured(facts: Facts) -> list[tuple[str, str, str]]:
    """Tiles of what was measured on the original, as far as that is told."""
    loss, linked = facts.measures["loss"], facts.measures["dld"]
    kept = None if loss is None else 100.0 - loss
    moved = (
        f" No mean moved by more than {number(facts.shift, 2)} standard deviations."
        if facts.shift is not None
        else ""
    )
    tiles = [
        (
            percent(linked),
            "of records linked rightly",
            "by somebody who knows the exact original values of all masked columns.",
        ),
        (
            percent(kept),
            "of the variation kept",
            f"{percent(loss)} is lost over {counted(facts.cells, 'cell')}.{moved}",
        ),
    ]
    if facts.correlations.height:
        worst = facts.correlations["change"].abs().max()
        tiles.append(
            (
                "\u2013" if worst is None else number(float(worst), 2),  # type: ignore[arg-type]
                "largest change of a correlation",
                "between two masked columns, where 0 is none and 2 the most.",
            )
        )
    return tiles
