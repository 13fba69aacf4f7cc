"""What masking takes is known beforehand, and refused beyond the memory_limit of the connection."""

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.duckdb import relation
from polars_microagg.duckdb.memory_need import MemoryNeed, limit_of

ROWS = 200_000
WORDS = re.compile(
    r"Masking 200000 rows of 1 column\(s\) at once takes about \d+MB beside the table, and memory_limit "
    r"of this connection is 24MB\. Nothing was released\. Allow more, as in SET memory_limit = '\d+MB', or "
    r"mask the table out of core with "
)


@pytest.fixture
def tight(con):
    """A table of 1.6 MB where 24 MB are allowed, and no disk."""
    con.execute(f"CREATE TABLE t AS SELECT 4711.5::DOUBLE + i AS pay FROM range({ROWS}) r(i)")
    con.execute("SET temp_directory = ''; SET memory_limit = '24MB'")
    return con


def test_the_arrow_path_refuses_before_it_reads(tight, tmp_path, monkeypatch):
    monkeypatch.setattr(relation, "SourceTable", None)
    tight.execute(f"COPY t TO '{tmp_path / 't.parquet'}'")
    tight.execute("CREATE VIEW v AS SELECT pay + 1 AS pay FROM t WHERE pay > 0")
    for source in ("t", "v", str(tmp_path / "t.parquet"), tight.sql("FROM t")):
        with pytest.raises(mg.InvalidDataError, match=WORDS) as found:
            mgd.mask(tight, source, "pay", 5)
        assert "mg.publish('file.duckdb::t', 'out.duckdb::t', ..., memory='2GB')" in str(
            found.value
        )
        assert "4711" not in str(found.value)


@pytest.mark.parametrize("macro", ["mask", "groups", "fixed_size"])
def test_a_macro_refuses_before_duckdb_runs_out(tight, macro):
    with pytest.raises(
        duckdb.InvalidInputException, match="InvalidDataError: " + WORDS.pattern
    ) as e:
        tight.execute(f"SELECT sum(pay) FROM microagg.{macro}('t', 'pay', 5)").fetchall()
    assert "the command microagg protect, which takes a table as file.duckdb::t." in str(e.value)
    assert "4711" not in str(e.value)


def test_what_cannot_be_counted_beforehand_is_refused_before_it_is_masked(tight, monkeypatch):
    frame = pl.DataFrame({"pay": pl.int_range(ROWS, eager=True)})
    monkeypatch.setattr(relation.MaskRequest, "masker", None)
    tight.register("once", frame.to_arrow().to_reader())
    for source in ("once", frame, tight.sql(f"SELECT i AS pay FROM range({ROWS}) r(i)")):
        with pytest.raises(mg.InvalidDataError, match=WORDS):
            mgd.mask(tight, source, "pay", 5)


def test_what_it_asks_for_is_enough(tight):
    told = mgd.estimate_memory(tight, "t", "pay", 5, method="fixed_size")
    assert told["rows"] == ROWS
    assert told["memory_limit"] == limit_of(tight) < told["mask"] < told["macro"]
    for call, need in (
        (lambda: mgd.mask(tight, "t", "pay", 5, method="fixed_size"), "mask"),
        (lambda: tight.sql("FROM microagg.fixed_size('t', 'pay', 5)"), "macro"),
    ):
        tight.execute("SET memory_limit = '24MB'")
        with pytest.raises((mg.InvalidDataError, duckdb.InvalidInputException)) as found:
            call().fetchall()
        enough = re.search(r"SET memory_limit = '(\d+)MB'", str(found.value))[1]
        assert told[need] <= int(enough) * 10**6 <= 1.2 * told[need]
        tight.execute(f"SET memory_limit = '{enough}MB'")
        assert len(call().fetchall()) == ROWS


@pytest.mark.parametrize(
    ("call", "time"),
    [
        ("lowloss('u', 'pay', 5, effort := 2)", " With enough memory lowloss takes about "),
        ("md('u', 'pay', 5)", None),
        ("fixed_size('u', 'pay', 5)", None),
        ("lowloss('u', 'pay', 5, effort := 2, strata := 'half')", None),
        ("compare('u', 'pay', methods := 'lowloss')", None),
    ],
)
def test_the_error_reports_a_long_time(tight, call, time):
    tight.execute("CREATE VIEW u AS SELECT *, pay > 9999 AS half FROM t")
    with pytest.raises(duckdb.InvalidInputException, match=WORDS) as found:
        tight.execute(f"FROM microagg.{call}").fetchall()
    reported = re.search(r" With enough memory \w+ takes about \d+ (min|h) ", str(found.value))
    assert (reported is not None) == (time is not None)
    if time:
        assert time in str(found.value)
        with pytest.raises(mg.InvalidDataError, match=time):
            mgd.mask(tight, "u", "pay", 5, method="lowloss", effort=2)


def test_few_categories_take_little(con):
    con.execute(
        "CREATE TABLE t AS SELECT 'word ' || i % 3 AS few, i % 2 = 0 AS two FROM range(4000) r(i)"
    )
    few = mgd.estimate_memory(con, "t", "few", 5, method="fixed_size")
    many = mgd.estimate_memory(con, con.sql("SELECT 'word ' || i AS few FROM range(4000) r(i)"), "few", 5, method="fixed_size")  # fmt: skip
    # DuckDB counts them roughly.
    assert few["mask"] in [4000 * (120 + 32 + 64 + 16 + values * 24) for values in (2, 3, 4)]
    assert many["mask"] == 4000 * (120 + 32 + 64 + 256 * 24)
    # Between the two: refused only if its categories are not counted.
    con.execute("SET memory_limit = '8MB'")
    frame = con.sql("FROM t").pl()
    assert few["macro"] < limit_of(con) < many["mask"]
    for source in ("t", frame):
        assert len(mgd.mask(con, source, ["few", "two"], 5, method="fixed_size").fetchall()) == 4000
    macro = "SELECT count(*) FROM microagg.fixed_size('t', 'few', 5, nominal := 'few')"
    assert con.execute(macro).fetchall() == [(4000,)]
    con.execute("CREATE TABLE codes AS SELECT (i % 3)::INTEGER AS few FROM range(4000) r(i)")
    assert con.execute(macro.replace("'t'", "'codes'")).fetchall() == [(4000,)]


def test_no_limit_is_a_limit(con):
    con.execute("SET memory_limit = '-1'")
    con.execute("CREATE TABLE t AS SELECT i AS age FROM range(9) r(i)")
    assert mgd.estimate_memory(con, "t", "age", 3)["memory_limit"] > 10**18
    assert len(mgd.mask(con, "t", "age", 3).fetchall()) == 9
    assert len(con.execute("FROM microagg.mdav('t', 'age', 3)").fetchall()) == 9


def test_needs_checks_its_call(con):
    con.execute("CREATE TABLE t AS SELECT i AS age, 'x' AS name FROM range(9) r(i)")
    with pytest.raises(mg.InvalidParameterError, match="columns names 'agee', which is not"):
        mgd.estimate_memory(con, "t", "agee", 3)
    with pytest.raises(duckdb.CatalogException, match="nowhere does not exist"):
        mgd.estimate_memory(con, "nowhere", "age", 3)
    plain, more = (
        mgd.estimate_memory(con, "t", "age", 3),
        mgd.estimate_memory(con, "t", "age", 3, strata="name"),
    )
    assert plain["mask"] < more["mask"]


PEAK = """
import sys, threading, time
import duckdb
import polars_microagg.duckdb as mgd
door, method, n, p = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
con = mgd.register(duckdb.connect())
names = [f"c{j}" for j in range(p)]
parts = ", ".join(f"sin(i * {j + 1}) AS c{j}" for j in range(p))
con.execute(f"CREATE TABLE t AS SELECT {parts} FROM range({n}) r(i)")
con.execute("CREATE TABLE warm AS FROM t LIMIT 4000")
def run(table):
    if door == "mask":
        return mgd.mask(con, table, names, 1000, method=method).aggregate("count(*)").fetchall()
    con.execute(f"CREATE OR REPLACE TABLE made AS FROM microagg.{method}('{table}', {names}, 1000)")
def taken():
    return 4096 * int(open("/proc/self/statm").read().split()[1])
run("warm")
before = most = taken()
going = True
def watch():
    global most
    while going:
        most = max(most, taken())
        time.sleep(0.002)
watcher = threading.Thread(target=watch)
watcher.start()
run("t")
going = False
watcher.join()
print((most - before) / mgd.estimate_memory(con, "t", names, 1000, method=method)[door])
"""


@pytest.mark.deep
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("door", ["mask", "macro"])
@pytest.mark.parametrize(
    ("method", "columns"), [("fixed_size", 2), ("fixed_size", 12), ("mdav", 4)]
)
def test_it_takes_no_more_than_it_says(door, method, columns):
    command = [sys.executable, "-c", PEAK, door, method, "400000", str(columns)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert 0.3 < float(done.stdout.split()[-1]) < 1


def test_wider_and_longer_tables_take_more():
    plan = mg.core.plan.Plan.make("mdav", 5)
    one, two = (
        MemoryNeed("mask", plan, dict.fromkeys(names, "DOUBLE")) for names in (["a"], ["a", "b"])
    )
    assert one.bytes(10, {}) * 10 == one.bytes(100, {}) < two.bytes(100, {})
