"""One masking used twice in a query: either all its uses see the same records, or the query fails."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import duckdb
import pytest

import polars_microagg.duckdb as mgd
from polars_microagg.core import registry
from polars_microagg.duckdb import same_records

SEVERAL = "InvalidDataError: The query reads one masking of .* in several places"
UNORDERED = "InvalidDataError: The query reads a masked table in several places"

SOURCES = {
    "drawn": "FROM people ORDER BY random() LIMIT 60",
    "shuffled": "FROM people ORDER BY random()",
    # The masked columns come in the same order, and the others do not.
    "mixed": """
        SELECT p.* EXCLUDE (n), o.* EXCLUDE (n) FROM
            (SELECT a, b, sex, row_number() OVER () AS n FROM people) AS p
            JOIN (SELECT id, half, region, row_number() OVER () AS n
                FROM (FROM people ORDER BY random())) AS o
            USING (n) ORDER BY n
    """,
}
"""Tables that come in another order whenever they are read."""

CALLS = {
    "one column": "mdav('{}', 'a', 3)",
    "several columns": "mdav('{}', ['a', 'b'], 3)",
    "blocks": "mdav('{}', [['a'], ['b']], 3)",
    "strata": "mdav('{}', ['a', 'b'], 3, strata := 'region')",
    "categories": "mdav('{}', ['a', 'sex'], 3)",
    "entity": "mdav('{}', 'a', 3, entity := 'id', entity_mode := 'rows')",
    "mask": "mask('{}', 'a', 3, method := 'fixed_size', options := {{'sort': 'fpc'}})",
    "groups": "groups('{}', 'a', 3)",
    "release": "release('{}', 'a', 3, keep := ['id', 'half'], drop := ['b', 'sex', 'region'])",
}

USES = {
    "union": "FROM puf WHERE half = 0 UNION ALL FROM puf WHERE half = 1",
    "self-join": "FROM puf AS p JOIN puf AS q USING (id)",
    "subquery": "FROM puf WHERE id IN (SELECT id FROM puf WHERE half = 0)",
}


@pytest.fixture
def people(con):
    con.execute("""
        CREATE TABLE people AS SELECT i AS id, (i * 37) % 101 AS a, sin(i) AS b, i % 2 AS half,
            i % 3 AS region, CASE WHEN i % 5 < 2 THEN 'f' ELSE 'm' END AS sex
        FROM range(80) r(i)
    """)
    for name, query in SOURCES.items():
        con.execute(f"CREATE VIEW {name} AS {query}")
    return con


def puf(con, call, source="drawn"):
    con.execute(f"CREATE OR REPLACE VIEW puf AS FROM microagg.{call.format(source)}")


def refused(con, query, *parameters):
    with pytest.raises(duckdb.Error, match=SEVERAL):
        con.execute(query, *parameters).fetchall()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("source", SOURCES)
def test_uses_that_meet_other_records_are_refused(people, source, call):
    puf(people, CALLS[call], source)
    people.execute("FROM puf").fetchall()
    refused(people, USES["union"])


@pytest.mark.parametrize("use", USES)
def test_every_use_counts(people, use):
    puf(people, CALLS["one column"])
    refused(people, USES[use])


@pytest.mark.parametrize("method", registry.methods())
def test_every_macro_of_a_method_refuses_them(people, method):
    puf(people, f"{method}('{{}}', 'a', 3)")
    refused(people, USES["union"])


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("call", CALLS)
def test_a_table_can_be_masked_twice_in_a_query(people, call, use):
    puf(people, CALLS[call], "people")
    rows = people.execute(USES[use]).fetchall()
    people.execute("CREATE TABLE kept AS FROM puf")
    assert sorted(rows) == sorted(people.execute(USES[use].replace("puf", "kept")).fetchall())


@pytest.mark.parametrize("use", USES)
def test_a_materialized_cte_is_one_masking(people, use):
    puf(people, CALLS["one column"])
    people.execute(
        f"CREATE TABLE out AS WITH m AS MATERIALIZED (FROM puf) {USES[use].replace('puf', 'm')}"
    )
    least = people.execute("SELECT min(n) FROM (SELECT count(*) AS n FROM out GROUP BY a)")
    assert use != "union" or least.fetchall()[0][0] >= 3


def test_a_materialized_source_is_the_same_table(people):
    call = "FROM microagg.mdav('s', 'a', 3) WHERE half = "
    query = f"WITH s AS MATERIALIZED (FROM drawn) {call} 0 UNION ALL {call} 1"
    assert len(people.execute(query).fetchall()) == 60


def test_two_queries_are_two_maskings(people):
    puf(people, CALLS["one column"])
    people.execute("PREPARE again AS FROM puf")
    people.execute("BEGIN")
    for query in ("FROM puf", "FROM puf", "EXECUTE again", "EXECUTE again"):
        assert len(people.execute(query).fetchall()) == 60
    people.execute("COMMIT")
    relation = people.sql("FROM puf")
    assert [len(relation.fetchall()), len(relation.fetchall())] == [60, 60]
    with pytest.raises(duckdb.Error, match=SEVERAL):
        relation.union(relation).fetchall()


def test_two_calls_are_two_maskings(people):
    query = "FROM microagg.mdav('drawn', 'a', 3) UNION ALL FROM microagg.mdav('drawn', 'a', {})"
    assert len(people.execute(query.format(4)).fetchall()) == 120
    refused(people, query.format(3))
    refused(people, query.format("?"), [3])
    people.execute("CREATE VIEW other AS FROM drawn")
    assert len(people.execute(query.replace("drawn", "other", 1).format(3)).fetchall()) == 120


@pytest.mark.parametrize(
    "name", ["DRAWN", '"drawn"', "main.drawn", "memory.main.Drawn", "memory.drawn"]
)
def test_a_masking_is_the_same_by_any_spelling(people, name):
    call = "FROM microagg.mdav('{}', '{}', 3)"
    refused(people, f"{call.format('drawn', 'a')} UNION ALL {call.format(name, 'A')}")
    people.execute("CREATE SCHEMA other; CREATE VIEW other.drawn AS FROM people LIMIT 50")
    query = f"{call.format('drawn', 'a')} UNION ALL {call.format('other.drawn', 'a')}"
    assert len(people.execute(query).fetchall()) == 110


def test_a_masking_is_the_same_by_any_macro(people):
    groups = "FROM microagg.groups('drawn', ['a'], 3, method := 'mdav') AS g"
    refused(people, f"{groups} JOIN microagg.mdav('drawn', 'a', 3, workers := 1) AS m USING (id)")


def test_a_tree_that_is_another_one_at_each_use(people):
    people.execute("""
        CREATE VIEW jobs AS SELECT unnest(['f', 'm']) AS sex, random()::VARCHAR AS parent, '*' AS everyone
    """)
    puf(people, "mdav('{}', ['a', 'sex'], 3, taxonomy := {{'sex': 'jobs'}})", "people")
    people.execute("FROM puf").fetchall()
    refused(people, USES["union"])


def test_connections_do_not_meet(people):
    """Queries that run at the same time, in one database and in two, are not one query."""
    puf(people, CALLS["one column"])

    def rows(con):
        with con.cursor() as cursor:
            return [len(cursor.execute("FROM puf").fetchall()) for _ in range(5)]

    with mgd.register(duckdb.connect()) as second:
        second.execute("CREATE TABLE drawn AS FROM range(60) r(a)")
        puf(second, CALLS["one column"])
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(rows, [people, second] * 2)) == [[60] * 5] * 4


def test_a_bounded_number_of_calls_is_remembered(people, monkeypatch):
    monkeypatch.setattr(same_records, "MAX_CALLS", len(same_records._records) + 3)
    puf(people, CALLS["one column"])
    for _ in range(6):
        people.execute("FROM puf").fetchall()
    assert len(same_records._records) <= same_records.MAX_CALLS
    refused(people, USES["union"])


def attempt(con, query):
    """Return the only value, or the error if that is one of ours."""
    try:
        return con.execute(query).fetchall()[0][0]
    except duckdb.Error as error:
        return re.search(f"{SEVERAL}|{UNORDERED}|$", str(error))[0]


@pytest.mark.parametrize("shared", [True, False])
def test_a_source_that_threads_group(con, shared):
    """DuckDB 2.0 shares parts of a query that are alike; without that each use reads its source."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, (i * 7919) % 100003 AS a FROM range(300000) r(i)"
    )
    con.execute(
        "CREATE VIEW grouped AS SELECT id, any_value(a) AS a, id % 2 AS half FROM t GROUP BY id"
    )
    con.execute("CREATE VIEW sorted AS FROM grouped ORDER BY id")
    con.execute("SET threads = 2")
    if not shared:
        with suppress(duckdb.ParserException):  # DuckDB before 2.0 shares nothing
            con.execute("SET disabled_optimizers = 'common_subplan'")
    puf(con, "fixed_size('{}', 'a', 5)", "grouped")
    smallest = "SELECT min(n) FROM (SELECT count(*) AS n FROM ({}) GROUP BY ALL)"
    joined = "SELECT p.a AS x, q.a AS y FROM puf AS p JOIN puf AS q USING (id)"
    united = "SELECT a FROM puf WHERE half = 0 UNION ALL SELECT a FROM puf WHERE half = 1"
    for query in (joined, united) * 2:
        answer = attempt(con, smallest.format(query))
        assert answer if isinstance(answer, str) else answer >= 5
    once = f"WITH m AS MATERIALIZED (FROM puf) {united.replace('puf', 'm')}"
    assert con.execute(smallest.format(once)).fetchall()[0][0] >= 5
    con.execute("CREATE OR REPLACE VIEW puf AS FROM microagg.fixed_size('sorted', 'a', 5)")
    assert con.execute(smallest.format(joined)).fetchall()[0][0] >= 5
