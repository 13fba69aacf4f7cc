"""A LazyFrame stays lazy: it reads nothing when typed, and the kernel runs once when collected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg

from .doors import ENGINES, coarse, same

SCANS = {"parquet": pl.scan_parquet, "csv": pl.scan_csv, "ndjson": pl.scan_ndjson}


def write(frame: pl.DataFrame, path: Path) -> Path:
    getattr(frame, f"write_{path.suffix[1:]}")(path)
    return path


# Nothing is read when the call is typed.


@pytest.mark.parametrize("kind", SCANS)
@pytest.mark.parametrize("door_name", ["function", "namespace", "groups"])
def test_a_call_on_a_file_that_does_not_exist_fails_only_when_collected(
    kind: str, door_name: str, tmp_path: Path
) -> None:
    lazy = SCANS[kind](tmp_path / f"later.{kind}")
    typed = {
        "function": lambda: mg.mdav(lazy, ["a", "b"], 3, strata="region"),
        "namespace": lambda: lazy.microagg.mdav(cs.by_name("a", "b"), 3),
        "groups": lambda: mg.groups(lazy, ["a", "b"], 3),
    }[door_name]()
    with pytest.raises(FileNotFoundError, match="later"):
        typed.collect()


@pytest.mark.parametrize("kind", SCANS)
def test_a_file_written_after_the_call_is_read_when_collected(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"later.{kind}"
    typed = mg.mdav(SCANS[kind](path), ["a", "b"], 3)
    write(coarse(), path)
    same(typed.collect(), mg.mdav(coarse(), ["a", "b"], 3))


@pytest.mark.parametrize("kind", SCANS)
def test_a_file_deleted_after_the_call_is_missed_when_collected(kind: str, tmp_path: Path) -> None:
    path = write(coarse(), tmp_path / f"gone.{kind}")
    typed = mg.mdav(SCANS[kind](path), ["a", "b"], 3)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="gone"):
        typed.collect()


# Wrong parameters raise at once, wrong columns with the schema.

WRONG_PARAMETERS: dict[str, tuple[dict[str, Any], str]] = {
    "k too small": ({"k": 1}, "k=1 is not a group size"),
    "k a text": ({"k": "5"}, "k='5' is not a group size"),
    "k a float": ({"k": 5.0}, "k=5.0 is not a group size"),
    "k a truth value": ({"k": True}, "k=True is not a group size"),
    "no k": ({"k": None}, "needs k, the smallest group size"),
    "no column": ({"columns": []}, "No column was given"),
    "an empty block": ({"columns": [["a"], []]}, "No column was given"),
    "columns a number": ({"columns": 3}, "columns='int' was given"),
    "columns bytes": ({"columns": b"ab"}, "columns='bytes' was given"),
    "a column a number": ({"columns": ["a", 3]}, "columns='int' was given"),
    "a column twice": ({"columns": ["a", "b", "a"]}, "columns lists 'a' more than once"),
    "a column in two blocks": ({"columns": [["a"], ["a"]]}, "columns lists 'a' more than once"),
    "scale": ({"scale": "zscores"}, "scale='zscores' is not known.*Did you mean 'zscore'"),
    "center": ({"center": "mode"}, "center='mode' is not known"),
    "nulls": ({"nulls": "drop"}, "nulls='drop' is not known"),
    "small_strata": ({"small_strata": "merge"}, "small_strata='merge' is not known"),
    "dtype": ({"dtype": "int"}, "dtype='int' is not known"),
    "strata a number": ({"strata": 3}, "strata=3 was given; it must be a column name"),
    "strata twice": ({"strata": ["r", "r"]}, "strata lists 'r' more than once"),
    "order_by a number": ({"order_by": 1.5}, "order_by=1.5 was given; it must be a column name"),
    "order_by twice": ({"order_by": ["r", "r"]}, "order_by lists 'r' more than once"),
    "seed negative": ({"seed": -1}, "seed=-1 was given; it must be a whole number"),
    "seed a float": ({"seed": 0.5}, "seed=0.5 was given; it must be a whole number"),
    "refine a number": ({"refine": 1}, "refine=1 was given; it must be True or False"),
    "no such option": ({"stratum": "r"}, "mdav has no option 'stratum'. Did you mean 'strata'"),
}


@pytest.mark.parametrize("wrong", WRONG_PARAMETERS)
def test_a_wrong_parameter_raises_when_the_call_is_typed(wrong: str, tmp_path: Path) -> None:
    lazy = pl.scan_parquet(tmp_path / "nowhere.parquet")
    changed, message = WRONG_PARAMETERS[wrong]
    arguments = {"columns": ["a", "b"], "k": 3} | changed
    with pytest.raises(mg.InvalidParameterError, match=message):
        mg.mdav(lazy, **arguments)
    with pytest.raises(mg.InvalidParameterError, match=message):
        lazy.microagg.mdav(**arguments)


def test_an_unknown_method_raises_when_the_call_is_typed(tmp_path: Path) -> None:
    lazy = pl.scan_parquet(tmp_path / "nowhere.parquet")
    with pytest.raises(mg.UnknownMethodError, match=r"no method 'mdaw'\. Did you mean 'mdav'"):
        mg.mask(lazy, "a", 3, method="mdaw")
    with pytest.raises(mg.UnknownMethodError, match="no method 'mdaw'"):
        mg.groups(lazy, "a", 3, method="mdaw")


WRONG_COLUMNS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no such column": (
        {"columns": ["a", "bb"]}, mg.InvalidParameterError,
        "columns names 'bb', which is not a column of the table. Did you mean 'b'",
    ),
    "no such stratum": (
        {"strata": "regio"}, mg.InvalidParameterError, "strata names 'regio'.*Did you mean 'region'"
    ),
    "no such order": ({"order_by": "ID"}, mg.InvalidParameterError, "order_by names 'ID'"),
    "text": (
        {"columns": ["a", "region"], "taxonomy": {"a": mg.Taxonomy({"1": "*"})}},
        mg.NotNumericError, "Column 'a' is of type Int64; taxonomy takes text",
    ),
    "masked and stratum": ({"strata": "a"}, mg.InvalidParameterError, "'a' is masked and is in"),
    "a selector of nothing": (
        {"columns": cs.binary()}, mg.InvalidParameterError, "No column was given"
    ),
    "a name also selected": (
        {"columns": ["a", cs.float() | cs.by_name("a")]},
        mg.InvalidParameterError, "columns lists 'a' more than once",
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_COLUMNS)
def test_a_wrong_column_raises_with_the_schema_and_calls_nothing(
    wrong: str, tmp_path: Path, seen: list[int]
) -> None:
    changed, error, message = WRONG_COLUMNS[wrong]
    arguments = {"columns": ["a", "b"], "k": 3} | changed
    lazy = pl.scan_parquet(write(coarse(), tmp_path / "t.parquet"))
    typed = mg.mdav(lazy, **arguments)
    with pytest.raises(error, match=message):
        typed.collect_schema()
    with pytest.raises(error, match=message):
        typed.filter(pl.col("id") > 3).collect_schema()
    with pytest.raises(error, match=message):
        mg.mdav(coarse(), **arguments)
    assert seen == []


REFUSED: dict[str, pl.DataType | type[pl.DataType]] = {
    "bytes": pl.Binary, "list": pl.List(pl.Int64), "array": pl.Array(pl.Int64, 2),
    "struct": pl.Struct({"x": pl.Int64}), "nothing": pl.Null, "object": pl.Object,
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_a_type_without_centroid_is_refused_with_the_schema(kind: str) -> None:
    lazy = pl.LazyFrame(schema={"a": pl.Int64, "v": REFUSED[kind]})
    with pytest.raises(mg.NotNumericError, match=r"Column 'v' is of type .* has no centroid"):
        mg.mdav(lazy, ["a", "v"], 3).collect_schema()


WRONG_DATA: dict[str, tuple[pl.DataFrame, type[Exception], str]] = {
    "nulls": (
        pl.DataFrame({"a": [1, None, 3, 4]}), mg.MissingValuesError, "Column 'a' has 1 null value"
    ),
    "not a number": (
        pl.DataFrame({"a": [1.0, float("nan"), float("inf"), 4.0]}),
        mg.MissingValuesError, "Column 'a' has 2 NaN or infinite",
    ),
    "too few": (pl.DataFrame({"a": [1, 2]}), mg.TooFewRecordsError, "k=3 needs at least 3.*got 2"),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wrong", WRONG_DATA)
def test_data_that_cannot_be_masked_raises_our_error_when_collected(
    wrong: str, engine: str
) -> None:
    frame, error, message = WRONG_DATA[wrong]
    with pytest.raises(error, match=message):
        mg.mdav(frame, "a", 3)
    typed = mg.mdav(frame.lazy(), "a", 3)
    typed.collect_schema()
    with pytest.raises(error, match=message):
        typed.collect(engine=engine)


def test_an_empty_table_comes_back_as_it_is() -> None:
    empty = coarse().clear()
    assert mg.mdav(empty, ["a", "b"], 3, strata="region").equals(empty)
    for engine in ENGINES:
        assert mg.mdav(empty.lazy(), ["a", "b"], 3).collect(engine=engine).equals(empty)
        numbered = mg.groups(empty.lazy(), ["a", "b"], 3).collect(engine=engine)
        assert numbered.schema["microagg_group"] == pl.UInt32


# The kernel runs once.


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("strata", [None, "region"])
@pytest.mark.parametrize("p", range(1, 11))
def test_the_kernel_runs_once_for_any_number_of_columns(
    p: int, strata: str | None, engine: str, seen: list[int]
) -> None:
    random = np.random.default_rng(p)
    columns = {f"x{i}": random.normal(size=60) for i in range(p)}
    frame = coarse(60).with_columns(**columns)
    got = mg.mdav(frame.lazy(), list(columns), 3, strata=strata).collect(engine=engine)
    assert seen == [60]
    same(got, mg.mdav(frame, list(columns), 3, strata=strata))


@pytest.mark.parametrize("engine", ENGINES)
def test_blocks_are_masked_in_one_call(engine: str, seen: list[int]) -> None:
    frame = coarse()
    got = mg.mdav(frame.lazy(), [["a"], ["b"]], 3).collect(engine=engine)
    assert seen == [90]
    same(got, mg.mdav(frame, [["a"], ["b"]], 3))


@pytest.mark.parametrize("engine", ENGINES)
def test_one_plan_used_many_times_gives_the_same_each_time(engine: str) -> None:
    masked = mg.mdav(coarse().lazy(), ["a", "b"], 3, strata="region")
    expected = mg.mdav(coarse(), ["a", "b"], 3, strata="region")
    same(masked.collect(engine=engine), expected)
    same(masked.collect(engine=engine), expected)
    same(pl.concat([masked, masked]).collect(engine=engine), pl.concat([expected, expected]))
    for got in pl.collect_all([masked, masked.select(pl.all())], engine=engine):
        same(got, expected)
    doubled = masked.join(masked, on="id", suffix="_again").sort("id").collect(engine=engine)
    assert doubled["a"].equals(doubled["a_again"])
    assert doubled["b"].equals(doubled["b_again"])


@pytest.mark.parametrize("engine", ENGINES)
def test_masking_twice_masks_the_masked(engine: str, seen: list[int]) -> None:
    once = mg.mdav(coarse(), ["a", "b"], 3)
    twice = coarse().lazy().pipe(mg.mdav, ["a", "b"], 3).pipe(mg.mdav, ["a", "b"], 7)
    seen.clear()
    same(twice.collect(engine=engine), mg.mdav(once, ["a", "b"], 7))
    assert seen == [90, 90, 90]


@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson", "ipc"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_sink_writes_what_collect_gives(kind: str, engine: str, tmp_path: Path) -> None:
    source = pl.scan_parquet(write(coarse(), tmp_path / "t.parquet"))
    masked = mg.mdav(source, ["a", "b"], 3, strata="region")
    path = tmp_path / f"masked.{kind}"
    getattr(masked, f"sink_{kind}")(path, engine=engine)
    same(getattr(pl, f"read_{kind}")(path), masked.collect())


def test_batches_put_together_are_what_collect_gives() -> None:
    masked = mg.mdav(coarse().lazy(), ["a", "b"], 3)
    same(pl.concat(masked.collect_batches(chunk_size=7)), masked.collect())


def test_a_plan_gives_the_same_without_any_optimisation() -> None:
    masked = mg.mdav(coarse().lazy(), ["a", "b"], 3, strata="region").filter(pl.col("id") < 20)
    same(masked.collect(optimizations=pl.QueryOptFlags.none()), masked.collect())
