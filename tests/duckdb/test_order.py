"""Records stay with what is theirs, whatever order DuckDB reads and writes a table in."""

import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd

N = 260_000
"""Rows of more than two of DuckDB's row groups, which threads share."""

KEPT = {
    "u": "('00000000-0000-0000-0000-' || lpad(i::VARCHAR, 12, '0'))::UUID",
    "h": "i::HUGEINT",
    "j": "('{\"i\": ' || i || '}')::JSON",
    "e": "('e' || i % 7)::ENUM('e0', 'e1', 'e2', 'e3', 'e4', 'e5', 'e6')",
    "b": "i::BIGINT::BIT",
    "z": "('00:00:' || lpad((i % 60)::VARCHAR, 2, '0') || '+01')::TIMETZ",
    "m": "MAP {i: i}",
    "v": "to_days((i % 5)::INTEGER)",
    "s": "{'t': [i::HUGEINT]}",
}
"""Columns that tell the number of their row, of types that Arrow or polars would change."""

AGE = "(i * 7919) % 100003"
PAY = "sin(i)"


@pytest.fixture(scope="module")
def plain():
    """What the Polars door makes of the table."""
    i = pl.int_range(N, eager=True)
    frame = pl.DataFrame({"age": (i * 7919) % 100003, "pay": i.sin(), "g": i % 5})
    return mg.fixed_size(frame, ["age", "pay"], 5, strata="g")


@pytest.fixture(params=[pytest.param(1, marks=pytest.mark.deep), 4])
def table(con, request):
    kept = ", ".join(f"{text} AS {name}" for name, text in KEPT.items())
    con.execute(
        f"CREATE TABLE t AS SELECT i AS id, {AGE} AS age, {PAY} AS pay, {kept} FROM range({N}) r(i)"
    )
    con.execute("CREATE TABLE few AS SELECT id, age, pay, id % 5 AS g FROM t")
    con.execute(f"SET threads = {request.param}")
    con.execute("SET preserve_insertion_order = false")
    return con


def misplaced(con, release):
    """Records beside which a kept column is not theirs."""
    wrong = " OR ".join(f"({text}) IS DISTINCT FROM {name}" for name, text in KEPT.items())
    rows = con.sql(f"SELECT count(*) FROM (SELECT *, id AS i FROM {release}) WHERE {wrong}")
    return rows.fetchall()[0][0]


@pytest.mark.parametrize("door", ["arrow", "macro"])
@pytest.mark.parametrize("strata", ["v", "e"])
def test_kept_columns_stay_beside_their_records(table, plain, door, strata):
    if door == "arrow":
        release = mgd.mask(table, "t", ["age", "pay"], 5, method="fixed_size", strata=strata)
    else:
        call = f"microagg.fixed_size('t', ['age', 'pay'], 5, strata := '{strata}')"
        release = table.sql(f"FROM {call}")
    release.create("masked")
    assert misplaced(table, "masked") == 0
    assert table.sql("SELECT count(DISTINCT id) FROM masked").fetchall() == [(N,)]
    table.execute(
        f"FROM microagg.verify('masked', ['age', 'pay'], 5, strata := '{strata}')"
    ).fetchall()
    if strata == "v":
        masked = table.sql("SELECT age, pay FROM masked ORDER BY id").pl()
        assert masked.equals(plain.select("age", "pay"))
    # What we write is written in the order of the source, and so can be matched by position.
    table.execute("SET preserve_insertion_order = true")
    ids = table.sql("SELECT id FROM masked").fetchnumpy()["id"]
    assert (ids == range(N)).all()


def test_a_table_that_all_goes_through_arrow(table, plain):
    release = mgd.mask(table, "few", ["age", "pay"], 5, method="fixed_size", strata="g")
    release.create("masked")
    masked = table.sql("SELECT age, pay, g FROM masked ORDER BY id").pl()
    assert masked.equals(plain)


def test_groups_stay_beside_their_records(table):
    table.execute(
        "CREATE TABLE g AS FROM microagg.groups('t', ['age'], 5, method := 'fixed_size', strata := 'v')"
    )
    assert misplaced(table, "g") == 0
    spread = (
        "SELECT microagg_group, max(v) - min(v) AS w FROM g GROUP BY ALL HAVING w > INTERVAL 0 DAYS"
    )
    assert table.sql(spread).fetchall() == []
    sizes = "SELECT min(n), sum(n) FROM (SELECT count(*) AS n FROM g GROUP BY microagg_group)"
    assert table.sql(sizes).fetchall() == [(5, N)]


def test_measures_match_rows_by_key_or_refuse(table):
    table.execute("CREATE TABLE other AS FROM few")  # in any order
    for key in ("id", "u"):
        source, copy = ("few", "other") if key == "id" else ("t", "t")
        found = mgd.assess(table, source, copy, ["age", "pay"], metrics=["loss"], key=key)
        assert found.fetchall() == [(0.0,)]
    call = "microagg.assess('few', 'other', ['age', 'pay'], metrics := ['loss', 'k_min']"
    assert table.sql(f"SELECT loss, k_min FROM {call}, key := 'id')").fetchall() == [(0.0, 1)]
    with pytest.raises(mg.InvalidParameterError, match="keeps tables in no order.*key='id'"):
        mgd.assess(table, "few", "other", "age", metrics="loss")
    with pytest.raises(Exception, match="InvalidParameterError: .*keeps tables in no order"):
        table.sql(f"SELECT loss FROM {call})").fetchall()
    table.execute("SET preserve_insertion_order = true")
    found = mgd.assess(table, "few", "few", ["age", "pay"], metrics=["loss"])
    assert found.fetchall() == [(0.0,)]


def test_compare_is_that_of_the_ordered_table(table):
    options = {"methods": ["fixed_size"], "ks": [5], "strata": "v"}
    rows = mgd.compare(table, "t", ["age", "pay"], **options).select("loss, k_prime").fetchall()
    table.execute("SET preserve_insertion_order = true")
    assert (
        mgd.compare(table, "t", ["age", "pay"], **options).select("loss, k_prime").fetchall()
        == rows
    )
