"""Entities and confidential values of classes as aggregates of SQL: the numbers of the registered models."""

import duckdb
import numpy as np
import polars as pl
import pytest

from polars_microagg.core.model import models
from polars_microagg.core.partition import Members
from polars_microagg.duckdb.macros import sql_text
from polars_microagg.frames.attributes import confidential_of, entity_of
from tests.duckdb.test_models import COUNTED, frame_of, table
from tests.loop import rounds, share


def worst(frame, keys, name, column, **options):
    """The number of a model in the class that is the farthest from it, by the register."""
    # A reader tells -0.0 from 0.0.
    signs = [(1 / pl.col(key) < 0).alias(f"{key} minus") for key in keys]
    classes = frame.with_row_index("row").group_by(*keys, *signs).agg("row")["row"]
    groups = Members(
        classes.explode().to_numpy().astype(np.intp), classes.list.len().to_numpy().astype(np.intp)
    )
    entry = models()[name]
    read = (
        entity_of([frame[column]], [column])
        if entry.of == "entity"
        else confidential_of(frame[column], "")
    )
    numbers = entry.measure(read, groups, **options)
    return numbers.min() if entry.at_least else numbers.max()


@pytest.mark.parametrize("type_", share(COUNTED, 3, 1))
def test_the_numbers_are_those_of_the_registered_models(con, type_):
    rng = np.random.default_rng([*type_.encode()])
    for i in range(rounds(8)):
        table(con, rng, "VARCHAR", type_)
        con.execute("UPDATE visits SET a = a // 10, b = 0 WHERE person % 7 > 0")
        frame, keys = frame_of(con), (["a"], ["a", "s"], ["a", "b"])[i % 3]
        found = con.sql(
            f"""SELECT microagg.k_entities(({", ".join(keys)}), person),
                microagg.k_entities(({", ".join(keys)}), (kind_of_person)),
                microagg.l(({", ".join(keys)}), dx), microagg.max_share(({", ".join(keys)}), dx),
                microagg.t(({", ".join(keys)}), dx),
                microagg.t(({", ".join(keys)}), dx, t_scale := 'ranks') FROM visits"""
        ).fetchall()[0]
        expected = (
            worst(frame, keys, "k", "person"),
            worst(frame, keys, "k", "kind_of_person"),
            worst(frame, keys, "l", "dx"),
            worst(frame, keys, "max_share", "dx"),
            worst(frame, keys, "t", "dx"),
            worst(frame, keys, "t", "dx", t_scale="ranks"),
        )
        assert found == pytest.approx(expected, abs=2e-12)
        assert found[:3] == expected[:3]


def test_a_group_is_a_table_of_its_own(con):
    con.execute(
        """CREATE TABLE v AS FROM (VALUES ('n', 1, 'u', 1), ('n', 1, 'v', 2), ('n', 2, 'u', 3),
            ('s', 1, 'u', 1), ('s', 1, 'u', 1), ('s', 1, 'w', NULL)) t(region, age, who, dx)"""
    )
    query = """SELECT region, microagg.k_entities(age, who), microagg.l(age, dx),
        microagg.max_share(age, dx), microagg.t(age, dx) FROM v GROUP BY region ORDER BY region"""
    # Of (1, 2, 3) the class of 3 alone is 1/2 * (1/3 + 2/3) away.
    assert con.sql(query).fetchall() == [("n", 1, 1, 1.0, 0.5), ("s", 2, 1, 1.0, 0.0)]
    having = "SELECT region FROM v GROUP BY region HAVING microagg.k_entities(age, who) > 1"
    assert con.sql(having).fetchall() == [("s",)]
    nothing = "SELECT microagg.k_entities(age, who), microagg.l(age, dx), microagg.max_share(age, dx), microagg.t(age, dx)"
    assert con.sql(f"{nothing} FROM v WHERE false").fetchall() == [(None,) * 4]
    assert con.sql(f"{nothing} FROM v WHERE dx IS NULL").fetchall() == [(1, 1, 0.0, 0.0)]


def test_classes_are_those_that_a_reader_tells_apart(con):
    con.execute(
        "CREATE TABLE v AS FROM (VALUES (0.0::DOUBLE, 'u'), ('-0.0'::DOUBLE, 'v')) t(a, who)"
    )
    assert con.sql("SELECT microagg.k_entities(a, who) FROM v").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "entity", ["who", "(who, city)", "{'a': who, 'b': city}", "(city, {'c': who})"]
)
def test_an_entity_that_is_null_is_an_error_without_a_value(con, entity):
    con.execute(
        "CREATE TABLE v AS SELECT 1 AS a, 'x, NULL, it''s' AS who, 'NULL' AS city, 7 AS n FROM range(3)"
    )
    query = f"SELECT microagg.k_entities(a, {entity}) FROM v"
    assert con.sql(query).fetchall() == [(1,)]
    con.execute("UPDATE v SET who = NULL")
    with pytest.raises(
        duckdb.InvalidInputException, match="InvalidDataError: an entity is null"
    ) as caught:
        con.sql(query).fetchall()
    assert "it's" not in str(caught.value)


def test_columns_may_have_the_names_that_the_macros_use(con):
    con.execute("CREATE TABLE v AS SELECT i // 3 AS a, i % 4 AS e, i % 5 AS d FROM range(12) r(i)")
    query = (
        "SELECT microagg.l({0}, {1}), microagg.max_share({0}, {1}), microagg.t({0}, {1}) FROM ({2})"
    )
    wanted = con.sql(query.format("a", "d", "FROM v")).fetchall()
    for name in ("m", "n", "class", "value", "step", "so_far"):
        assert name in sql_text()["measures"]
        found = con.sql(query.format(name, "d", f"SELECT a AS {name}, d FROM v")).fetchall()
        found += con.sql(query.format("a", name, f"SELECT a, d AS {name} FROM v")).fetchall()
        assert found == wanted * 2, name


def test_values_that_read_differently_are_different(con):
    con.execute("CREATE TABLE v AS FROM (VALUES (1, 'u' COLLATE NOCASE), (1, 'U')) t(a, who)")
    query = (
        "SELECT microagg.k_entities(a, who), microagg.l(a, who), microagg.max_share(a, who) FROM v"
    )
    assert con.sql(query).fetchall() == [(2, 2, 0.5)]


def test_an_unknown_scale_is_refused(con):
    with pytest.raises(
        duckdb.InvalidInputException, match="t_scale must be one of 'values', 'ranks'"
    ):
        con.sql("SELECT microagg.t(i, i, t_scale := 'rank') FROM range(3) r(i)").fetchall()


def test_they_need_no_python():
    with duckdb.connect() as con:
        con.execute(sql_text()["measures"])
        query = "SELECT microagg.k_entities(x, y), microagg.t(x, y) FROM (VALUES (1, 2), (1, 3)) t(x, y)"
        assert con.sql(query).fetchall() == [(2, 0.0)]
