"""What the laws are about: methods, tables, and what was done to them."""

from dataclasses import dataclass
from decimal import Context, Decimal
from operator import attrgetter

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.core import registry
from tests.loop import THOROUGH, tries

METHODS = list(registry.methods().values())
CELLWISE = [m for m in METHODS if m.unit == "value" and not m.columnwise]
"""Methods that mix the values of several columns: no class of k records, no centroid a column."""
GROUPING = [m for m in METHODS if m not in CELLWISE]

every_method = pytest.mark.parametrize("method", METHODS, ids=attrgetter("name"))
every_grouping = pytest.mark.parametrize("method", GROUPING, ids=attrgetter("name"))
every_unseeded = pytest.mark.parametrize(
    "method", [m for m in GROUPING if not m.seeded], ids=attrgetter("name")
)


def tenth(share=0.1):
    """Settings for laws that are parametrised once more, or whose examples cost more."""
    return tries(max(5, round(THOROUGH * share)))


# --- What a method did ------------------------------------------------------------------------


def quick(method):
    """Options that only buy a better result with time, at values that take next to none."""
    ranges = {name: option.range for name, option in method.options.items()}
    return {name: r.quick for name, r in ranges.items() if r is not None and r.quick is not None}


def mask(method, frame, columns, k, **options):
    return mg.mask(frame, columns, k, method=method.name, **(quick(method) | options))


def blocks(method, columns):
    """Columns that share their groups."""
    return [[name] for name in columns] if method.columnwise else [list(columns)]


def labels(method, frame, columns, k, **options):
    """Groups of each block; a null group is -1."""
    return [
        mg.groups(frame, block, k, method=method.name, **(quick(method) | options))[
            "microagg_group"
        ]
        .cast(pl.Int64)
        .fill_null(-1)
        .to_numpy()
        for block in blocks(method, columns)
    ]


def classes(frame, columns):
    """Sizes of the classes of equal records."""
    return frame.group_by(columns).len()["len"]


def assert_k_holds(method, masked, columns, k, strata=()):
    for block in blocks(method, columns):
        assert classes(masked, [*block, *strata]).min() >= k


def bits(frame):
    """Everything in a frame that can be told apart, down to the sign of zero."""
    contents = []
    for name, dtype in frame.schema.items():
        # Methods of a Series look it up by its name, where "^a$" would be a pattern.
        column = frame.get_column(name).alias("0")
        values = column.to_physical()
        floats = values.fill_null(0).to_numpy().tobytes() if values.dtype.is_float() else None
        contents.append((name, dtype, column.is_null().to_list(), floats))
        if floats is None:
            contents.append(values.to_list())
    return contents


def chunked(frame, size):
    """The same rows in chunks of a given size."""
    return pl.concat([frame[i : i + size] for i in range(0, frame.height, size)], rechunk=False)


# --- Tables -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    frame: pl.DataFrame
    columns: list[str]
    k: int


def ties(rng, n):
    return rng.integers(0, 4, n).astype(float)


def tie_free(rng, n):
    """Dyadic fractions: shifts and powers of two leave them exact, and no two distances agree."""
    high = 2**38
    return np.unique(rng.integers(-high, high, 4 * n + 8))[rng.permutation(4 * n)[:n]] / 2.0**20


SHAPES = {
    "tie_free": tie_free,
    "ties": ties,
    "constant": lambda rng, n: np.full(n, 0.1),
    "two_values": lambda rng, n: rng.choice([0.1, 0.3], n),
    "skewed": lambda rng, n: np.exp(3.0 * rng.standard_normal(n)),
    "offset": lambda rng, n: 1e15 + rng.integers(0, 50, n),
    "subnormal": lambda rng, n: rng.integers(0, 9, n) * 5e-324,
    "huge": lambda rng, n: 1e300 * rng.standard_normal(n),
    "ends": lambda rng, n: rng.choice([-1.7976931348623157e308, 0.0, 1.7976931348623157e308], n),
    "one_far": lambda rng, n: np.where(np.arange(n) == 0, 1e12, rng.random(n)),
    "signed_zero": lambda rng, n: rng.choice([-0.0, 0.0], n),
    "whole_range": lambda rng, n: np.ldexp(rng.standard_normal(n), rng.integers(-1070, 1020, n)),
}
EXACT_SHAPES = {
    "tie_free": tie_free,
    "ties": ties,
    "constant": lambda rng, n: np.full(n, 3.0),
    "two_values": lambda rng, n: rng.choice([-2.5, 7.0], n),
}
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@st.composite
def tables(draw, shapes=SHAPES, columns=(1, 3), rows=60):
    k = draw(st.integers(2, 5))
    n = draw(st.integers(k, rows))
    names = [f"x{j}" for j in range(draw(st.integers(*columns)))]
    kinds = [draw(st.sampled_from(sorted(shapes))) for _ in names]
    rng = draw(seeds)
    data = {name: shapes[kind](rng, n) for name, kind in zip(names, kinds, strict=True)}
    aside = {"row": np.arange(n), "note": [f"n{i}" for i in range(n)], "share": rng.random(n)}
    frame = pl.DataFrame(data | aside)
    return Table(frame.select(rng.permutation(frame.columns).tolist()), names, k)


NOW = 1_700_000_000


EXACT = Context(prec=80)


def typed(steps, dtype):
    """A series of a type from the integers behind it."""
    if isinstance(dtype, pl.Decimal):
        return pl.Series([EXACT.scaleb(Decimal(v), -dtype.scale) for v in steps], dtype=dtype)
    physical = pl.Series([], dtype=dtype).to_physical().dtype
    return pl.Series(steps, dtype=physical).cast(dtype)
