"""A recommendation: one line of the table of compare, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_microagg.analysis.time_budget import not_begun
from polars_microagg.core.options import group_size
from polars_microagg.core.registry import methods, metrics
from polars_microagg.core.requirements import Requirement, read_requirements
from polars_microagg.errors import InvalidParameterError
from polars_microagg.errors.release import none_compared, none_measured, not_compared

__all__ = ["recommend"]

NEEDED = ("method", "k", "loss")


def recommend(
    compared: pl.DataFrame, *, require: str | Sequence[str] = "dld<=10", k: int = 2
) -> pl.DataFrame:
    """Pick the line of `compare` that loses least and meets a requirement.

    Parameters
    ----------
    compared : polars.DataFrame
        What `compare` returned.
    require : str or list of str, default "dld<=10"
        What the release must meet: a measure of the table, one of <= < >= > =, and a number. k is
        the smallest class that came out (``k_min``), and with = at least that number is meant.
    k : int, default 2
        Smallest group size that may be recommended, whatever a smaller one would reach. Where a
        method masks each column on its own, ``k_min`` must reach it as well: `univariate` and its
        like make no k records alike in several columns. Where `compare` was given blocks of
        columns, each block has k, and ``k_min``, which counts whole records, may be lower.

    Returns
    -------
    polars.DataFrame
        One row: that of `compared`, with `met` (whether it meets every requirement) and
        `reason`, a sentence. If no line meets them all, the row is the one that misses them by
        the least share of the limits, and the reason says so; a bound on k is given up last, and
        after that only that k records come out alike. The reason also names lines that did not run
        for lack of time.

    Raises
    ------
    InvalidParameterError
        A requirement cannot be read, or names what is not in the table.
    InvalidDataError
        No line of the table with such a k was measured.

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
    if not isinstance(compared, pl.DataFrame):
        need = "the table that compare returned, with columns method, k and loss"
        raise InvalidParameterError.kind("compared", type(compared).__name__, need)
    if lacking := [name for name in NEEDED if name not in compared.columns]:
        raise not_compared(lacking)
    needs = _needs(require, compared)
    rows = _measured(compared, group_size(k))
    alike = [row for row in rows if _alike(row, k)]
    good = [row for row in alike if _meets(row, needs)]
    large = [row for row in alike if _meets(row, [need for need in needs if need.name == "k"])]
    nearest = large or alike or rows
    chosen = min(good, key=_least) if good else min(nearest, key=lambda row: _nearest(row, needs))
    # A requirement on k counts what came out as well.
    counted = len(alike) == len(rows) or any(need.name == "k" for need in needs)
    asked = _asked(needs) + ("" if counted else f" and {k} records alike")
    line = f"{_line(chosen, needs)}. "
    reason = _reason(asked, line, len(good), len(rows)) if good else _missed(asked, line, len(rows))
    large_enough = compared.filter(pl.col("k") >= k)
    late = [row for row in large_enough.to_dicts() if not_begun(row)]
    reason += _left_out(late, large_enough["k"].n_unique())
    table = pl.DataFrame([chosen], schema=compared.schema)
    return table.with_columns(met=pl.lit(bool(good)), reason=pl.lit(reason))


def _measured(compared: pl.DataFrame, k: int) -> list[dict[str, Any]]:
    """Return the lines that were measured, with at least this k."""
    if compared.is_empty():
        raise none_compared()
    rows = [row for row in compared.to_dicts() if row["loss"] is not None and row["k"] >= k]
    if not rows:
        raise none_measured(compared.height, k)
    return rows


def _alike(row: dict[str, Any], k: int) -> bool:
    """Return whether k records come out alike: by the method, or as counted on what came out."""
    entry = methods().get(row["method"])
    # Of blocks that were asked for each has k, and whole records may still differ.
    if entry and entry.unit == "record" and not entry.columnwise:
        return True
    found = row.get("k_min")
    return found is not None and found >= k


def _meets(row: dict[str, Any], needs: list[Requirement]) -> bool:
    return all(need.met(_found(need, row)) for need in needs)


def _needs(require: object, compared: pl.DataFrame) -> list[Requirement]:
    measures = [name for name, dtype in compared.schema.items() if dtype.is_numeric()]
    if not (needs := read_requirements(require, measures)):
        need = 'a text such as "dld<=10", or a list with one'
        raise InvalidParameterError.kind("require", require, need)
    return needs


def _found(need: Requirement, row: dict[str, Any]) -> float | None:
    """Return the value of a line; for k the size that came out, not the one that was required."""
    value: float | None = row[need.name]
    return row.get("k_min", value) if need.name == "k" else value


def _short(need: Requirement, row: dict[str, Any]) -> float:
    """Return how far a line is from meeting a requirement, as a share of the bound."""
    value = _found(need, row)
    if value is None:
        return float("inf")
    return 0.0 if need.met(value) else abs(value - need.bound) / (abs(need.bound) or 1.0)


def _least(row: dict[str, Any]) -> tuple[float, ...]:
    """Order lines that meet the requirements: least loss, then larger k, then lower risk."""
    risk = row.get("dr")
    return row["loss"], -row["k"], float("inf") if risk is None else risk


def _nearest(row: dict[str, Any], needs: list[Requirement]) -> tuple[float, ...]:
    """Order lines that miss requirements by the sum of what they miss."""
    return sum(_short(need, row) for need in needs), *_least(row)


def _written(measure: str, value: float | None) -> str:
    if value is None:
        return "unknown"
    entry = metrics().get(measure)
    # The share of suppressed records is counted by `compare` and is not a metric.
    per_cent = measure == "suppressed" or (entry is not None and entry.unit == "%")
    return f"{value:.3g} %" if per_cent else f"{value:.6g}"


def _asked(needs: list[Requirement]) -> str:
    return " and ".join(f"{n.name} {n.sign} {_written(n.name, n.bound)}" for n in needs)


def _line(row: dict[str, Any], needs: list[Requirement]) -> str:
    shown = dict.fromkeys(["loss", *(need.name for need in needs)])
    came_out = row.get("k_min", row["k"])
    if came_out is None or came_out < row["k"] or ("k" in shown and came_out != row["k"]):
        shown |= {"k_min": None}
    values = ", ".join(f"{name} {_written(name, row[name])}" for name in shown if name != "k")
    return f"{row['method']}, k={row['k']} ({values})"


def _reason(asked: str, line: str, good: int, lines: int) -> str:
    count = f"{good} of {lines} lines {'meets' if good == 1 else 'meet'} this."
    return f"Lowest loss with {asked}: {line}{count}"


def _missed(asked: str, line: str, lines: int) -> str:
    return (
        f"None of {lines} lines has {asked}. Nearest: {line}Compare larger ks, other columns or "
        "methods, or relax what is required; do not release this as if it were met."
    )


def _left_out(late: list[dict[str, Any]], ks: int) -> str:
    """Return a sentence that names the lines that did not run for lack of time, of so many ks."""
    if not late:
        return ""
    sizes = dict[str, list[str]]()
    for row in late:
        sizes.setdefault(row["method"], []).append(str(row["k"]))
    names = [
        method if len(own) == ks > 1 else f"{method} (k={', '.join(own)})"
        for method, own in sizes.items()
    ]
    lines = "1 line" if len(late) == 1 else f"{len(late)} lines"
    return (
        f" {lines} did not run for lack of time and may lose less: {', '.join(names)}. "
        "Allow more seconds, or compare fewer methods or ks."
    )
