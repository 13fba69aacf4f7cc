"""A call of a macro is read once, and belongs to the query that runs."""

import pytest

import polars_microagg as mg
from polars_microagg.core.partition import Partition
from polars_microagg.core.plan import Plan


@pytest.fixture
def con(con):
    con.execute("CREATE TABLE people AS SELECT i AS id FROM range(8) r(i)")
    return con


def test_a_call_is_read_once(con, monkeypatch):
    made = []
    make = Plan.make
    monkeypatch.setattr(Plan, "make", lambda *a, **o: made.append(a) or make(*a, **o))
    query = "FROM microagg.mdav('people', 'id', 2, seed := 97)"
    first = con.execute(query).fetchall()
    assert len(made) == 1
    assert con.execute(query).fetchall() == first
    assert len(made) == 1


def test_progress_is_told_to_the_query_that_runs(con):
    con.execute("CREATE TABLE many AS SELECT i FROM range(1000) r(i)")
    con.execute("SET threads = 1")  # the thread that asks runs the function
    told = []
    for listener in (lambda *_: told.append("first"), lambda *_: told.append("second")):
        with mg.progress(listener):
            con.execute("FROM microagg.mdav('many', 'i', 5)").fetchall()
    con.execute("FROM microagg.mdav('many', 'i', 5)").fetchall()
    assert sorted(set(told)) == ["first", "second"]
    assert told == sorted(told)


def test_a_method_that_is_registered_anew_is_called_anew(con, toys):
    query = "SELECT count(DISTINCT id) FROM microagg.mask('people', 'id', 2, method := 'parts')"
    for made in (1, 2):

        @toys(cite="none")
        def parts(x, /, *, k: int, made: int = made):
            """Cut the records into so many groups."""
            return Partition.from_labels([made * i // len(x) for i in range(len(x))])

        assert con.execute(query).fetchall() == [(made,)]
