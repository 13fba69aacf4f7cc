"""Values of a stratum that are counted as one are released as one: -0.0 as 0.0, however deep."""

import numpy as np
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd

ZEROS = {
    "DOUBLE": "z",
    "FLOAT": "z::FLOAT",
    "DOUBLE[]": "[z, NULL]",
    "FLOAT[2]": "[z, 1]::FLOAT[2]",
    "STRUCT(a DOUBLE, t VARCHAR)": "{'a': z, 't': '-0.0'}",
    "STRUCT(a DOUBLE[])[]": "[{'a': [z]}]",
    "MAP(VARCHAR, DOUBLE)": "MAP {'-0.0': z}",
    "UNION(num DOUBLE)": "union_value(num := z)",
    "STRUCT(a DOUBLE, i INTERVAL, u UUID, e ENUM('b', 'a'), j JSON, h HUGEINT, tz TIME WITH TIME ZONE)": (
        "{'a': z, 'i': INTERVAL '30 days', 'u': '00000000-0000-0000-0000-000000000001'::UUID, "
        "'e': 'a'::ENUM('b', 'a'), 'j': '{\"a\":   -0.0}'::JSON, 'h': -5::HUGEINT, "
        "'tz': '00:00:00+01'::TIMETZ}"
    ),
}


def doors(con, **options):
    said = ", ".join(f"{name} := {value!r}" for name, value in options.items())
    return {
        "arrow": mgd.mask(con, "t", "x", 3, **options),
        "macro": con.sql(f"FROM microagg.mdav('t', 'x', 3, {said})"),
    }


@pytest.mark.parametrize("other", ["", "'n' || 1 AS o, "], ids=["alone", "beside a text"])
@pytest.mark.parametrize("type_", ZEROS)
def test_no_reader_can_tell_them_apart(con, type_, other):
    con.execute(
        f"CREATE TABLE t AS SELECT i AS id, 10 * i AS x, {other}{ZEROS[type_]} AS g FROM "
        "(SELECT i, CASE WHEN i = 2 THEN -0.0::DOUBLE ELSE 0.0::DOUBLE END AS z FROM range(4) r(i))"
    )
    assert str(con.table("t").types[-1]) == type_
    kept = con.sql("SELECT g::VARCHAR FROM t WHERE id = 0").fetchall()
    strata = ["g", "o"] if other else "g"
    for door, release in doors(con, strata=strata).items():
        assert release.types == con.table("t").types, door
        assert release.select("x").distinct().fetchall() == [(15,)], door
        assert release.select("g::VARCHAR").distinct().fetchall() == kept, door


def test_not_a_number_is_one_as_well(con):
    con.execute(
        "CREATE TABLE t AS SELECT i AS x, CASE WHEN i = 2 THEN '-nan' ELSE 'nan' END::DOUBLE AS g "
        "FROM range(4) r(i)"
    )
    for release in doors(con, strata="g").values():
        assert release.select("g::VARCHAR").distinct().fetchall() == [("nan",)]


def test_a_stratum_of_it_alone(con):
    con.execute(
        "CREATE TABLE t AS SELECT i AS x, -0.0::DOUBLE AS g, [-0.0] AS h FROM range(4) r(i)"
    )
    for release in doors(con, strata=["g", "h"]).values():
        shown = release.select("g::VARCHAR, h::VARCHAR").distinct().fetchall()
        assert shown == [("0.0", "[0.0]")]


def test_other_columns_keep_it(con):
    con.execute("CREATE TABLE t AS SELECT i AS x, -0.0::DOUBLE AS z, 0.5 AS g FROM range(4) r(i)")
    for release in doors(con, strata="g").values():
        assert release.select("z::VARCHAR").distinct().fetchall() == [("-0.0",)]


@pytest.mark.parametrize("mode", ["rows", "mean", "alike"])
@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT", "STRUCT(a DOUBLE, t VARCHAR)", "DOUBLE[]"])
def test_an_entity_is_one_person_as_it_is_read(con, type_, mode):
    con.execute(
        f"CREATE TABLE t AS SELECT i AS x, i % 3 = 1 AS other, {ZEROS[type_]} AS g FROM "
        "(SELECT i, CASE WHEN i % 6 = 0 THEN -0.0::DOUBLE ELSE i % 3 END AS z FROM range(18) r(i))"
    )
    asked = {"entity": "g", "entity_mode": mode}
    macro, arrow = doors(con, **asked).values()
    assert (
        macro.order("other, g::VARCHAR, x").fetchall()
        == arrow.order("other, g::VARCHAR, x").fetchall()
    )
    for release in (macro, arrow):
        assert release.types == con.table("t").types
        assert (
            release.select("g::VARCHAR").distinct().order("1").fetchall()
            == con.sql("SELECT DISTINCT g::VARCHAR FROM t WHERE x % 6 != 0 ORDER BY 1").fetchall()
        )
    if type_ in ("DOUBLE", "FLOAT"):
        frame = con.table("t").pl()
        masked = mg.mdav(frame, "x", 3, **asked)
        assert np.signbit(masked["g"].to_numpy()).sum() == 0
        assert masked.equals(arrow.pl())
        assert masked.equals(macro.pl())
