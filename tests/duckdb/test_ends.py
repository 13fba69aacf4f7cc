"""The ends of every type come out as they are."""

import pytest

import polars_microagg.duckdb as mgd
from tests.loop import share

ENDS = {
    "TINYINT": ("-128", "127"),
    "SMALLINT": ("-32768", "32767"),
    "INTEGER": ("-2147483648", "2147483647"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807"),
    "HUGEINT": (
        "-170141183460469231731687303715884105728",
        "170141183460469231731687303715884105727",
    ),
    "UTINYINT": ("0", "255"),
    "USMALLINT": ("0", "65535"),
    "UINTEGER": ("0", "4294967295"),
    "UBIGINT": ("0", "18446744073709551615"),
    "UHUGEINT": ("0", "340282366920938463463374607431768211455"),
    "FLOAT": ("-3.4028234e38", "3.4028234e38"),
    "DOUBLE": ("-1.7976931348623157e308", "1.7976931348623157e308"),
    "DECIMAL(4, 2)": ("-99.99", "99.99"),
    "DECIMAL(15, 15)": ("-0.999999999999999", "0.999999999999999"),
    "DECIMAL(18, 0)": ("-999999999999999999", "999999999999999999"),
    "DECIMAL(38, 0)": ("-" + "9" * 38, "9" * 38),
    "DECIMAL(38, 38)": ("-0." + "9" * 38, "0." + "9" * 38),
    "DATE": ("5877642-06-25 (BC)", "5881580-07-10"),
    "TIMESTAMP": ("290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775806"),
    "TIMESTAMP_S": ("290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54"),
    "TIMESTAMP_MS": ("290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775"),
    "TIMESTAMP_NS": ("1677-09-22 00:00:00", "2262-04-11 23:47:16.854775806"),
    "TIMESTAMPTZ": ("290309-12-22 (BC) 00:00:00+00", "294247-01-10 04:00:54.775806+00"),
    "TIME": ("00:00:00", "24:00:00"),
    "TIME_NS": ("00:00:00", "24:00:00"),
}


@pytest.mark.parametrize("type_", share(ENDS, 3))
def test_the_ends_of_every_type(con, type_):
    low, high = ENDS[type_]
    con.execute(f"CREATE TABLE t (id INTEGER, x {type_})")
    con.executemany(
        f"INSERT INTO t VALUES (?, ?::{type_})", [[i, low if i < 3 else high] for i in range(6)]
    )
    for released in (con.sql("FROM microagg.mdav('t', 'x', 3)"), mgd.mask(con, "t", "x", 3)):
        assert (
            released.select("x::VARCHAR").fetchall()
            == con.sql("SELECT x::VARCHAR FROM t").fetchall()
        )
    apart = con.sql("SELECT id, CASE WHEN id % 3 = 0 THEN NULL ELSE x END AS x FROM t")  # noqa: F841
    con.execute("CREATE TABLE holes AS FROM apart")
    given = "6, nulls := 'impute'"
    masked = con.sql(
        f"SELECT DISTINCT x::VARCHAR FROM microagg.mdav('holes', 'x', {given})"
    ).fetchall()
    arrow = (
        mgd.mask(con, "holes", "x", 6, nulls="impute").select("x::VARCHAR").distinct().fetchall()
    )
    assert len(masked) == 1
    assert masked == arrow
