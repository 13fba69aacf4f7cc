"""What comes after a masking must never reach below it: every operation, source and engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

import polars_microagg as mg

from .steps import (
    ENGINES,
    FIRST,
    MASKED,
    OPS,
    SOURCES,
    STRATA,
    TABLE,
    K,
    leaks,
    right,
    scan,
)

BELOW = re.compile(r"SELECTION|FILTER|SLICE")


def numbered(frame: Any, strata: list[str] | None) -> Any:
    return mg.groups(frame, MASKED, K, strata=strata)


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("op", OPS)
def test_what_comes_after_sees_the_masked_table_and_the_kernel_sees_all_rows_once(
    op: str, source: str, engine: str, strata: str, folder: Path, seen: list[int]
) -> None:
    frame = scan(source, folder)
    assert leaks(right, OPS[op], frame, engine, STRATA[strata], seen) == []


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("source", SOURCES)
def test_group_numbers_keep_what_comes_after_above_them_too(
    source: str, engine: str, strata: str, folder: Path, seen: list[int]
) -> None:
    frame = scan(source, folder)
    after = [*FIRST, "top k", "unique first", "drop nulls", "row index", "inner join left"]
    found = {
        op: leaks(numbered, OPS[op], frame, engine, STRATA[strata], seen, numbered) for op in after
    }
    assert not any(found.values()), found


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize("engine", ENGINES)
def test_all_sources_are_masked_alike(engine: str, strata: str, folder: Path) -> None:
    expected = mg.mdav(TABLE, MASKED, K, strata=STRATA[strata])
    for source in SOURCES:
        got = right(scan(source, folder), STRATA[strata]).collect(engine=engine)
        assert_frame_equal(got, expected, check_exact=True)


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize("source", SOURCES)
def test_collect_schema_calls_nothing_and_equals_the_schema_before(
    source: str, strata: str, folder: Path, seen: list[int]
) -> None:
    frame = scan(source, folder)
    assert right(frame, STRATA[strata]).collect_schema() == frame.collect_schema()
    assert seen == []


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("op", FIRST)
def test_explain_has_no_filter_and_no_slice_below_the_node(
    op: str, source: str, strata: str, folder: Path
) -> None:
    plan = OPS[op].step(right(scan(source, folder), STRATA[strata])).explain()
    above, node, below = plan.partition("python_udf")
    assert node
    assert BELOW.search(above)
    assert not BELOW.search(below)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("columns", "read"), [(["id"], 1), (["c", "id"], 2), (["a"], 2), (["b", "id"], 3)]
)
def test_only_the_columns_needed_are_read(
    columns: list[str], read: int, source: str, folder: Path
) -> None:
    plan = right(scan(source, folder), None).select(columns).explain()
    assert re.search(rf"PROJECT.* {read}/{TABLE.width} COLUMNS", plan)
    assert ("python_udf" in plan) == bool({"a", "b"} & set(columns))
