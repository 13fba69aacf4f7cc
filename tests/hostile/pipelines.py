"""Random lazy plans around a mask, on both engines, against the table masked whole and collected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import polars_microagg as mg
from tests.frames.steps import AREAS, ENGINES, FEW, OPS, Step
from tests.laws import METHODS, bits, quick

Options = dict[str, Any]

BEFORE: dict[str, Step] = {
    "filter": lambda t: t.filter(pl.col("c") < 7),
    "filter strata": lambda t: t.filter(pl.col("region").is_not_null()),
    "filter window": lambda t: t.filter(pl.col("a") <= pl.col("a").max().over("region")),
    "with columns": lambda t: t.with_columns(a=pl.col("a") + pl.col("c"), b=pl.col("b") * 2),
    "new columns": lambda t: t.with_columns(e=pl.col("b").rank("ordinal"), f=pl.lit("x")),
    "fill null": lambda t: t.with_columns(pl.col("d").fill_null(0)),
    "drop nulls": lambda t: t.drop_nulls("d"),
    "cast": lambda t: t.cast({"a": pl.Float64, "c": pl.Int16}),
    "head": lambda t: t.head(60),
    "tail": lambda t: t.tail(50),
    "slice": lambda t: t.slice(5, 90),
    "reverse": lambda t: t.reverse(),
    "sort": lambda t: t.sort("c", "id"),
    "sort descending": lambda t: t.sort("b", "id", descending=True, nulls_last=True),
    "first of each": lambda t: t.unique("id", keep="first", maintain_order=True),
    "group by": lambda t: t.group_by("id", maintain_order=True).agg(pl.all().first()),
    "left join": lambda t: t.join(AREAS, on="region", how="left", maintain_order="left"),
    "anti join": lambda t: t.join(FEW, on="id", how="anti", maintain_order="left"),
    "concat": lambda t: pl.concat([t.filter(pl.col("c") < 4), t.filter(pl.col("c") >= 4)]),
    "diagonal": lambda t: pl.concat([t, t.head(0)], how="diagonal"),
    "batches": lambda t: t.map_batches(lambda frame: frame.reverse()),
}
"""What comes before a mask; each leaves the rows in an order that Polars promises."""

GROUPING = [method for method in METHODS if method.unit == "record"]


def people(rng: np.random.Generator) -> pl.DataFrame:
    """The columns of tests/frames/steps.py, filled as one run needs them, often with ties."""
    n, ties = int(rng.integers(0, 120)), int(rng.choice([2, 9, 1000]))
    regions = np.array(["north", "south", "west", None], dtype=object)
    return pl.DataFrame(
        {
            "id": rng.permutation(240)[:n],
            "region": pl.Series(
                regions[rng.integers(0, rng.integers(1, 5), n)].tolist(), dtype=pl.String
            ),
            "a": rng.integers(0, ties, n),
            "b": (rng.normal(size=n) * ties).round() / 4,
            "c": rng.integers(0, 9, n),
            "d": pl.Series([None if v > 3 else v for v in rng.integers(0, 5, n).tolist()], dtype=pl.Int64),
        }
    )  # fmt: skip


def options_of(rng: np.random.Generator, *, suppress: bool = True) -> tuple[str, Options]:
    """A method, and options that any method that groups records has."""
    method = GROUPING[int(rng.integers(len(GROUPING)))] if rng.random() < 0.5 else None
    own = quick(method) if method else {}
    choices: dict[str, list[Any]] = {
        "strata": [None, None, "region", ["region", "c"]],
        "nulls": ["raise", "impute", "pattern"],
        "small_strata": ["raise", "null", "drop"] if suppress else ["raise"],
        "scale": ["zscore", "minmax", "robust", "none"],
        "dtype": ["keep", "keep", "float"],
        "center": ["mean", "mean", "median"],
        "refine": [False, False, True],
        "seed": [0, 7],
    }
    drawn = {name: values[int(rng.integers(len(values)))] for name, values in choices.items()}
    return (method.name if method else "mdav"), own | drawn


def attempt(work: Callable[[], pl.DataFrame]) -> tuple[str, Any]:
    """The table, or the class of the error."""
    try:
        return "table", work()
    except (mg.MicroaggError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        return "error", type(error).__name__


def smallest(masked: pl.DataFrame, columns: list[str], strata: Any, method: str) -> int | None:
    """Size of the smallest class on masked columns and strata, counted record by record."""
    keys = [strata] if isinstance(strata, str) else list(strata or ())
    joint = [[*columns, *keys]]
    if next(m for m in METHODS if m.name == method).columnwise:
        joint = [[name, *keys] for name in columns]
    sizes = [n for names in joint for n in Counter(masked.select(names).rows()).values()]
    return min(sizes, default=None)


def trial(seed: int, _folder: Path) -> list[str]:
    """Try one plan on both engines and say what is wrong with it."""
    rng = np.random.default_rng(seed)
    frame = people(rng)
    before = rng.choice(list(BEFORE), int(rng.integers(0, 4))).tolist()
    ordered = [name for name, op in OPS.items() if op.order and op.calls]
    after = [*rng.choice(ordered, int(rng.integers(0, 3))).tolist(), str(rng.choice(list(OPS)))]
    columns = [["a", "b"], ["b"], ["a", "d"], ["b", "a", "d"]][int(rng.integers(4))]
    method, options = options_of(rng)
    k = int(rng.integers(2, 7))
    said = f"before={before} mask={columns} k={k} {method} {options} after={after}"

    def upstream(t: pl.LazyFrame) -> pl.LazyFrame:
        for name in before:
            t = BEFORE[name](t)
        return t

    def downstream(t: pl.LazyFrame) -> pl.LazyFrame:
        for name in after:
            t = OPS[name].step(t)
        return t

    def mask(t: Any) -> Any:
        return mg.mask(t, columns, k, method=method, **options)

    plain = upstream(frame.lazy()).collect(engine="in-memory")
    kind, masked = attempt(lambda: mask(plain))
    expected = masked
    if kind == "table":
        found = smallest(masked, columns, options["strata"], method)
        if found is not None and found < k:
            return [f"a class of {found}: {said}"]
        none = pl.QueryOptFlags.none()
        kind, expected = attempt(lambda: downstream(masked.lazy()).collect(optimizations=none))
    wrong = []
    for engine in ENGINES:
        lazily = attempt(lambda: mask(upstream(frame.lazy())).collect(engine=engine))  # noqa: B023
        whole = ("table", masked) if isinstance(masked, pl.DataFrame) else ("error", masked)
        wrong += [f"the mask itself, {engine}: {said}"] * (not same(lazily, whole))
        got = attempt(lambda: downstream(mask(upstream(frame.lazy()))).collect(engine=engine))  # noqa: B023
        promised = all(OPS[name].order for name in after)
        # Behind a mask that fails, what comes after may fail first, or need no masked column.
        if whole[0] == "table" and not same(got, (kind, expected), promised=promised):
            wrong.append(f"after the mask, {engine}: {said}")
    return wrong


def same(one: tuple[str, Any], other: tuple[str, Any], *, promised: bool = True) -> bool:
    """Return whether both are the same table, bit for bit, or errors of the same class."""
    if one[0] != other[0] or one[0] == "error":
        return one == other
    tables = [table for _, table in (one, other)]
    if not promised:
        tables = [t.sort(pl.all(), nulls_last=True) if t.width else t for t in tables]
    return bits(tables[0]) == bits(tables[1])
