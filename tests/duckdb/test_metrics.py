"""The measures in SQL: worked by hand, by group, in windows, and as Python gives them."""

import re

import duckdb
import pytest

import polars_microagg as mg
from polars_microagg.duckdb.macros import sql_text

ROWS = """
    (1, 'n', 30, 100.0), (2, 'n', 30, 100.0), (3, 'n', 41, 200.0),
    (4, 's', NULL, 300.0), (5, 's', NULL, 300.0), (6, 's', NULL, NULL),
    (7, 's', NULL, NULL), (8, 's', NULL, NULL)
"""


@pytest.fixture
def con(con):
    con.execute(f"CREATE TABLE people AS FROM (VALUES {ROWS}) AS people(id, region, age, income)")
    return con


# --- Aggregates -------------------------------------------------------------------------------


def test_classes_worked_by_hand(con):
    query = "SELECT microagg.k_min((age, income)), microagg.k_prime((age, income)) FROM people"
    assert con.sql(query).fetchall() == [(1, 8 / 4)]
    by_group = f"{query} GROUP BY region ORDER BY region"
    assert con.sql(by_group).fetchall() == [(1, 1.5), (2, 2.5)]
    assert con.sql(f"{query} WHERE id = 9").fetchall() == [(None, None)]


def test_null_is_a_value(con):
    query = "SELECT microagg.k_min(age), microagg.k_prime(age) FROM people"
    assert con.sql(query).fetchall() == [(1, 8 / 3)]


def test_classes_in_a_window(con):
    query = """
        SELECT DISTINCT region, microagg.main.k_min((age, income)) OVER w,
            microagg.main.k_prime((age, income)) OVER w
        FROM people WINDOW w AS (PARTITION BY region) ORDER BY region
    """
    assert con.sql(query).fetchall() == [("n", 1, 1.5), ("s", 2, 2.5)]
    running = "SELECT microagg.main.k_min(age) OVER (ORDER BY id) FROM people ORDER BY id"
    assert [k for (k,) in con.sql(running).fetchall()] == [1, 2, 1, 1, 1, 1, 1, 1]


PAIRS = """
    (VALUES ('a', 1, 2, 10, 10, 5, 5), ('a', 3, 2, 20, 10, 5, 5), ('b', 1, 1, 10, 40, 5, 6),
        ('b', 5, 1, 30, 40, 5, 5), ('b', 3, 7, NULL, 1, 5, 5), ('b', 3, NULL, 80, 80, 5, 5))
    AS pairs(g, x, mx, y, my, c, mc)
"""


def test_errors_worked_by_hand(con):
    query = f"""
        SELECT microagg.sse([x, y, c], [mx, my, mc]), microagg.sst([x, y, c]),
            microagg.loss([x, y, c], [mx, my, mc])
        FROM {PAIRS}
    """
    # Of a: x is 1, 3 with variance 1, y is 10, 20 with variance 25, c does not vary.
    assert con.sql(f"{query} WHERE g = 'a'").fetchall() == [(2 / 1 + 100 / 25, 4.0, 150.0)]
    # Of b: x is 1, 5, 3, 3 with variance 2, y is 10, 30, 80 with variance 2600/3.
    sse = (0 + 16 + 16) / 2 + (900 + 100 + 0) / (2600 / 3)
    ((_, *found),) = con.sql(
        query.replace("SELECT", "SELECT g,", 1) + " WHERE g = 'b' GROUP BY g"
    ).fetchall()
    assert found == pytest.approx([sse, 7.0, 100 * sse / 7], rel=1e-15)
    assert con.sql(f"{query} WHERE g = 'z'").fetchall() == [(0.0, 0.0, 0.0)]


def test_errors_by_group_and_in_a_window(con):
    query = f"SELECT g, microagg.sse([x], [mx]), microagg.loss([x], [mx]) FROM {PAIRS} GROUP BY g ORDER BY g"
    assert con.sql(query).fetchall() == [("a", 2.0, 100.0), ("b", 16.0, 400.0)]
    window = f"""
        SELECT DISTINCT g, microagg.main.sse([x], [mx]) OVER w, microagg.main.loss([x], [mx]) OVER w,
            microagg.main.sst([x]) OVER w
        FROM {PAIRS} WINDOW w AS (PARTITION BY g) ORDER BY g
    """
    assert con.sql(window).fetchall() == [("a", 2.0, 100.0, 2.0), ("b", 16.0, 400.0, 4.0)]


@pytest.mark.parametrize("name", ["__mg", "o", "m", "x", "j", "r", "all", "c", "n", "var", "sse"])
def test_names_of_columns_do_not_meet_names_in_the_macros(con, name):
    con.execute(f'CREATE TABLE t AS SELECT x AS "{name}", mx AS mine, g FROM {PAIRS}')
    query = f'SELECT microagg.sse(["{name}"], [mine]), microagg.k_min("{name}") FROM t GROUP BY g ORDER BY g'
    assert con.sql(query).fetchall() == [(2.0, 1), (16.0, 1)]


def test_the_aggregates_are_those_of_python(con):
    before = con.sql(f"SELECT x, y, c FROM {PAIRS}").pl()
    after = con.sql(f"SELECT mx AS x, my AS y, mc AS c FROM {PAIRS}").pl()
    found = con.sql(
        f"SELECT microagg.sse([x, y, c], [mx, my, mc]), microagg.sst([x, y, c]), microagg.loss([x, y, c], [mx, my, mc]) FROM {PAIRS}"
    )
    expected = [mg.sse(before, after), mg.sst(before, after), mg.loss(before, after)]
    assert found.fetchall()[0] == pytest.approx(expected, rel=1e-12)


def test_the_aggregates_need_no_python():
    with duckdb.connect() as con:
        for name in ("measures", "losses") * 2:
            con.execute(sql_text()[name])
        assert con.sql(
            "SELECT microagg.k_min(x), microagg.sse([x], [0]) FROM (VALUES (1), (3)) t(x)"
        ).fetchall() == [(1, 10.0)]


# --- Tables -----------------------------------------------------------------------------------


def test_anonymity_worked_by_hand(con):
    query = "FROM microagg.anonymity('people', ['age', 'income'])"
    assert con.sql(query).fetchall() == [(8, 4, 1, 2.0, 1)]
    by_region = "FROM microagg.anonymity('people', 'income', strata := 'region')"
    assert con.sql(by_region).fetchall() == [(8, 4, 1, 2.0, 1)]


def test_verify_gives_the_same_row_or_refuses(con):
    some = (
        "WITH s AS (FROM people WHERE region = 's') FROM microagg.verify('s', ['age', 'income'], 2)"
    )
    assert con.sql(some).fetchall() == [(5, 2, 2, 2.5, 0)]
    with pytest.raises(
        duckdb.InvalidInputException, match="NotAnonymousError: The table is not 2-anonymous"
    ):
        con.sql("FROM microagg.verify('people', ['age', 'income'], 2)").fetchall()


def test_records_without_any_value_are_a_class(con):
    # Classes of age: 30 twice, 41 once, null five times.
    con.execute("DELETE FROM people WHERE age = 41")
    one = "WITH p AS (FROM people WHERE age = 30 OR id = 4) FROM microagg.verify('p', 'age', 2)"
    with pytest.raises(duckdb.InvalidInputException, match=r"1 class\(es\) with 1 record\(s\)"):
        con.sql(one).fetchall()
    more = one.replace("id = 4", "age IS NULL")
    assert con.sql(more).fetchall() == [(7, 2, 2, 3.5, 0)]


@pytest.mark.parametrize("strata", [None, ["region"]])
def test_tables_are_counted_as_in_python(con, strata):
    given = "" if strata is None else f", strata := {strata}"
    people = con.table("people").pl()
    for columns in (["age"], ["age", "income"], ["region", "age"]):
        expected = mg.anonymity(people, columns, strata=strata)
        found = con.sql(f"FROM microagg.anonymity('people', {columns}{given})").pl()
        assert found.equals(expected)
        for k in (2, 3, 6):
            try:
                mg.verify(people, columns, k, strata=strata)
            except mg.NotAnonymousError as error:
                sentence = re.escape(str(error))
                with pytest.raises(duckdb.InvalidInputException, match=sentence):
                    con.sql(f"FROM microagg.verify('people', {columns}, {k}{given})").fetchall()
            else:
                rows = con.sql(f"FROM microagg.verify('people', {columns}, {k}{given})").fetchall()
                assert rows == expected.rows()


ORIGINAL = """
SELECT i AS id, (i * 37 % 101)::INTEGER AS age, 2::HUGEINT ** 90 + i * 7 % 13 AS huge,
    (i * 7919 % 1009 / 100)::DECIMAL(9, 2) AS price, DATE '2024-01-01' + (i * 11 % 97)::INTEGER AS day,
    CASE WHEN i % 10 <> 0 THEN sin(i) END AS wave, TIMESTAMP_NS '2024-01-01' + to_seconds(i) AS stamp,
    i % 4 AS region, ('note ' || i)::BLOB AS note, i % 3 = 0 AS flag
FROM range(90) r(i)
"""


@pytest.mark.parametrize("key", [None, "id", ["ID", "region"]])
@pytest.mark.parametrize("columns", [None, ["age", "wave"], ["huge", "day", "price", "stamp"]])
def test_assess_as_in_python(con, key, columns):
    con.execute(f"CREATE TABLE o AS {ORIGINAL}")
    masked = ["age", "huge", "price", "day", "wave", "stamp"]
    con.execute(f"CREATE TABLE m AS FROM microagg.mdav('o', {masked}, 5, nulls := 'impute')")
    if key:
        con.execute("CREATE OR REPLACE TABLE m AS FROM m ORDER BY hash(id)")
    given = {"columns": columns, "key": key}
    query = "FROM microagg.assess('o', 'm', columns := $columns, key := $key)"
    found = con.sql(query, params=given).pl().row(0, named=True)
    names = None if key is None else [n.lower() for n in ([key] if isinstance(key, str) else key)]
    # HUGEINT comes to polars as a decimal, which is counted in the same steps.
    tables = con.table("o").pl(), con.table("m").pl()
    expected = mg.assess(*tables, columns, key=names)
    expected = expected.row(0, named=True)
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9), name


def test_assess_with_what_an_intruder_knows(con):
    con.execute(f"CREATE TABLE o AS {ORIGINAL}")
    con.execute("CREATE TABLE m AS FROM microagg.mdav('o', 'age', 5)")
    query = (
        "SELECT k_min, k_prime FROM microagg.assess('o', 'm', 'age', known := ['age', 'region'],"
        " metrics := ['k_min', 'k_prime'])"
    )
    for metrics in ("NULL", "['dld']", "['k_min', 'dr']"):
        with pytest.raises(duckdb.InvalidInputException, match="'note' of type BLOB, which has"):
            con.sql(
                "FROM microagg.assess('o', 'm', 'age', known := ['age', 'note'],"
                f" metrics := {metrics})"
            ).fetchall()
    counted = con.sql("FROM microagg.anonymity('m', ['age', 'region'])").fetchall()[0]
    assert con.sql(query).fetchall() == [counted[2:4]]


def test_assess_of_a_release_in_double(con):
    con.execute(f"CREATE TABLE o AS {ORIGINAL}")
    con.execute(
        "CREATE TABLE m AS FROM microagg.mdav('o', ['age', 'day', 'price'], 5, dtype := 'float')"
    )
    found = con.sql("FROM microagg.assess('o', 'm', ['age', 'price'])").pl()
    tables = con.table("o").pl(), con.table("m").pl()
    expected = mg.assess(*tables, ["age", "price"])
    for name in found.columns:
        assert found[name][0] == pytest.approx(expected[name][0], rel=1e-9)


def test_assess_of_some_metrics(con):
    con.execute(f"CREATE TABLE o AS {ORIGINAL}")
    query = "FROM microagg.assess('o', 'o', 'age', metrics := ['sse', 'k_min'])"
    found = con.sql(query).pl().row(0, named=True)
    assert found["sse"] == 0
    assert found["k_min"] == 1
    assert {name for name, value in found.items() if value is not None} == {"sse", "k_min"}
    for empty in ("metrics", "known"):
        with pytest.raises(
            duckdb.InvalidInputException, match=rf"{empty} := \[\] was given; .* one"
        ):
            con.sql(f"FROM microagg.assess('o', 'o', 'age', {empty} := [])").fetchall()
    with pytest.raises(duckdb.InvalidInputException, match="metrics := 'lost' is not known"):
        con.sql("FROM microagg.assess('o', 'o', 'age', metrics := 'lost')")


def test_assess_of_other_steps(con):
    con.execute(f"CREATE TABLE o AS {ORIGINAL}")
    con.execute("CREATE TABLE m AS SELECT stamp::TIMESTAMP_S AS stamp, age::BIGINT AS age FROM o")
    found = con.sql("SELECT sse FROM microagg.assess('o', 'm', ['stamp', 'age'])")
    assert found.fetchall() == [(0.0,)]


def test_assess_of_cte(con):
    query = f"""
        WITH o AS ({ORIGINAL}), m AS (FROM microagg.mdav('o', ['age', 'wave'], 5, nulls := 'impute'))
        SELECT round(loss, 6) > 0, k_min >= 5 FROM microagg.assess('o', 'm', ['age', 'wave'])
    """
    assert con.sql(query).fetchall() == [(True, True)]


@pytest.mark.parametrize("call", ["sse([name], [name])", "loss([name], [name])", "sst([name])"])
def test_what_is_no_number_is_refused_without_showing_it(con, call):
    con.execute("CREATE TABLE secrets AS SELECT 'topsecret' || i AS name FROM range(4) r(i)")
    with pytest.raises(
        duckdb.InvalidInputException, match=r"columns of numbers, .* got VARCHAR\[\]"
    ) as e:
        con.execute(f"SELECT microagg.{call} FROM secrets")
    assert "topsecret" not in str(e.value)


@pytest.mark.parametrize(
    ("lists", "said"),
    [("[i, i], [i]", "2 column.* one after 1"), ("[i], NULL", "1 column.* one after no\\.")],
)
def test_lists_of_other_columns_are_refused(con, lists, said):
    for metric in ("sse", "loss"):
        with pytest.raises(duckdb.InvalidInputException, match=f"the list before has {said}"):
            con.execute(f"SELECT microagg.{metric}({lists}) FROM range(4) r(i)").fetchall()


def test_integers_past_127_bits_are_subtracted_before_they_are_rounded(con):
    top = "'340282366920938463463374607431768211455'::UHUGEINT"
    con.execute(f"CREATE TABLE o AS SELECT {top} - i::UHUGEINT AS x FROM (VALUES (0), (2)) r(i)")
    con.execute(f"CREATE TABLE m AS SELECT {top} - 1 AS x FROM range(2)")
    # Two squared steps, and a variance of 1.
    assert con.execute("SELECT sse FROM microagg.assess('o', 'm')").fetchall() == [(2.0,)]


def test_classes_are_those_of_the_values_that_were_released(con):
    con.execute("CREATE TABLE o AS SELECT DATE '2024-01-01' + i::INTEGER AS x FROM range(4) r(i)")
    hours = "TIMESTAMP '2024-01-02 00:00:00' + to_hours(i)"
    con.execute(f"CREATE TABLE m AS SELECT {hours} AS x FROM range(4) r(i)")
    # Measured in days all four are of one day; as they were released each is alone.
    assert con.execute("SELECT k_min FROM microagg.assess('o', 'm')").fetchall() == [(1,)]
