"""Measures by way of Arrow: as in Python, with names as DuckDB has them."""

import duckdb
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd

BEFORE = pl.DataFrame(
    {
        "Id": range(40),
        "Region": ["n", "s"] * 20,
        "Age": [(i * 17) % 41 for i in range(40)],
        "Pay": [((i * i * 7) % 53) / 2 for i in range(40)],
    }
)
AFTER = mg.mdav(BEFORE, ["Age", "Pay"], 4)


@pytest.fixture
def plain():
    with duckdb.connect() as con:
        con.register("before", BEFORE)
        con.register("after", AFTER.reverse())
        yield con


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metrics": ["drisk", "il1_zero_cells", "k_min"]},
        {"known": "age"},
        {"known": ["AGE", "pay"]},
        {"known": [["age"], ["age", "Pay"]], "metrics": "dld"},
        {"known": 1, "metrics": "k_prime"},
        {"known": "subsets", "known_sample": 2, "seed": 3},
        {"by": "region", "metrics": ["loss", "dld"]},
    ],
)
def test_assess_as_in_python(plain, options):
    found = mgd.assess(plain, "before", "after", ["age", "PAY"], key="id", **options)
    title = {"age": "Age", "AGE": "Age", "pay": "Pay", "Pay": "Pay", "region": "Region"}

    def named(value):
        if isinstance(value, list):
            return [named(item) for item in value]
        return title.get(value, value)

    shown = {name: named(value) for name, value in options.items()}
    expected = mg.assess(BEFORE, AFTER, ["Age", "Pay"], key="Id", **shown)
    assert found.columns == expected.columns
    assert found.fetchall() == expected.rows()


def test_compare_as_in_python(plain):
    options = {"methods": ["mdav", "genetic"], "ks": [3, 21], "generations": 4}
    found = mgd.compare(plain, "before", ["age", "pay"], strata="REGION", **options)
    expected = mg.compare(BEFORE, ["Age", "Pay"], strata="Region", **options)
    assert found.columns == expected.columns
    numbers = [*["DOUBLE"] * 8, "BIGINT", "DOUBLE", "DOUBLE"]
    assert found.types == ["VARCHAR", "BIGINT", *numbers, "BOOLEAN", "VARCHAR"]
    rows, others = (
        [(*row[:12], *row[13:]) for row in r] for r in (found.fetchall(), expected.rows())
    )
    assert rows == others
    # 20 records a stratum: k=21 has none, and mdav has no generations.
    assert [row[-1] is None for row in rows] == [False, True, False, False]


def test_any_source_and_a_filter_in_sql(plain):
    table = mgd.compare(plain, plain.sql("FROM before WHERE region = 'n'"), "age", ks=[2, 5])
    best = table.filter("pareto").order("loss").limit(1).fetchall()
    assert len(best) == 1
    assert mgd.compare(plain, BEFORE, "age", methods="mdav", ks=2).select("k").fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda con: mgd.assess(con, "before", "after", "agee"), "columns names 'agee'"),
        (lambda con: mgd.assess(con, "before", "after", known=["x"]), "known names 'x'"),
        (lambda con: mgd.assess(con, "before", "after", by="x"), "by names 'x'"),
        (lambda con: mgd.compare(con, "before", ["age"], strata="x"), "strata names 'x'"),
        (lambda con: mgd.compare(con, 5, ["age"]), "source is of type int"),
    ],
)
def test_wrong_names_are_errors(plain, call, message):
    with pytest.raises(mg.InvalidParameterError, match=message):
        call(plain)


@pytest.mark.parametrize("type_", ["HUGEINT", "UHUGEINT"])
def test_integers_of_39_digits_are_measured_as_small_ones(con, type_):
    top = 2**127 - 100 if type_ == "HUGEINT" else 2**128 - 100
    for name, base in (("large", f"{top}::{type_}"), ("small", "0")):
        x = f"{base} + (i * 7 % 11)::{type_ if name == 'large' else 'INTEGER'}"
        con.execute(f"CREATE TABLE {name} AS SELECT {x} AS x FROM range(12) r(i)")
        con.execute(f"CREATE TABLE {name}_masked AS FROM microagg.mdav('{name}', 'x', 3)")
    found = {
        name: [
            mgd.assess(con, name, f"{name}_masked", "x", metrics="loss").fetchall(),
            con.sql(
                f"SELECT loss FROM microagg.assess('{name}', '{name}_masked', 'x', metrics := 'loss')"
            ).fetchall(),
            mgd.compare(con, name, "x", methods="mdav", ks=3).select("loss").fetchall(),
        ]
        for name in ("large", "small")
    }
    assert found["large"] == found["small"]
    assert found["small"][0] == found["small"][1] == found["small"][2] != [(0.0,)]


@pytest.mark.parametrize(("option", "table"), [("columns", "original"), ("known", "masked")])
def test_a_missing_column_is_named_with_its_table(option, table):
    frame = pl.DataFrame({"a": [1, 2], "b": [1, 2]})
    given = {"columns": "a", option: "c"}
    with (
        duckdb.connect() as con,
        pytest.raises(mg.InvalidParameterError, match=f"'c', which is not .* of the {table} table"),
    ):
        mgd.assess(con, frame, frame, given.pop("columns"), **given)


def test_a_table_with_nothing_but_its_key_is_not_measured(con):
    con.execute("CREATE TABLE keys AS FROM range(5) r(id)")
    with pytest.raises(duckdb.InvalidInputException, match="No column was given"):
        con.execute("FROM microagg.assess('keys', 'keys', key := 'id')").fetchall()
