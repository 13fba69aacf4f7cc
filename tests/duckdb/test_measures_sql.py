"""`sql/measures.sql` in a connection without this package: the numbers of Python, bit for bit."""

import math
import re
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from tests.duckdb.test_models import COUNTED, LEVELS, frame_of
from tests.loop import every_case, rounds, share

FILE = Path(__file__).parents[2] / "sql" / "measures.sql"
TEXT = FILE.read_text(encoding="utf-8")


@pytest.fixture
def bare():
    """A connection that has read the file, and nothing of this package."""
    with duckdb.connect() as con:
        con.execute(TEXT)
        yield con


def visits(con, rng, key, confidential, rows=None):
    """A random table with a key of a type, nulls everywhere but in the entities."""
    levels = ", ".join("'" + level.replace("'", "''") + "'" for level in LEVELS)
    con.execute(f"CREATE OR REPLACE TYPE level AS ENUM ({levels})")
    n = int(rng.integers(1, 80)) if rows is None else rows
    drawn = pl.DataFrame(
        {
            "q": rng.integers(0, 12, n),
            "e": rng.integers(0, max(2, n // int(rng.integers(1, 5))), n),
            "d": rng.integers(0, 1000, n),
            "gone": rng.random(n) < rng.choice([0, 0.3]),
            "none": rng.random(n) < rng.choice([0, 0.3]),
            "s": rng.integers(0, 2, n),
        },
        schema_overrides={"gone": pl.Boolean, "none": pl.Boolean},
    )
    con.register("drawn", drawn)
    con.execute(
        f"""CREATE OR REPLACE TABLE visits AS SELECT
        CASE WHEN NOT gone THEN (SELECT {COUNTED[key]} FROM (SELECT q AS c)) END AS "Key",
        CASE WHEN s = 0 THEN s END AS s, e AS person, e % 3 AS "odd ""name",
        CASE WHEN NOT "none" THEN (SELECT {COUNTED[confidential]} FROM (SELECT d AS c)) END AS dx,
        d % 7 AS wage FROM drawn"""
    )
    con.unregister("drawn")


def row(relation):
    (found,) = relation.fetchall()
    return dict(zip(relation.columns, found, strict=True))


def expected(frame, *arguments, **options):
    found = mg.anonymity(frame, *arguments, **options).row(0, named=True)
    return {n: v for n, v in found.items() if not n.startswith("size") and n != "histogram"}


def told(error):
    return type(error).__name__ if isinstance(error, mg.MicroaggError) else str(error).split()[3]


@pytest.mark.parametrize("key", share(COUNTED, 4, 0))
def test_classes_of_keys_of_every_type(bare, key):
    rng = np.random.default_rng([*b"keys", *key.encode()])
    for i in range(rounds(12)):
        visits(bare, rng, key, "BIGINT", rows=(0, 1, None)[min(i, 2)])
        frame = frame_of(bare)
        assert row(bare.sql("FROM microagg.anonymity('visits', 'key')")) == expected(frame, "Key")
        call = "FROM microagg.anonymity('visits', ['KEY'], strata := ['S'], entity := 'person')"
        assert row(bare.sql(call)) == expected(frame, "Key", strata="s", entity="person")


@pytest.mark.parametrize("type_", share(COUNTED, 4, 2))
@pytest.mark.parametrize("t_scale", ["values", "ranks"])
def test_entities_and_confidential_columns_of_every_type(bare, type_, t_scale):
    rng = np.random.default_rng([*b"told", *type_.encode()])
    for i in range(rounds(12)):
        visits(bare, rng, "DOUBLE", type_, rows=(0, 1, None)[min(i, 2)])
        call = f"""FROM microagg.anonymity('visits', 'Key', strata := 's',
            entity := ['person', 'odd "name'], confidential := ['dx', 'wage'], t_scale := '{t_scale}')"""
        people = {"entity": ["person", 'odd "name'], "confidential": ["dx", "wage"]}
        assert row(bare.sql(call)) == expected(
            frame_of(bare), "Key", strata="s", t_scale=t_scale, **people
        )


def test_verify_refuses_what_python_refuses(bare):
    rng = np.random.default_rng(19)
    outcomes = set()
    for _ in range(rounds(60)):
        visits(bare, rng, "UTINYINT", "BOOLEAN", rows=int(rng.integers(20, 200)))
        frame, options = frame_of(bare), {}
        if rng.random() < 0.5:
            options["entity"] = "person"
            options["entity_mode"] = str(rng.choice(["rows", "mean", "alike"]))
            options |= {"max_entity_share": 0.3} if rng.random() < 0.5 else {}
        if rng.random() < 0.7:
            bounds = {"l": 2, "max_share": 0.75, "t": 0.25}
            chosen = rng.choice(list(bounds), int(rng.integers(1, 4)), replace=False)
            options |= {"confidential": "dx"} | {str(name): bounds[name] for name in chosen}
        given = "".join(f", {name} := {value!r}" for name, value in options.items())
        k = int(rng.integers(2, 5))
        try:
            mg.verify(frame, "Key", k, **options)
            wanted = None
        except mg.MicroaggError as error:
            wanted = type(error).__name__
        try:
            bare.sql(f"FROM microagg.verify('visits', 'Key', {k}{given})").fetchall()
            found = None
        except duckdb.InvalidInputException as error:
            found = re.search(r"(\w+Error): The table", str(error))[1]
        assert found == wanted
        outcomes.add(found)
    assert outcomes == {None, "NotAnonymousError"}


NESTED = {
    "of its own": "f",
    "list": "[f, NULL]",
    "struct": "{'a': f, 'b': [f]}",
    "map": "MAP {'k': f}",
    "union": "union_value(num := f)",
    "float": "f::FLOAT",
}


@pytest.mark.parametrize("door", ["bare", "con"])
def test_the_sign_of_zero_and_nan_is_no_other_entity_or_value(request, door):
    con = request.getfixturevalue(door)
    texts = ["'-0.0'", "INTERVAL '1 month'", "'[-0.0]'::JSON"]
    cases = list(product(NESTED.values(), texts, [["0.0", "-0.0"], ["nan", "-nan"]]))
    cases = cases if every_case() else cases[door == "con" :: 4]
    for nested, beside, signs in cases:
        con.execute(
            f"""CREATE OR REPLACE TABLE v AS SELECT 1 AS a, {beside} AS n, {nested} AS f,
            {{'n': n, 'f': f}} AS d FROM (SELECT unnest({signs})::DOUBLE AS f)"""
        )
        call = "FROM microagg.anonymity('v', 'a', entity := ['n', 'f'], confidential := 'd')"
        found = row(con.sql(call))
        worst = (found["k_entities"], found["l"], found["max_share"], found["t"])
        assert worst == (1, 1, 1.0, 0.0), (nested, beside, signs)
        call = """SELECT microagg.k_entities(a, (n, f)), microagg.l(a, d),
            microagg.max_share(a, d), microagg.t(a, d) FROM v"""
        assert con.sql(call).fetchall() == [worst], (nested, beside, signs)


def test_verify_refuses_who_is_two_by_the_sign_of_zero(bare):
    bare.execute(
        "CREATE TABLE v AS SELECT 1 AS a, 'u' AS n, unnest(['0.0', '-0.0']::DOUBLE[]) AS f"
    )
    for options in ({"entity": ["n", "f"]}, {"confidential": "d", "l": 2, "max_share": 0.5}):
        frame = bare.sql("SELECT *, {'n': n, 'f': f} AS d FROM v").pl()
        with pytest.raises(mg.NotAnonymousError):
            mg.verify(frame, "a", 2, **options)
        given = "".join(f", {name} := {value!r}" for name, value in options.items())
        with pytest.raises(duckdb.InvalidInputException, match="NotAnonymousError"):
            bare.sql(
                "WITH w AS (SELECT *, {'n': n, 'f': f} AS d FROM v) "
                f"FROM microagg.verify('w', 'a', 2{given})"
            ).fetchall()


@pytest.mark.parametrize("door", ["bare", "con"])
def test_what_reads_differently_is_two_beside_a_number(request, door):
    con = request.getfixturevalue(door)
    differing = {"INTERVAL": ["30 days", "1 month"], "VARCHAR COLLATE NOCASE": ["n", "N"]}
    for type_, values in differing.items():
        con.execute(f"CREATE OR REPLACE TABLE v(a INTEGER, n {type_}, f DOUBLE)")
        con.execute(f"INSERT INTO v SELECT 1, unnest({values}), unnest(['0.0', '-0.0']::DOUBLE[])")
        call = "FROM microagg.anonymity('v', 'a', entity := ['n', 'f'])"
        assert row(con.sql(call))["k_entities"] == 2
        assert con.sql("SELECT microagg.k_entities(a, (n, f)) FROM v").fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("anonymity('v', 'agee')", "InvalidParameterError: 'agee' is not a column of the table"),
        ("anonymity('v', [])", "InvalidParameterError: No column is named"),
        ("anonymity('v', NULL)", "InvalidParameterError: No column is named"),
        ("anonymity('v', 'age', strata := 'x')", "InvalidParameterError: 'x' is not a column"),
        ("anonymity('v', 'age', entity := ['x', 'who'])", "'x' is not a column"),
        ("anonymity('v', 'age', confidential := 'x')", "'x' is not a column"),
        ("anonymity('v', 'age', entity := 'who')", "InvalidDataError: 1 record.s. have no entity"),
        ("anonymity('v', 'age', t_scale := 'rank')", "t_scale must be one of 'values', 'ranks'"),
        ("verify('v', 'age', 1)", "k must be a whole number of at least 2"),
        ("verify('v', 'age', NULL)", "k must be a whole number of at least 2"),
        ("verify('v', 'age', 2.5)", "k must be a whole number of at least 2"),
        ("verify('v', 'age', 2, l := 2)", "confidential needs l, max_share or t"),
        ("verify('v', 'age', 2, confidential := 'who')", "confidential needs l, max_share or t"),
        ("verify('v', 'age', 2, entity_mode := 'rows')", "entity_mode needs entity"),
        ("verify('v', 'age', 2, max_entity_share := 0.5)", "max_entity_share needs entity"),
        (
            "verify('v', 'age', 3)",
            "NotAnonymousError: The table does not keep k records: the worst",
        ),
    ],
)
def test_a_wrong_call_is_an_error_without_a_value(bare, call, sentence):
    bare.execute("CREATE TABLE v AS FROM (VALUES (77, 'ann'), (77, NULL)) t(age, who)")
    with pytest.raises(duckdb.InvalidInputException, match=sentence) as caught:
        bare.sql(f"FROM microagg.{call}").fetchall()
    assert "77" not in str(caught.value)
    assert "ann'" not in str(caught.value)


WRONG = {
    "k": ["'inf'::DOUBLE", "'nan'::DOUBLE", "1.5", "1", "0", "-2", "'2'", "true"],
    "l": ["'inf'::DOUBLE", "'nan'::DOUBLE", "1.5", "0", "-1", "'2'", "true"],
    "max_share": ["'nan'::DOUBLE", "'inf'::DOUBLE", "7", "1.01", "-0.1", "'0.9'", "true"],
    "t": ["'nan'::DOUBLE", "'nan'::FLOAT", "'-inf'::DOUBLE", "2", "-0.1", "'0.9'"],
}
"""Bounds that bound nothing, or that are no numbers."""


@pytest.mark.parametrize("bound", WRONG)
def test_a_bound_that_python_refuses_is_refused(bare, bound):
    bare.execute("CREATE TABLE v AS FROM (VALUES (7, 'x'), (7, 'y')) t(a, d)")
    needed = "whole number of at least" if bound in "kl" else "number from 0 to 1"
    # DuckDB itself compares no share with a truth.
    sentence = f"InvalidParameterError: {bound} must be a {needed}|DOUBLE and type BOOLEAN"
    for given in WRONG[bound]:
        more = f"2, confidential := 'd', {bound} := {given}" if bound != "k" else given
        with pytest.raises(duckdb.Error, match=sentence):
            bare.sql(f"FROM microagg.verify('v', 'a', {more})").fetchall()
        (value,) = bare.sql(f"SELECT {given}").fetchall()[0]
        options = {"confidential": "d", bound: value} if bound != "k" else {}
        with pytest.raises(mg.InvalidParameterError):
            mg.verify(bare.table("v").pl(), "a", value if bound == "k" else 2, **options)


def test_a_bound_of_any_type_of_number_holds(bare):
    bare.execute("CREATE TABLE v AS FROM (VALUES (7, 'x'), (7, 'y')) t(a, d)")
    for type_ in ("UTINYINT", "INTEGER", "HUGEINT", "UBIGINT", "DECIMAL(9,2)", "FLOAT", "DOUBLE"):
        call = f"""FROM microagg.verify('v', 'a', 2::{type_}, confidential := 'd', l := 2::{type_},
            max_share := 1::{type_}, t := 0::{type_})"""
        assert bare.sql(call).fetchall() == [(2, 1, 2, 2.0, 0, 2, 0.5, 0.0)]


@pytest.mark.parametrize("door", ["bare", "con"])
def test_an_interval_has_no_order(request, door):
    con = request.getfixturevalue(door)
    con.execute(
        "CREATE TABLE v AS SELECT i // 2 AS a, to_days((i // 2)::INTEGER) AS d FROM range(8) r(i)"
    )
    of = "FROM microagg.anonymity({}, 'a', confidential := 'd')"
    found = row(con.sql(of.format("'v'")))["t"]
    con.execute("CREATE VIEW w AS SELECT a, d::VARCHAR AS d FROM v")
    # Each of four values is in a class of its own: a distance of 3/4, and with an order of 1/2.
    assert found == row(con.sql(of.format("'w'")))["t"] == 0.75
    durations = con.sql("SELECT a, epoch_us(d) AS d FROM v").pl().cast({"d": pl.Duration("us")})
    assert mg.anonymity(durations, "a", confidential="d")["t"].item() == 0.5
    con.register("p", durations)
    assert con.sql("FROM p").types[1] == "INTERVAL"
    assert row(con.sql(of.format("'p'")))["t"] == found


def test_the_distance_is_exact_where_a_sum_of_shares_is_not(bare):
    # A tenth is no sum of powers of two: whole numbers have no rounding before the last division.
    bare.execute("CREATE TABLE v AS SELECT i // 10 AS a, i % 10 AS d FROM range(100) r(i)")
    found = row(bare.sql("FROM microagg.anonymity('v', 'a', confidential := 'd')"))
    assert found["t"] == 0.0
    assert math.copysign(1, found["t"]) == 1.0


def test_a_distance_worked_by_hand(bare):
    # Up to each value 1 to 5 lie 1, 2, 5, 7, 8 of all 8, and 0, 0, 2, 2, 3 of the 3 of class 1: the area
    # between is (1/8 + 2/8 + (2/3 - 5/8) + (7/8 - 2/3)) / 4. Class 0 is nearer.
    bare.execute(
        """CREATE TABLE v AS FROM (VALUES (0, 1), (0, 2), (0, 3), (0, 4), (0, 4), (1, 3), (1, 3), (1, 5)) t(a, d)"""
    )
    found = row(bare.sql("FROM microagg.anonymity('v', 'a', confidential := 'd')"))
    assert found["t"] == 0.15625


def test_it_is_fast_where_values_are_many(bare):
    bare.execute(
        "CREATE TABLE v AS SELECT i // 5 AS a, hash(i) % 1000000 AS d FROM range(100000) r(i)"
    )
    found = row(bare.sql("FROM microagg.anonymity('v', 'a', confidential := 'd')"))
    assert found == expected(bare.table("v").pl(), "a", confidential="d")


def statements():
    """The name, kind, parameters and body of each macro, as an extension of macros registers them."""
    pattern = (
        r"CREATE OR REPLACE MACRO (microagg(?:_internals)?)\.(\w+)\((.*?)\) AS\s+(TABLE\s)?(.*)"
    )
    found = []
    with duckdb.connect() as con:
        for statement in con.extract_statements(TEXT):
            text = re.sub(r"^\s*--.*$", "", statement.query, flags=re.M).strip().rstrip(";")
            if match := re.fullmatch(pattern, text, re.S):
                found.append(match.groups())
            else:
                assert text.startswith(("CREATE SCHEMA IF NOT EXISTS", "COMMENT ON MACRO")), text
    return found


def test_an_extension_can_take_the_macros_over_one_by_one():
    # An extension has one namespace, that of DuckDB itself: names get a prefix, and nothing else changes.
    def flat(text):
        return text.replace("microagg_internals.", "_microagg").replace("microagg.", "microagg_")

    macros = statements()
    assert len(macros) > 25
    with duckdb.connect() as con:
        for schema, name, parameters, table, body in macros:
            whole = f"{schema}.{name}({parameters}) AS {table or ''}{body}"
            con.execute(f"CREATE MACRO {flat(whole)}")
        con.execute("CREATE TABLE v AS FROM (VALUES (1, 'u', 3), (1, 'v', 4)) t(a, who, d)")
        call = "FROM microagg_verify('v', 'a', 2, entity := 'who', confidential := 'd', l := 2)"
        assert con.sql(call).fetchall() == [(2, 1, 2, 2.0, 0, 2, 2, 2, 0.5, 2, 0.5, 0.0)]
        assert con.sql("SELECT microagg_k_min(a), microagg_t(a, d) FROM v").fetchall() == [(2, 0.0)]
