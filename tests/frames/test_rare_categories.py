"""Columns of which most would be lost, as fewer than k have most of their categories."""

import duckdb
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.frames.columns import kind_for
from polars_microagg.frames.rare_categories import refuse_rare
from polars_microagg.publishing import memory

VISITS = pl.DataFrame({"person": [i // 3 for i in range(120)]}).with_columns(
    age=pl.col("person") + 20, income=(pl.col("person") * 100 + 0.5).cast(pl.String)
)
"""Forty persons with three visits each, whose incomes are texts that nobody shares."""

LOST = "'income' has 120 of 120 values in categories that fewer than 5 records have"


def doors(tmp_path):
    """Return calls of every door that mask the visits."""
    file = tmp_path / "in.parquet"
    VISITS.write_parquet(file)
    columns, out = ["age", "income"], tmp_path / "out.parquet"
    lazy, plan = VISITS.lazy(), mg.mdav
    sample = mg.fit_leaves(VISITS.head(9), columns, 5, records=120)
    return {
        "frame": lambda: plan(VISITS, columns, k=5),
        "lazy": lambda: plan(lazy, columns, k=5).collect(engine="in-memory"),
        "groups": lambda: mg.groups(VISITS, columns, k=5),
        "leaves": lambda: mg.fit_leaves(VISITS, columns, 5),
        "leaves of a sample": lambda: sample.mask(VISITS),
        "file": lambda: mg.protect_parquet(file, out, columns, 5, size=20),
        "file by leaves": lambda: mg.protect_parquet(file, out, columns, 5, leaves=sample),
        "publish": lambda: mg.publish(file, out, columns, 5, drop="person"),
    }


LEAVES = ["leaves", "leaves of a sample", "file", "file by leaves"]


@pytest.mark.parametrize("door", ["frame", "groups", "publish", *LEAVES])
def test_values_that_few_records_have_are_refused(tmp_path, door):
    with pytest.raises(mg.InvalidDataError, match=LOST) as error:
        doors(tmp_path)[door]()
    assert "cast them: cast(pl.Float64), in SQL CAST(... AS DOUBLE)" in str(error.value)
    assert not (tmp_path / "out.parquet").exists()


def test_a_release_larger_than_memory_refuses_them_in_the_same_words(tmp_path, monkeypatch):
    with pytest.raises(mg.InvalidDataError, match=LOST) as whole:
        doors(tmp_path)["publish"]()
    monkeypatch.setattr(memory, "BASE", 10**15)
    with pytest.raises(mg.InvalidDataError) as error:
        doors(tmp_path)["publish"]()
    assert str(error.value) == str(whole.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_lazy_frames_and_sql_refuse_them(tmp_path):
    with pytest.raises(Exception, match=LOST):
        doors(tmp_path)["lazy"]()
    connection = mgd.register(duckdb.connect())
    connection.register("visits", VISITS.to_arrow())
    with pytest.raises(duckdb.Error, match=LOST):
        connection.sql("FROM microagg.mask('visits', ['age', 'income'], 5)").fetchall()


@pytest.mark.parametrize("mode", ["rows", "mean", "alike"])
def test_entities_are_counted_and_not_their_rows(mode):
    own = pl.DataFrame({"x": range(120), "who": [i // 3 for i in range(120)]})
    own = own.with_columns(job=pl.format("job {}", pl.col("who")))
    assert mg.mdav(own, ["x", "job"], k=3)["job"].null_count() == 0
    with pytest.raises(mg.InvalidDataError, match="120 of 120 .* fewer than 3 entities"):
        mg.mdav(own, ["x", "job"], k=3, entity="who", entity_mode=mode)


def refused(values, k, entity=None, **asked):
    column = pl.Series("job", values)
    try:
        refuse_rare(column, "job", kind_for("job", column.dtype, asked), k, entity)
    except mg.InvalidDataError as error:
        return str(error)
    return ""


def test_the_bound_is_more_than_half_of_twenty_values_or_more():
    rare = [f"r{i // 2}" for i in range(10)]
    assert not refused(["a"] * 10 + rare, 3)
    assert "11 of 20 values" in refused(["a"] * 9 + [*rare, "z"], 3)
    assert not refused(["a"] * 8 + [*rare, "z", None, None], 3)
    assert not refused(["a"] * 9 + [*rare, "z"], 2)


def test_casting_is_advised_for_numbers_alone():
    assert "cast" not in refused([f"r{i}" for i in range(30)], 3)
    assert "cast" in refused([f"{i}.5" for i in range(30)], 3)
    assert "cast" not in refused(list(range(30)), 3, nominal=("job",))


def test_an_order_has_a_nearest_category_where_there_is_one():
    pairs = [i // 2 for i in range(40)]
    assert "40 of 40 values" in refused(pairs, 3, ordinal=("job",))
    assert not refused([*pairs, 7], 3, ordinal=("job",))
    assert "28 of 31" in refused([*range(28), 50, 50, 50], 3, ordinal=("job",))
