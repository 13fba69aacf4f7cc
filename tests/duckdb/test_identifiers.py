"""Columns that options name, options in the wrong place, lists of numbers, and a query that is stopped."""

import os
import signal

import duckdb
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd

TABLE = """
SELECT i AS id, (i * 37) % 71 AS "Age", (i * i * 13) % 97 AS income, [i::DECIMAL(9, 2)] AS several,
    [i::DECIMAL(9, 2), 0]::DECIMAL(9, 2)[2] AS pair, [TIMESTAMP '2024-01-01'] AS times
FROM range(60) r(i)
"""


@pytest.fixture
def table(con):
    con.execute(f"CREATE TABLE t AS {TABLE}")
    return con


@pytest.mark.parametrize("method", ["fixed_size", "k_ward"])
@pytest.mark.parametrize("written", ["Age", "AGE", "age", "aGe"])
def test_a_column_to_sort_by_is_found_in_any_case(table, method, written):
    plain = table.table("t").pl().select("id", "Age", "income")
    wanted = mg.mask(plain, ["Age", "income"], 3, method=method, sort="Age").rows()
    other = mg.mask(plain, ["Age", "income"], 3, method=method, sort="income").rows()
    assert wanted != other
    named = f"FROM microagg.{method}('t', ['age', 'income'], 3, sort := '{written}')"
    options = f"method := '{method}', options := {{'sort': '{written}'}}"
    by_name = f"FROM microagg.mask('t', ['age', 'income'], 3, {options})"
    for query in (named, by_name):
        assert table.sql(f"SELECT id, Age, income {query} ORDER BY id").fetchall() == wanted
    made = mgd.mask(table, "t", ["age", "income"], 3, method=method, sort=written)
    assert made.select("id, Age, income").order("id").fetchall() == wanted


def test_a_column_that_is_not_masked_is_still_none_to_sort_by(table):
    with pytest.raises(duckdb.InvalidInputException, match="sort := 'ID' is not known; .* 'Age'"):
        table.sql("FROM microagg.fixed_size('t', ['age', 'income'], 3, sort := 'ID')")
    # The word for a projection is not taken for a column of that name.
    table.execute('CREATE TABLE u AS SELECT id AS "fpc", income FROM t')
    with pytest.raises(duckdb.InvalidInputException, match="sort := 'FPC' is not known"):
        table.sql("FROM microagg.fixed_size('u', ['fpc', 'income'], 3, sort := 'FPC')")


@pytest.mark.parametrize(
    ("options", "way"),
    [
        ("{'scale': 'none'}", "'scale'. Write it beside options, as in scale := 'zscore'."),
        ("{'strata': 'id'}", "'strata'. Write it beside options, as in strata := 'region'."),
        ("{'refine': true}", "'refine'. Write it beside options, as in refine := false."),
        ("{'seed': 1}", "'seed'. Write it beside options, as in seed := 0."),
        ("{'order_by': 'id'}", "vmdav has no option 'order_by'. Choose from 'gamma'."),
        ("{'gama': 1}", "vmdav has no option 'gama'. Did you mean 'gamma'?"),
    ],
)
def test_an_option_in_the_wrong_place_is_told_where_it_belongs(table, options, way):
    query = f"FROM microagg.mask('t', 'age', 3, method := 'vmdav', options := {options})"
    with pytest.raises(duckdb.InvalidInputException) as caught:
        table.sql(query)
    assert str(caught.value).endswith(way)


@pytest.mark.parametrize(
    ("name", "kind"), [("several", "DECIMAL[]"), ("pair", "DECIMAL[2]"), ("times", "TIMESTAMP[]")]
)
def test_lists_of_numbers_are_refused_by_their_type(table, name, kind):
    text = f"Column '{name}' is of type {kind}, which has no centroid"
    for query in (f"mdav('t', ['age', '{name}'], 3)", f"assess('t', 't', ['age', '{name}'])"):
        with pytest.raises(duckdb.InvalidInputException) as caught:
            table.sql(f"FROM microagg.{query}").fetchall()
        assert text in str(caught.value)
    with pytest.raises(mg.NotNumericError) as refused:
        mgd.mask(table, "t", ["age", name], 3)
    assert text in str(refused.value)
    # What is not masked may be a list.
    made = (
        "SELECT id, several, pair, times FROM microagg.mdav('t', ['age', 'income'], 3) ORDER BY id"
    )
    kept = "SELECT id, several, pair, times FROM t ORDER BY id"
    assert table.sql(made).fetchall() == table.sql(kept).fetchall()


LONG = "CREATE TABLE m AS SELECT avg(a) FROM microagg.mdav('long', ['a', 'b'], 3)"


@pytest.fixture
def long(con):
    con.execute("SET threads = 1")
    con.execute("CREATE TABLE long AS SELECT sin(i) AS a, cos(7 * i) AS b FROM range(20_000) r(i)")
    return con


def test_a_callback_stops_a_query_in_one_thread(long):
    told = []

    def stop(done, total, what):
        told.append(done)
        if done > total / 10:
            raise RuntimeError("long enough")

    with mg.progress(stop), pytest.raises(duckdb.InvalidInputException, match="long enough"):
        long.execute(LONG)
    assert told[-1] < 0.2 * 20_000
    assert not long.sql("SELECT * FROM duckdb_tables() WHERE table_name = 'm'").fetchall()
    long.execute(LONG)


@pytest.mark.skipif(os.name != "posix", reason="a signal of POSIX")
def test_control_c_stops_a_query_in_one_thread(long):
    told = []

    def press(done, total, what):
        told.append(done)
        if len(told) == 10:
            os.kill(os.getpid(), signal.SIGINT)

    errors = duckdb.Error, RuntimeError, KeyboardInterrupt
    # A shell lets what it starts in the background ignore this signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with mg.progress(press), pytest.raises(errors, match="[Ii]nterrupt|^$"):
            long.execute(LONG)
    finally:
        signal.signal(signal.SIGINT, before)
    assert told[-1] < 0.5 * 20_000
    assert not long.sql("SELECT * FROM duckdb_tables() WHERE table_name = 'm'").fetchall()
