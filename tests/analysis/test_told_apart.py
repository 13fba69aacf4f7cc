"""One definition of a class at every door: records that a reader of the release cannot tell apart."""

import duckdb
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from tests.loop import share

ZEROS = [0.0, -0.0, 0.0, 0.0]
KINDS = {
    "float": pl.Series(ZEROS),
    "single": pl.Series(ZEROS, dtype=pl.Float32),
    "list": pl.Series([[z, 1.0] for z in ZEROS]),
    "array": pl.Series([[z, 1.0] for z in ZEROS], dtype=pl.Array(pl.Float64, 2)),
    "struct": pl.Series([{"^a$": z, "t": "x"} for z in ZEROS]),
    "deep": pl.Series([[{"a": [z], "b": 1}] for z in ZEROS]),
    "null beside": pl.Series([[z, None] for z in ZEROS]),
}


def smallest(frame):
    """The smallest class on the columns x and a, and the number of classes, at every door."""
    both = pl.struct("x", "a").microagg
    found = {}
    for name, table in {"frame": frame, "lazy": frame.lazy()}.items():
        counted = mg.anonymity(table, ["x", "a"]).select("k_min", "k_prime")
        strata = mg.anonymity(table, "a", strata="x").select("k_min", "k_prime")
        expressed = (
            table.select(both.k_min().alias("m"), both.k_prime().alias("p")).lazy().collect()
        )
        grouped = table.group_by("a").agg(both.k_min().alias("m"), both.k_prime().alias("p"))
        over = table.select(both.k_min().over("a").alias("m"), both.k_prime().over("a").alias("p"))
        found |= {
            f"{name} columns": counted.row(0),
            f"{name} strata": strata.row(0),
            f"{name} expression": expressed.row(0),
            f"{name} group": grouped.lazy().collect().row(0)[1:],
            f"{name} over": over.lazy().collect().row(0),
        }
    assessed = mg.assess(frame, frame, ["a"], known=["x", "a"], metrics=["k_min", "k_prime"])
    found["assess"] = assessed.row(0)
    with duckdb.connect() as con:
        mgd.register(con).register("t", frame.to_arrow())
        row = "SELECT k_min, k_prime"
        found["sql columns"] = con.sql(
            f"{row} FROM microagg.anonymity('t', ['x', 'a'])"
        ).fetchall()[0]
        by = f"{row} FROM microagg.anonymity('t', 'a', strata := 'x')"
        found["sql strata"] = con.sql(by).fetchall()[0]
        # DuckDB 2.0 itself fails on a histogram of structs that hold an ARRAY.
        x = "x::DOUBLE[]" if frame.schema["x"] == pl.Array(pl.Float64, 2) else "x"
        aggregate = f"SELECT microagg.k_min(({x}, a)), microagg.k_prime(({x}, a)) FROM t"
        found["sql aggregate"] = con.sql(aggregate).fetchall()[0]
        if frame.schema["x"] == pl.Float64 and frame["x"].is_nan().any():
            return found  # a known column of numbers that are not finite is refused
        known = "'t', 't', 'a', known := ['x', 'a'], metrics := ['k_min', 'k_prime']"
        found["sql assess"] = con.sql(f"{row} FROM microagg.assess({known})").fetchall()[0]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_door_counts_zeros_apart(kind):
    found = smallest(pl.DataFrame({"x": KINDS[kind], "a": [1] * 4}))
    assert found == dict.fromkeys(found, (1, 2.0))


@pytest.mark.parametrize("kind", ["float", "list"])
def test_every_door_counts_one_nan(kind):
    nan = float("nan")
    values = [nan, -nan, nan, nan]
    column = values if kind == "float" else [[value] for value in values]
    found = smallest(pl.DataFrame({"x": column, "a": [1] * 4}))
    assert found == dict.fromkeys(found, (4, 4.0))


@pytest.mark.parametrize("kind", share(KINDS, 3))
def test_verify_raises_at_every_door(kind):
    frame = pl.DataFrame({"x": KINDS[kind], "a": [1] * 4})
    for columns, strata in ((["x"], None), (["a"], "x")):
        with pytest.raises(mg.NotAnonymousError):
            mg.verify(frame, columns, 3, strata=strata)
        with duckdb.connect() as con:
            mgd.register(con).register("t", frame.to_arrow())
            query = f"FROM microagg.verify('t', {columns}, 3" + (
                f", strata := '{strata}')" if strata else ")"
            )
            with pytest.raises(duckdb.InvalidInputException, match="NotAnonymousError"):
                con.execute(query).fetchall()


def test_several_sets_of_known_columns_count_zeros_apart():
    frame = pl.DataFrame({"x": ZEROS, "y": [1, 1, 1, 1], "a": [1.0] * 4})
    sets = [["x", "y"], ["y"]]
    assert mg.assess(frame, frame, ["a"], known=sets, metrics=["k_min"]).item() == 1


def test_what_a_class_tells_is_counted_in_the_same_classes():
    frame = pl.DataFrame({"x": ZEROS, "sick": ["yes", "no", "yes", "no"]})
    assert mg.anonymity(frame, "x", confidential="sick")["l"].item() == 1
