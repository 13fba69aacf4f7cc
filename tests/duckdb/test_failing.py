"""What the doors say where the source itself fails, is no table, or holds a column twice."""

import duckdb
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from tests.loop import share

SECRET = "AIDS-4711"

FAILS = {
    "cast": f"(CASE WHEN i = 7 THEN '{SECRET}' ELSE '5' END)::INTEGER",
    "error": f"CASE WHEN i = 7 THEN error('{SECRET}') ELSE 5 END",
    "overflow": "(CASE WHEN i = 7 THEN 4711 ELSE 5 END)::TINYINT",
}


@pytest.fixture(params=FAILS)
def failing(con, request):
    con.execute("CREATE TABLE good AS SELECT i AS id, i AS age, 'x' AS dx FROM range(9) r(i)")
    con.execute(
        f"CREATE VIEW v AS SELECT i AS id, {FAILS[request.param]} AS age FROM range(9) r(i)"
    )
    con.execute("CREATE VIEW w AS SELECT *, uuid() AS u FROM v")
    return con


CALLS = {
    "mask": ("source", lambda con: mgd.mask(con, "v", "age", 3)),
    "mask, some kept": ("source", lambda con: mgd.mask(con, "w", "age", 3)),
    "mask by stratum": ("source", lambda con: mgd.mask(con, "v", "id", 3, strata="age")),
    "assess": ("original", lambda con: mgd.assess(con, "v", "good", "age")),
    "assess, masked": ("masked", lambda con: mgd.assess(con, "good", "v", "age")),
    "assess by key": ("masked", lambda con: mgd.assess(con, "good", "v", "id", key="age")),
    "compare": ("source", lambda con: mgd.compare(con, "v", "age", methods="mdav", ks=3)),
}


@pytest.mark.parametrize("call", CALLS)
def test_no_value_of_a_record_is_said(failing, call):
    what, door = CALLS[call]
    for setting in ("true", "false") if "assess" not in call else ("true",):
        failing.execute(f"SET preserve_insertion_order = {setting}")
        with pytest.raises(
            mg.InvalidDataError, match=f"^'{what}' cannot be read: it failed wi"
        ) as found:
            door(failing)
        error: BaseException | None = found.value
        while error is not None:
            assert "4711" not in str(error)
            error = error.__cause__ or error.__context__


def test_an_error_of_ours_in_the_source_is_told_in_our_words(con):
    con.execute("CREATE TABLE t AS SELECT i AS age FROM range(9) r(i)")
    con.execute("CREATE VIEW v AS FROM microagg.mdav('t', 'age', 10)")
    with pytest.raises(mg.TooFewRecordsError, match=r"^k=10 needs at least 10 records, got 9\."):
        mgd.mask(con, "v", "age", 2)


def test_names_that_are_wrong_are_told_as_duckdb_does(con):
    for door in (mgd.mask, mgd.compare):
        with pytest.raises(duckdb.CatalogException, match="nowhere does not exist"):
            door(con, "nowhere", "age", **({"k": 2} if door is mgd.mask else {"ks": 2}))
    with pytest.raises(duckdb.CatalogException, match="nowhere does not exist"):
        mgd.assess(con, "nowhere", "nowhere", "age")


def test_out_of_memory_is_one_sentence():
    with duckdb.connect() as con:
        con.execute("SET temp_directory = ''")
        con.execute("SET memory_limit = '5MB'")
        large = con.sql("SELECT i AS id, sin(i) AS x FROM range(2000000) r(i) ORDER BY x")
        words = r"^'source' cannot be read: DuckDB ran out of memory, and nothing was released\. [^\n]*$"
        with pytest.raises(mg.InvalidDataError, match=words):
            mgd.mask(con, large, "x", 5, method="fixed_size")
        with pytest.raises(mg.InvalidDataError, match=words):
            mgd.compare(con, large, "x", methods="fixed_size", ks=5)
        with pytest.raises(mg.InvalidDataError, match=words.replace("source", "original")):
            mgd.assess(con, large, large, "x")
        con.execute("SET memory_limit = '1GB'")
        assert mgd.mask(con, con.sql("FROM range(9) r(x)"), "x", 3).limit(1).fetchall() == [(1,)]


@pytest.mark.parametrize("thing", [3, None, [1, 2], {"age": [4711]}, b"t"])
def test_what_is_no_table_or_no_connection(con, thing):
    words = f"is of type {type(thing).__name__}; it must be"
    with pytest.raises(mg.InvalidParameterError, match=f"^source {words} the name of a table"):
        mgd.mask(con, thing, "age", 2)
    with pytest.raises(mg.InvalidParameterError, match=f"^source {words} the name of a table"):
        mgd.compare(con, thing, "age")
    with pytest.raises(mg.InvalidParameterError, match=f"^original {words} the name of a table"):
        mgd.assess(con, thing, "t")
    for call in (mgd.mask, mgd.assess, mgd.compare):
        with pytest.raises(mg.InvalidParameterError, match=f"^con {words} a connection of duckdb"):
            call(thing, "t", "age", **({"k": 2} if call is mgd.mask else {}))


@pytest.mark.parametrize("options", ["''", "'x'", "[]", "0", "false", "''::JSON"])
def test_options_that_are_no_struct(con, options):
    con.execute("CREATE TABLE t AS SELECT i AS age FROM range(9) r(i)")
    with pytest.raises(
        duckdb.Error, match="InvalidParameterError: options := .*must be a struct|JSON"
    ):
        con.sql(f"FROM microagg.mask('t', 'age', 3, options := {options})")
    assert len(con.sql("FROM microagg.mask('t', 'age', 3, options := NULL)").fetchall()) == 9


COPIES = {
    "both tables": "SELECT a.*, b.* FROM a JOIN b USING (id)",
    "left join": "SELECT a.*, b.age FROM a LEFT JOIN (FROM b WHERE id > 1) b USING (id)",
    "the same twice": "SELECT *, age FROM a",
    "twice again": "SELECT age AS other, age, age FROM a",
    "other case": 'SELECT *, age AS "AGE_12" FROM a',
    "older names": 'SELECT *, age AS "age:1" FROM a',
}


CASES = [(query, "INTEGER", "VIEW") for query in COPIES]
CASES += [
    ("both tables", type_, "VIEW") for type_ in ("HUGEINT", "DECIMAL(30,2)", "DATE", "DOUBLE")
]
CASES += [("left join", "HUGEINT", "TABLE"), ("both tables", "DOUBLE", "TABLE")]


@pytest.mark.parametrize(("query", "type_", "kind"), share(CASES, 3))
def test_a_copy_that_duckdb_renamed_is_not_released(con, query, type_, kind):
    age = "DATE '2020-01-01' + i::INTEGER" if type_ == "DATE" else f"i::{type_}"
    for name in "ab":
        con.execute(f"CREATE TABLE {name} AS SELECT i AS id, {age} AS age FROM range(9) r(i)")
    con.execute(f"CREATE {kind} v AS {COPIES[query]}")
    words = "'(age_1|AGE_12|age:1)' holds the values of the masked column 'age'.*EXCLUDE, mask it"
    with pytest.raises(mg.InvalidParameterError, match=words):
        mgd.mask(con, "v", "age", 3)
    with pytest.raises(duckdb.InvalidInputException, match=f"InvalidParameterError: .*{words}"):
        con.sql("FROM microagg.mdav('v', 'age', 3)").fetchall()
    assert len(con.sql("FROM microagg.groups('v', 'age', 3)").fetchall()) == 9
    # What it asks for goes on.
    copy = con.table("v").columns[-1]
    con.execute(f'CREATE VIEW less AS SELECT * EXCLUDE ("{copy}") FROM v')
    assert len(mgd.mask(con, "less", "age", 3).fetchall()) == 9
    if query != "left join":
        assert len(mgd.mask(con, "v", ["age", copy], 3).fetchall()) == 9


def test_another_column_of_such_a_name_is_kept(con):
    con.execute(
        "CREATE TABLE t AS SELECT i AS age, i + i % 2 AS age_1, NULL::BIGINT AS age_2 FROM range(9) r(i)"
    )
    expected = [(i // 3 * 3 + 1, i + i % 2, None) for i in range(9)]
    assert mgd.mask(con, "t", "age", 3).fetchall() == expected
    assert con.sql("FROM microagg.mdav('t', 'age', 3)").fetchall() == expected


def test_a_repeated_name_is_said(con):
    con.execute("CREATE TABLE a AS SELECT i AS id, i AS age FROM range(9) r(i)")
    twice = con.sql("SELECT *, age FROM a")
    for call in (
        lambda: mgd.mask(con, twice, "id", 3),
        lambda: mgd.assess(con, twice, twice, "id"),
        lambda: mgd.compare(con, twice, "id", ks=3),
    ):
        with pytest.raises(mg.InvalidParameterError, match="two columns of the name 'age'"):
            call()


def test_only_columns_that_count_are_read(con):
    alien = "to_days((i // 5)::INTEGER) AS v, error('read')::INTEGER AS e, union_value(k := i) AS n"
    con.execute(
        f"CREATE VIEW t AS SELECT i AS id, i AS age, to_days(i::INTEGER) AS d, {alien} FROM range(9) r(i)"
    )
    con.execute("CREATE TABLE plain AS SELECT id, age FROM t")
    assert mgd.assess(con, "t", "plain", "age", metrics="loss").fetchall() == [(0.0,)]
    assert mgd.assess(con, "plain", "t", "age", metrics="loss", key="id").fetchall() == [(0.0,)]
    assert mgd.compare(con, "t", "age", methods="mdav", ks=3).select("k").fetchall() == [(3,)]
    con.execute("CREATE VIEW u AS SELECT * EXCLUDE (e) FROM t")
    assert mgd.assess(con, "u", "u", metrics="loss").fetchall() == [(0.0,)]
    # As labels they count by their text.
    assert mgd.assess(con, "u", "u", "age", metrics="loss", key="d").fetchall() == [(0.0,)]
    assert mgd.assess(con, "u", "u", "age", metrics="k_min", known="d").fetchall() == [(1,)]
    assert len(mgd.assess(con, "u", "u", "age", metrics="k_min", by="d").fetchall()) == 9
    assert mgd.compare(con, "u", "age", methods="mdav", ks=4, strata="v").select(
        "k"
    ).fetchall() == [(4,)]
    with pytest.raises(mg.NotNumericError, match="Column 'd' is of type INTERVAL"):
        mgd.assess(con, "u", "u", ["age", "d"])


def test_a_frame_that_fails_is_told_alike(con):
    lazy = pl.LazyFrame({"age": [SECRET, "5"]}).select(pl.col("age").cast(pl.Int64))
    with pytest.raises(mg.MicroaggError) as found:
        mgd.mask(con, lazy, "age", 2)
    assert SECRET not in str(found.value)
