"""The budget of memory: how it is read, and what it allows."""

import numpy as np

import polars_microagg as mg
from polars_microagg.leaves import memory_budget
from polars_microagg.leaves.memory_budget import MemoryBudget, bytes_of, parts_of

from .people import people


def test_memory_is_read_as_people_write_it():
    assert bytes_of("2GB") == 2 * 10**9
    assert bytes_of("2 gib") == 2**31
    assert bytes_of("0.5g") == 5 * 10**8
    assert bytes_of(3 * 10**8) == bytes_of("300 MB") == 3 * 10**8


def test_parts_hold_what_they_may_and_leaves_stay_whole():
    frame = people(5000)
    tree = mg.fit_leaves(frame, ["age", "income"], 5, size=50).tree
    parts = parts_of(tree, 10**6, 40_000)
    assert (np.diff(parts) >= 0).all()
    share = np.bincount(parts, tree.expected) / 5000 * 10**6
    assert share.max() <= 40_000
    assert share.mean() > 10_000
    assert parts_of(tree, 10**6, 10**7).max() == 0


def test_less_memory_is_fewer_records_and_not_more_processes():
    budgets = [MemoryBudget.of(memory, None, 4, 40.0) for memory in (300 * 10**6, 10**9, 4 * 10**9)]
    assert [b.part for b in budgets] == sorted({b.part for b in budgets})
    assert budgets[0].workers == 1
    for b in budgets:
        assert b.workers * b.part * 8 * 7 * memory_budget.COPIES <= b.memory
