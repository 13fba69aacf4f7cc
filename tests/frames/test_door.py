"""The frame door: which columns are meant, and what must come back as it was."""

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
import polars.selectors as cs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_microagg as mg
from polars_microagg import registry
from polars_microagg.frames import batch
from polars_microagg.partition import Masked

METHODS = registry.methods()
COLUMNWISE = [name for name, method in METHODS.items() if method.columnwise]
GROUPING = [name for name, m in METHODS.items() if m.unit == "record" and not m.columnwise]
ENGINES = ["in-memory", "streaming"]


def table(n: int = 60, seed: int = 5) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    regions = np.array(["n", "s", None], dtype=object)[random.permutation(n) % 3]
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "region": pl.Series(regions.tolist(), dtype=pl.String),
            "a": random.integers(0, 40, n),
            "b": random.normal(size=n).round(2),
            "c": random.exponential(size=n).round(1),
        }
    )


TABLE = table()


def same(got: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert_frame_equal(got, expected, check_exact=True)


def everywhere(frame: pl.DataFrame, columns: Any, k: int, method: str, **options: Any) -> Any:
    """Mask at every frame door; all of them must agree."""
    expected = getattr(mg, method)(frame, columns, k, **options)
    assert type(expected) is pl.DataFrame
    same(mg.mask(frame, columns, k, method=method, **options), expected)
    same(frame.pipe(getattr(mg, method), columns, k=k, **options), expected)
    same(getattr(frame.microagg, method)(columns, k, **options), expected)
    same(frame.microagg.mask(columns, k=k, method=method, **options), expected)
    for lazy in (
        mg.mask(frame.lazy(), columns, k, method=method, **options),
        getattr(frame.lazy().microagg, method)(columns, k, **options),
    ):
        assert type(lazy) is pl.LazyFrame
        assert lazy.collect_schema() == expected.schema
        for engine in ENGINES:
            same(lazy.collect(engine=engine), expected)
    return expected


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strata": {"strata": "region"},
    "order": {"order_by": ["c", "id"]},
    "strata and order": {"strata": ["region"], "order_by": ["c", "id"]},
    "float": {"dtype": "float"},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_every_frame_door_gives_the_same(method: str, options: str) -> None:
    masked = everywhere(TABLE, ["a", "b"], 3, method, **OPTIONS[options])
    assert not masked.equals(TABLE)
    # What is promised: k records, k values of a column, or k values of the whole table.
    promised = [["a", "b"]] if method in GROUPING else [["a"], ["b"]] * (method in COLUMNWISE)
    for columns in promised:
        mg.verify(masked, columns, 3, strata=OPTIONS[options].get("strata"))


# Which columns are meant.

SPECIFICATIONS: dict[str, tuple[Any, list[str]]] = {
    "a name": ("a", ["a"]),
    "a list of one": (["b"], ["b"]),
    "a list": (["a", "b"], ["a", "b"]),
    "a tuple": (("a", "b"), ["a", "b"]),
    "another order": (["c", "a"], ["c", "a"]),
    "a selector": (cs.float(), ["b", "c"]),
    "a selector minus another": (cs.numeric() - cs.by_name("id"), ["a", "b", "c"]),
    "a selector of several names": (cs.by_name("a", "b"), ["a", "b"]),
    "a selector of a name that may be absent": (
        cs.by_name("a", "absent", require_all=False),
        ["a"],
    ),
    "columns": (pl.col("a", "c"), ["a", "c"]),
    "columns by pattern": (pl.col("^[ab]$"), ["a", "b"]),
    "columns by type": (pl.col(pl.Float64), ["b", "c"]),
    "all but some": (pl.all().exclude("id", "region"), ["a", "b", "c"]),
    "by position": (pl.nth(2, 3), ["a", "b"]),
    "a list of selectors": ([cs.by_name("a"), cs.float()], ["a", "b", "c"]),
    "names and selectors": (["a", cs.float()], ["a", "b", "c"]),
}


@pytest.mark.parametrize("what", SPECIFICATIONS)
def test_a_specification_means_the_columns_it_selects(what: str) -> None:
    columns, names = SPECIFICATIONS[what]
    masked = everywhere(TABLE, columns, 3, "mdav")
    same(masked, mg.mdav(TABLE, names, 3))
    changed = [name for name in TABLE.columns if not masked[name].equals(TABLE[name])]
    assert sorted(changed) == sorted(names)
    numbered = mg.groups(TABLE, columns, 3)
    same(numbered, mg.groups(TABLE, names, 3))
    same(mg.groups(TABLE.lazy(), columns, 3).collect(), numbered)


BLOCKS: dict[str, tuple[Any, list[list[str]]]] = {
    "one": ([["a", "b"]], [["a", "b"]]),
    "two": ([["a", "b"], ["c"]], [["a", "b"], ["c"]]),
    "tuples": ((("c", "a"), ("b",)), [["c", "a"], ["b"]]),
    "each alone": ([["a"], ["b"], ["c"]], [["a"], ["b"], ["c"]]),
    "selectors": ([[cs.float()], ["a"]], [["b", "c"], ["a"]]),
    "names and selectors": ([["a", cs.by_name("c")], ["b"]], [["a", "c"], ["b"]]),
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("what", BLOCKS)
def test_each_block_is_masked_as_if_alone(what: str, options: str) -> None:
    columns, blocks = BLOCKS[what]
    if options in ("order", "strata and order"):
        # "c" gives the order here, so it must not be masked before the others.
        expected = TABLE.with_columns(
            [
                mg.mdav(TABLE, block, 3, **OPTIONS[options])[name]
                for block in blocks
                for name in block
            ]
        )
    else:
        expected = TABLE
        for block in blocks:
            expected = mg.mdav(expected, block, 3, **OPTIONS[options])
    same(everywhere(TABLE, columns, 3, "mdav", **OPTIONS[options]), expected)
    mg.verify(expected, blocks, 3, strata=OPTIONS[options].get("strata"))


@pytest.mark.parametrize("method", COLUMNWISE)
def test_a_columnwise_method_masks_each_column_as_if_alone(method: str) -> None:
    expected = mg.mask(mg.mask(TABLE, "a", 3, method=method), "b", 3, method=method)
    same(everywhere(TABLE, ["a", "b"], 3, method), expected)


def test_columns_have_one_order_of_their_own() -> None:
    frame = TABLE.select("c", "region", "a", "id", "b")
    masked = mg.mdav(frame, ["b", "a"], 3)
    assert masked.columns == frame.columns
    assert mg.mdav(frame.lazy(), ["b", "a"], 3).collect().columns == frame.columns


TYPED: dict[str, tuple[Any, str]] = {
    "nothing": ([], "No column was given to mask"),
    "an empty tuple": ((), "No column was given to mask"),
    "an empty block": ([["a"], []], "No column was given to mask"),
    "only an empty block": ([[]], "No column was given to mask"),
    "None": (None, "columns='NoneType' was given; it must be a column name"),
    "a set": ({"a"}, "columns='set' was given"),
    "an array": (np.array(["a"]), "columns='ndarray' was given"),
    "bytes": (b"a", "columns='bytes' was given"),
    "a number in a list": (["a", 1], "columns='int' was given"),
    "None in a list": (["a", None], "columns='NoneType' was given"),
    "names and lists": (["a", ["b"]], "columns='list' was given"),
    "lists in blocks": ([[["a"]]], "columns='list' was given"),
    "a name twice": (["a", "b", "a"], "columns lists 'a' more than once"),
    "a name in two blocks": ([["a", "b"], ["b"]], "columns lists 'b' more than once"),
    "a computed column": (pl.col("a") + 1, r'columns=.*col\("a"\).* was given'),
    "a renamed column": (pl.col("a").alias("b"), r'columns=.*alias\("b"\).* was given'),
    "a struct": (pl.struct("a", "b"), r"columns='as_struct\(.* was given"),
    "an aggregate in a list": (["b", pl.col("a").sum()], r"columns=.*sum\(\).* was given"),
    "a literal": (pl.lit(1), "columns='dyn int: 1' was given"),
}


@pytest.mark.parametrize("wrong", TYPED)
def test_a_wrong_specification_raises_when_the_call_is_typed(wrong: str) -> None:
    columns, message = TYPED[wrong]
    for frame in (TABLE, TABLE.lazy()):
        with pytest.raises(mg.InvalidParameterError, match=message):
            mg.mdav(frame, columns, 3)
        with pytest.raises(mg.InvalidParameterError, match=message):
            frame.microagg.groups(columns, 3)


Names = dict[str, tuple[dict[str, Any], type[Exception], str]]
LOOKED_UP: Names = {
    "no such name": (
        {"columns": ["a", "A"]},
        mg.InvalidParameterError,
        r"columns names 'A', which is not a column of the table\. Did you mean 'a'",
    ),
    "no such selected name": (
        {"columns": cs.by_name("a", "absent")},
        mg.InvalidParameterError,
        "columns names .*absent.*, which is not a column of the table",
    ),
    "no such column": (
        {"columns": [pl.col("absent")]},
        mg.InvalidParameterError,
        "columns names .*absent.*, which is not a column of the table",
    ),
    "no such position": (
        {"columns": pl.nth(9)},
        mg.InvalidParameterError,
        "columns names .*9.*, which is not a column of the table",
    ),
    "nothing selected": (
        {"columns": cs.temporal()},
        mg.InvalidParameterError,
        "No column was given to mask",
    ),
    "nothing selected for a block": (
        {"columns": [["a"], [cs.temporal()]]},
        mg.InvalidParameterError,
        "No column was given to mask",
    ),
    "named and selected": (
        {"columns": ["b", cs.float()]},
        mg.InvalidParameterError,
        "columns lists 'b' more than once",
    ),
    "selected for two blocks": (
        {"columns": [[cs.float()], [cs.numeric() - cs.by_name("id")]]},
        mg.InvalidParameterError,
        "columns lists 'b', 'c' more than once",
    ),
    "masked and a stratum": (
        {"strata": ["region", "b"]},
        mg.InvalidParameterError,
        "'b' is masked and is in strata as well",
    ),
    "selected and a stratum": (
        {"columns": cs.numeric(), "strata": "c"},
        mg.InvalidParameterError,
        "'c' is masked and is in strata as well",
    ),
    "no such stratum": (
        {"strata": ["regions"]},
        mg.InvalidParameterError,
        "strata names 'regions'.*Did you mean 'region'",
    ),
    "no such order": ({"order_by": "ids"}, mg.InvalidParameterError, "order_by names 'ids'"),
    "text": (
        {"columns": pl.all().exclude("id")},
        mg.NotNumericError,
        "Column 'region' is of type String",
    ),
}


@pytest.mark.parametrize("wrong", LOOKED_UP)
def test_wrong_columns_raise_with_the_schema(wrong: str) -> None:
    changed, error, message = LOOKED_UP[wrong]
    arguments = {"columns": ["a", "b"], "k": 3} | changed
    for function in (mg.mdav, mg.groups):
        with pytest.raises(error, match=message):
            function(TABLE, **arguments)
        typed = function(TABLE.lazy(), **arguments)
        with pytest.raises(error, match=message):
            typed.collect_schema()
        with pytest.raises(error, match=message):
            typed.collect()


def test_order_by_may_name_masked_columns_and_strata() -> None:
    masked = everywhere(TABLE, ["a", "b"], 3, "mdav", strata="region", order_by=["a", "region"])
    by_hand = TABLE.sort("a", "region", nulls_last=True, maintain_order=True)
    same(masked, mg.mdav(by_hand, ["a", "b"], 3, strata="region").sort("id"))


def test_no_strata_and_no_order_may_be_written_as_an_empty_list() -> None:
    same(mg.mdav(TABLE, "a", 3, strata=[], order_by=()), mg.mdav(TABLE, "a", 3))


# Names that mean something to polars, or to us.

HOSTILE = [
    *(
        "*",
        "^a$",
        "^.*$",
        "^",
        "",
        " ",
        "'",
        '"',
        "`",
        "a.b",
        "a,b",
        "a\nb",
        "é",
        "表",
        "🙂",
        "col",
    ),
    *("__microagg__", "__microagg___", "microagg_group", "0", "1", "2", "s0", "row", "value"),
    *("stratum", "size", "empty", "literal", "len", "index", "struct", "A" * 200),
]


def renamed(name: str, column: str, frame: pl.DataFrame = TABLE) -> pl.DataFrame:
    return pl.DataFrame({name if old == column else old: frame[old] for old in frame.columns})


@pytest.mark.parametrize("role", ["masked", "stratum", "order", "untouched"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_column_may_have_any_name(name: str, role: str) -> None:
    column, options = {
        "masked": ("a", {"strata": "region", "order_by": "c"}),
        "stratum": ("region", {"strata": "region", "order_by": "c"}),
        "order": ("c", {"strata": "region", "order_by": "c"}),
        "untouched": ("id", {"strata": "region", "order_by": "c"}),
    }[role]
    expected = renamed(name, column, mg.mdav(TABLE, ["a", "b"], 3, **options))
    frame = renamed(name, column)
    named = {what: name if value == column else value for what, value in options.items()}
    columns = [name if column == "a" else "a", "b"]
    same(everywhere(frame, columns, 3, "mdav", **named), expected)
    mg.verify(expected, columns, 3, strata=named["strata"])
    numbered = mg.groups(TABLE, ["a", "b"], 3, name="number", **options)
    for kind in (frame, frame.lazy()):
        got = mg.groups(kind, columns, 3, name="number", **named).lazy().collect()
        same(got, renamed(name, column, numbered))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_column_of_any_name_can_be_selected_measured_and_checked(name: str) -> None:
    plain = mg.mdav(TABLE, ["a", "b"], 3)
    for column, selector in (("a", cs.integer() - cs.by_name("id")), ("b", cs.float() - cs.last())):
        names = [name if old == column else old for old in ("a", "b")]
        frame, masked = renamed(name, column), renamed(name, column, plain)
        columns = [selector, "b"] if column == "a" else ["a", selector]
        same(mg.mdav(frame, columns, 3), masked)
        assert mg.anonymity(masked, names).equals(mg.anonymity(plain, ["a", "b"]))
        assert mg.assess(frame, masked, names).equals(mg.assess(TABLE, plain, ["a", "b"]))
        by_key = mg.assess(frame, masked.reverse(), names, key="id")
        assert by_key.equals(mg.assess(TABLE, plain, ["a", "b"]))
        with pytest.raises(mg.NotAnonymousError, match="not 3-anonymous"):
            mg.verify(frame, names, 3)


@pytest.mark.parametrize("name", HOSTILE)
def test_the_column_of_groups_may_have_any_name(name: str) -> None:
    numbers = mg.groups(TABLE, ["a", "b"], 3)["microagg_group"]
    for frame in (TABLE, TABLE.lazy()):
        got = mg.groups(frame, ["a", "b"], 3, name=name).lazy().collect()
        assert got.columns == [*TABLE.columns, name]
        assert got.get_column(name).equals(numbers)


def test_an_option_that_names_a_column_follows_it_into_its_block() -> None:
    for name in HOSTILE:
        same(
            mg.fixed_size(renamed(name, "a"), ["b", name], 3, sort=name),
            renamed(name, "a", mg.fixed_size(TABLE, ["b", "a"], 3, sort="a")),
        )
    with pytest.raises(mg.InvalidParameterError, match=r"sort='c' is not known.*'a', 'b'"):
        mg.fixed_size(TABLE, ["a", "b"], 3, sort="c")
    with pytest.raises(mg.InvalidParameterError, match=r"sort='a' is not known.*'b'"):
        mg.fixed_size(TABLE, [["a"], ["b"]], 3, sort="a")


# What is not masked comes back as it was.

OTHERS = pl.DataFrame(
    {
        "text": pl.Series([None, "", "x"] * 20),
        "truth": pl.Series([True, None, False] * 20),
        "bytes": pl.Series([b"\x00", None, b""] * 20),
        "category": pl.Series(["u", None, "v"] * 20, dtype=pl.Categorical),
        "enum": pl.Series(["u", None, "v"] * 20, dtype=pl.Enum(["v", "u"])),
        "list": pl.Series([[1], None, []] * 20, dtype=pl.List(pl.Int8)),
        "array": pl.Series([[1, 2], None, [3, None]] * 20, dtype=pl.Array(pl.Int16, 2)),
        "struct": pl.Series([{"x": 1}, None, {"x": None}] * 20),
        "nothing": pl.Series([None] * 60, dtype=pl.Null),
        "zeros": pl.Series([0.0, -0.0, None] * 20),
        "wild": pl.Series([float("nan"), float("-inf"), 5e-324] * 20),
        "big": pl.Series([2**63 - 1, None, -(2**63)] * 20),
        "when": pl.Series(
            [datetime(2020, 1, 1), None, datetime(1969, 1, 1)] * 20
        ).dt.replace_time_zone("UTC"),
        "money": pl.Series(["1.10", None, "-0.01"] * 20).cast(pl.Decimal(10, 2)),
    }
)


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
    message = f"frame='{type(frame).__name__}' was given; it must be a polars DataFrame"
    for function in (mg.mdav, mg.groups, mg.mask):
        with pytest.raises(mg.InvalidParameterError, match=message):
            function(frame, "a", 2)


# mask and groups.


def test_mask_is_mdav_unless_told() -> None:
    same(mg.mask(TABLE, ["a", "b"], 3), mg.mdav(TABLE, ["a", "b"], 3))


@pytest.mark.parametrize("method", METHODS)
def test_a_function_of_one_method_takes_no_other(method: str) -> None:
    with pytest.raises(mg.InvalidParameterError, match=f"{method} has no option 'method'"):
        getattr(mg, method)(TABLE, "a", 3, method="mdav")


@pytest.mark.parametrize("what", [*METHODS, "mask", "groups"])
def test_k_must_be_given(what: str) -> None:
    for frame in (TABLE, TABLE.lazy()):
        with pytest.raises(mg.InvalidParameterError, match="needs k, the smallest group size"):
            getattr(mg, what)(frame, "a")
        with pytest.raises(mg.InvalidParameterError, match="needs k, the smallest group size"):
            getattr(frame.microagg, what)("a")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("method", GROUPING)
def test_groups_are_numbered_by_their_first_record_and_are_those_of_the_masking(
    method: str, options: str
) -> None:
    chosen = OPTIONS[options]
    numbered = mg.groups(TABLE, ["a", "b"], 3, method=method, **chosen)
    same(numbered.drop("microagg_group"), TABLE)
    numbers = numbered["microagg_group"]
    assert numbers.dtype == pl.UInt32
    assert numbers.unique(maintain_order=True).to_list() == list(range(numbers.n_unique()))
    assert numbers.unique_counts().min() >= 3
    masked = mg.mask(TABLE, ["a", "b"], 3, method=method, **chosen)
    together = masked.with_columns(numbers).group_by("microagg_group")
    assert together.agg(pl.struct("a", "b").n_unique())["a"].max() == 1
    if "strata" in chosen:
        assert together.agg(pl.col("region").n_unique())["region"].max() == 1
    for engine in ENGINES:
        lazy = mg.groups(TABLE.lazy(), ["a", "b"], 3, method=method, **chosen)
        assert lazy.collect_schema() == numbered.schema
        same(lazy.collect(engine=engine), numbered)
    same(TABLE.microagg.groups(["a", "b"], 3, method=method, **chosen), numbered)


def test_groups_worked_by_hand() -> None:
    frame = pl.DataFrame({"v": [50, 1, 51, 2, 3, 52], "s": ["y", "x", "y", "x", "x", "y"]})
    # 1 is farthest from the mean, 52 from 1; each takes one neighbour and two are left over.
    assert mg.groups(frame, "v", 2)["microagg_group"].to_list() == [0, 1, 2, 1, 0, 2]
    assert mg.groups(frame, "v", 3, strata="s")["microagg_group"].to_list() == [0, 1, 0, 1, 1, 0]
    backwards = mg.groups(frame, "v", 3, strata="s", order_by="v")
    assert backwards["microagg_group"].to_list() == [0, 1, 0, 1, 1, 0]


@pytest.mark.parametrize("name", ["id", "a", "region"])
def test_groups_refuse_a_name_that_is_taken(name: str) -> None:
    message = f"The table already has a column '{name}'"
    with pytest.raises(mg.InvalidParameterError, match=message):
        mg.groups(TABLE, ["a", "b"], 3, name=name)
    typed = mg.groups(TABLE.lazy(), ["a", "b"], 3, name=name)
    with pytest.raises(mg.InvalidParameterError, match=message):
        typed.collect_schema()


@pytest.mark.parametrize("name", [None, 3, b"g", ["g"], pl.col("g")], ids=str)
def test_groups_refuse_a_name_that_is_no_text(name: object) -> None:
    for frame in (TABLE, TABLE.lazy()):
        with pytest.raises(mg.InvalidParameterError, match="it must be a column name"):
            mg.groups(frame, ["a", "b"], 3, name=name)


@pytest.mark.parametrize(
    ("method", "columns"),
    [("mdav", [["a"], ["b"]]), *[(method, ["a", "b"]) for method in COLUMNWISE]],
)
def test_groups_of_several_partitions_are_refused(method: str, columns: Any) -> None:
    with pytest.raises(mg.InvalidParameterError, match="more than one block of columns"):
        mg.groups(TABLE, columns, 3, method=method)
    typed = mg.groups(TABLE.lazy(), columns, 3, method=method)
    with pytest.raises(mg.InvalidParameterError, match="more than one block of columns"):
        typed.collect_schema()


# The promise is counted on what is emitted.


@pytest.mark.parametrize("strata", [None, "region"])
@pytest.mark.parametrize("column", ["a", "b"])
def test_a_value_that_differs_within_its_group_is_never_released(
    column: str, strata: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    emit = batch.emit

    def spoilt(original: pl.Series, masked: Masked, j: int, dtype: pl.DataType) -> pl.Series:
        values = emit(original, masked, j, dtype)
        return values.set(values.is_first_distinct(), 99) if masked.columns[j] == column else values

    monkeypatch.setattr(batch, "emit", spoilt)
    broken = "mdav made a class of . record.* where k=4 was promised. Nothing was released"
    over = pl.struct("a", "b").microagg.mdav(4).over(strata or pl.lit(0))
    for release in (
        lambda: mg.mdav(TABLE, ["a", "b"], 4, strata=strata),
        lambda: mg.mdav(TABLE.lazy(), ["a", "b"], 4, strata=strata).collect(engine="streaming"),
        lambda: mg.mdav(TABLE.lazy(), ["a", "b"], 4, strata=strata).collect(engine="in-memory"),
        lambda: mg.mdav(TABLE, [["a", "b"], ["c"]], 4, strata=strata),
        lambda: TABLE.select(over),
    ):
        with pytest.raises(mg.BrokenPromiseError, match=broken):
            release()


def test_records_alike_in_different_strata_do_not_count_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = pl.DataFrame({"s": ["x"] * 6 + ["y"] * 6, "v": [1, 1, 1, 1, 2, 2] * 2})
    # Four and two alike in each stratum; over both, eight and four.
    monkeypatch.setattr(batch, "emit", lambda original, *rest: original)
    with pytest.raises(mg.BrokenPromiseError, match="a class of 2 record"):
        mg.mdav(frame, "v", 4, strata="s")
    assert mg.mdav(frame, "v", 4).equals(frame)


# Strata that are too small.

TINY = TABLE.with_columns(
    region=pl.when(pl.col("id").is_in([0, 7])).then(pl.lit("tiny")).otherwise("region")
)


@pytest.mark.parametrize("method", METHODS)
def test_a_small_stratum_raises_and_is_counted(method: str) -> None:
    # A method that groups cells counts the values of both columns.
    k = 3 if METHODS[method].unit == "record" or method in COLUMNWISE else 5
    with pytest.raises(mg.TooFewRecordsError, match=f"1 of 4 strata have fewer than k={k} records"):
        mg.mask(TINY, ["a", "b"], k, method=method, strata="region")


@pytest.mark.parametrize("method", [*GROUPING, *COLUMNWISE])
def test_small_strata_null_empties_the_masked_cells_of_these_alone(method: str) -> None:
    options = {"strata": "region", "small_strata": "null"}
    masked = everywhere(TINY, ["a", "b"], 3, method, **options)
    tiny = pl.col("region").eq_missing(pl.lit("tiny"))
    assert masked.filter(tiny).select("a", "b").null_count().row(0) == (2, 2)
    assert masked.filter(~tiny).select("a", "b").null_count().row(0) == (0, 0)
    others = mg.mask(TINY.filter(~tiny), ["a", "b"], 3, method=method, strata="region")
    same(masked.filter(~tiny), others)
    same(masked.drop("a", "b"), TINY.drop("a", "b"))


@pytest.mark.parametrize("method", GROUPING)
def test_small_strata_null_gives_no_group_number(method: str) -> None:
    options = {"strata": "region", "small_strata": "null", "method": method}
    numbered = mg.groups(TINY, ["a", "b"], 3, **options)
    tiny = pl.col("region").eq_missing(pl.lit("tiny"))
    numbers = numbered["microagg_group"]
    assert numbered.filter(tiny)["microagg_group"].to_list() == [None, None]
    assert numbers.null_count() == 2
    present = numbers.drop_nulls().unique(maintain_order=True)
    assert present.to_list() == list(range(len(present)))
    for engine in ENGINES:
        same(mg.groups(TINY.lazy(), ["a", "b"], 3, **options).collect(engine=engine), numbered)


def test_several_strata_are_their_combinations() -> None:
    frame = TABLE.with_columns(even=pl.col("id") % 2)
    masked = everywhere(frame, ["a", "b"], 3, "mdav", strata=["even", "region"])
    parts = frame.partition_by("region", "even", maintain_order=True)
    assert len(parts) == 6
    each = pl.concat([mg.mdav(part, ["a", "b"], 3) for part in parts])
    same(masked, each.sort("id"))
    same(mg.mdav(frame, ["a", "b"], 3, strata=("region", "even")), masked)


def test_strata_may_be_of_any_type_and_null_is_one() -> None:
    kinds = OTHERS.drop("nothing").columns
    for kind in kinds:
        frame = pl.concat([TABLE, OTHERS.select(kind)], how="horizontal")
        masked = everywhere(frame, ["a", "b"], 3, "mdav", strata=kind)
        parts = frame.partition_by(kind, maintain_order=True)
        assert len(parts) == OTHERS[kind].n_unique()
        each = pl.concat([mg.mdav(part, ["a", "b"], 3) for part in parts])
        same(masked, each.sort("id"))


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
    options: dict[str, Any] = {"small_strata": "null", "dtype": dtype}
    masked = everywhere(frame, ["a", "b"], k, "mdav", strata="s", **options)
    over = pl.struct("a", "b").microagg.mdav(k, **options).over("s").alias("m")
    same(frame.select(over).unnest("m"), masked.select("a", "b"))
    mg.verify(masked, ["a", "b"], k, strata="s")
    ordered = everywhere(frame, ["a", "b"], k, "mdav", strata="s", order_by="o", **options)
    mg.verify(ordered, ["a", "b"], k, strata="s")
