"""One file adds one kind of column, at every door that takes columns of its type."""

from datetime import time

import duckdb
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.cli.main import main
from polars_microagg.core import kind as register
from polars_microagg.core.kind import has_means, is_embedded, key_options, kind, kind_of, kinds
from polars_microagg.frames.columns import can_mask, unit
from polars_microagg.kinds._steps import Steps

TYPES = {
    "number": [pl.Int8(), pl.UInt128(), pl.Float16(), pl.Float64()],
    "decimal": [pl.Decimal(9, 2), pl.Decimal(38, 38)],
    "moment": [pl.Date(), pl.Time(), pl.Datetime("ms"), pl.Datetime("ns", "UTC"), pl.Duration()],
    "nominal": [pl.String(), pl.Categorical(), pl.Boolean()],
    "ordinal": [pl.Enum(["low", "high"])],
    "circular": [],
}


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_one_kind(name):
    assert list(kinds()) == sorted(TYPES)
    for dtype in TYPES[name]:
        assert [n for n, one in kinds().items() if one.takes(dtype)] == [name]
        assert kind_of(dtype) is kinds()[name]


@pytest.fixture
def switches():
    """A kind of True and False, counted from 0 to 1, that is gone after the test."""

    @kind()
    class Switch(Steps):
        """Booleans."""

        def takes(self, dtype):
            return dtype == pl.Boolean

        def coordinates(self, column, strata):
            return super().coordinates(column.cast(pl.UInt8), strata)

        def values(self, column, chosen, dtype):
            return super().values(column.cast(pl.UInt8), chosen, pl.UInt8()).cast(dtype)

    yield
    del register._KINDS["switch"]


def test_a_kind_that_is_added_is_masked_and_gone_again(switches):
    table = pl.DataFrame({"a": [True, True, True, False, False, False, True, False]})
    assert can_mask(pl.Boolean())
    assert unit(pl.Boolean()) == 1.0
    # Five and three are groups of at least three, or four and four.
    expected = pl.Series("a", [True] * 3 + [False] * 3 + [True, False])
    assert mg.mdav(table, "a", 4)["a"].equals(expected)
    assert mg.mdav(table.lazy(), "a", 4).collect()["a"].equals(expected)
    assert table.select(pl.struct("a").microagg.mdav(4).struct.field("a"))["a"].equals(expected)
    assert mg.mdav(table, "a", 8)["a"].to_list() == [False] * 8  # a half goes to the even number


def test_without_it_the_type_is_refused():
    with pytest.raises(mg.NotNumericError, match="'a' is of type Binary, which has no centroid"):
        mg.mdav(pl.DataFrame({"a": [b"1", b"0"]}), "a", 2)


def test_categories_of_a_name_are_categories(tmp_path):
    named = pl.Categorical(pl.Categories("jobs of the test"))
    words = pl.Series(["cook"] * 20 + ["nurse"] * 19 + ["astronaut"])
    plain = pl.DataFrame({"age": [code % 7 for code in range(40)], "job": words})
    frame = plain.with_columns(pl.col("job").cast(named))
    tree = {"job": mg.Taxonomy(dict.fromkeys(words.unique(), "any"))}
    for options in ({}, {"nominal": "job"}, {"ordinal": "job"}, {"taxonomy": tree}):
        masked = mg.mdav(frame, ["age", "job"], 3, **options)
        assert masked.schema == frame.schema
        as_text = masked.with_columns(pl.col("job").cast(pl.String))
        assert as_text.equals(mg.mdav(plain, ["age", "job"], 3, **options))
    mg.publish(frame, tmp_path / "jobs.parquet", ["age", "job"], 3)
    assert b"astronaut" not in (tmp_path / "jobs.parquet").read_bytes()
    assert set(pl.read_parquet(tmp_path / "jobs.parquet")["job"]) == {"cook", "nurse"}


def test_some_kinds_have_means_and_some_have_points():
    named = {name: option.make for name, option in key_options().items()}
    assert [name for name in named if is_embedded(named[name])] == [
        "circular",
        "nominal",
        "taxonomy",
    ]
    assert not any(map(has_means, named.values()))
    means = [name for name, of in kinds().items() if has_means(of)]
    assert means == [name for name in kinds() if name not in named]


def test_times_on_a_clock_are_times_in_every_dtype(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hours = [23, 1, 0, 11, 13, 12]
    table = pl.DataFrame({"at": [time(hour) for hour in hours], "x": [1, 2, 4, 5, 6, 8]})
    table.write_parquet("in.parquet")
    named = {"k": 3, "circular": "at", "dtype": "float"}
    with mgd.register(duckdb.connect()) as con:
        con.execute("CREATE TABLE t AS FROM 'in.parquet'")
        call = "microagg.mdav('t', ['at', 'x'], 3, circular := 'at', dtype := 'float')"
        found = {
            "frame": mg.mdav(table, ["at", "x"], **named),
            "lazy": mg.mdav(table.lazy(), ["at", "x"], **named).collect(),
            "SQL": con.sql(f"FROM {call}").pl(),
            "Arrow": mgd.mask(con, "t", ["at", "x"], **named).pl(),
            "leaves": mg.fit_leaves(table, ["at", "x"], **named).protect(table),
        }
    mg.protect_parquet("in.parquet", "leaves.parquet", ["at", "x"], **named)
    found["protect_parquet"] = pl.read_parquet("leaves.parquet")
    for name in ("out.parquet", "out.csv"):
        mg.publish(table, name, ["at", "x"], **named)
        assert main(["verify", name, "--original", "in.parquet"]) == 0
    found["publish"] = pl.read_parquet("out.parquet")
    for door, masked in found.items():
        assert masked.schema == {"at": pl.Time, "x": pl.Float64}, door
        assert masked["at"].to_list() == [time(0)] * 3 + [time(12)] * 3, door
