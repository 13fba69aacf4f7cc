"""Names are names: whatever is written in one, nothing of it runs and nothing leaks."""

import itertools

import duckdb
import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd

PAYLOADS = [
    "DROP TABLE canary",
    "COPY canary TO 'stolen.csv'",
    "INSERT INTO canary VALUES (666)",
    "ATTACH 'stolen.duckdb' AS stolen",
    "CREATE TABLE stolen AS FROM canary",
    "CREATE MACRO microagg.mdav(a, b, c) AS TABLE FROM query_table(a)",
    "SET threads = 1",
    "EXPORT DATABASE 'stolen'",
]
WRAPPINGS = [
    "x; {}; --",
    "x'; {}; --",
    'x"; {}; --',
    "x'); {}; --",
    'x") FROM canary; {}; --',
    "age) FROM canary; {}; --",
    "x]; {}; --",
    "x'', 5); {}; --",
    "people', ['age'], 2); {}; --",
    "\\'; {}; --",
    "'||(SELECT error('{}'))||'",
    "/* */ {}; /*",
    "*/ {}; /*",
    "x\n; {};\n--",
    "$$; {}; $$",
    "$x$; {}; $x$",
    "{}",
    "; {};",
    "\u2019; {}; --",
    "\uff1b {} \uff1b",
    "x\t;\r\n{};",
    "(SELECT 1); {}; --",
    "E'\\047; {}; --'",
    "%27; {}; --",
    '""; {}; --',
    "x\u202e; {}; --",
    "{{{}}}",
    "`{}`",
    "x = ({})",
]
ODD = [
    "*", "**", "%", "_", ".", "..", "a.b", "a.b.c.d", "?", "$1", "$age", ":age", "@age", "#1", "{}", "{0}",
    "%s", "^.*$", ".*", "(?i)age", "\\", "\\\\", "\\d", "'", "''", "'''", '"', '""', '"""', "`", "--",
    "/*", "*/", ";", ";;", "()", "(", ")", "[", "]", "[]", "{", "}", ",", "=", "<>", "!", "|", "||", "&",
    "~", "^", "+", "-", "/", "::", "age::INTEGER", "age AS income", "age, income", "COLUMNS(*)",
    "COLUMNS('.*')", "* EXCLUDE (age)", "* REPLACE (1 AS age)", "people.age", "main.nowhere",
    "SELECT", "FROM", "NULL", "true", "ORDER", "rowid", "count(*)", "1", "1.5", "-1", "0x10", "1e5", "NaN",
    " ", "  age", "age  ", "\t", "\n", "\r\n", "a\nb", "\u00a0", "\u200b", "\u200bage", "\ufeffage", "\u0430ge",
    "\u00e4", "\u00c4", "\u00df", "\u1e9e", "a\u0308", "\U0001f600", "\u6f22\u5b57", "\u0627\u0644", "\u202eega",
    "null\u2400", "\x01", "\x1b[31m", "\x7f", "n" * 10_000, "\u00e9" * 3_000, "';" * 2_000, "(" * 5_000,
    "__m", "mg_row", "_microagg_mask", "microagg", "microagg.mdav", "{'a': 1}", '{"method": "mdav"}',
    '", "k": 2, "x": "', "k", "spec", "source", "columns", "step", "pair", "c", "j",
    "x", "type", "steps", "like_", "masked", "row", "masked_row", "name", "lists", "d", "i", "t", "o",
    "m", "pairs", "records", "record", "rows", "keys", "size", "empty", "method", "options", "scale",
    "strata", "dtype", "seed", "method", "__name__", "self", "con", "result", "relation", "table",
]  # fmt: skip
NAMES = list({n.lower(): n for n in ODD}.values())
NAMES += [w.format(p) for w, p in itertools.product(WRAPPINGS, PAYLOADS)]


def test_there_are_at_least_300_of_them():
    assert len({name.lower() for name in NAMES}) == len(NAMES) >= 300


@pytest.fixture
def con(con, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    con.execute("SET python_enable_replacements = false")
    con.execute("CREATE TABLE canary AS SELECT 42 AS alive")
    con.execute("CREATE TABLE people AS SELECT i AS age, i * i AS income FROM range(8) r(i)")
    return con


def state(con):
    """Everything that a statement hidden in a name could have changed."""
    tables = con.execute("SELECT database_name, table_name, sql FROM duckdb_tables()").fetchall()
    databases = con.execute("SELECT database_name, path FROM duckdb_databases()").fetchall()
    settings = con.execute("SELECT current_setting('threads')").fetchall()
    macros = con.execute("SELECT hash(list(macro_definition)) FROM duckdb_functions()").fetchall()
    alive = [row for row in tables if row[1] == "canary"] and con.table("canary").fetchall()
    return sorted(tables), sorted(databases), settings, macros, alive


def untouched(con, before, folder):
    return state(con) == before and not list(folder.iterdir())


def batches(size):
    """Names by the dozen; the quick loop takes every third batch."""
    starts = range(0, len(NAMES), size)
    return [
        pytest.param(NAMES[i : i + size], marks=[pytest.mark.deep] * (i // size % 3 > 0))
        for i in starts
    ]


def assert_masked(masked, frame, columns, k):
    """The masked columns are there once, hold classes of k, and the rest is as it was."""
    assert masked.columns == frame.columns
    assert masked.select(cs.by_name(columns)).to_struct().unique_counts().min() >= k
    for name in frame.columns:
        assert masked[name].equals(frame[name]) == (name not in columns)


def doors(con, source, columns, strata):
    query = "FROM microagg.mdav($source, $columns, 4, strata := $strata)"
    given = {"source": source, "columns": columns, "strata": strata}
    yield con.sql(query, params=given).pl()
    yield mgd.mask(con, source, columns, 4, strata=strata).pl()


@pytest.mark.deep
@pytest.mark.parametrize("names", batches(40), ids=lambda names: repr(names[0])[:40])
def test_as_columns_and_strata(con, tmp_path, names):
    rng = np.random.default_rng(3)
    values = {name: rng.integers(0, 99, 16) for name in names}
    keys = {f"{name} (key)": np.zeros(16) for name in names[:5]}
    frame = pl.DataFrame({"id": np.arange(16), **values, **keys})
    con.register("hostile", frame)
    con.execute("CREATE TABLE hostile_table AS FROM hostile")
    frame = con.table("hostile_table").pl()
    assert len(frame.columns) == 1 + len(values) + len(keys)
    masked, strata = frame.columns[1 : 1 + len(values)], frame.columns[1 + len(values) :]
    before = state(con)
    for released in doors(con, "hostile_table", masked, strata):
        assert_masked(released, frame, masked, 4)
    assert untouched(con, before, tmp_path)


@pytest.mark.parametrize("names", batches(40), ids=lambda names: repr(names[0])[:40])
def test_as_strata_alone(con, tmp_path, names):
    frame = pl.DataFrame({"id": np.arange(8) ** 2, **{name: [1] * 4 + [2] * 4 for name in names}})
    con.register("hostile", frame)
    before = state(con)
    for released in doors(con, "hostile", ["id"], names):
        assert released.columns == frame.columns
        assert released["id"].to_list() == [4] * 4 + [32] * 4
    assert untouched(con, before, tmp_path)


@pytest.mark.parametrize("names", batches(40), ids=lambda names: repr(names[0])[:40])
def test_as_columns_that_are_not_there(con, tmp_path, names):
    before = state(con)
    for name in names:
        for role in ("columns", "strata"):
            given = {"columns": "age", "strata": None} | {role: [name]}
            query = "FROM microagg.mdav('people', $columns, 2, strata := $strata)"
            wrong = f"{role} names .* which is not a column of the table"
            with pytest.raises(duckdb.InvalidInputException, match=wrong):
                con.sql(query, params=given)
            with pytest.raises(mg.InvalidParameterError, match=wrong):
                mgd.mask(con, "people", given["columns"], 2, strata=given["strata"])
    assert untouched(con, before, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("names", batches(40), ids=lambda names: repr(names[0])[:40])
def test_as_tables(con, tmp_path, names):
    names = [name for name in names if name.strip("\0")]
    frame = con.table("people").pl()
    for name in names:
        quoted = '"' + name.replace('"', '""') + '"'
        con.execute(f"CREATE TABLE {quoted} AS FROM people")
    before = state(con)
    for name in names:
        quoted = '"' + name.replace('"', '""') + '"'
        released = con.sql("FROM microagg.mdav($t, ['age'], 4)", params={"t": quoted}).pl()
        assert_masked(released, frame, ["age"], 4)
        assert mgd.mask(con, quoted, "age", 4).pl().equals(released)
    assert untouched(con, before, tmp_path)


@pytest.mark.parametrize("names", batches(40), ids=lambda names: repr(names[0])[:40])
def test_as_tables_that_are_not_there(con, tmp_path, names):
    before = state(con)
    for name in names:
        with pytest.raises(
            duckdb.Error, match="does not exist|Parser Error|No files found|qualified"
        ):
            con.sql("FROM microagg.mdav($t, ['age'], 4)", params={"t": name}).fetchall()
        with pytest.raises(
            duckdb.Error, match="does not exist|Parser Error|No files found|qualified"
        ):
            mgd.mask(con, name, "age", 4).fetchall()
    assert untouched(con, before, tmp_path)


@pytest.mark.parametrize("name", ["\0", "a\0b", "age\0", "\0; DROP TABLE canary"])
def test_with_nul(con, tmp_path, name):
    before = state(con)
    query = "FROM microagg.mdav($t, $c, 2, strata := $s)"
    for role in ("t", "c", "s"):
        given = {"t": "people", "c": ["age"], "s": []} | {role: name if role == "t" else [name]}
        with pytest.raises(duckdb.Error, match="does not exist|not a column|Parser Error"):
            con.sql(query, params=given).fetchall()
    assert untouched(con, before, tmp_path)


@pytest.mark.parametrize("role", ["method", "scale", "nulls", "dtype", "small_strata", "center"])
def test_as_options(con, tmp_path, role):
    before = state(con)
    for name in NAMES[::7]:
        query = f"FROM microagg.mask('people', 'age', 2, {role} := $name)"
        with pytest.raises(duckdb.InvalidInputException, match="is not known|There is no method"):
            con.sql(query, params={"name": name})
    assert untouched(con, before, tmp_path)


def string_built(con, source, columns, strata):
    """How it must not be done."""
    listed = ", ".join(f'avg("{column}") OVER w' for column in columns)
    keys = ", ".join(strata) or "1"
    con.execute(
        f"CREATE TEMP TABLE out AS SELECT {listed} FROM {source} WINDOW w AS (PARTITION BY {keys})"
    )
    con.execute("DROP TABLE out")


@pytest.mark.deep
def test_a_door_that_builds_strings_would_be_caught(con, tmp_path):
    caught = []
    for name in (name for name in NAMES if "FROM canary" in name):
        for source, columns, strata in (
            (name, ["age"], []),
            ("people", [name], []),
            ("people", ["age"], [name]),
        ):
            before = state(con)
            try:
                string_built(con, source, columns, strata)
            except duckdb.Error:
                con.execute("DROP TABLE IF EXISTS out")
            if not untouched(con, before, tmp_path):
                caught.append(name)
                break
        if caught:
            break
    assert caught
