"""`register` adds macros to a database and nothing else, as often as it is called."""

import gc
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.core import registry
from polars_microagg.core.partition import Partition
from polars_microagg.duckdb.macros import sql_text
from polars_microagg.duckdb.udfs import FUNCTIONS

AGES = pl.DataFrame({"age": [23, 25, 47, 51]})
CALL = "FROM microagg.mdav('people', 'age', 2)"
MASKED = [(24,), (24,), (49,), (49,)]


def filled(con):
    con.execute("CREATE OR REPLACE TABLE people AS FROM (VALUES (23), (25), (47), (51)) t(age)")
    return con


def test_it_gives_the_connection_back_and_may_be_called_again():
    with duckdb.connect() as con:
        assert mgd.register(con) is con
        assert mgd.register(mgd.register(con)) is con
        assert filled(con).execute(CALL).fetchall() == MASKED


def test_the_functions_are_plain_functions_of_a_module():
    # DuckDB frees a lambda with the cursor it came from, and then runs whatever took its place.
    for function, *_ in FUNCTIONS.values():
        assert function.__qualname__ == function.__name__
        assert getattr(sys.modules[function.__module__], function.__name__) is function


def test_a_cursor_that_registered_may_go(tmp_path):
    with filled(duckdb.connect()) as con:
        cursor = con.cursor()
        mgd.register(cursor)
        cursor.close()
        del cursor
        gc.collect()
        _ = [lambda i=i: i for i in range(1000)]
        assert con.execute(CALL).fetchall() == MASKED


def test_every_cursor_and_connection_sees_the_macros(tmp_path):
    path = tmp_path / "d.duckdb"
    with mgd.register(filled(duckdb.connect(path))) as con, con.cursor() as cursor:
        assert cursor.execute(CALL).fetchall() == MASKED
        with duckdb.connect(path) as second:
            assert second.execute(CALL).fetchall() == MASKED
            mgd.register(second)
            assert con.execute(CALL).fetchall() == MASKED
        con.execute("ATTACH ':memory:' AS other; USE other")
        assert con.execute("FROM microagg.mdav('d.people', 'age', 2)").fetchall() == MASKED


def test_nothing_stays_in_the_file(tmp_path):
    path = tmp_path / "d.duckdb"
    with filled(duckdb.connect(path)) as con:
        con.execute("CHECKPOINT")
    before = path.read_bytes()
    with mgd.register(duckdb.connect(path)) as con:
        assert con.execute(CALL).fetchall() == MASKED
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["d.duckdb"]
    with duckdb.connect(path) as con:
        own = "SELECT count(*) FROM duckdb_functions() WHERE function_name LIKE '%microagg%'"
        assert con.execute(own).fetchall() == [(0,)]
        assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("people",)]


def test_a_read_only_file(tmp_path):
    path = tmp_path / "d.duckdb"
    filled(duckdb.connect(path)).close()
    with mgd.register(duckdb.connect(path, read_only=True)) as con:
        assert con.execute(CALL).fetchall() == MASKED
        assert mgd.mask(con, "people", "age", 2).fetchall() == MASKED
        assert mgd.register(con) is con


def test_a_locked_down_database():
    with filled(duckdb.connect()) as con:
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
        mgd.register(con)
        assert con.execute(CALL).fetchall() == MASKED
        assert mgd.mask(con, "people", "age", 2).fetchall() == MASKED


def test_a_database_that_replaces_no_names():
    with filled(duckdb.connect()) as con:
        con.execute("SET python_enable_replacements = false")
        mgd.register(con)
        assert con.execute(CALL).fetchall() == MASKED
        assert mgd.mask(con, AGES, "age", 2).fetchall() == MASKED


def test_inside_and_after_a_transaction_that_is_rolled_back():
    with filled(duckdb.connect()) as con:
        con.execute("BEGIN; INSERT INTO people VALUES (99), (97)")
        mgd.register(con)
        assert len(con.execute(CALL).fetchall()) == 6
        con.execute("ROLLBACK")
        assert con.execute(CALL).fetchall() == MASKED
        mgd.register(con)
        assert con.execute(CALL).fetchall() == MASKED


def test_after_a_transaction_that_failed():
    with filled(duckdb.connect()) as con:
        con.execute("BEGIN")
        with pytest.raises(duckdb.CatalogException, match="nowhere does not exist"):
            con.execute("FROM nowhere")
        mgd.register(con)
        con.execute("ROLLBACK")
        assert con.execute(CALL).fetchall() == MASKED


@pytest.mark.parametrize(
    "taken",
    ["CREATE SCHEMA microagg", "CREATE SCHEMA MICROAGG", "ATTACH ':memory:' AS microagg"],
)
def test_a_name_that_the_user_has_given_already(taken):
    with filled(duckdb.connect()) as con:
        con.execute(taken)
        sentence = (
            "register cannot honour catalog='microagg': the database has a catalog or schema of "
            r"that name already. Give another name, as in register\(con, catalog='mg'\)."
        )
        with pytest.raises(mg.InvalidParameterError, match=sentence):
            mgd.register(con)
        mgd.register(con, catalog="mg")
        assert con.execute("FROM mg.mdav('people', 'age', 2)").fetchall() == MASKED


@pytest.mark.parametrize("odd", ['odd "name"; DROP TABLE people; --\'', "\\1 $name $$ \\g<0>", "é"])
def test_any_name_for_the_catalog(odd):
    with filled(duckdb.connect()) as con:
        mgd.register(mgd.register(con, catalog=odd), catalog=odd)
        quoted = '"' + odd.replace('"', '""') + '"'
        assert con.execute(f"FROM {quoted}.mdav('people', 'age', 2)").fetchall() == MASKED
        counted = con.execute(f"SELECT {quoted}.k_min(age) FROM people").fetchall()
        assert counted == [(1,)]


@pytest.mark.parametrize("catalog", ["", None, 5, "a\0b"])
def test_no_name_for_the_catalog(catalog):
    with (
        duckdb.connect() as con,
        pytest.raises(mg.InvalidParameterError, match="catalog=.* was given; it must be a name"),
    ):
        mgd.register(con, catalog=catalog)


def test_tables_of_the_user_do_not_shadow_the_functions():
    with mgd.register(filled(duckdb.connect())) as con:
        con.execute(
            "CREATE TABLE __mg_s AS SELECT 1 AS age; CREATE TABLE __mg_l AS SELECT 2 AS age"
        )
        con.execute("CREATE MACRO _microagg_mask(a, b, c, d) AS 5")
        con.execute("CREATE MACRO _microagg_columns(a, b, c) AS ['age']")
        con.execute("CREATE SCHEMA mdav; CREATE TABLE mdav.mdav AS SELECT 1")
        assert con.execute(CALL).fetchall() == MASKED


def test_a_method_added_later_is_there_after_the_next_call():
    with mgd.register(filled(duckdb.connect())) as con:

        @registry.method(cite="none")
        def all_alike(x, /, *, k: int, order: float = 0.5):
            """Put all records in one group."""
            return Partition.from_labels([0] * len(x))

        try:
            mgd.register(con)
            call = "FROM microagg.all_alike('people', 'age', 2, \"order\" := 0.25)"
            assert con.execute(call).fetchall() == [(36,)] * 4
            columns = "SELECT method, unit, sizes, summary FROM microagg.methods()"
            listed = con.execute(f"{columns} WHERE method = 'all_alike'").fetchall()
            assert listed == [("all_alike", "record", "k..2k-1", "Put all records in one group.")]
        finally:
            del registry._METHODS["all_alike"]


def test_the_methods_are_those_of_python(con):
    assert con.sql("FROM microagg.methods()").pl().equals(mg.methods())


@pytest.mark.deep
def test_six_threads_with_a_cursor_each():
    failures = []

    def work(cursor):
        try:
            for _ in range(15):
                mgd.register(cursor)
                assert cursor.execute(CALL).fetchall() == MASKED
                assert mgd.mask(cursor, "people", "age", 2).fetchall() == MASKED
        except Exception as error:
            failures.append(error)
        finally:
            cursor.close()

    with filled(duckdb.connect()) as con:
        threads = [threading.Thread(target=work, args=(con.cursor(),)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
        assert not any(thread.is_alive() for thread in threads)
    assert not failures


CYCLES = """
import gc, resource, sys, duckdb
import polars_microagg.duckdb as mgd

def cycle():
    with mgd.register(duckdb.connect()) as con:
        con.execute("CREATE TABLE t AS SELECT i AS a FROM range(1000) r(i)")
        con.execute("FROM microagg.mdav('t', 'a', 5)").fetchall()
        mgd.mask(con, "t", "a", 5).fetchall()

def held():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20

for _ in range(30):
    cycle()
before = held()
for _ in range(120):
    cycle()
print(held() - before)
"""


@pytest.mark.deep
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_many_cycles_leak_nothing_and_leave_nothing_open():
    # -X dev and -W error: an unclosed connection, or what nanobind finds at exit, is on stderr.
    command = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", CYCLES]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert float(done.stdout) < 8
    assert done.stderr == ""


def test_every_file_of_sql_is_in_the_package_and_can_be_parsed():
    names = {item.name for item in (Path(__file__).parents[2] / "sql").iterdir()}
    assert {f"{name}.sql" for name in sql_text()} <= names
    assert "README.md" in names
    with duckdb.connect() as con:
        for name in ("mask", "measures", "losses"):
            assert len(con.extract_statements(sql_text()[name])) > 2


@pytest.mark.parametrize("catalog", ["main", "MAIN", "pg_catalog", "system", "temp"])
def test_names_of_duckdb_itself_are_taken(catalog):
    with duckdb.connect() as con:
        with pytest.raises(mg.InvalidParameterError, match="of that name already"):
            mgd.register(con, catalog=catalog)
        with pytest.raises(mg.InvalidParameterError, match=r"^con='str' was given"):
            mgd.register("people.duckdb")
