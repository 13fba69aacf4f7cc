"""A LazyFrame stays lazy, and gives the same bits however the plan is run."""

from __future__ import annotations

import importlib.util
import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import polars_microagg as mg
from polars_microagg import registry
from polars_microagg.frames import door, expressions
from polars_microagg.plan import Plan

ENGINES = ["in-memory", "streaming"]
SCANS = {"parquet": pl.scan_parquet, "csv": pl.scan_csv, "ndjson": pl.scan_ndjson}


def table(n: int = 90, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "region": pl.Series(np.array(["n", "s", "w"])[random.integers(0, 3, n)].tolist()),
            "a": random.integers(0, 12, n),
            "b": random.integers(0, 5, n) / 4,
        }
    )


def write(frame: pl.DataFrame, path: Path) -> Path:
    getattr(frame, f"write_{path.suffix[1:]}")(path)
    return path


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


def same(got: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert_frame_equal(got, expected, check_exact=True)


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
    write(table(), path)
    same(typed.collect(), mg.mdav(table(), ["a", "b"], 3))


@pytest.mark.parametrize("kind", SCANS)
def test_a_file_deleted_after_the_call_is_missed_when_collected(kind: str, tmp_path: Path) -> None:
    path = write(table(), tmp_path / f"gone.{kind}")
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
        {"columns": ["a", "region"]}, mg.NotNumericError, "Column 'region' is of type String"
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
    lazy = pl.scan_parquet(write(table(), tmp_path / "t.parquet"))
    typed = mg.mdav(lazy, **arguments)
    with pytest.raises(error, match=message):
        typed.collect_schema()
    with pytest.raises(error, match=message):
        typed.filter(pl.col("id") > 3).collect_schema()
    with pytest.raises(error, match=message):
        mg.mdav(table(), **arguments)
    assert seen == []


REFUSED: dict[str, pl.DataType | type[pl.DataType]] = {
    "text": pl.String, "truth": pl.Boolean, "bytes": pl.Binary, "category": pl.Categorical,
    "enum": pl.Enum(["x"]), "list": pl.List(pl.Int64), "array": pl.Array(pl.Int64, 2),
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
    empty = table().clear()
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
    frame = table(60).with_columns(**columns)
    got = mg.mdav(frame.lazy(), list(columns), 3, strata=strata).collect(engine=engine)
    assert seen == [60]
    same(got, mg.mdav(frame, list(columns), 3, strata=strata))


@pytest.mark.parametrize("engine", ENGINES)
def test_blocks_are_masked_in_one_call(engine: str, seen: list[int]) -> None:
    frame = table()
    got = mg.mdav(frame.lazy(), [["a"], ["b"]], 3).collect(engine=engine)
    assert seen == [90]
    same(got, mg.mdav(frame, [["a"], ["b"]], 3))


@pytest.mark.parametrize("engine", ENGINES)
def test_one_plan_used_many_times_gives_the_same_each_time(engine: str) -> None:
    masked = mg.mdav(table().lazy(), ["a", "b"], 3, strata="region")
    expected = mg.mdav(table(), ["a", "b"], 3, strata="region")
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
    once = mg.mdav(table(), ["a", "b"], 3)
    twice = table().lazy().pipe(mg.mdav, ["a", "b"], 3).pipe(mg.mdav, ["a", "b"], 7)
    seen.clear()
    same(twice.collect(engine=engine), mg.mdav(once, ["a", "b"], 7))
    assert seen == [90, 90, 90]


@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson", "ipc"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_sink_writes_what_collect_gives(kind: str, engine: str, tmp_path: Path) -> None:
    source = pl.scan_parquet(write(table(), tmp_path / "t.parquet"))
    masked = mg.mdav(source, ["a", "b"], 3, strata="region")
    path = tmp_path / f"masked.{kind}"
    getattr(masked, f"sink_{kind}")(path, engine=engine)
    same(getattr(pl, f"read_{kind}")(path), masked.collect())


def test_batches_put_together_are_what_collect_gives() -> None:
    masked = mg.mdav(table().lazy(), ["a", "b"], 3)
    same(pl.concat(masked.collect_batches(chunk_size=7)), masked.collect())


def test_a_plan_gives_the_same_without_any_optimisation() -> None:
    masked = mg.mdav(table().lazy(), ["a", "b"], 3, strata="region").filter(pl.col("id") < 20)
    same(masked.collect(optimizations=pl.QueryOptFlags.none()), masked.collect())


# How the rows arrive must not matter.

LONG = table(2500, seed=2)
OPTIONS = {"k": 20, "strata": "region", "order_by": "id"}


@pytest.fixture(scope="module")
def long_masked() -> pl.DataFrame:
    return mg.mdav(LONG, ["a", "b"], **OPTIONS)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rows", [1, 7, 2048])
def test_chunks_of_the_source_do_not_matter(
    rows: int, engine: str, long_masked: pl.DataFrame
) -> None:
    pieces = [LONG.slice(i, rows) for i in range(0, LONG.height, rows)]
    chunked = pl.concat(pieces, rechunk=False)
    assert chunked.n_chunks() == len(pieces)
    same(mg.mdav(chunked, ["a", "b"], **OPTIONS), long_masked)
    same(mg.mdav(chunked.lazy(), ["a", "b"], **OPTIONS).collect(engine=engine), long_masked)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rows", [50, 333, 2500])
def test_row_groups_of_the_file_do_not_matter(
    rows: int, engine: str, tmp_path: Path, long_masked: pl.DataFrame
) -> None:
    path = tmp_path / "t.parquet"
    LONG.write_parquet(path, row_group_size=rows)
    masked = mg.mdav(pl.scan_parquet(path), ["a", "b"], **OPTIONS)
    same(masked.collect(engine=engine), long_masked)


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_morsels_of_the_streaming_engine_do_not_matter(
    rows: int, long_masked: pl.DataFrame
) -> None:
    with pl.Config(streaming_chunk_size=rows):
        got = mg.mdav(LONG.lazy(), ["a", "b"], **OPTIONS).collect(engine="streaming")
    same(got, long_masked)


def test_order_by_gives_the_same_after_a_streaming_join_in_every_run(
    long_masked: pl.DataFrame,
) -> None:
    left = LONG.select("id", "region", "a").lazy()
    right = LONG.select("id", "b").sample(fraction=1.0, shuffle=True, seed=3).lazy()
    masked = mg.mdav(left.join(right, on="id"), ["a", "b"], **OPTIONS)
    for _ in range(5):
        same(masked.collect(engine="streaming").sort("id"), long_masked)


SHUFFLES = {
    "backwards": LONG.reverse(),
    "by value": LONG.sort("b", "a", maintain_order=True),
    "at random": LONG.sample(fraction=1.0, shuffle=True, seed=4),
    "at random again": LONG.sample(fraction=1.0, shuffle=True, seed=5),
}


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_order_by_makes_the_order_of_rows_indifferent_and_leaves_it(
    shuffle: str, long_masked: pl.DataFrame
) -> None:
    shuffled = SHUFFLES[shuffle]
    got = mg.mdav(shuffled, ["a", "b"], **OPTIONS)
    assert got["id"].equals(shuffled["id"])
    same(got.sort("id"), long_masked)
    same(mg.mdav(shuffled.lazy(), ["a", "b"], **OPTIONS).collect(), got)


def test_without_order_by_ties_follow_the_rows() -> None:
    # Else the tests above would show nothing.
    plain = {"k": 20, "strata": "region"}
    shuffled = LONG.sample(fraction=1.0, shuffle=True, seed=0)
    got = mg.mdav(shuffled, ["a", "b"], **plain).sort("id")
    assert not got.equals(mg.mdav(LONG, ["a", "b"], **plain))


def test_order_by_several_columns_puts_nulls_last_and_breaks_ties_by_row() -> None:
    frame = table(60).with_columns(
        first=pl.when(pl.col("id") % 5 > 0).then(pl.col("id") % 3), second=pl.col("id") % 7
    )
    keys = ["first", "second"]
    by_hand = frame.sort(keys, nulls_last=True, maintain_order=True)
    expected = mg.mdav(by_hand, ["a", "b"], 4).sort("id")
    same(mg.mdav(frame, ["a", "b"], 4, order_by=keys), expected)
    numbered = mg.groups(by_hand, ["a", "b"], 4).sort("id")["microagg_group"]
    got = mg.groups(frame, ["a", "b"], 4, order_by=keys)["microagg_group"]
    # The same groups; each door numbers them by the first record of its own table.
    pairs = pl.DataFrame({"got": got, "expected": numbered}).unique()
    assert pairs.height == got.n_unique() == numbered.n_unique()
    assert got.unique(maintain_order=True).equals(got.unique().sort())


# Plans travel.


BATCH = table().select("a", "b", "region", "id")


@pytest.mark.parametrize("method", registry.methods())
def test_the_function_of_a_node_that_masks_survives_pickle(method: str) -> None:
    options = {"strata": "region", "order_by": "id"}
    function = door.Masking(door.Request.of(method, ["a", "b"], 3, options).kernel(BATCH.schema))
    again = pickle.loads(pickle.dumps(function))
    assert again == function
    assert again(BATCH.to_struct("batch")).equals(function(BATCH.to_struct("batch")))


BOTH = pl.struct("a", "b")
PLANS: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "mask": lambda t: mg.mdav(t, ["a", "b"], 3, strata="region", order_by="id"),
    "groups": lambda t: mg.groups(t, ["a", "b"], 3, strata="region", order_by="id"),
    "mask a struct": lambda t: t.select("id", BOTH.microagg.mdav(3)),
    "groups of a struct": lambda t: t.select("id", BOTH.microagg.groups(3)),
    "mask a column": lambda t: t.select("id", pl.col("a").microagg.univariate(3)),
    "groups of a column": lambda t: t.select(pl.col("a").microagg.groups(3, method="univariate")),
}


@pytest.mark.parametrize("plan", PLANS)
def test_every_function_that_a_plan_carries_survives_pickle(
    plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, carried = door.node, []

    def pickled(inputs: pl.Expr, function: Any, dtype: pl.DataType) -> pl.Expr:
        again = pickle.loads(pickle.dumps(function))
        assert again == function
        carried.append(again)
        return node(inputs, again, dtype)

    expected = PLANS[plan](table().lazy()).collect()
    for module in (door, expressions):
        monkeypatch.setattr(module, "node", pickled)
    same(PLANS[plan](table().lazy()).collect(), expected)
    assert carried


@pytest.mark.skipif(
    importlib.util.find_spec("cloudpickle") is None,
    reason="polars serialises Python functions with cloudpickle, which is not installed",
)
def test_a_serialised_plan_gives_the_same() -> None:
    masked = mg.mdav(table().lazy(), ["a", "b"], 3, strata="region")
    again = pl.LazyFrame.deserialize(io.BytesIO(masked.serialize()))
    same(again.collect(), masked.collect())


ALONE = """
import sys
import polars as pl
import polars_microagg as mg
assert pl.thread_pool_size() == int(sys.argv[3])
source = pl.scan_parquet(sys.argv[1])
masked = mg.mdav(source, ["a", "b"], 20, strata="region", order_by="id")
masked.collect(engine="streaming").write_ipc(sys.argv[2] + "/streaming.arrow")
masked.collect(engine="in-memory").write_ipc(sys.argv[2] + "/in-memory.arrow")
mg.mdav(source.collect(), ["a", "b"], 20, strata="region").write_ipc(sys.argv[2] + "/eager.arrow")
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_threads_gives_the_same_and_none_waits_for_another(
    threads: int, tmp_path: Path, long_masked: pl.DataFrame
) -> None:
    source = tmp_path / "t.parquet"
    LONG.write_parquet(source, row_group_size=200)
    subprocess.run(
        [sys.executable, "-c", ALONE, str(source), str(tmp_path), str(threads)],
        env=os.environ | {"POLARS_MAX_THREADS": str(threads)},
        check=True,
        timeout=60,
    )
    for name in ("streaming", "in-memory", "eager"):
        same(pl.read_ipc(tmp_path / f"{name}.arrow"), long_masked)
