"""Measures of persons in SQL, by columns of any type of DuckDB."""

import polars as pl
import pytest

import polars_microagg as mg

# 1 and 2 become 1.5, 9 and 10 become 9.5: each record is one of two. One person has the first two.
VISITS = "(VALUES (1.0, 7, 1), (2.0, 7, 2), (9.0, 8, 3), (10.0, 9, 4)) AS t(x, who, id)"
MASKED = "(VALUES (9.5, 4), (1.5, 2), (9.5, 3), (1.5, 1)) AS t(x, id)"
LINKED = (75 + 50 + 50) / 3


@pytest.fixture
def con(con):
    con.execute(f"CREATE TABLE visits AS FROM {VISITS}")
    con.execute(f"CREATE TABLE masked AS FROM {MASKED}")
    return con


@pytest.mark.parametrize(
    "type_",
    ["INTEGER", "HUGEINT", "VARCHAR", "DOUBLE", "DECIMAL(9, 2)", "UINTEGER[]", "BLOB"],
)
def test_persons_are_told_apart_by_columns_of_any_type(con, type_):
    value = {"UINTEGER[]": "[who]", "BLOB": "who::VARCHAR"}.get(type_, "who")
    con.execute(f"CREATE TABLE typed AS SELECT x, id, ({value})::{type_} AS Patient FROM visits")
    call = "FROM microagg.assess('typed', 'masked', 'x', key := 'id', entity := 'patient')"
    found = con.sql(call)
    assert found.columns.index("dld_entity") == found.columns.index("dld") + 1
    assert con.sql(f"SELECT dld, dld_entity {call}").fetchall()[0] == pytest.approx((50, LINKED))
    con.execute("DROP TABLE typed")


def test_an_entity_of_numbers_is_not_measured_as_a_column(con):
    con.execute("CREATE TABLE kept AS SELECT masked.*, who FROM masked JOIN visits USING (id)")
    call = "SELECT dld, dld_entity, loss FROM microagg.assess('visits', 'kept'{}, key := 'id', {})"
    named = con.sql(call.format(", 'x'", "entity := 'who'")).fetchall()
    assert con.sql(call.format("", "entity := ['WHO']")).fetchall() == named
    assert named[0][1] == pytest.approx(LINKED)


def test_methods_are_compared_by_persons(con):
    call = "methods := 'mdav', ks := [2], entity := 'who', metrics := ['dld_entity']"
    (found,) = con.sql(
        f"SELECT dld_entity FROM microagg.compare('visits', 'x', {call})"
    ).fetchall()[0]
    table = pl.DataFrame({"x": [1.0, 2.0, 9.0, 10.0], "who": [7, 7, 8, 9]})
    masked = mg.mdav(table, "x", 2, entity="who", entity_mode="rows")
    assert found == pytest.approx(mg.dld_entity(table, masked, "x", entity="who"))


def test_without_an_entity_persons_are_not_measured(con):
    assert "dld_entity" not in con.sql("FROM microagg.assess('visits', 'visits', 'x')").columns
    call = "FROM microagg.assess('visits', 'visits', 'x', metrics := 'dld_entity')"
    with pytest.raises(Exception, match="metrics := 'dld_entity' was given without entity"):
        con.sql(call)
    with pytest.raises(Exception, match="entity names 'whose'"):
        con.sql("FROM microagg.assess('visits', 'visits', 'x', entity := 'whose')").fetchall()
