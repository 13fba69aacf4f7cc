"""Methods whose time grows fast say so, and refuse more records than they can group in a sitting."""

from __future__ import annotations

import re
from operator import attrgetter

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.registry import Method, methods

GENTLE = {"n", "n log n"}

ADVISED = {"mdav", "fixed_size"}
"""What a refused call is told to use; they take any number of records."""

every_method = pytest.mark.parametrize("entry", methods().values(), ids=attrgetter("name"))


@every_method
def test_the_table_says_how_the_time_grows_and_how_many_records_are_taken(entry: Method) -> None:
    row = mg.methods().row(by_predicate=pl.col("method") == entry.name, named=True)
    assert (row["cost"], row["limit"]) == (entry.cost, entry.limit)
    assert re.fullmatch(r"n( log n|\^2(/k)?( \+ generations n)?)?", entry.cost)


@every_method
def test_what_grows_faster_than_n_log_n_refuses_too_many_records(entry: Method) -> None:
    if entry.cost in GENTLE or entry.name in ADVISED:
        assert entry.limit is None
        return
    assert entry.limit is not None
    assert entry.limit <= (2_000_000 if entry.cost == "n^2/k" else 200_000)
    frame = pl.DataFrame({"x": pl.zeros(entry.limit + 1, eager=True)})
    said = f"{entry.name} takes at most {entry.limit} records at a time, as its time grows like "
    with pytest.raises(mg.InvalidParameterError, match=re.escape(said)) as caught:
        mg.mask(frame, "x", 3, method=entry.name)
    told = str(caught.value)
    assert entry.cost in told
    assert f"got {entry.limit + 1}" in told
    assert set(re.findall(r"[a-z_]+", told.partition("Use ")[2])) & methods().keys() == ADVISED
