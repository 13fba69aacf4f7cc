"""Categories at the doors of DuckDB: types, trees from tables, what is refused."""

import datetime
import re

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.duckdb.column_types import as_steps, typed

N = 60
JOBS = {"smith": "craft", "baker": "craft", "judge": "office", "clerk": "office"}
JOBS |= {"craft": "*", "office": "*"}
MOODS = ["it's low", "mid, )", "high"]
COLUMNS = ["age", "sex", "ok", "zip", "job", "mood", "clock", "day"]
SQL = (
    "FROM microagg.{}('people', {}, 4, nominal := 'ZIP', ordinal := ['day'], circular := 'clock', "
    "taxonomy := {{'Job': 'jobs'}}, column_weights := {{'age': 2.0, 'sex': 3}}{})"
)


def kinds(**others):
    asked = {"nominal": "zip", "ordinal": ["day"], "circular": "clock"}
    return asked | {"taxonomy": {"job": mg.Taxonomy(JOBS)}} | others


WEIGH = {"age": 2.0, "sex": 3.0}


def table(seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(N),
            "age": rng.integers(18, 80, N),
            "sex": rng.choice(["m", "f"], N),
            "ok": rng.random(N) < 0.5,
            "zip": pl.Series(rng.integers(1, 5, N), dtype=pl.Int16),
            "job": rng.choice(["smith", "baker", "judge", "clerk"], N),
            "mood": pl.Series(rng.choice(MOODS, N), dtype=pl.Enum(MOODS)),
            "clock": pl.Series(rng.integers(0, 24, N) * 3600 * 10**9).cast(pl.Time),
            "day": pl.Series(rng.integers(0, 9, N), dtype=pl.Int32).cast(pl.Date),
        }
    )


@pytest.fixture
def people(con):
    words = ", ".join("'" + mood.replace("'", "''") + "'" for mood in MOODS)
    con.register("frame", table().with_columns(pl.col("mood").cast(pl.String)))
    con.execute(f"CREATE TYPE moods AS ENUM ({words})")
    con.execute(
        "CREATE TABLE people AS SELECT * REPLACE (mood::moods AS mood, clock::TIME AS clock) FROM frame"
    )
    con.execute(
        "CREATE TABLE jobs AS FROM (VALUES ('smith', 'craft', '*'), ('baker', 'craft', '*'), "
        "('judge', 'office', '*'), ('clerk', 'office', '*')) t(job, field, everything)"
    )
    return con


def in_microseconds(frame):
    """The times of Polars as DuckDB has them."""
    clock = (pl.col("clock").to_physical() / 1000).round().cast(pl.Int64) * 1000
    return frame.with_columns(clock.cast(pl.Time))


def test_categories_are_masked_as_in_python_and_keep_their_types(people):
    expected = in_microseconds(mg.mdav(table(), COLUMNS, 4, **kinds(), column_weights=WEIGH)).rows()
    found = people.sql(SQL.format("mdav", COLUMNS, ""))
    assert found.types == people.table("people").types
    assert found.fetchall() == expected
    assert people.sql(SQL.format("mask", COLUMNS, ", method := 'mdav'")).fetchall() == expected
    call = kinds(taxonomy={"JOB": "jobs"}, nominal=["Zip"], column_weights=WEIGH)
    arrow = mgd.mask(people, "people", COLUMNS, 4, **call)
    assert arrow.types == found.types
    assert arrow.fetchall() == expected
    # Weights and kinds count: without them the table is another one.
    assert people.sql(SQL.format("mdav", COLUMNS, "").replace("2.0", "1")).fetchall() != expected
    plain = people.sql(f"FROM microagg.mdav('people', {COLUMNS}, 4)").fetchall()
    assert plain != expected


def test_groups_and_measures_are_those_of_python(people):
    numbers = people.sql(SQL.format("groups", COLUMNS, "")).pl()["microagg_group"]
    expected = mg.groups(table(), COLUMNS, 4, **kinds(), column_weights=WEIGH)["microagg_group"]
    assert numbers.to_list() == expected.to_list()
    people.execute("CREATE TABLE masked AS " + SQL.format("mdav", COLUMNS, ""))
    asked = "nominal := 'ZIP', ordinal := 'day', circular := 'clock', taxonomy := {'job': 'jobs'}"
    masked = in_microseconds(mg.mdav(table(), COLUMNS, 4, **kinds(), column_weights=WEIGH))
    for columns, known in (
        (COLUMNS, None),
        (None, None),
        (["age", "sex"], ["job", "clock", "mood"]),
    ):
        found = people.sql(
            f"FROM microagg.assess('people', 'masked', $columns, known := $known, key := 'id', {asked})",
            params={"columns": columns, "known": known},
        ).pl()
        arrow = mgd.assess(
            people,
            *("people", "masked", columns),
            known=known,
            key="ID",
            **kinds(taxonomy={"job": "jobs"}),
        ).pl()
        wanted = mg.assess(table(), masked, columns, known=known, key="id", **kinds())
        assert found.row(0) == arrow.row(0) == wanted.row(0)
        assert wanted["loss"].item() > 0


def test_measures_of_categories_alone_are_null_where_they_need_numbers(people):
    for columns in ("['sex', 'mood']", "'sex'"):
        call = f"FROM microagg.assess('people', 'people', {columns})"
        found = people.sql(call).pl().row(0, named=True)
        assert (found["loss"], found["il1"], found["il"], found["score"]) == (0.0, None, None, None)


def test_a_category_that_the_type_before_does_not_have_is_not_shown(people):
    people.execute("CREATE TABLE other AS SELECT * REPLACE ('hush' AS mood) FROM people")
    calls = (
        lambda: people.sql("FROM microagg.assess('people', 'other', 'mood')").fetchall(),
        lambda: mgd.assess(people, "people", "other", "mood"),
    )
    for call in calls:
        with pytest.raises(
            ValueError if call is calls[1] else duckdb.Error, match="cannot be read"
        ) as caught:
            call()
        assert "hush" not in str(caught.value)


def test_classes_of_categories_are_counted_and_verified(people):
    people.execute("CREATE TABLE masked AS " + SQL.format("mdav", COLUMNS, ""))
    counts = people.sql(f"FROM microagg.anonymity('masked', {COLUMNS})").pl()
    masked = in_microseconds(mg.mdav(table(), COLUMNS, 4, **kinds(), column_weights=WEIGH))
    assert counts.row(0) == mg.anonymity(masked, COLUMNS).row(0)
    assert people.sql(f"FROM microagg.verify('masked', {COLUMNS}, 4)").fetchall()
    with pytest.raises(duckdb.InvalidInputException, match="NotAnonymousError"):
        people.sql(f"FROM microagg.verify('people', {COLUMNS}, 4)").fetchall()


def test_releases_are_compared(people):
    columns = ["age", "sex", "job"]
    options = {"methods": ["mdav", "fixed_size"], "ks": 4}
    found = mgd.compare(people, "people", columns, taxonomy={"JOB": "jobs"}, **options).pl()
    tree = {"job": mg.Taxonomy(JOBS)}
    expected = mg.compare(table(), columns, taxonomy=tree, **options)
    assert found["loss"].to_list() == expected["loss"].to_list()


def test_numbers_become_double_and_categories_do_not(people):
    found = people.sql(SQL.format("mdav", COLUMNS, ", dtype := 'float'"))
    types = dict(zip(found.columns, map(str, found.types), strict=True))
    kept = dict(zip(found.columns, people.table("people").types, strict=True))
    for name in COLUMNS:
        assert types[name] == ("DOUBLE" if name == "age" else kept[name])
    call = kinds(taxonomy={"job": "jobs"}, column_weights=WEIGH, dtype="float")
    arrow = mgd.mask(people, "people", COLUMNS, 4, **call)
    assert arrow.types == found.types
    assert arrow.fetchall() == found.fetchall()
    expected = mg.mdav(table(), COLUMNS, 4, **kinds(), column_weights=WEIGH, dtype="float")
    assert found.fetchall() == in_microseconds(expected).rows()
    wide = "SELECT i % 3::HUGEINT AS a, i % 2 = 0 AS b FROM range(9) r(i)"
    people.execute(f"CREATE TABLE wide AS {wide}")
    for name in ("", ", nominal := 'a'"):
        call = f"FROM microagg.mdav('wide', ['a', 'b'], 3, dtype := 'float'{name})"
        found = people.sql(call)
        assert list(map(str, found.types)) == ["HUGEINT" if name else "DOUBLE", "BOOLEAN"]
        nominal = "a" if name else None
        arrow = mgd.mask(people, "wide", ["a", "b"], 3, dtype="float", nominal=nominal)
        assert arrow.types == found.types
        assert arrow.fetchall() == found.fetchall()


TREES = {
    "a temporary table": ("CREATE TEMP TABLE tree AS FROM jobs", "tree"),
    "a view": ("CREATE VIEW tree AS FROM jobs", "tree"),
    "a qualified name": ("CREATE TABLE tree AS FROM jobs", "memory.main.tree"),
    "a quoted name": ('CREATE TABLE "the \'tree" AS FROM jobs', '"the \'tree"'),
    "pairs of child and parent": (
        "CREATE TABLE tree AS SELECT DISTINCT job AS child, field AS parent FROM jobs "
        "UNION SELECT field, everything FROM jobs ORDER BY 1 DESC",
        "tree",
    ),
    "cells after the root": ("CREATE TABLE tree AS SELECT *, NULL AS none FROM jobs", "tree"),
    "an ENUM": (
        "CREATE TABLE tree AS SELECT job, field::ENUM ('office', 'craft') AS field, '*' FROM jobs",
        "tree",
    ),
    "JSON": ("SELECT 1", mg.Taxonomy(JOBS).to_json()),
}


@pytest.mark.parametrize("form", TREES)
def test_trees_are_read_from(people, form):
    make, name = TREES[form]
    expected = mg.mdav(table(), ["age", "job"], 4, taxonomy={"job": mg.Taxonomy(JOBS)}).rows()
    assert any(row[5] in ("craft", "office", "*") for row in expected)
    sql = "FROM microagg.mdav('people', ['age', 'job'], 4, taxonomy := {'job': $tree})"
    # Tables of a transaction that is rolled back are read as well.
    people.begin()
    people.execute(make)
    assert people.execute(sql, {"tree": name}).fetchall() == expected
    assert (
        mgd.mask(people, "people", ["age", "job"], 4, taxonomy={"job": name}).fetchall() == expected
    )
    people.rollback()


def test_trees_are_read_from_what_the_query_has(people):
    call = "FROM microagg.mdav('people', ['age', 'job'], 4, taxonomy := MAP {'job': 'tree'})"
    expected = people.sql(call.replace("'tree'", "'jobs'")).fetchall()
    assert people.sql(f"WITH tree AS (FROM jobs) {call}").fetchall() == expected
    tree = people.table("jobs").pl()
    people.register("tree", tree)
    assert people.sql(call).fetchall() == expected
    for source in (tree, people.table("jobs"), mg.Taxonomy.from_table(tree)):
        found = mgd.mask(people, "people", ["age", "job"], 4, taxonomy={"job": source})
        assert found.fetchall() == expected


def test_prefixes_and_several_trees(people):
    people.execute(
        "CREATE TABLE zips AS SELECT *, printf('%05d', id * 7919 % 100) AS code FROM people"
    )
    prefix = mg.Taxonomy.prefix(5, [4, 3])
    call = (
        "FROM microagg.mdav('zips', ['code', 'job'], 4, taxonomy := {'code': $zip, 'job': 'jobs'})"
    )
    found = people.execute(call, {"zip": prefix.to_json()}).fetchall()
    frame = table().with_columns(code=pl.Series([f"{i * 7919 % 100:05d}" for i in range(N)]))
    trees = {"code": prefix, "job": mg.Taxonomy(JOBS)}
    assert found == mg.mdav(frame, ["code", "job"], 4, taxonomy=trees).rows()


REFUSED = {
    "{'job': 'two'}": "taxonomy := {'job': 'two'}: Row 2 of the taxonomy gives a name another parent",
    "{'job': 'empty'}": "taxonomy := {'job': 'empty'}: The taxonomy has no value",
    "{'job': 'whole'}": "taxonomy := {'job': 'whole'}: A name in row 1 of the taxonomy is of type int",
    "{'job': 'part'}": "2 distinct value(s) of column 'job' are not in its taxonomy",
    "{'job': '{}'}": "taxonomy := {'job': '{...}'}: ",
    "{'job': 3}": "it must be a struct of columns, each with the name of a table or with JSON",
    "{'job': ['jobs']}": "it must be a struct of columns, each with the name of a table or with JSON",
    "'jobs'": "taxonomy := 'jobs' was given; it must be a struct of columns",
    "{'jobb': 'jobs'}": "taxonomy names 'jobb', which is not a column of the table. Did you mean 'job'?",
    "{'sex': 'jobs'}": "taxonomy names 'sex', which is not among the masked columns.",
    "{'job': 'jobs'}, nominal := 'JOB'": "'job' is in nominal and in taxonomy as well",
    "NULL, column_weights := {'job': 0}": "it must be a number from 1e-06 to 1e+06",
    "NULL, column_weights := {'sex': 1}": "column_weights names 'sex'",
}


@pytest.mark.parametrize("tree", REFUSED)
def test_what_is_no_tree_is_refused(people, tree):
    people.execute("CREATE TABLE two AS FROM (VALUES ('smith', 'a', '*'), ('smith', 'b', '*'))")
    people.execute("CREATE TABLE empty AS FROM jobs LIMIT 0")
    people.execute("CREATE TABLE whole AS SELECT 1 AS a, 2 AS b")
    people.execute("CREATE TABLE part AS FROM jobs LIMIT 2")
    with pytest.raises(duckdb.InvalidInputException, match=re.escape(REFUSED[tree])):
        people.sql(f"FROM microagg.mdav('people', 'job', 4, taxonomy := {tree})").fetchall()


@pytest.mark.parametrize("name", ["jobs') UNION ALL FROM people --", "(SELECT 1)", "nowhere"])
def test_the_name_of_a_table_is_looked_up_and_not_run(people, name):
    call = "FROM microagg.mdav('people', 'job', 4, taxonomy := {'job': $tree})"
    with pytest.raises(duckdb.CatalogException, match="does not exist"):
        people.execute(call, {"tree": name}).fetchall()
    with pytest.raises(duckdb.CatalogException, match="does not exist"):
        mgd.mask(people, "people", "job", 4, taxonomy={"job": name})


def test_a_tree_that_python_cannot_read_is_refused(people):
    people.execute("CREATE TABLE empty AS FROM jobs LIMIT 0")
    said = r"taxonomy\['job'\]='empty': The taxonomy has"
    with pytest.raises(mg.InvalidParameterError, match=said):
        mgd.mask(people, "people", "job", 4, taxonomy={"job": "empty"})
    with pytest.raises(mg.InvalidParameterError, match=r"taxonomy\['job'\]='\{\.\.\.\}': "):
        mgd.mask(people, "people", "job", 4, taxonomy={"job": "{}"})


def test_names_of_columns_are_quoted_as_they_are_written(people):
    people.execute("""CREATE TABLE odd AS SELECT age, job AS "o'd ""j.[]" FROM people""")
    call = (
        """FROM microagg.mdav('odd', ['o''d "j.[]'], 4, taxonomy := MAP {'o''d "j.[]': 'jobs'})"""
    )
    expected = mg.mdav(table(), "job", 4, taxonomy={"job": mg.Taxonomy(JOBS)})
    assert people.sql(call).fetchall() == expected.select("age", "job").rows()


def test_times_are_steps_of_their_type_again():
    for type_ in ("DATE", "TIME", "TIME_NS", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_NS"):
        steps = pl.Series([0, None, 3])
        assert as_steps(type_, typed(type_, steps)).to_list() == [0, None, 3]
    # The last microsecond of a day rounds up to the first.
    late = pl.Series([datetime.time(23, 59, 59, 999_999)]).to_physical() + 600
    assert as_steps("TIME", late.cast(pl.Time)).to_list() == [0]
    assert typed("TIME", pl.Series([86_400_000_000])).to_list() == [datetime.time(0)]
