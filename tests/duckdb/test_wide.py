"""Tables of many columns: the work beside reading and writing them grows with those masked."""

import sys

import duckdb
import pytest

import polars_microagg.duckdb as mgd


def calls_of(function):
    """Count the calls of Python functions while a function runs."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("kept", ["1", "1::HUGEINT", "uuid()"])
@pytest.mark.parametrize("order", ["true", "false"])
def test_kept_columns_are_not_compared_with_each_other(kept, order):
    def wide(width):
        with duckdb.connect() as con:
            con.execute(f"SET preserve_insertion_order = {order}")
            columns = ", ".join(f"{kept} AS k{i}" for i in range(width))
            con.execute(
                f"CREATE TABLE t AS SELECT i AS a, i % 2 AS s, {columns} FROM range(6) r(i)"
            )
            return calls_of(lambda: mgd.mask(con, "t", "a", 3, strata="s"))

    few, many = wide(100), wide(400)
    assert many < 6 * few


def test_any_name_of_a_column_comes_out_as_it_is():
    names = ['a"b', "a.b", "-- c", "x AS y", "'", '"', "#1", "Ä, *", "select", ";"]
    with duckdb.connect() as con:
        columns = ", ".join(
            f'{i} AS "{name.replace(chr(34), chr(34) * 2)}"' for i, name in enumerate(names)
        )
        con.execute(f"CREATE TABLE t AS SELECT i AS a, {columns}, uuid() AS u FROM range(6) r(i)")
        masked = mgd.mask(con, "t", ["a", "-- c"], 3)
        assert masked.columns == ["a", *names, "u"]
        assert masked.fetchall()[0][1:-1] == tuple(range(len(names)))
