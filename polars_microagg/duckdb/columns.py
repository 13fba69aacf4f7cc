"""One column between its DuckDB type and float64, with numpy alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Cells, Centres, Labels, Masked, Strata, Vector
from polars_microagg.errors import MissingValuesError, NotNumericError
from polars_microagg.kernels.cell_masking import real_cells, whole_cells
from polars_microagg.kernels.centre import real_centres, whole_centres
from polars_microagg.kernels.exact_mean import Real

__all__ = [
    "ENDLESS",
    "Column",
    "Emitted",
    "Mask",
    "decimal",
    "emit",
    "lane_of",
    "outline",
    "value_pair",
]

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]
"""Doubles, 64-bit integers, or Python integers as objects."""

EXACT = 2**53
"""Integers up to this size are exact in float64."""

FLOATS = ("FLOAT", "DOUBLE")
SMALL = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")
STAMPS = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
LONG = ("BIGINT", "DATE", "TIME", *STAMPS)
WIDE = ("UBIGINT", "HUGEINT", "UHUGEINT", "TIME_NS")

ENDLESS = {"DATE": 2**31 - 1} | dict.fromkeys(STAMPS, 2**63 - 1)
"""How 'infinity' is counted; '-infinity' is its negative."""


NANOSECONDS = {"DATE": 86_400 * 10**9, "TIME": 1_000, "TIME_NS": 1}
NANOSECONDS |= zip(STAMPS, (1_000, 1_000, 10**9, 10**6, 1), strict=True)
"""Size of one step of dates and times."""


def decimal(type_: str) -> tuple[int, int] | None:
    """Width and scale of a decimal type."""
    found = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", type_)
    return (int(found[1]), int(found[2])) if found else None


def outline(type_: str) -> str:
    """Name of a type without what is in it, for messages.

    Examples
    --------
    >>> [outline(t) for t in ("DECIMAL(9,2)[]", "STRUCT(a BIGINT[])", "BIGINT[3]")]
    ['DECIMAL[]', 'STRUCT', 'BIGINT[3]']
    """
    name, inner, _ = type_.partition("(")
    return name + type_[type_.rindex(")") + 1 :] if inner else name


def lane_of(type_: str) -> str:
    """Which list carries values of a type: d(ouble), i(nteger), t(ext), or "" for none.

    Examples
    --------
    >>> [lane_of(t) for t in ("FLOAT", "DATE", "DECIMAL(18,3)", "BOOLEAN")]
    ['d', 'i', 't', '']
    """
    width = decimal(type_)
    if type_ in FLOATS or type_ in SMALL or (width and width[0] <= 15):
        return "d"
    if type_ in LONG:
        return "i"
    return "t" if type_ in WIDE or width else ""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of records: doubles, or whole steps of its type, and where there is none."""

    name: str
    type_: str
    values: Numbers
    absent: Mask | None = None

    @property
    def scale(self) -> int:
        """Digits behind the point."""
        width = decimal(self.type_)
        return width[1] if width else 0

    @property
    def unit(self) -> float:
        """Size of one whole step."""
        return 10.0**-self.scale if decimal(self.type_) else 1.0

    @property
    def floats(self) -> bool:
        """Whether the type has no whole steps."""
        return self.type_ in FLOATS

    def require(self, nulls: str) -> None:
        """Refuse a type without centre, nulls against the policy, NaN and infinities."""
        if not lane_of(self.type_):
            raise NotNumericError.of(self.name, outline(self.type_))
        missing = 0 if self.absent is None else int(self.absent.sum())
        if nulls == "raise" and missing:
            raise MissingValuesError.nulls(self.name, missing)
        here = self.present()
        bad = 0
        if self.floats:
            bad = len(here) - int(np.isfinite(here).sum())
        elif self.type_ in ENDLESS:
            bad = int(((here >= ENDLESS[self.type_]) | (here <= -ENDLESS[self.type_])).sum())
        if bad:
            raise MissingValuesError.not_finite(self.name, bad)

    def present(self) -> Numbers:
        """Values that are there."""
        return self.values if self.absent is None else self.values[~self.absent]

    def bounds(self) -> tuple[int, int]:
        """Smallest and largest whole step."""
        some = self.present()
        return (int(some.min()), int(some.max())) if len(some) else (0, 0)

    def exact(self) -> bool:
        """Whether float64 holds every whole step."""
        low, high = self.bounds()
        return low >= -EXACT and high <= EXACT

    def steps(self) -> Numbers:
        """Whole steps as integers: of 64 bits, or Python's where those do not reach."""
        if self.values.dtype != np.float64:
            return self.values
        values = self.values if self.absent is None else np.where(self.absent, 0, self.values)
        return values.astype(np.int64)

    def take(self, rows: Labels) -> Self:
        """Pick records."""
        absent = None if self.absent is None else self.absent[rows]
        return replace(self, values=self.values[rows], absent=absent)

    def repeats(self, other: Column) -> bool:
        """Whether both have a value in some record, and the same one in all where they have."""
        if self.type_ != other.type_ or not len(self.values):
            return False
        here = np.ones(len(self.values), dtype=np.bool_)
        for absent in (self.absent, other.absent):
            here = here if absent is None else here & ~absent
        return bool(here.any() and (self.values[here] == other.values[here]).all())

    def numbers(self, strata: Strata | None) -> Vector:
        """Turn the column into float64, NaN where absent.

        Whole steps that float64 cannot hold count from the smallest of their stratum; from 0 if
        no strata are given.

        Examples
        --------
        >>> Column("a", "BIGINT", np.array([2**60, 2**60 + 1])).numbers(Strata.whole(2))
        array([0., 1.])
        """
        if strata is None or self.floats or self.exact():
            x = self.values.astype(np.float64)
        else:
            x = self._from_smallest(strata)
        if self.absent is not None:
            x[self.absent] = np.nan
        return x

    def _from_smallest(self, strata: Strata) -> Vector:
        low, high = self.bounds()
        if high - low >= 2**127 and self.type_ != "UHUGEINT":
            return self.values.astype(np.float64)
        values = self.values if self.absent is None else np.where(self.absent, high, self.values)
        start = np.cumsum(strata.sizes) - strata.sizes
        smallest = np.minimum.reduceat(values[strata.order], start)
        base = np.empty_like(values)
        base[strata.order] = np.repeat(smallest, strata.sizes)
        if values.dtype == np.int64:
            # Differences of 64-bit integers always fit in unsigned ones.
            return (values.view(np.uint64) - base.view(np.uint64)).astype(np.float64)
        return (values - base).astype(np.float64)


def value_pair(original: Column, masked: Column) -> tuple[Vector, Vector]:
    """Turn a column before and after into float64 in the same units, NaN where absent.

    Examples
    --------
    >>> before = Column("a", "BIGINT", np.array([2**60, 2**60 + 1]))
    >>> value_pair(before, before.take(np.array([1, 1])))
    (array([0., 1.]), array([1., 1.]))
    """
    low = 0 if original.floats or original.exact() else original.bounds()[0]
    if original.type_ != masked.type_ and {original.type_, masked.type_} <= set(NANOSECONDS):
        steps = masked.values.astype(object) * NANOSECONDS[masked.type_]
        masked = replace(masked, values=steps // NANOSECONDS[original.type_])
    before, after = (_counted(column, low, original) for column in (original, masked))
    return before, after


def _counted(column: Column, low: int, original: Column) -> Vector:
    if column.floats:
        x = column.values.astype(np.float64) - low * original.unit
    else:
        values = column.values.astype(object) - low if low else column.values
        x = values.astype(np.float64) * column.unit
    if column.absent is not None:
        x[column.absent] = np.nan
    return x


@dataclass(frozen=True, eq=False)
class Emitted:
    """A masked column: its lane, one value a record, and where there is none."""

    lane: str
    values: Numbers
    absent: Mask | None


def emit(column: Column, masked: Masked, j: int, dtype: str) -> Emitted:
    """Give every record the centre of its group.

    Parameters
    ----------
    column : Column
        The original column.
    masked : Masked
        Centres and labels.
    j : int
        Position of the column in `masked`.
    dtype : {"keep", "float"}
        Whole steps of its own type, rounded half to even, or doubles.

    Returns
    -------
    Emitted
        None where the label is -1 or the group has no value.

    Examples
    --------
    >>> from polars_microagg.core.partition import Members
    >>> members = Members(np.array([0, 1]), np.array([2]))
    >>> centre = Centres(np.array([0, 0]), members, "mean")
    >>> masked = Masked(("a",), np.array([0, 0]), (centre,))
    >>> emit(Column("a", "BIGINT", np.array([7, 8])), masked, 0, "keep").values
    array([8, 8])
    """
    chosen, labels = masked.values[j], masked.labels
    if isinstance(chosen, Centres):
        labels = chosen.labels
    absent = labels < 0
    if column.floats or dtype == "float":
        lane, table = "d", _floats(column, chosen, dtype)
    else:
        lane, table = _whole(column, chosen)
    return Emitted(lane, _each(table, labels), absent if absent.any() else None)


def _each(table: Numbers, labels: Labels) -> Numbers:
    """The entry of each record's centre; anything where the label is -1."""
    return table[labels] if len(table) else np.zeros(len(labels), dtype=table.dtype)


def _floats(column: Column, chosen: Centres | Cells, dtype: str) -> Vector:
    real: Real = np.float32 if column.type_ == "FLOAT" and dtype == "keep" else np.float64
    if not isinstance(chosen, Centres):
        return real_cells(chosen, real)
    if column.floats:
        return real_centres(column.values, chosen, dtype=real)
    return real_centres(column.steps(), chosen, 10**column.scale)


def _whole(column: Column, chosen: Centres | Cells) -> tuple[str, Numbers]:
    """Round to whole steps of the type, and write them for the lane that takes them."""
    lane = lane_of(column.type_)
    if isinstance(chosen, Centres):
        steps = whole_centres(column.steps(), chosen)
    else:
        steps = whole_cells(chosen, column.steps())
    if lane == "d":
        return lane, steps / 10**column.scale
    if lane == "i":
        return lane, steps.astype(np.int64)
    write = _clock if column.type_ == "TIME_NS" else _digits
    return lane, np.array([write(step, column.scale) for step in steps.tolist()], dtype=object)


def _digits(step: int, scale: int) -> str:
    """Write whole steps as a decimal number."""
    whole, rest = divmod(abs(step), 10**scale)
    return f"{'-' if step < 0 else ''}{whole}" + (f".{rest:0{scale}d}" if scale else "")


def _clock(step: int, _: int) -> str:
    """Write nanoseconds since midnight as a time."""
    seconds, rest = divmod(step, 10**9)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{rest:09d}"
