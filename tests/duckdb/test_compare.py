"""`compare` and `recommend` in SQL: the tables of Python."""

import duckdb
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd

PEOPLE = """CREATE TABLE people AS SELECT i AS id, 'p' || i % 9 AS person, (i * 7) % 40 AS age,
    ((i * 13) % 900)::DECIMAL(9, 2) AS income, DATE '2020-01-01' + (i % 50)::INTEGER AS since,
    ['craft', 'trade', 'office'][1 + i % 3] AS job, (i % 2) AS region, i % 5 AS sick,
    (i * 31 % 97) / 7 AS weight FROM range(90) r(i)"""

CASES = [
    {"columns": ["age", "income", "since"]},
    {"columns": "weight", "ks": 4, "methods": ["univariate", "mdav"]},
    {"columns": ["age", "weight"], "strata": "region", "metrics": ["sse", "il5", "loss"]},
    {"columns": ["age", "job"], "nominal": "job", "column_weights": {"age": 2.0}, "metrics": "sst"},
    {"columns": ["age", "income"], "entity": "person", "ks": [3]},
    {"columns": ["age", "income"], "confidential": "sick", "l": 2, "ks": [3]},
    {"columns": [["age", "income"], ["weight"]], "known": ["age"], "scale": "minmax"},
    {"columns": ["age", "income", "weight"], "known": 2, "known_sample": 2, "seed": 3},
    {"columns": ["age", "income"], "strata": "sick", "small_strata": "null", "ks": [10, 20]},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case))
def test_it_is_the_table_of_python(con, case):
    con.execute(PEOPLE)
    case = {"methods": ["mdav", "fixed_size"], "ks": [3, 5]} | case
    columns = case.pop("columns")
    given = "".join(f", {name} := {sql_of_any(value)}" for name, value in case.items())
    found = con.sql(f"FROM microagg.compare('people', {sql_of_any(columns)}{given})").pl()
    expected = mgd.compare(con, "people", columns, **case).pl()
    # Further metrics come in the order of the register: a macro has fixed columns.
    assert found.columns[:15] == expected.columns[:15]
    assert sorted(found.columns) == sorted(expected.columns)
    assert found.select(expected.columns).drop("seconds").equals(expected.drop("seconds"))
    asked = "loss<=50"
    con.register("expected", expected)
    picked = con.sql(f"FROM microagg.recommend('expected', require := '{asked}', k := 3)").pl()
    assert picked.equals(mg.recommend(expected, require=asked, k=3))


def test_a_recommendation_names_the_lines_that_had_no_time(con):
    note = "lowloss was not begun: it is expected to take 58 seconds, and of seconds=20 there were 9 left."
    con.sql(
        "CREATE TABLE short AS SELECT * FROM (VALUES ('mdav', 3, 9.5, 4.5, NULL), "
        f"('lowloss', 3, NULL, NULL, '{note}')) AS t(method, k, loss, dld, note)"
    )
    reason = con.sql("SELECT reason FROM microagg.recommend('short')").fetchall()[0][0]
    assert "1 line did not run for lack of time and may lose less: lowloss (k=3). " in reason


def test_columns_masked_each_on_its_own_are_not_recommended(con):
    con.execute(PEOPLE)
    ways = "methods := ['univariate', 'mdav'], ks := 3"
    con.execute(f"CREATE TABLE t AS FROM microagg.compare('people', ['age', 'income'], {ways})")
    assert con.sql("SELECT k_min FROM t ORDER BY loss").fetchall()[0] == (1,)
    found = con.sql("FROM microagg.recommend('t', require := 'loss<=50', k := 3)").pl()
    assert found.select("method", "k_min", "met").row(0) == ("mdav", 3, True)


def sql_of_any(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"'{name}': {each}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(sql_of_any, value)) + "]"
    return f"'{value}'" if isinstance(value, str) else str(value)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("compare('people', 'agee')", "columns names 'agee'.* Did you mean 'age'"),
        ("compare('people', 'age', methods := 'mdaf')", "no method 'mdaf'. Did you mean 'mdav'"),
        ("compare('people', 'age', metrics := 'sze')", "metrics := 'sze' .* Did you mean 'sse'"),
        ("compare('people', 'age', ks := 1)", "k := 1 is not a group size"),
        ("compare('people', 'age', known := 'ag')", "known names 'ag'.* Did you mean 'age'"),
        (
            "recommend('people')",
            "has no column 'method', 'k', 'loss'; .*the table that compare returned",
        ),
        ("recommend('empty')", "compared has no row.*the table that compare returned"),
        (
            "recommend('few')",
            "The measure 'dld' of require is not known; it must be one of 'k', 'loss'[.]",
        ),
        ("recommend('compared', require := 'dlt<=3')", "Did you mean 'dld'"),
        ("recommend('compared', k := 9)", "k"),
    ],
)
def test_a_wrong_call_is_told_in_our_words(con, call, sentence):
    con.execute(PEOPLE)
    con.execute(
        "CREATE TABLE compared AS FROM microagg.compare('people', 'age', methods := 'mdav', ks := 3)"
    )
    con.execute("CREATE VIEW empty AS FROM compared LIMIT 0")
    con.execute("CREATE VIEW few AS SELECT method, k, loss FROM compared")
    with pytest.raises(duckdb.InvalidInputException, match=f"Error: .*{sentence}"):
        con.sql(f"FROM microagg.{call}").fetchall()


def test_names_of_columns_have_no_case(con):
    con.execute(PEOPLE)
    ask = "SELECT * EXCLUDE (seconds) FROM microagg.compare('people', ['{}', 'weight'], known := ['{}'], ks := 3, methods := 'mdav')"
    assert (
        con.sql(ask.format("AGE", "Age")).fetchall() == con.sql(ask.format("age", "age")).fetchall()
    )


def test_a_cte_is_compared_and_recommended_in_one_query(con):
    con.execute(PEOPLE)
    query = """WITH few AS (FROM people WHERE id < 60),
        compared AS (FROM microagg.compare('few', ['age', 'weight'], methods := 'mdav', ks := [3, 6]))
        SELECT method, k, met FROM microagg.recommend('compared', require := ['k>=5'])"""
    assert con.sql(query).fetchall() == [("mdav", 6, True)]


def test_an_empty_table_has_the_rows_of_python(con):
    con.execute(PEOPLE)
    query = "WITH n AS (FROM people LIMIT 0) FROM microagg.compare('n', 'age', methods := 'mdav', ks := 3)"
    expected = mgd.compare(con, con.sql("FROM people LIMIT 0"), "age", methods="mdav", ks=3).pl()
    assert con.sql(query).pl().drop("seconds").equals(expected.drop("seconds"))
    with pytest.raises(duckdb.InvalidInputException, match="the table that compare returned"):
        con.sql("WITH n AS (FROM people LIMIT 0) FROM microagg.recommend('n')").fetchall()
