"""The Arrow path: types, rows and names as they were, and no more memory than it says."""

import gc
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.duckdb import source_table
from tests.loop import share

TYPES = {
    "TINYINT": "(i * 37 % 11)::TINYINT",
    "BIGINT": "9007199254740993 + i * 37 % 11",
    "HUGEINT": "1267650600228229401496703205376::HUGEINT + i * 37 % 11",
    "UBIGINT": "18446744073709551000 + (i * 37 % 11)::UBIGINT",
    "UHUGEINT": "170141183460469231731687303715884105728::UHUGEINT + (i * 37 % 11)::UHUGEINT",
    "FLOAT": "sin(i)::FLOAT",
    "DOUBLE": "sin(i)",
    "DECIMAL(9,2)": "(i * 37 % 11 / 100)::DECIMAL(9, 2)",
    "DECIMAL(18,3)": "(i * 37 % 11 / 1000 + 9e13)::DECIMAL(18, 3)",
    "DECIMAL(38,10)": "(i * 37 % 11)::DECIMAL(38, 10) + 123456789012345678.0000000001",
    "DATE": "DATE '1969-12-28' + (i * 37 % 11)::INTEGER",
    "TIME": "TIME '10:00:00.000001' + to_microseconds(i * 37 % 11)",
    "TIME_NS": "(TIME '10:00' + to_seconds(i * 37 % 11))::TIME_NS",
    "TIMESTAMP": "TIMESTAMP '1969-12-31 23:59:59.999998' + to_microseconds(i * 37 % 11)",
    "TIMESTAMP_S": "(TIMESTAMP '2024-01-01' + to_seconds(i * 37 % 11))::TIMESTAMP_S",
    "TIMESTAMP_MS": "(TIMESTAMP '2024-01-01' + to_milliseconds(i * 37 % 11))::TIMESTAMP_MS",
    "TIMESTAMP_NS": "make_timestamp_ns(1704067200123456789 + i * 37 % 11)",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ '2024-03-31 00:30:00+00' + to_seconds(i * 37 % 11)",
}


@pytest.mark.parametrize("dtype", ["keep", "float"])
@pytest.mark.parametrize("type_", share(TYPES, 3, 2))
def test_every_type_comes_back_as_it_was(con, type_, dtype):
    con.execute("SET TimeZone = 'Europe/Berlin'")
    con.execute(f"CREATE TABLE t AS SELECT i AS id, {TYPES[type_]} AS x FROM range(40) r(i)")
    con.execute("UPDATE t SET x = NULL WHERE id % 13 = 5")
    options = {"nulls": "impute", "dtype": dtype}
    masked = mgd.mask(con, "t", "x", 4, **options)
    assert [str(t) for t in masked.types] == ["BIGINT", "DOUBLE" if dtype == "float" else type_]
    macro = con.sql(f"FROM microagg.mdav('t', 'x', 4, nulls := 'impute', dtype := '{dtype}')")
    assert masked.types == macro.types
    rows = "SELECT id, x::VARCHAR FROM"
    assert con.sql(f"{rows} masked").fetchall() == con.sql(f"{rows} macro").fetchall()
    bounds = "SELECT min(x)::VARCHAR, max(x)::VARCHAR, count(DISTINCT x) FROM"
    low, high, classes = con.sql(f"{bounds} masked").fetchall()[0]
    assert classes <= 10
    if dtype == "keep":
        assert classes > 1
        assert low < high
        within = "SELECT bool_and(x BETWEEN (SELECT min(x) FROM t) AND (SELECT max(x) FROM t)) FROM masked"
        assert con.sql(within).fetchall() == [(True,)]


def test_means_of_dates_and_times_are_rounded_to_their_own_step(con):
    con.execute(
        """
        CREATE TABLE t AS SELECT DATE '2024-01-01' + i::INTEGER AS day, TIME '10:00' + to_microseconds(i) AS clock,
            make_timestamp_ns(i + 5) AS ns, (TIMESTAMP '2024-01-01' + to_seconds(i))::TIMESTAMP_S AS s
        FROM (VALUES (0), (1), (2), (4), (5), (6), (9), (10)) v(i)
        """
    )
    # Means of four: 7/4 and 30/4, half to even where a day number is 19723 + 7.5.
    for masked in (
        mgd.mask(con, "t", ["day", "clock", "ns", "s"], 4),
        con.sql("FROM microagg.mdav('t', ['day', 'clock', 'ns', 's'], 4)"),
    ):
        found = (
            masked.select("day::VARCHAR, clock::VARCHAR, ns::VARCHAR, s::VARCHAR")
            .distinct()
            .fetchall()
        )
        assert sorted(found) == [
            (
                "2024-01-03",
                "10:00:00.000002",
                "1970-01-01 00:00:00.000000007",
                "2024-01-01 00:00:02",
            ),
            (
                "2024-01-08",
                "10:00:00.000008",
                "1970-01-01 00:00:00.000000012",
                "2024-01-01 00:00:08",
            ),
        ]


def test_integers_past_double_are_exact(con):
    con.execute("CREATE TABLE t AS SELECT 9223372036854775807 - i AS x FROM range(6) r(i)")
    expected = [(9223372036854775806,)] * 3 + [(9223372036854775803,)] * 3
    assert mgd.mask(con, "t", "x", 3).fetchall() == expected
    assert con.sql("FROM microagg.mdav('t', 'x', 3)").fetchall() == expected


def test_the_result_outlives_its_source_and_its_names(con):
    frame = pl.DataFrame(
        {"id": np.arange(20), "x": np.arange(20) % 7, "u": [str(i) for i in range(20)]}
    )
    con.register("passing", frame)
    con.execute("CREATE TABLE t AS SELECT *, uuid() AS uuid FROM passing")
    expected = mg.mdav(frame, "x", 4).rows()
    from_name, from_table = mgd.mask(con, "passing", "x", 4), mgd.mask(con, "t", "x", 4)
    later = from_table.filter("id < 5").order("id")
    con.unregister("passing")
    con.execute("DROP TABLE t")
    del frame
    gc.collect()
    assert from_name.fetchall() == expected
    assert from_table.select("id, x, u").fetchall() == expected
    del from_table
    gc.collect()
    assert [row[:3] for row in later.fetchall()] == expected[:5]


def test_fetching_twice_gives_the_same(con):
    con.execute("CREATE TABLE t AS SELECT random() AS x FROM range(100)")
    masked = mgd.mask(con, "t", "x", 5)
    assert masked.fetchall() == masked.fetchall() == masked.pl().rows()


def test_the_result_is_a_relation_like_any_other(con, tmp_path):
    con.execute("CREATE TABLE t AS SELECT i AS id, i % 7 AS x, uuid() AS u FROM range(3000) r(i)")
    masked = mgd.mask(con, "t", "x", 4)
    expected = masked.fetchall()
    masked.create("stored")
    masked.to_parquet(str(tmp_path / "m.parquet"))
    assert con.table("stored").fetchall() == expected
    assert con.sql(f"FROM '{tmp_path / 'm.parquet'}'").fetchall() == expected
    assert masked.limit(5).fetchall() == expected[:5]
    assert masked.limit(5, 2500).fetchall() == expected[2500:2505]
    assert masked.filter("id = 2999").fetchall() == expected[-1:]
    assert con.sql("SELECT count(*) FROM masked JOIN t USING (id, u)").fetchall() == [(3000,)]


def test_order_by_settles_ties_and_keeps_the_rows(con):
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, (i * 7 % 5) AS x, (i * 3 % 4) AS y FROM range(60) r(i)"
    )
    con.execute("CREATE TABLE moved AS FROM t ORDER BY hash(id)")
    plain = mgd.mask(con, "t", ["x", "y"], 4, order_by="id").fetchall()
    moved = mgd.mask(con, "moved", ["x", "y"], 4, order_by="ID")
    assert [row[0] for row in moved.fetchall()] == [row[0] for row in con.table("moved").fetchall()]
    assert sorted(moved.fetchall()) == plain
    assert con.table("t").pl().pipe(mg.mdav, ["x", "y"], 4, order_by="id").rows() == plain


@pytest.mark.parametrize(
    "setting", ["SET default_order = 'DESC'", "SET default_null_order = 'NULLS FIRST'"]
)
def test_settings_of_the_session_change_nothing(con, setting):
    con.execute(
        "CREATE TABLE t AS SELECT i % 5 AS x, nullif(i % 3, 1) AS s, INTERVAL (i % 2) DAY AS v, i AS id FROM range(60) r(i)"
    )
    call = {"strata": ["s", "v"], "order_by": ["s", "id"]}
    query = "FROM microagg.mdav('t', 'x', 4, strata := ['s', 'v'])"
    before = mgd.mask(con, "t", "x", 4, **call).fetchall(), con.sql(query).fetchall()
    con.execute(setting)
    assert (mgd.mask(con, "t", "x", 4, **call).fetchall(), con.sql(query).fetchall()) == before


def test_large_offsets_of_arrow(con):
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, i % 7 AS x, 'note ' || i AS note FROM range(50) r(i)"
    )
    before = con.sql("FROM microagg.mdav('t', 'x', 4, strata := [])").fetchall()
    con.execute("SET arrow_large_buffer_size = true")
    assert con.sql("FROM microagg.mdav('t', 'x', 4)").fetchall() == before
    assert con.sql(
        "SELECT count(DISTINCT microagg_group) FROM microagg.groups('t', 'x', 4)"
    ).fetchall() == [(12,)]
    assert mgd.mask(con, "t", "x", 4).fetchall() == before


def test_it_needs_no_macros():
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT i % 7 AS x FROM range(50) r(i)")
        mgd.mask(con, "t", "x", 4)
        assert con.execute(
            "SELECT count(*) FROM duckdb_databases() WHERE NOT internal"
        ).fetchall() == [(1,)]


def test_a_relation_of_another_connection(con):
    with duckdb.connect() as other:
        foreign = other.sql("SELECT i AS x FROM range(6) r(i)")
        assert mgd.mask(con, foreign, "x", 3).fetchall() == [(1,)] * 3 + [(4,)] * 3


PEAK = """
import sys, threading, time
import duckdb
import polars_microagg as mg
import polars_microagg.duckdb as mgd

def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def watch():
    global peak
    while not done:
        peak = max(peak, held())
        time.sleep(0.001)

n, columns = 500_000, ["d0", "d1", "d2", "d3"]
con = duckdb.connect()
values = ", ".join(f"hash(i * 7 + {j}) / 1e10 AS d{j}" for j in range(4))
notes = ", ".join(f"i * {j} AS note{j}" for j in range(4))
con.execute(f"CREATE TABLE t AS SELECT {values}, {notes} FROM range({n}) r(i)")
con.execute("CREATE TABLE little AS FROM t LIMIT 40")
mgd.mask(con, "little", columns, 3, method="fixed_size").fetchall()
frame = con.table("t").pl() if sys.argv[1] == "polars" else None
before, peak, done = held(), 0, False
thread = threading.Thread(target=watch)
thread.start()
if frame is None:
    result = mgd.mask(con, "t", columns, 5, method="fixed_size")
else:
    result = mg.fixed_size(frame, columns, 5)
done = True
thread.join()
print((peak - before) / (n * 8 * 8))
con.close()
"""


@pytest.mark.deep
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_it_holds_its_input_once_beside_what_the_polars_door_needs():
    def peak(door):
        command = [sys.executable, "-c", PEAK, door]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return float(done.stdout)

    assert peak("arrow") - peak("polars") < 1.5


@pytest.mark.parametrize("changed", ["pay, age", "pay AS age, age AS pay", "age, pay + 0.5 AS pay"])
@pytest.mark.parametrize("kept", ["'x'", "uuid()"], ids=["all through Arrow", "some kept"])
def test_a_source_that_is_replaced_while_it_is_read_is_refused(con, kept, changed, monkeypatch):
    con.execute("CREATE TABLE base AS SELECT i AS age, 1000 + i AS pay FROM range(9) r(i)")
    con.execute(f"CREATE VIEW v AS SELECT age, pay, {kept} AS other FROM base")
    refuse_kind = source_table.refuse_kind

    def replaced_meanwhile(*column):
        con.execute(f"CREATE OR REPLACE VIEW v AS SELECT {changed}, {kept} AS other FROM base")
        refuse_kind(*column)

    monkeypatch.setattr(source_table, "refuse_kind", replaced_meanwhile)
    if changed == "pay AS age, age AS pay":
        # The same names and types: what is masked is what the source calls so by now.
        assert min(row[1] for row in mgd.mask(con, "v", "pay", 3).fetchall()) < 1000
        return
    with pytest.raises(
        mg.InvalidParameterError, match=r"replaced in between\. Nothing was released"
    ):
        mgd.mask(con, "v", "pay", 3)


def test_a_source_in_which_a_name_means_two_columns_is_refused(con):
    con.execute("CREATE TABLE a AS SELECT i AS id, i AS age, 7 * i AS pay FROM range(9) r(i)")
    con.execute("CREATE TABLE b AS SELECT i AS id, 100 * i AS age FROM range(9) r(i)")
    joined = con.sql("SELECT a.id, a.age, b.age, a.pay FROM a JOIN b USING (id)")
    for masked in ("age", "pay", ["age", "pay"]):
        with pytest.raises(mg.InvalidParameterError, match="two columns of the name 'age', and"):
            mgd.mask(con, joined, masked, 3)
    for query in ("SELECT id AS i, age AS i, pay FROM a", "SELECT i, i FROM range(9) t(i)"):
        with pytest.raises(mg.InvalidParameterError, match="two columns of the name 'i', and"):
            mgd.mask(con, con.sql(query), "i", 3)
    twins = con.sql('SELECT id, age, age AS "AGE" FROM a')
    for masked in ("age", "AGE", "id"):
        with pytest.raises(mg.InvalidParameterError, match=r"'age' \('AGE' is the same name in Du"):
            mgd.mask(con, twins, masked, 3)


LOOK_ALIKE = {
    "collation": "CASE WHEN i % 2 = 0 THEN 'n' ELSE 'N' END COLLATE NOCASE",
    "interval": "CASE WHEN i % 2 = 0 THEN INTERVAL '30 days' ELSE INTERVAL '1 month' END",
    "nested": "[CASE WHEN i % 2 = 0 THEN INTERVAL '30 days' ELSE INTERVAL '1 month' END]",
}


@pytest.mark.parametrize("what", LOOK_ALIKE)
def test_strata_are_told_apart_as_they_are_released(con, what):
    mgd.register(con)
    con.execute(
        f"CREATE TABLE t AS SELECT i, 10 * i AS x, {LOOK_ALIKE[what]} AS g FROM range(8) r(i)"
    )
    by_macro = con.execute("FROM microagg.mdav('t', 'x', 2, strata := 'g')").fetchall()
    by_arrow = mgd.mask(con, "t", "x", 2, strata="g").fetchall()
    assert [row[:2] for row in by_macro] == [(i, 10 + i % 2 * 10 + i // 4 * 40) for i in range(8)]
    assert by_arrow == by_macro
    con.execute("CREATE TABLE whole AS FROM microagg.mdav('t', 'x', 4)")
    with pytest.raises(
        duckdb.InvalidInputException, match="not 3-anonymous on 'x' within strata of"
    ):
        con.execute("FROM microagg.verify('whole', 'x', 3, strata := 'g')").fetchall()
    assert con.execute("SELECT k_min FROM microagg.anonymity('whole', 'g')").fetchall() == [(4,)]
