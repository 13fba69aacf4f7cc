"""One line of the table of compare, and why this one."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import polars as pl

from polars_microagg.errors import InvalidDataError, InvalidParameterError

__all__ = ["recommend"]

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    **{"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt},
    "=": operator.eq,
}
PATTERN = re.compile(r"\s*(\w+)\s*(<=|>=|<|>|=)\s*(-?\d+(?:\.\d*)?|-?\.\d+)\s*%?\s*")
PER_CENT = {"loss", "il", "dld", "pld", "interval_disclosure", "dr"}
NEEDED = {"method", "k", "loss"}


class _Need(NamedTuple):
    """One requirement: a measure, how it compares, and a limit."""

    measure: str
    sign: str
    limit: float

    def __str__(self) -> str:
        return f"{self.measure} {self.sign} {_written(self.measure, self.limit)}"

    def found(self, row: dict[str, Any]) -> float | None:
        """What a line has; of k not what was asked for, but what came out."""
        value: float | None = row[self.measure]
        return row.get("k_min", value) if self.measure == "k" else value

    def met(self, row: dict[str, Any]) -> bool:
        """Tell whether a line meets it; what was not measured does not."""
        value = self.found(row)
        return value is not None and OPERATORS[self.sign](value, self.limit)

    def short(self, row: dict[str, Any]) -> float:
        """How far a line is from meeting it, as a share of the limit."""
        value = self.found(row)
        if value is None:
            return float("inf")
        return 0.0 if self.met(row) else abs(value - self.limit) / (abs(self.limit) or 1.0)


def recommend(compared: pl.DataFrame, *, require: str | Sequence[str] = "dld<=10") -> pl.DataFrame:
    """Pick the line of `compare` that loses least and meets a requirement.

    Parameters
    ----------
    compared : polars.DataFrame
        What `compare` returned.
    require : str or list of str, default "dld<=10"
        What the release must meet: a measure of the table, one of <= < >= > =, and a number. k is
        the smallest class that came out (``k_min``), and with = at least that number is meant.

    Returns
    -------
    polars.DataFrame
        One row: that of `compared`, with `met` (whether it meets every requirement) and
        `reason`, a sentence. If no line meets them all, the row is the one that misses them by
        the least share of the limits, and the reason says so.

    Raises
    ------
    InvalidParameterError
        A requirement cannot be read, or names what is not in the table.
    InvalidDataError
        No line of the table was measured.

    Notes
    -----
    Among equal losses the larger k is taken, then the lower `dr`, then the first line. A measure
    that is null meets nothing.

    Examples
    --------
    >>> compared = pl.DataFrame(
    ...     {"method": ["mdav", "mdav"], "k": [3, 5], "loss": [9.1, 12.5], "dld": [14.2, 8.8]}
    ... )
    >>> recommend(compared)["reason"].item()
    'Lowest loss with dld <= 10 %: mdav, k=5 (loss 12.5 %, dld 8.8 %). 1 of 2 lines meets this.'
    >>> recommend(compared, require=["dld<=5", "loss<=15"])["met"].item()
    False
    """
    if not isinstance(compared, pl.DataFrame) or NEEDED.difference(compared.columns):
        need = "the table that compare returned, with columns method, k and loss"
        raise InvalidParameterError.kind("compared", type(compared).__name__, need)
    needs = _needs(require, compared)
    rows = [row for row in compared.to_dicts() if row["loss"] is not None]
    if not rows:
        raise InvalidDataError(
            f"None of the {compared.height} line(s) of compared was measured, so none can be "
            "recommended. Read their notes, and allow other methods or more seconds."
        )
    good = [row for row in rows if all(need.met(row) for need in needs)]
    chosen = min(good, key=_least) if good else min(rows, key=lambda row: _nearest(row, needs))
    reason = _reason(chosen, needs, len(good), len(rows)) if good else _missed(chosen, needs, rows)
    table = pl.DataFrame([chosen], schema=compared.schema)
    return table.with_columns(met=pl.lit(bool(good)), reason=pl.lit(reason))


def _needs(require: object, compared: pl.DataFrame) -> list[_Need]:
    measures = [name for name, dtype in compared.schema.items() if dtype.is_numeric()]
    listed = [require] if isinstance(require, str) else require
    if not isinstance(listed, Sequence) or not listed:
        raise InvalidParameterError.kind("require", require, "a text such as 'dld<=10', or a list")
    needs = []
    for text in listed:
        found = PATTERN.fullmatch(text) if isinstance(text, str) else None
        if not found:
            form = "a measure, one of <= < >= > =, and a number, such as 'dld<=10'"
            raise InvalidParameterError.kind("require", text, form)
        measure, sign, limit = found.groups()
        if measure not in measures:
            raise InvalidParameterError.choice("require", measure, measures)
        # k is the least size that is asked for, however it is written.
        sign = ">=" if sign == "=" and measure == "k" else sign
        needs.append(_Need(measure, sign, float(limit)))
    return needs


def _least(row: dict[str, Any]) -> tuple[float, ...]:
    risk = row.get("dr")
    return row["loss"], -row["k"], float("inf") if risk is None else risk


def _nearest(row: dict[str, Any], needs: list[_Need]) -> tuple[float, ...]:
    return sum(need.short(row) for need in needs), *_least(row)


def _written(measure: str, value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.3g} %" if measure in PER_CENT else f"{value:.6g}"


def _line(row: dict[str, Any], needs: list[_Need]) -> str:
    shown = dict.fromkeys(["loss", *(need.measure for need in needs)])
    if "k" in shown and row.get("k_min", row["k"]) != row["k"]:
        shown |= {"k_min": None}
    values = ", ".join(f"{name} {_written(name, row[name])}" for name in shown if name != "k")
    return f"{row['method']}, k={row['k']} ({values})"


def _reason(row: dict[str, Any], needs: list[_Need], good: int, measured: int) -> str:
    asked = " and ".join(map(str, needs))
    count = f"{good} of {measured} lines {'meets' if good == 1 else 'meet'} this."
    return f"Lowest loss with {asked}: {_line(row, needs)}. {count}"


def _missed(row: dict[str, Any], needs: list[_Need], rows: list[dict[str, Any]]) -> str:
    asked = " and ".join(map(str, needs))
    return (
        f"None of {len(rows)} lines has {asked}. Nearest: {_line(row, needs)}. Compare larger ks "
        "or other columns, or relax what is required; do not release this as if it were met."
    )
