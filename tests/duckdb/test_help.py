"""What macros say of themselves: comments that DuckDB keeps, `help` and `options`."""

import re

import duckdb
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.core import registry
from polars_microagg.core.options import COMMON
from polars_microagg.duckdb.macros import sql_text
from tests.loop import every_case

LISTED = "SELECT function_name, comment FROM duckdb_functions() WHERE database_name = {!r}"


def test_every_macro_has_a_comment_and_what_is_behind_them_is_elsewhere(con):
    public = con.sql(LISTED.format("microagg") + " AND schema_name = 'main'").fetchall()
    assert len(public) > 40
    assert all(said and "Example: " in said for _, said in public)
    assert {name for name, _ in public} == {
        name for (name,) in con.sql("SELECT name FROM microagg.help()").fetchall()
    }
    inside = con.sql(LISTED.format("microagg") + " AND schema_name = 'internals'").fetchall()
    assert len(inside) > 40
    assert all(said.startswith("Not for use. ") and len(said) > 20 for _, said in inside)


def test_a_bare_connection_has_the_same_comments(con):
    said = dict(con.sql(LISTED.format("microagg")).fetchall())
    with duckdb.connect() as bare:
        bare.execute(sql_text()["measures"])
        bare.execute(sql_text()["losses"])
        found = dict(bare.sql(LISTED.format("memory")).fetchall())
    assert len(found) > 30
    assert found == {name: said[name] for name in found}


def test_what_is_said_is_what_python_says(con):
    said = dict(con.sql("SELECT name, what FROM microagg.help()").fetchall())
    for name, entry in registry.methods().items():
        assert said[name] == entry.summary
    for name in ("k_min", "sse", "loss"):
        assert said[name] == registry.metrics()[name].summary
    assert mg.compare.__doc__.startswith(said["compare"])
    assert mg.verify.__doc__.startswith(said["verify"][:40])


def test_every_option_is_described(con):
    rows = con.sql("FROM microagg.options()").fetchall()
    assert all(meaning for _, _, meaning in rows)
    found = dict(con.sql("SELECT option, \"default\" FROM microagg.options('MDAV')").fetchall())
    assert set(found) == {"strata", *COMMON}
    assert found["scale"] == "'zscore'"
    own = con.sql("SELECT option FROM microagg.options('vmdav')").fetchall()
    assert {name for (name,) in own} == {"strata", *COMMON, "gamma"}


def test_an_example_of_every_macro_runs(con):
    con.execute(
        """CREATE TABLE patients AS SELECT i AS id, i % 2 AS region, (i * 7) % 40 AS age,
            (i * 13) % 900 AS income FROM range(60) r(i);
        CREATE TABLE masked AS SELECT *, id % 4 AS patient, id % 3 AS sick
            FROM microagg.mdav('patients', ['age', 'income'], 3);
        CREATE TABLE compared AS
            FROM microagg.compare('patients', ['age', 'income'], methods := ['mdav', 'md'], ks := 3)"""
    )
    examples = con.sql("SELECT name, example FROM microagg.help() ORDER BY ALL").fetchall()
    for name, example in examples if every_case() else examples[::3]:
        if name not in ("compare", "genetic", "lowloss"):  # these take their time
            assert con.sql(example).fetchall(), name


@pytest.mark.parametrize(
    ("macro", "near"), [("mdaf", "mdav"), ("mdva", "mdav"), ("k_mni", "k_min"), ("", "l")]
)
@pytest.mark.parametrize("asked", ["help", "options"])
def test_a_mistyped_macro_is_told_the_near_one(con, asked, macro, near):
    sentence = f"There is no macro '{macro}'. Did you mean '{near}'?"
    with pytest.raises(duckdb.InvalidInputException, match=re.escape(sentence)):
        con.sql(f"FROM microagg.{asked}('{macro}')").fetchall()


def test_comments_name_the_catalog(con):
    with mgd.register(duckdb.connect(), catalog="it's") as odd:
        said = odd.sql("SELECT comment FROM duckdb_functions() WHERE function_name = 'mdav'")
        assert 'FROM "it\'s".mdav(' in said.fetchall()[0][0]
