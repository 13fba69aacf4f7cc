"""What comes after a masking must never reach below it: every operation, source and engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_microagg as mg
from polars_microagg.frames.batch import Kernel
from polars_microagg.frames.door import Masking, Request
from polars_microagg.plan import Plan

N, K = 240, 4
MASKED = ["a", "b"]
STRATA = {"whole": None, "strata": ["region"]}
ENGINES = ["in-memory", "streaming"]
SOURCES = ["frame", "parquet", "csv"]

a, b, c, region = pl.col("a"), pl.col("b"), pl.col("c"), pl.col("region")
row = pl.col("id")

Build = Callable[[pl.LazyFrame, list[str] | None], pl.LazyFrame]
Step = Callable[[pl.LazyFrame], pl.LazyFrame]


def table() -> pl.DataFrame:
    random = np.random.default_rng(7)
    regions = np.array(["north", "south", "west", None], dtype=object)[random.integers(0, 4, N)]
    return pl.DataFrame(
        {
            "id": np.arange(N),
            "region": pl.Series(regions.tolist(), dtype=pl.String),
            "a": random.integers(0, 60, N),
            "b": random.normal(size=N).round(3),
            "c": random.integers(0, 9, N),
            "d": pl.Series([None if i % 11 == 0 else i % 5 for i in range(N)], dtype=pl.Int64),
        }
    )


TABLE = table()
FEW = pl.LazyFrame({"id": [3, 5, 8, 13, 21, 34, 55, 89, 144, 233]})
AREAS = pl.LazyFrame({"region": ["north", "south"], "boss": [1, 2]})


@dataclass(frozen=True)
class Op:
    """Something a user does next; `order` tells whether rows come in a defined order."""

    step: Step
    calls: int = 1
    order: bool = True


OPS: dict[str, Op] = {
    "nothing": Op(lambda t: t),
    # filters
    "filter untouched": Op(lambda t: t.filter(row < 20)),
    "filter untouched to one row": Op(lambda t: t.filter(row == 17)),
    "filter masked": Op(lambda t: t.filter(a < 25)),
    "filter strata": Op(lambda t: t.filter(region == "north")),
    "filter null stratum": Op(lambda t: t.filter(region.is_null())),
    "filter mix": Op(lambda t: t.filter((row < 120) & (b > 0) & (region != "west"))),
    "filter twice": Op(lambda t: t.filter(row > 30).filter(c < 4)),
    "filter against a maximum": Op(lambda t: t.filter(row > row.max() - 9)),
    "filter then select": Op(lambda t: t.filter(row < 9).select("b")),
    "remove": Op(lambda t: t.remove(row < 200)),
    # slices
    "head": Op(lambda t: t.head(7)),
    "limit": Op(lambda t: t.limit(3)),
    "tail": Op(lambda t: t.tail(5)),
    "slice": Op(lambda t: t.slice(11, 9)),
    "slice from the end": Op(lambda t: t.slice(-20, 6)),
    "first": Op(lambda t: t.first()),
    "last": Op(lambda t: t.last()),
    "filter then head": Op(lambda t: t.filter(c > 3).head(4)),
    "head then filter": Op(lambda t: t.head(40).filter(c > 3)),
    "reverse then head": Op(lambda t: t.reverse().head(6)),
    "gather every": Op(lambda t: t.gather_every(13, 2)),
    "row index": Op(lambda t: t.with_row_index("nr").filter(pl.col("nr") % 50 == 1)),
    # order
    "sort then head": Op(lambda t: t.sort("c", "id").head(8)),
    "sort by masked then head": Op(lambda t: t.sort("b", "id").head(8)),
    "sort then filter": Op(lambda t: t.sort("c", "id", descending=True).filter(row < 50)),
    "top k": Op(lambda t: t.top_k(6, by=["c", "id"]).sort("id")),
    "bottom k by masked": Op(lambda t: t.bottom_k(6, by=["b", "id"]).sort("id")),
    # joins
    "inner join left": Op(lambda t: t.join(FEW, on="id"), order=False),
    "inner join right": Op(lambda t: FEW.join(t, on="id"), order=False),
    "left join left": Op(lambda t: t.join(AREAS, on="region", how="left"), order=False),
    "left join right": Op(lambda t: FEW.join(t, on="id", how="left"), order=False),
    "semi join left": Op(lambda t: t.join(FEW, on="id", how="semi"), order=False),
    "semi join right": Op(lambda t: FEW.join(t.filter(a < 30), on="id", how="semi"), order=False),
    "anti join left": Op(lambda t: t.join(FEW, on="id", how="anti"), order=False),
    "anti join right": Op(lambda t: FEW.join(t.filter(a < 30), on="id", how="anti"), order=False),
    "join then filter": Op(lambda t: t.join(FEW, on="id").filter(row > 50), order=False),
    # aggregates
    "unique": Op(lambda t: t.select("region", *MASKED).unique(), order=False),
    "unique first": Op(
        lambda t: t.unique(["region", "c"], keep="first", maintain_order=True), order=False
    ),
    "group by": Op(
        lambda t: t.group_by("region").agg(
            a.max().alias("high"), b.min().alias("low"), b.n_unique().alias("different"), pl.len()
        ),
        order=False,
    ),
    "group by then filter key": Op(
        lambda t: t.group_by("region").agg(a.max(), b.min()).filter(region == "south"),
        order=False,
    ),
    "group by masked": Op(lambda t: t.group_by("a").agg(pl.len()), order=False),
    "maximum": Op(lambda t: t.select(a.max(), b.min())),
    "value counts": Op(lambda t: t.select(a.value_counts()).unnest("a"), order=False),
    # columns
    "select some": Op(lambda t: t.select("b", "id")),
    "select masked": Op(lambda t: t.select("a")),
    "select first masked row": Op(lambda t: t.select(b.first())),
    "drop": Op(lambda t: t.drop("a", "c")),
    "rename": Op(lambda t: t.rename({"a": "b", "b": "a"}).filter(a > 0)),
    "cast": Op(lambda t: t.cast({"a": pl.Float64}).filter(row < 10)),
    "later expression": Op(
        lambda t: t.with_columns((a * 2 + c).alias("e")).filter(pl.col("e") > 50)
    ),
    "later window": Op(lambda t: t.with_columns(a.max().over("region").alias("e")).head(9)),
    "overwrite a masked column": Op(lambda t: t.with_columns(pl.lit(1).alias("b")).head(3)),
    "drop nulls": Op(lambda t: t.drop_nulls("d")),
    "drop null strata": Op(lambda t: t.drop_nulls("region")),
    "fill null": Op(lambda t: t.fill_null(0).filter(pl.col("d") == 0)),
    "unpivot": Op(
        lambda t: t.unpivot(MASKED, index="id").filter(pl.col("variable") == "b"), order=False
    ),
    # the plan twice
    "concat itself": Op(lambda t: pl.concat([t.filter(row < 5), t.tail(5)]), calls=2),
    "join itself": Op(
        lambda t: t.filter(row < 9).join(t.select("id", b.alias("other")), on="id"),
        calls=2,
        order=False,
    ),
    # another language
    "sql": Op(lambda t: t.sql("SELECT id, a FROM self WHERE c < 3 ORDER BY id LIMIT 4")),
    # nothing masked is asked for
    "select only untouched": Op(lambda t: t.select("id"), calls=0),
    "untouched filtered": Op(lambda t: t.select("id", "c").filter(c < 3), calls=0),
    "drop the masked": Op(lambda t: t.drop(MASKED).head(5), calls=0),
    "len": Op(lambda t: t.select(pl.len()), calls=0),
    "untouched group by": Op(lambda t: t.group_by("c").agg(pl.len()), calls=0, order=False),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pushdown")
    TABLE.write_parquet(folder / "t.parquet", row_group_size=37)
    TABLE.write_csv(folder / "t.csv")
    return folder


def scan(source: str, folder: Path) -> pl.LazyFrame:
    if source == "parquet":
        return pl.scan_parquet(folder / "t.parquet")
    if source == "csv":
        return pl.scan_csv(folder / "t.csv")
    return TABLE.lazy()


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each batch that reached the kernel."""
    rows: list[int] = []
    mask = Plan.mask

    def counted(self: Plan, x: np.ndarray, *rest: Any) -> Any:
        rows.append(len(x))
        return mask(self, x, *rest)

    monkeypatch.setattr(Plan, "mask", counted)
    return rows


def right(frame: Any, strata: list[str] | None) -> Any:
    return mg.mdav(frame, MASKED, K, strata=strata)


def numbered(frame: Any, strata: list[str] | None) -> Any:
    return mg.groups(frame, MASKED, K, strata=strata)


# Four ways to build the same node wrongly, each with the same kernel.


def _bound(frame: pl.LazyFrame, strata: list[str] | None) -> tuple[Kernel, list[pl.Expr]]:
    request = Request.of("mdav", MASKED, K, {"strata": strata})
    kernel = request.kernel(frame.collect_schema())
    return kernel, request.inputs(kernel)


def _fields(frame: pl.LazyFrame, node: pl.Expr) -> pl.LazyFrame:
    fields = [pl.col("t").struct.field(str(i)).alias(name) for i, name in enumerate(MASKED)]
    return frame.with_columns(node.alias("t")).with_columns(fields).drop("t")


def elementwise(frame: pl.LazyFrame, strata: list[str] | None) -> pl.LazyFrame:
    kernel, inputs = _bound(frame, strata)
    dtype = pl.Struct({"0": pl.Int64, "1": pl.Float64})
    node = pl.struct(inputs).map_batches(
        Masking(kernel), return_dtype=dtype, is_elementwise=True, returns_scalar=False
    )
    return _fields(frame, node)


def _whole_frame(frame: pl.LazyFrame, strata: list[str] | None, **flags: bool) -> pl.LazyFrame:
    kernel, inputs = _bound(frame, strata)

    def function(batch: pl.DataFrame) -> pl.DataFrame:
        masked = kernel.mask(batch.select(inputs))
        return batch.with_columns(
            [column.alias(name) for name, column in zip(MASKED, masked, strict=True)]
        )

    return frame.map_batches(function, schema=frame.collect_schema(), **flags)


def predicates_pushed(frame: pl.LazyFrame, strata: list[str] | None) -> pl.LazyFrame:
    return _whole_frame(frame, strata, predicate_pushdown=True)


def in_pieces(frame: pl.LazyFrame, strata: list[str] | None) -> pl.LazyFrame:
    # Morsels of the source are larger than this table, so it is cut up first.
    pieces = pl.concat([frame.slice(i, 40) for i in range(0, N, 40)])
    return _whole_frame(pieces, strata, streamable=True)


def field_of_the_node(frame: pl.LazyFrame, strata: list[str] | None) -> pl.LazyFrame:
    kernel, inputs = _bound(frame, strata)
    dtype = pl.Struct({"0": pl.Int64, "1": pl.Float64})
    node = pl.struct(inputs).map_batches(
        Masking(kernel), return_dtype=dtype, is_elementwise=False, returns_scalar=False
    )
    return frame.with_columns(
        [node.struct.field(str(i)).alias(name) for i, name in enumerate(MASKED)]
    )


def leaks(
    build: Build,
    op: Op,
    source: pl.LazyFrame,
    engine: str,
    strata: list[str] | None,
    seen: list[int],
    eager: Callable[..., pl.DataFrame] = right,
) -> list[str]:
    """Say what differs from collecting the masked table first and going on from there."""
    whole = eager(source.collect(engine="in-memory"), strata)
    expected = op.step(whole.lazy()).collect(engine="in-memory")
    seen.clear()
    found = []
    try:
        got = op.step(build(source, strata)).collect(engine=engine)
    except mg.MicroaggError as error:
        found.append(f"error: {error}")
    else:
        if not op.order:
            expected, got = (
                x.sort(pl.all(), nulls_last=True) if x.width else x for x in (expected, got)
            )
        if not got.equals(expected) or got.schema != expected.schema:
            found.append("other result")
    if any(rows != N for rows in seen):
        found.append(f"rows: {seen}")
    if len(seen) != op.calls:
        found.append(f"calls: {len(seen)} instead of {op.calls}")
    return found


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("op", OPS)
def test_what_comes_after_sees_the_masked_table_and_the_kernel_sees_all_rows_once(
    op: str, source: str, engine: str, strata: str, folder: Path, seen: list[int]
) -> None:
    frame = scan(source, folder)
    assert leaks(right, OPS[op], frame, engine, STRATA[strata], seen) == []


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("source", SOURCES)
def test_group_numbers_keep_what_comes_after_above_them_too(
    source: str, engine: str, strata: str, folder: Path, seen: list[int]
) -> None:
    frame = scan(source, folder)
    after = [*FIRST, "top k", "unique first", "drop nulls", "row index", "inner join left"]
    found = {
        op: leaks(numbered, OPS[op], frame, engine, STRATA[strata], seen, numbered) for op in after
    }
    assert not any(found.values()), found


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize("engine", ENGINES)
def test_all_sources_are_masked_alike(engine: str, strata: str, folder: Path) -> None:
    expected = mg.mdav(TABLE, MASKED, K, strata=STRATA[strata])
    for source in SOURCES:
        got = right(scan(source, folder), STRATA[strata]).collect(engine=engine)
        assert_frame_equal(got, expected, check_exact=True)


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize("source", SOURCES)
def test_collect_schema_calls_nothing_and_equals_the_schema_before(
    source: str, strata: str, folder: Path, seen: list[int]
) -> None:
    frame = scan(source, folder)
    assert right(frame, STRATA[strata]).collect_schema() == frame.collect_schema()
    assert seen == []


# The matrix itself is tested on wrong builds: it must find each of them out.

BELOW = re.compile(r"SELECTION|FILTER|SLICE")
WRONG: dict[str, tuple[Build, dict[str, tuple[str, ...]]]] = {
    "expression marked elementwise": (
        elementwise,
        dict.fromkeys(ENGINES, ("filter untouched", "filter mix", "head", "filter then head")),
    ),
    "frame function with predicate pushdown": (
        predicates_pushed,
        dict.fromkeys(ENGINES, ("filter untouched", "filter masked", "head", "slice")),
    ),
    "frame function marked streamable": (in_pieces, {"streaming": ("nothing", "head")}),
    "fields taken from the node itself": (
        field_of_the_node,
        dict.fromkeys(ENGINES, ("nothing", "filter untouched")),
    ),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("wrong", "engine", "op"),
    [
        (name, engine, op)
        for name, (_, engines) in WRONG.items()
        for engine, ops in engines.items()
        for op in ops
    ],
)
def test_the_matrix_finds_a_wrong_build_out(
    wrong: str, engine: str, op: str, source: str, folder: Path, seen: list[int]
) -> None:
    build, _ = WRONG[wrong]
    assert leaks(build, OPS[op], scan(source, folder), engine, None, seen)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("build", [elementwise, predicates_pushed])
def test_a_wrong_build_shows_the_kernel_fewer_rows_or_gives_other_results(
    build: Build, source: str, engine: str, folder: Path, seen: list[int]
) -> None:
    frame = scan(source, folder)
    found = {name: leaks(build, op, frame, engine, None, seen) for name, op in OPS.items()}
    wrong = {name for name, what in found.items() if what}
    fewer = {name for name, what in found.items() if any("rows" in text for text in what)}
    other = {name for name, what in found.items() if {"other result"} & set(what)}
    assert len(wrong) >= 5
    assert fewer
    assert other


FIRST = (
    *("filter untouched", "filter strata", "filter masked", "filter mix", "filter then head"),
    *("head", "limit", "tail", "slice", "slice from the end", "first", "last"),
)


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("op", FIRST)
def test_explain_has_no_filter_and_no_slice_below_the_node(
    op: str, source: str, strata: str, folder: Path
) -> None:
    plan = OPS[op].step(right(scan(source, folder), STRATA[strata])).explain()
    above, node, below = plan.partition("python_udf")
    assert node
    assert BELOW.search(above)
    assert not BELOW.search(below)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("build", "node"), [(elementwise, "python_udf"), (predicates_pushed, "OPAQUE_PYTHON")]
)
def test_explain_of_a_wrong_build_has_the_filter_below_the_node(
    build: Build, node: str, source: str, folder: Path
) -> None:
    plan = OPS["filter untouched"].step(build(scan(source, folder), None)).explain()
    above, found, below = plan.partition(node)
    assert found
    assert not BELOW.search(above)
    assert BELOW.search(below)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("columns", "read"), [(["id"], 1), (["c", "id"], 2), (["a"], 2), (["b", "id"], 3)]
)
def test_only_the_columns_needed_are_read(
    columns: list[str], read: int, source: str, folder: Path
) -> None:
    plan = right(scan(source, folder), None).select(columns).explain()
    assert re.search(rf"PROJECT.* {read}/{TABLE.width} COLUMNS", plan)
    assert ("python_udf" in plan) == bool({"a", "b"} & set(columns))
