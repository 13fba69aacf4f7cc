"""What a table can be, and what may follow it in the query."""

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from tests.loop import every_case

N = 60
COLUMNS = ["age", "income"]
CALL = "microagg.mdav({}, ['age', 'income'], 4)"
FRAME = pl.DataFrame(
    {
        "id": np.arange(N),
        "region": ["n", "s", None] * (N // 3),
        "age": np.random.default_rng(1).integers(18, 90, N),
        "income": np.random.default_rng(2).lognormal(10, 1, N),
    }
)
EXPECTED = mg.mdav(FRAME, COLUMNS, 4)


@pytest.fixture
def people(con):
    con.register("frame_of_people", FRAME)
    con.execute("CREATE TABLE people AS FROM frame_of_people")
    con.unregister("frame_of_people")
    return con


def assert_masked(con, source, before=""):
    """The macro and the Arrow path give what the Polars door gives."""
    assert con.sql(f"{before} FROM {CALL.format(source)}").pl().equals(EXPECTED)
    if not before:
        name = source[1:-1].replace("''", "'")
        assert mgd.mask(con, name, COLUMNS, 4).pl().equals(EXPECTED)


@pytest.mark.parametrize(
    "source",
    ["'people'", "'PEOPLE'", "'main.people'", "'memory.main.people'", "'\"people\"'", "'by_view'"],
)
def test_tables_and_views(people, source):
    people.execute("CREATE VIEW by_view AS SELECT * FROM people ORDER BY id")
    assert_masked(people, source)


def test_a_cte_of_the_calling_query(people):
    assert_masked(people, "'p'", before="WITH p AS (SELECT * FROM people ORDER BY id)")
    nested = "WITH p AS (FROM people), q AS (FROM p), r AS (SELECT * FROM q ORDER BY id)"
    assert_masked(people, "'r'", before=nested)
    query = f"SELECT count(*) FROM (WITH p AS (FROM people) FROM {CALL.format(repr('p'))})"
    assert people.sql(query).fetchall() == [(N,)]


def test_a_cte_hides_a_table_of_the_same_name(people):
    people.execute("CREATE TABLE p AS SELECT 1 AS age, 2 AS income")
    assert_masked(people, "'p'", before="WITH p AS (FROM people)")


def test_quoted_and_qualified_names(people):
    people.execute('CREATE SCHEMA "odd schema"; CREATE TABLE "odd schema"."a.b; c" AS FROM people')
    assert_masked(people, '\'"odd schema"."a.b; c"\'')
    people.execute('CREATE TABLE "it\'s" AS FROM people')
    assert_masked(people, "'it''s'")


def test_an_attached_database(people, tmp_path):
    people.execute(f"ATTACH '{tmp_path / 'other.duckdb'}' AS other")
    people.execute("CREATE TABLE other.people2 AS FROM people")
    assert_masked(people, "'other.people2'")
    assert_masked(people, "'other.main.people2'")
    people.execute("USE other")
    assert_masked(people, "'people2'")


def test_files(people, tmp_path):
    people.execute(f"COPY people TO '{tmp_path / 'people.parquet'}'")
    people.execute(f"COPY people TO '{tmp_path / 'people.csv'}'")
    assert_masked(people, f"'{tmp_path / 'people.parquet'}'")
    assert_masked(people, f"'{tmp_path / 'p*.parquet'}'")
    assert_masked(people, f"'{tmp_path / 'people.csv'}'")


def test_registered_objects(con):
    con.register("of_polars", FRAME)
    con.register("of_arrow", FRAME.to_arrow())
    con.register("of_relation", con.from_arrow(FRAME.to_arrow()))
    for name in ("of_polars", "of_arrow", "of_relation"):
        assert_masked(con, f"'{name}'")


def test_python_variables(con):
    local, lazy, arrow = FRAME, FRAME.lazy(), FRAME.to_arrow()  # noqa: F841
    relation = con.from_arrow(FRAME)  # noqa: F841
    for name in ("local", "lazy", "arrow", "relation"):
        assert con.sql(f"FROM {CALL.format(repr(name))}").pl().equals(EXPECTED)


@pytest.mark.parametrize("turn", [lambda f: f, pl.DataFrame.to_arrow, pl.DataFrame.to_pandas])
def test_frames_and_relations_given_to_the_arrow_path(con, turn):
    assert mgd.mask(con, turn(FRAME), COLUMNS, 4).pl().equals(EXPECTED)
    assert mgd.mask(con, con.from_arrow(turn(FRAME)), COLUMNS, 4).pl().equals(EXPECTED)


def test_a_reader_that_can_be_read_once(con):
    con.register("once", FRAME.to_arrow().to_reader())
    assert con.sql(f"FROM {CALL.format(repr('once'))}").pl().equals(EXPECTED)
    con.register("again", FRAME.to_arrow().to_reader())
    assert mgd.mask(con, "again", COLUMNS, 4).pl().equals(EXPECTED)


def test_prepared_parameters(people):
    rows = EXPECTED.rows()
    query = "FROM microagg.mdav(?, ?, ?)"
    assert people.execute(query, ["people", COLUMNS, 4]).fetchall() == rows
    named = "FROM microagg.mask($t, $c, $k, strata := $s, method := $m)"
    given = {"t": "people", "c": COLUMNS, "k": 4, "s": ["region"], "m": "mdav"}
    expected = mg.mdav(FRAME, COLUMNS, 4, strata="region")
    assert people.execute(named, given).fetchall() == expected.rows()
    people.execute("PREPARE protect AS FROM microagg.mdav($1, ['age', 'income'], $2)")
    assert people.execute("EXECUTE protect('people', 4)").fetchall() == rows


def test_a_single_name_instead_of_a_list(people):
    alone = mg.mdav(FRAME, "age", 4, strata="region")
    assert (
        people.sql("FROM microagg.mdav('people', 'age', 4, strata := 'region')").pl().equals(alone)
    )


def test_the_result_can_be_stored(people, tmp_path):
    people.execute(f"CREATE TABLE made AS FROM {CALL.format(repr('people'))}")
    people.execute("CREATE TABLE filled AS FROM people LIMIT 0")
    people.execute(f"BEGIN; INSERT INTO filled FROM {CALL.format(repr('people'))}; COMMIT")
    people.execute(f"COPY (FROM {CALL.format(repr('people'))}) TO '{tmp_path / 'm.parquet'}'")
    people.execute(f"CREATE VIEW seen AS FROM {CALL.format(repr('people'))}")
    for source in ("made", "filled", "seen", f"'{tmp_path / 'm.parquet'}'"):
        assert people.sql(f"FROM {source}").pl().equals(EXPECTED)


def test_temporary_tables_and_transactions(people):
    people.execute("BEGIN; CREATE TEMP TABLE passing AS FROM people")
    assert_masked(people, "'passing'")
    people.execute("ROLLBACK")
    with pytest.raises(duckdb.CatalogException, match="passing does not exist"):
        people.sql(f"FROM {CALL.format(repr('passing'))}")


def test_a_source_that_changes_with_every_reading_is_read_once(con):
    con.execute(
        "CREATE VIEW drawn AS SELECT i AS id, random() AS x, random() AS y FROM range(50) r(i)"
    )
    for masked in (
        con.sql("FROM microagg.mdav('drawn', ['x'], 5)"),
        mgd.mask(con, "drawn", ["x"], 5),
    ):
        masked = masked.pl()
        assert masked["id"].to_list() == list(range(50))
        assert masked["x"].unique_counts().min() >= 5


def test_no_table_of_that_name(con):
    with pytest.raises(duckdb.CatalogException, match="nowhere does not exist"):
        con.sql(f"FROM {CALL.format(repr('nowhere'))}")
    with pytest.raises(duckdb.CatalogException, match="nowhere does not exist"):
        mgd.mask(con, "nowhere", COLUMNS, 4)


def test_a_thing_that_is_no_table(con):
    for thing, type_ in ((5, "int"), (None, "NoneType"), ([1], "list")):
        with pytest.raises(
            mg.InvalidParameterError, match=f"source is of type {type_}; it must be"
        ):
            mgd.mask(con, thing, COLUMNS, 4)


# --- What else is in the table ----------------------------------------------------------------

EVERY_TYPE = """
SELECT
    (i * 7 % 11)::INTEGER AS age, i AS id, {'a': i, 'b': [i, NULL]} AS struct, [[i], [], NULL] AS lists,
    MAP {i::VARCHAR: [i]} AS map, ROW(i, 'x') AS tuple, [{'h': i::HUGEINT}] AS nested,
    union_value(n := i) AS either, 'b'::ENUM ('a', 'b') AS enum, uuid() AS uuid, '\\xAA'::BLOB AS blob,
    '0101'::BIT AS bit, INTERVAL (i) MONTH AS span, i::HUGEINT * 10::HUGEINT ** 30 AS huge,
    i::UHUGEINT AS uhuge, '12:00:01+02'::TIMETZ AS timetz, TIME '12:00' AS time, i::TINYINT AS tiny,
    TIMESTAMPTZ '2024-01-01 00:00:00+00' AS stamptz, TIMESTAMP_NS '2024-01-01 00:00:00.123456789' AS ns,
    TIMESTAMP_S '2024-01-01 00:00:00' AS s, DATE 'infinity' AS forever, 'NaN'::DOUBLE AS nan,
    true AS bool, '{"a": 1}'::JSON AS json, 1.5::DECIMAL(38, 10) AS dec, NULL AS nothing,
    [1.5, 2.5]::FLOAT[2] AS arr, i::BIGNUM AS bignum, 'q' AS "select", 1 AS "a""b.c", 2 AS "ß é"
FROM range(12) r(i)
"""


@pytest.mark.parametrize("strata", [None, ["enum", "bool", "struct", "timetz", "span"]])
def test_every_other_column_comes_back_as_it_was(con, strata):
    con.execute(f"CREATE TABLE t AS {EVERY_TYPE}")
    options = {} if strata is None else {"strata": strata, "small_strata": "null"}
    given = "".join(f", {name} := {value!r}" for name, value in options.items())
    for masked in (
        con.sql(f"FROM microagg.mdav('t', ['age'], 3{given})"),
        mgd.mask(con, "t", ["age"], 3, **options),
    ):
        assert masked.columns == con.table("t").columns
        assert masked.types == con.table("t").types
        con.execute("CREATE OR REPLACE TABLE m AS FROM masked")
        emptied = ", ".join(["age", *(strata or [])])
        others = f"SELECT * EXCLUDE ({emptied}), stamptz::VARCHAR FROM"
        assert con.sql(f"{others} m EXCEPT ALL {others} t").fetchall() == []
        # Strata of one record each: their keys are empty.
        keys = strata or []
        assert all(con.sql(f"SELECT count({key}) FROM m").fetchall() == [(0,)] for key in keys)
        same = con.sql("SELECT count(*) FROM t POSITIONAL JOIN m WHERE t.id = m.id").fetchall()
        assert same == [(12,)]


def test_a_table_of_nothing_but_masked_columns(con):
    con.execute("CREATE TABLE t AS SELECT i::TINYINT AS a FROM range(4) r(i)")
    for masked in (con.sql("FROM microagg.mdav('t', 'a', 2)"), mgd.mask(con, "t", "a", 2)):
        assert masked.fetchall() == [(0,), (0,), (2,), (2,)]


@pytest.mark.deep
def test_more_columns_than_duckdb_hands_over_at_once(con):
    wide = ", ".join(f"i + {j} AS c{j}" for j in range(2_500))
    con.execute(f"CREATE TABLE t AS SELECT {wide} FROM range(4) r(i)")
    masked = con.sql(
        "FROM microagg.mdav('t', ['c2400', 'c7'], 2, strata := 'c2499', small_strata := 'null')"
    )
    assert masked.columns == con.table("t").columns
    assert masked.select("c7", "c2400", "c8").fetchall()[0] == (None, None, 8)
    assert masked.select("c2499").distinct().fetchall() == [(None,)]
    with pytest.raises(duckdb.InvalidInputException, match="columns names 'c2500', which is not"):
        con.sql("FROM microagg.mdav('t', ['c2500'], 2)")


def test_more_strata_than_duckdb_hands_over_at_once(con):
    con.execute("CREATE TABLE t AS SELECT i // 2 AS s, i % 7 AS x FROM range(10000) r(i)")
    counted = con.sql(
        "SELECT count(DISTINCT (s, x)) FROM microagg.mdav('t', 'x', 2, strata := 's')"
    )
    assert counted.fetchall() == [(5000,)]
    con.execute("INSERT INTO t VALUES (-1, 0)")
    with pytest.raises(duckdb.InvalidInputException, match="1 of 5001 strata have fewer than k=2"):
        con.sql("FROM microagg.mdav('t', 'x', 2, strata := 's')").fetchall()


# --- What follows in the query ----------------------------------------------------------------

AFTER = [
    "FROM {} WHERE id < 5",
    "FROM {} WHERE region = 's' AND id % 4 = 1",
    "FROM {} WHERE region IS NULL",
    "FROM {} WHERE age < 40 ORDER BY id LIMIT 7",
    "FROM {} LIMIT 5",
    "FROM {} LIMIT 5 OFFSET 50",
    "FROM {} ORDER BY income DESC, id LIMIT 3",
    "SELECT id FROM {} WHERE id > 55",
    "SELECT age, count(*) FROM {} GROUP BY age ORDER BY age",
    "SELECT max(income), min(age), count(*) FROM {}",
    "SELECT count(*) FROM {}",
    "SELECT m.id, p.age, m.age FROM {} m JOIN people p USING (id) WHERE p.id IN (3, 5) ORDER BY 1",
    "FROM people p SEMI JOIN {} m USING (age) ORDER BY id LIMIT 3",
    "FROM {} WHERE id = (SELECT max(id) FROM people)",
    "SELECT id, lag(age) OVER (ORDER BY id) FROM {} WHERE id < 5 ORDER BY id",
    "SELECT DISTINCT region FROM {} ORDER BY region",
    "SELECT x FROM (SELECT age AS x, id FROM {} UNION ALL SELECT age, id FROM {}) ORDER BY id, x",
]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("kept", [True, False], ids=["ordered", "unordered"])
def test_what_follows_never_changes_the_masking(people, threads, kept):
    people.execute(f"SET threads = {threads}")
    people.execute("CREATE TABLE masked AS FROM microagg.mdav('people', ['age', 'income'], 4)")
    people.execute(f"SET preserve_insertion_order = {kept}")
    call = CALL.format("'people'")
    for query in AFTER if every_case() else AFTER[threads == 4 :: 2]:
        after = people.sql(query.replace("{}", call)).fetchall()
        assert after == people.sql(query.replace("{}", "masked")).fetchall(), query


def test_a_masking_of_a_masking(people):
    query = f"WITH m AS (FROM {CALL.format(repr('people'))}) FROM microagg.mdav('m', ['age'], 10)"
    assert people.sql(query).pl().equals(mg.mdav(EXPECTED, ["age"], 10))
