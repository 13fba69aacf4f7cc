"""Small strata are emptied with their keys, or dropped, at the doors of DuckDB as in Polars."""

import re

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.wording import SQL
from tests.loop import rounds, share

KEYS = {
    "VARCHAR": "'k' || g",
    "INTEGER": "g",
    "DOUBLE": "g / 2",
    "DECIMAL(30,3)": "(g / 8)::DECIMAL(30, 3)",
    "HUGEINT": "g::HUGEINT",
    "UUID": "('00000000-0000-0000-0000-00000000000' || g)::UUID",
    "ENUM('0', '1', '2', '3')": "g::VARCHAR::ENUM('0', '1', '2', '3')",
    "BOOLEAN": "g = 0",
    "DATE": "DATE '2020-01-01' + g::INTEGER",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_days(g::INTEGER)",
    "TIME WITH TIME ZONE": "('00:00:0' || g || '+01')::TIMETZ",
    "INTERVAL": "to_months(g::INTEGER)",
    "JSON": "('{\"g\": ' || g || '}')::JSON",
    "BIT": "g::INTEGER::BIT",
    "BLOB": "encode(g::VARCHAR)",
    "INTEGER[]": "[g::INTEGER, NULL]",
    "DOUBLE[2]": "[g, 0]::DOUBLE[2]",
    "STRUCT(a INTEGER, b HUGEINT)": "{'a': g::INTEGER, 'b': g::HUGEINT}",
    "MAP(INTEGER, VARCHAR)": "MAP {g::INTEGER: 'x'}",
    "UNION(num INTEGER)": "union_value(num := g::INTEGER)",
    "VARIANT": "{'a': g}::VARIANT",
}
"""Types of a stratum, from a number g; the records of three of its values are few."""

SIZES = {0: 9, 1: 2, 2: 2, 3: 1}


def table_of(con, key, name="t"):
    rows = [(g, 10 * g + i) for g, size in SIZES.items() for i in range(size)]
    values = ", ".join(f"({i}, {g}, {x})" for i, (g, x) in enumerate(rows))
    con.execute(
        f"CREATE OR REPLACE TABLE {name} AS SELECT id, x, {key} AS g, 'dx' || id AS dx "
        f"FROM (VALUES {values}) r(id, g, x)"
    )


def both(con, columns, k, **options):
    """The rows of both doors, which are the same, in words."""
    said = ", ".join(f"{name} := {value!r}" for name, value in options.items())
    doors = {
        "arrow": mgd.mask(con, "t", columns, k, **options),
        "macro": con.sql(f"FROM microagg.mdav('t', {columns!r}, {k}, {said})"),
    }
    found = {}
    for door, release in doors.items():
        assert release.columns == con.table("t").columns
        assert [str(t) for t in release.types] == [str(t) for t in con.table("t").types]
        found[door] = release.select(duckdb.SQLExpression("COLUMNS(*)::VARCHAR")).fetchall()
    assert found["arrow"] == found["macro"]
    return found["arrow"]


@pytest.mark.parametrize("type_", share(KEYS, 3, 1))
def test_keys_of_every_type_become_null(con, type_):
    table_of(con, KEYS[type_])
    assert str(con.table("t").types[2]) == type_
    before = con.sql("SELECT COLUMNS(*)::VARCHAR FROM t").fetchall()
    small = range(9, 14) if type_ != "BOOLEAN" else ()
    rows = both(con, ["x"], 3, strata="g", small_strata="null")
    assert [row[0] for row in rows] == [str(i) for i in range(14)]
    for i, row in enumerate(rows):
        assert row[3] == f"dx{i}"
        assert row[2] == (None if i in small else before[i][2])
        assert (row[1] is None) == (i in small)
    rows = both(con, ["x"], 3, strata="g", small_strata="drop")
    assert [row[0] for row in rows] == [str(i) for i in range(14) if i not in small]
    assert [row[2] for row in rows] == [row[2] for i, row in enumerate(before) if i not in small]


def refused(con, columns, k, words, **options):
    said = ", ".join(f"{name} := {value!r}" for name, value in options.items())
    with pytest.raises(mg.TooFewRecordsError, match=words):
        mgd.mask(con, "t", columns, k, **options)
    in_sql = words.replace("small_strata=", "small_strata := ")
    for macro in ("mdav", "groups"):
        with pytest.raises(duckdb.InvalidInputException, match=f"TooFewRecordsError: .*{in_sql}"):
            con.sql(f"FROM microagg.{macro}('t', {columns!r}, {k}, {said})").fetchall()


def test_too_few_to_be_emptied_are_refused(con):
    table_of(con, "g")
    con.execute("DELETE FROM t WHERE g IN (1, 2)")
    refused(
        con, ["x"], 3, "would empty 1 record.*small_strata='drop'", strata="g", small_strata="null"
    )
    refused(con, ["x"], 3, "1 of 2 strata have fewer than k=3", strata="g")
    assert len(both(con, ["x"], 3, strata="g", small_strata="drop")) == 9


def test_all_rows_may_be_dropped_or_emptied(con):
    table_of(con, "id")
    assert both(con, ["x"], 3, strata="g", small_strata="drop") == []
    rows = both(con, ["x"], 3, strata="g", small_strata="null")
    assert {row[1:3] for row in rows} == {(None, None)}


def test_groups_leave_out_what_is_dropped(con):
    table_of(con, "'k' || g")
    call = "microagg.groups('t', ['x'], 3, strata := 'g', small_strata := {!r})"
    emptied = con.sql(f"FROM {call.format('null')}").fetchall()
    assert [row[4] is None for row in emptied] == [False] * 9 + [True] * 5
    assert con.sql(f"FROM {call.format('drop')}").fetchall() == emptied[:9]


@pytest.mark.parametrize("policy", ["null", "drop"])
@pytest.mark.parametrize("nulls", ["raise", "impute", "pattern"])
def test_the_rows_are_those_of_polars(con, policy, nulls):
    rng = np.random.default_rng(3)
    done = 0
    for _ in range(rounds(80)):
        n, k = int(rng.integers(1, 30)), int(rng.integers(2, 5))
        holes = rng.random((2, n)) < (0 if nulls == "raise" else 0.3)
        frame = pl.DataFrame(
            {
                "id": range(n),
                "a": [
                    None if h else int(v)
                    for h, v in zip(holes[0], rng.integers(0, 6, n), strict=True)
                ],
                "b": [
                    None if h else float(v)
                    for h, v in zip(holes[1], rng.integers(-2, 2, n), strict=True)
                ],
                "g": rng.integers(0, 6, n) // 2 - 1.0,
            },
            schema={"id": pl.Int64, "a": pl.Int64, "b": pl.Float64, "g": pl.Float64},
        )
        con.register("t", frame)
        options = {"strata": "g", "small_strata": policy, "nulls": nulls}
        columns = [["a"], ["b"]] if rng.random() < 0.3 else ["a", "b"]
        said = ", ".join(f"{name} := {value!r}" for name, value in options.items())
        expected, error = None, None
        try:
            expected = mg.mdav(frame, columns, k, **options)
        except mg.InvalidDataError as refusal:
            error = refusal
        if expected is None:
            words = f"^{re.escape(str(error))}$"
            with pytest.raises(type(error), match=words):
                mgd.mask(con, "t", columns, k, **options)
            words = re.escape(error.told(SQL)) + "$"
            with pytest.raises(duckdb.InvalidInputException, match=words):
                con.execute(f"FROM microagg.mdav('t', {columns}, {k}, {said})").fetchall()
            continue
        done += 1
        assert mgd.mask(con, "t", columns, k, **options).fetchall() == expected.rows()
        macro = con.sql(f"FROM microagg.mdav('t', {columns}, {k}, {said})")
        assert macro.fetchall() == expected.rows()
        con.register("released", expected)
        for block in columns if isinstance(columns[0], list) else [columns]:
            call = f"microagg.verify('released', {block}, {k}, strata := 'g')"
            con.execute(f"FROM {call}").fetchall()
    assert done > 2


def test_emptied_records_are_a_class_like_any_other(con):
    con.execute("CREATE TABLE m AS FROM (VALUES ('n', 1), ('n', 1), (NULL, NULL)) t(g, x)")
    counted = con.execute("FROM microagg.anonymity('m', 'x', strata := 'g')").fetchall()
    assert counted == [(3, 2, 1, 1.5, 1)]
    with pytest.raises(duckdb.InvalidInputException, match=r"1 class\(es\) with 1 record"):
        con.execute("FROM microagg.verify('m', 'x', 2, strata := 'g')").fetchall()
    con.execute("INSERT INTO m VALUES (NULL, NULL)")
    assert len(con.execute("FROM microagg.verify('m', 'x', 2, strata := 'g')").fetchall()) == 1
