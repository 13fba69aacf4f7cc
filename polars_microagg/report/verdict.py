"""The verdict of a report, and the numbers that decide it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polars_microagg.report.facts import Facts
from polars_microagg.report.text import counted, number, percent

__all__ = ["Requirement", "Verdict", "requirements", "tiles"]


@dataclass(frozen=True)
class Requirement:
    """A requirement of a manifest as written, the value that was measured, and whether it is met."""

    text: str
    value: str
    met: bool


@dataclass(frozen=True)
class Verdict:
    """A word for the colour (good, care or stop), a headline, and the reason that is explained."""

    word: str
    title: str
    reason: str
    suppressed: str = ""

    @classmethod
    def of(cls, facts: Facts, required: Sequence[Requirement], warned: int) -> Verdict:
        """Decide by the worst that was measured, required or warned of."""
        if not facts.holds:
            return cls("stop", "Do not release this table", "small")
        if not all(row.met for row in required):
            return cls("stop", "Do not release this table", "unmet")
        if not facts.cells:
            return cls("care", "There is nothing to release", "empty")
        suppressed = _suppressed(facts)
        if len(facts.blocks) > 1:
            title = "Nobody stands alone, one set of columns at a time"
            return cls("care", title, "blocks", suppressed)
        if warned:
            many = "a warning" if warned == 1 else counted(warned, "warning")
            title = f"Nobody stands alone, but read {many} first"
            return cls("care", title, "alike", suppressed)
        return cls("good", "Nobody stands alone in the masked columns", "alike", suppressed)


def _suppressed(facts: Facts) -> str:
    """Return how many records were emptied or dropped, if any were."""
    counts = {"emptied": facts.emptied, "left out": facts.dropped}
    parts = [
        f"{counted(n, 'record')} {'was' if n == 1 else 'were'} {how}"
        for how, n in counts.items()
        if n
    ]
    share = "" if facts.suppressed is None else f", {percent(facts.suppressed)} of all"
    return f" {' and '.join(parts)}{share}." if parts else ""


def requirements(manifest: Mapping[str, Any] | None) -> list[Requirement]:
    """Read the requirements of a manifest, whatever else may be in their place.

    >>> row = {"requirement": "dld<=10", "found": 8.25, "met": True}
    >>> requirements({"verdict": {"requirements": [row]}})
    [Requirement(text='dld<=10', value='8.25', met=True)]
    """
    verdict = (manifest or {}).get("verdict")
    rows = verdict.get("requirements") if isinstance(verdict, Mapping) else None
    required = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping):
            value = row.get("found")
            text = f"{value:.4g}" if isinstance(value, int | float) else "not told"
            required.append(Requirement(str(row.get("requirement")), text, row.get("met") is True))
    return required


def tiles(facts: Facts) -> list[tuple[str, str, str]]:
    """List the numbers that decide, each with its title and a sentence."""
    return [
        (
            number(facts.smallest),
            "smallest group",
            f"{facts.k} or more were asked for, among {number(facts.rows)} records.",
        ),
        *(_measured(facts) if facts.measures else []),
        (
            percent(facts.suppressed),
            "of records suppressed",
            f"{number(facts.emptied)} emptied and {number(facts.dropped)} left out."
            if facts.dropped is not None
            else f"{number(facts.emptied)} emptied. Of so few records it is not published how many "
            "were left out.",
        ),
    ]


def _persons(facts: Facts) -> list[tuple[str, str, str]]:
    """Return the share of persons that are linked, if it is known whose the records are."""
    if "dld_entity" not in facts.measures:
        return []
    linked = facts.measures["dld_entity"]
    text = "by the same knowledge, each record of a person guessed by itself."
    if linked is None:
        text = "is not known, as the sample of records that were linked has not all of any person."
    return [(percent(linked), "of persons linked rightly by a record", text)]


def _measured(facts: Facts) -> list[tuple[str, str, str]]:
    """List what was measured on the original, as far as it may be published."""
    loss, linked = facts.measures["loss"], facts.measures["dld"]
    strata = f"{', '.join(facts.named(facts.strata))} and " if facts.strata else ""
    moved = (
        f" No mean moved by more than {number(facts.shift, 2)} standard deviations."
        if facts.shift is not None
        else ""
    )
    measured = [
        (
            percent(linked),
            "of records linked rightly",
            f"by an attacker who knows {strata}the exact original values of all masked columns.",
        ),
        *_persons(facts),
        (
            percent(None if loss is None else 100.0 - loss),
            "of the variation kept",
            f"{percent(loss)} is lost; {counted(facts.cells, 'released cell')} have a value.{moved}",
        ),
    ]
    if facts.correlations.height:
        worst = facts.correlations["change"].abs().max()
        measured.append(
            (
                number(worst, 2),  # type: ignore[arg-type]
                "largest change of a correlation",
                "between two masked columns, where 0 is none and 2 the most.",
            )
        )
    return measured
