"""`anonymity` and `verify` of SQL with entities and confidential columns: what Python says of the same table."""

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.wording import SQL
from tests.duckdb.test_models import COUNTED, frame_of, sql_of, table
from tests.loop import rounds, share

PEOPLE = {"entity": ["person", "kind_of_person"], "confidential": ["dx"]}


def counted(con, columns, **options):
    """The row of the macro, by name."""
    found = con.sql(f"FROM microagg.anonymity('visits', {columns}{sql_of(options)})")
    return dict(zip(found.columns, found.fetchall()[0], strict=True))


def said_of(con, columns, k, **options):
    """What the macro `verify` says: nothing or a sentence."""
    try:
        con.sql(f"FROM microagg.verify('visits', {columns}, {k}{sql_of(options)})").fetchall()
    except duckdb.InvalidInputException as error:
        return str(error).partition("UDF: ")[2]
    return ""


def told(frame, columns, k, **options):
    """What Python says, in the spelling of SQL."""
    try:
        mg.verify(frame, columns, k, **options)
    except mg.MicroaggError as error:
        return f"{type(error).__name__}: {error.told(SQL)}"
    return ""


@pytest.mark.parametrize("type_", share(COUNTED, 3, 2))
def test_every_type_is_counted_as_python_counts_it(con, type_):
    rng, refused = np.random.default_rng([*type_.encode()]), 0
    for i in range(rounds(8)):
        table(con, rng, type_, type_)
        con.execute("UPDATE visits SET a = a // 20, b = 0 WHERE person % 7 > 0")
        frame, columns = frame_of(con), (["a"], ["a", "b"])[i % 2]
        options = PEOPLE | {"strata": (["s"], None)[i % 2], "t_scale": ("values", "ranks")[i % 2]}
        found = counted(con, columns, **options)
        expected = mg.anonymity(frame, columns, **options).select(list(found)).row(0, named=True)
        assert found == expected
        bounds = {"l": 2, "max_share": 0.6, "t": 0.5}
        names = list(bounds)[i % 3 :]
        held = PEOPLE | {"strata": options["strata"]} | {name: bounds[name] for name in names}
        said = said_of(con, columns, 3, **held)
        assert said == told(frame, columns, 3, **held)
        refused += bool(said)
    assert refused


def test_a_column_is_there_for_what_is_asked(con):
    table(con, np.random.default_rng(1))
    plain = ["records", "classes", "k_min", "k_prime", "uniques"]
    of_entities = ["entities", "k_entities", "alike_min", "max_entity_share"]
    of_models = ["l", "max_share", "t"]
    assert list(counted(con, ["a"])) == plain
    assert list(counted(con, ["a"], entity="PERSON")) == plain + of_entities
    assert list(counted(con, ["a"], confidential="DX")) == plain + of_models
    assert list(counted(con, ["a"], **PEOPLE)) == plain + of_entities + of_models
    row = con.sql("FROM microagg.verify('visits', 'a', 2, entity := 'person')")
    assert row.columns == plain + of_entities
    types = con.sql(
        "FROM microagg.anonymity('visits', 'a', entity := 'person', confidential := 'dx')"
    ).types
    kinds = ["BIGINT"] * 3 + ["DOUBLE"] + ["BIGINT"] * 4 + ["DOUBLE", "BIGINT"] + ["DOUBLE"] * 2
    assert [str(type_) for type_ in types] == kinds


@pytest.mark.parametrize("method", ["mdav", "lowloss", "k_ward"])
def test_what_is_released_is_verified_and_its_original_is_not(con, method):
    rng = np.random.default_rng(11)
    for _ in range(rounds(8)):
        table(con, rng, rows=120)
        options = {
            "entity": "person",
            "entity_mode": "rows",
            "confidential": "dx",
            "max_share": 0.7,
        }
        options |= {"strata": "s", "small_strata": "drop"}
        query = f"FROM microagg.{method}('visits', ['a', 'b'], 3{sql_of(options)})"
        con.execute(f"CREATE OR REPLACE TABLE masked AS {query}")
        del options["small_strata"]
        assert said_of(con, ["a", "b"], 3, **options)
        con.execute("DROP TABLE visits; ALTER TABLE masked RENAME TO visits")
        assert said_of(con, ["a", "b"], 3, **options) == ""


def test_fewer_persons_than_rows_are_found(con):
    con.execute("CREATE TABLE visits AS SELECT 1 AS a, i // 2 AS person FROM range(6) r(i)")
    assert said_of(con, ["a"], 6) == ""
    assert "in all are of fewer than k=4 entities (the fewest is 3)" in said_of(
        con, ["a"], 4, entity="person"
    )


def test_a_table_without_records(con):
    table(con, np.random.default_rng(1))
    con.execute("DELETE FROM visits")
    assert set(counted(con, ["a"], **PEOPLE).values()) <= {0, None}
    assert said_of(con, ["a"], 5, **PEOPLE, l=2) == ""


REFUSED = {
    "verify('v', 'a', 2, entity := 'who', entity_mode := 'row')": "entity_mode := 'row' is not known",
    "verify('v', 'a', 2, entity_mode := 'rows')": "entity_mode := 'rows' was given without entity.",
    "verify('v', 'a', 2, l := 2)": "l := 2 was given without confidential.",
    "verify('v', 'a', 2, confidential := 'dx')": "confidential := ['dx'] was given without",
    "verify('v', 'a', 2, confidential := 'dx', l := 0)": "l := 0 was given; it must be",
    "verify('v', 'a', 2, confidential := 'dx', t := '0.5')": "t := '0.5' was given; it must be",
    "verify('v', 'a', 1, entity := 'who')": "k := 1 is not a group size",
    "verify('v', 'a', 2, entity := 'whom')": "entity names 'whom', which is not a column",
    "anonymity('v', 'a', confidential := 'dy')": "confidential names 'dy', which is not a column",
    "anonymity('v', 'a', confidential := 'dx', t_scale := 'rank')": "t_scale := 'rank' is not known",
    "anonymity('v', 'a', t_scale := 'ranks')": "t_scale := 'ranks' was given without confidential.",
    "mdav('v', 'a', 2, entity := 'who')": "Use entity_mode := 'alike' if",
    "mdav('v', 'a', 2, entity := 'who', entity_mode := 'row')": "entity_mode := 'row' is not known",
    "mdav('v', 'a', 2, entity := 'a', entity_mode := 'rows')": "'a' is masked and is in entity as well",
    "mdav('v', 'a', 2, entity := 'who', entity_mode := 'rows', strata := 'WHO')": (
        "'who' is in strata and in entity as well"
    ),
    "mdav('v', 'a', 2, entity := ['who', 'Who'], entity_mode := 'rows')": "entity lists 'who' more than once",
    "mdav('v', 'a', 2, confidential := 'dx', max_share := 1.5)": "max_share := 1.5 was given; it must be",
    "mdav('v', 'a', 2, entity := 'who', entity_mode := 'rows', max_rows_per_entity := 2)": (
        "max_rows_per_entity := 2 was given without entity_mode := 'alike'"
    ),
    "individual_ranking('v', 'a', 2, entity := 'who', entity_mode := 'rows')": "It groups values, not records",
    "mask('v', 'a', 2, options := {'l': 2})": "Write it beside options, as in l := 2.",
    "groups('v', 'a', 2, confidential := 'dx', l := 3)": "l := 3 cannot be reached: in all records",
}


@pytest.mark.parametrize("call", REFUSED)
def test_errors_are_in_the_spelling_of_sql_and_hold_no_value(con, call):
    con.execute(
        "CREATE TABLE v AS SELECT i AS a, 'Ms Secret' || i % 4 AS who, ['hush', 'hash'][1 + i % 2] AS dx FROM range(8) r(i)"
    )
    with pytest.raises(duckdb.Error) as caught:
        con.sql(f"FROM microagg.{call}").fetchall()
    assert REFUSED[call] in str(caught.value)
    assert not [secret for secret in ("Secret", "hush", "hash") if secret in str(caught.value)]


@pytest.mark.parametrize(
    "call",
    [
        "mdav('v', 'a', 2, {0})",
        "groups('v', 'a', 2, {0})",
        "verify('v', 'a', 2, {1})",
        "anonymity('v', 'a', {1})",
    ],
)
def test_an_entity_that_is_null_is_an_error(con, call):
    con.execute(
        "CREATE TABLE v AS SELECT i // 4 AS a, nullif('Ms Secret' || i, 'Ms Secret3') AS who FROM range(8) r(i)"
    )
    named = "entity := 'who', entity_mode := 'rows'", "entity := 'who'"
    with pytest.raises(
        duckdb.InvalidInputException, match="Column 'who' has 1 null value"
    ) as caught:
        con.sql(f"FROM microagg.{call.format(*named)}").fetchall()
    assert "Secret" not in str(caught.value)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("ordered", ["true", "false"])
def test_many_threads_keep_each_record_with_its_entity(con, threads, ordered):
    rng, n = np.random.default_rng(5), 300_000
    frame = pl.DataFrame(
        {
            "a": rng.integers(0, 999, n),
            "who": rng.integers(0, n // 2, n).astype(str),
            "dx": rng.choice(["x", "y", None], n),
        }
    )
    con.execute(f"SET threads = {threads}")
    con.execute("CREATE TABLE v AS FROM frame")
    con.execute(f"SET preserve_insertion_order = {ordered}")
    options = {"entity": "who", "confidential": "dx"}
    found = con.sql(f"FROM microagg.anonymity('v', 'a'{sql_of(options)})")
    expected = mg.anonymity(frame, "a", **options).select(found.columns)
    assert found.fetchall() == expected.rows()


def test_the_arrow_path_refuses_what_the_macro_refuses(con):
    con.execute("CREATE TABLE v AS SELECT i AS a, i % 4 AS who, i % 2 AS dx FROM range(8) r(i)")
    for sentence, options in {
        "Use entity_mode='alike' if": {"entity": "who"},
        "'a' is masked and is in entity as well": {"entity": "a", "entity_mode": "rows"},
        "'who' is in strata and in entity": {
            "entity": "WHO",
            "entity_mode": "rows",
            "strata": "who",
        },
        "'dx' is in entity and in confidential": {
            **{"entity": "dx", "entity_mode": "rows"},
            **{"confidential": "dx", "l": 2},
        },
    }.items():
        with pytest.raises(mg.InvalidParameterError, match=sentence):
            mgd.mask(con, "v", "a", 2, **options)


def test_an_endless_date_may_be_counted(con):
    con.execute(
        "CREATE TABLE v AS SELECT i AS a, CASE i % 2 WHEN 0 THEN 'infinity'::DATE ELSE DATE '2024-01-01' END AS until FROM range(8) r(i)"
    )
    options = {"confidential": "until", "l": 2}
    by_arrow = mgd.mask(con, "v", "a", 2, **options).fetchall()
    assert by_arrow == con.sql(f"FROM microagg.mdav('v', 'a', 2{sql_of(options)})").fetchall()
    assert len({row[0] for row in by_arrow}) == 4
