"""Every frame door gives the same, to the bit."""

from __future__ import annotations

import decimal
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_microagg as mg
from tests.frames.doors import (
    COLUMNWISE,
    GROUPING,
    METHODS,
    OPTIONS,
    OTHERS,
    TABLE,
    everywhere,
    same,
)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_every_frame_door_gives_the_same(method: str, options: str) -> None:
    masked = everywhere(TABLE, ["a", "b"], 3, method, **OPTIONS[options])
    assert not masked.equals(TABLE)
    # What is promised: k records, k values of a column, or k values of the whole table.
    promised = [["a", "b"]] if method in GROUPING else [["a"], ["b"]] * (method in COLUMNWISE)
    for columns in promised:
        mg.verify(masked, columns, 3, strata=OPTIONS[options].get("strata"))


def bits(column: pl.Series) -> list[object]:
    if column.dtype == pl.Float64:
        numbers = column.fill_null(0.0).to_numpy()
        return [*numbers.view(np.int64).tolist(), *column.is_null().to_list()]
    return column.to_list()


@pytest.mark.parametrize("lazy", [False, True], ids=["DataFrame", "LazyFrame"])
@pytest.mark.parametrize("options", OPTIONS)
def test_untouched_columns_are_identical_to_the_bit(options: str, lazy: bool) -> None:
    frame = pl.concat([TABLE, OTHERS], how="horizontal")
    source = frame.lazy() if lazy else frame
    masked = mg.mdav(source, ["a", "b"], 3, **OPTIONS[options]).lazy().collect()
    assert masked.columns == frame.columns
    for name in set(frame.columns) - {"a", "b"}:
        assert masked[name].dtype == frame[name].dtype
        assert bits(masked[name]) == bits(frame[name]), name


SORTS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "sorted": lambda t: t,
    "reversed": lambda t: t.reverse(),
    "shuffled": lambda t: t.sample(fraction=1.0, shuffle=True, seed=8),
    "one region after another": lambda t: t.sort("region", "a"),
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("sort", SORTS)
def test_rows_stay_where_they_were(sort: str, options: str) -> None:
    frame = SORTS[sort](TABLE)
    masked = everywhere(frame, ["a", "b"], 3, "mdav", **OPTIONS[options])
    assert masked["id"].equals(frame["id"])
    # Each record takes the centre of a group near it, not of another record's.
    farthest = (masked["b"] - frame["b"]).abs().max()
    assert farthest < frame["b"].max() - frame["b"].min()
    numbered = mg.groups(frame, ["a", "b"], 3, **OPTIONS[options] | {"dtype": "keep"})
    means = numbered.select("id", mean=pl.col("b").mean().over("microagg_group"))
    assert means["id"].equals(frame["id"])
    np.testing.assert_allclose(masked["b"], means["mean"], rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_inputs_are_not_changed_and_results_share_no_buffer(method: str) -> None:
    random = np.random.default_rng(3)
    matrix = np.asfortranarray(random.normal(size=(50, 2)))
    before = matrix.copy()
    frame = pl.DataFrame(matrix, schema=["a", "b"])
    kept = frame.clone()
    first = mg.mask(frame, ["a", "b"], 3, method=method)
    first_was = first.to_numpy().copy()
    mg.mask(frame.reverse(), ["a", "b"], 4, method=method)
    mg.mask(frame.lazy(), ["b", "a"], 5, method=method).collect()
    np.testing.assert_array_equal(matrix, before)
    assert frame.equals(kept)
    np.testing.assert_array_equal(first.to_numpy(), first_was)
    assert not any(np.shares_memory(first[name].to_numpy(), matrix) for name in ("a", "b"))


def test_the_arguments_of_a_call_are_not_changed() -> None:
    columns, strata, blocks = ["a", "b"], ["region"], [["a"], ["b"]]
    mg.mdav(TABLE, columns, 3, strata=strata)
    mg.mdav(TABLE.lazy(), blocks, 3, strata=strata).collect()
    assert (columns, strata, blocks) == (["a", "b"], ["region"], [["a"], ["b"]])


def test_a_list_changed_after_a_lazy_call_does_not_change_the_call() -> None:
    columns, blocks, strata = ["a", "b"], [["a"], ["b"]], ["region"]
    one = mg.mdav(TABLE.lazy(), columns, 3, strata=strata)
    two = mg.mdav(TABLE.lazy(), blocks, 3)
    columns.pop()
    blocks[1].append("c")
    strata.clear()
    same(one.collect(), mg.mdav(TABLE, ["a", "b"], 3, strata="region"))
    same(two.collect(), mg.mdav(TABLE, [["a"], ["b"]], 3))


KINDS: dict[str, pl.Series] = {
    **{
        str(kind): pl.Series([1, 2, 4, 50, 51, 53] * 2, dtype=kind)
        for kind in (
            *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128),
            *(pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64),
        )
    },
    "Decimal": pl.Series([decimal.Decimal(i) / 100 for i in (1, 2, 4, 50, 51, 53)] * 2),
    "Date": pl.Series([date(2020, 1, i) for i in (1, 2, 4, 28, 29, 31)] * 2),
    "Datetime": pl.Series([datetime(2020, 1, 1, i) for i in (1, 2, 4, 20, 21, 23)] * 2),
    "Time": pl.Series([time(i) for i in (1, 2, 4, 20, 21, 23)] * 2),
    "Duration": pl.Series([timedelta(hours=i) for i in (1, 2, 4, 20, 21, 23)] * 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_with_a_centroid_is_kept_at_every_door(kind: str) -> None:
    frame = pl.DataFrame({"v": KINDS[kind], "w": range(12)})
    masked = everywhere(frame, ["v", "w"], 3, "mdav")
    assert masked.schema == frame.schema
    assert everywhere(frame, "v", 3, "mdav", dtype="float").schema["v"] == pl.Float64


# Other tables.


def test_a_pandas_frame_comes_back_as_a_polars_frame() -> None:
    pandas = pytest.importorskip("pandas")
    plain = TABLE.drop("region")
    frame = pandas.DataFrame(plain.to_dict(as_series=False))
    masked = mg.mdav(frame, ["a", "b"], 3)
    assert type(masked) is pl.DataFrame
    same(masked, mg.mdav(plain, ["a", "b"], 3))
    assert frame["a"].tolist() == plain["a"].to_list()


def test_an_arrow_table_comes_back_as_a_polars_frame() -> None:
    arrow = TABLE.to_arrow()
    for frame in (arrow, arrow.to_batches()[0], arrow.to_reader()):
        masked = mg.mdav(frame, ["a", "b"], 3, strata="region")
        assert type(masked) is pl.DataFrame
        same(masked, mg.mdav(TABLE, ["a", "b"], 3, strata="region"))
    same(mg.groups(arrow, "a", 3), mg.groups(TABLE, "a", 3))


RELATION = """
import sys
import duckdb
import polars as pl
import polars_microagg as mg
with duckdb.connect() as connection:
    relation = connection.sql(f"SELECT * FROM '{sys.argv[1]}' ORDER BY id")
    masked = mg.mdav(relation, ["a", "b"], 3, strata="region")
assert type(masked) is pl.DataFrame
masked.write_ipc(sys.argv[2])
"""


def test_a_duckdb_relation_comes_back_as_a_polars_frame(tmp_path: Path) -> None:
    # In a process of its own: polars remembers the type of every object it was given, and
    # duckdb complains at exit about a type that is remembered.
    source, target = tmp_path / "t.parquet", tmp_path / "masked.arrow"
    TABLE.write_parquet(source)
    command = [sys.executable, "-c", RELATION, str(source), str(target)]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    same(pl.read_ipc(target), mg.mdav(TABLE, ["a", "b"], 3, strata="region"))


@pytest.mark.parametrize(
    "frame",
    [None, 3, "t.csv", [1, 2], {"a": [1, 2]}, np.ones((3, 2)), pl.Series("a", [1, 2]), pl.col("a")],
    ids=lambda frame: type(frame).__name__,
)
def test_what_is_no_table_is_refused(frame: object) -> None:
    message = f"frame is of type (\\w+[.])?{type(frame).__name__}; it must be a polars DataFrame"
    for function in (mg.mdav, mg.groups, mg.mask):
        with pytest.raises(mg.InvalidParameterError, match=message):
            function(frame, "a", 2)


@given(
    rows=st.lists(
        st.tuples(
            st.integers(-5, 5) | st.integers(-(2**62), 2**62),
            st.floats(-1e6, 1e6) | st.sampled_from([0.0, 0.1, 1e300]),
            st.sampled_from(["x", "y", None]),
            st.integers(0, 3),
        ),
        max_size=40,
    ),
    k=st.integers(2, 6),
    dtype=st.sampled_from(["keep", "float"]),
)
def test_all_doors_agree_and_the_result_is_anonymous(
    rows: list[tuple[int, float, str | None, int]], k: int, dtype: str
) -> None:
    kinds = {"a": pl.Int64, "b": pl.Float64, "s": pl.String, "o": pl.Int64}
    frame = pl.DataFrame(rows, schema=kinds, orient="row")
    options: dict[str, Any] = {"small_strata": "drop", "dtype": dtype}
    masked = everywhere(frame, ["a", "b"], k, "mdav", strata="s", **options)
    large = frame.filter(pl.len().over("s") >= k)
    over = pl.struct("a", "b").microagg.mdav(k, dtype=dtype).over("s").alias("m")
    same(large.select(over).unnest("m"), masked.select("a", "b"))
    mg.verify(masked, ["a", "b"], k, strata="s")
    ordered = everywhere(frame, ["a", "b"], k, "mdav", strata="s", order_by="o", **options)
    mg.verify(ordered, ["a", "b"], k, strata="s")
