"""What is tried in the time there is, with a clock that goes on by what each method costs."""

import math

import polars as pl
import pytest

from polars_microagg.analysis import time_budget as module
from polars_microagg.analysis.time_budget import FEW, TimeBudget
from polars_microagg.core import registry

METHODS = [n for n, m in registry.methods().items() if m.unit == "record" and not m.columnwise]
QUICK = 0.002
COSTS = dict.fromkeys(METHODS, QUICK) | {"lowloss": 0.03, "genetic": 2.5, "fuzzy": 0.02}
"""Seconds for a hundred records, as they were measured once."""


def grown(method, rows):
    """Work on so many rows, as a multiple of that on a hundred: of MDAV most is in the square of many."""
    cost, m = registry.methods()[method].cost, rows / FEW
    each, square = {"n^2/k": (5e-4, 4e-6), "n^2": (3e-3, 1e-5)}.get(cost, (1.0, 0.0))
    return (each * m + square * m * m) / (each + square)


class Clock:
    """Time that passes only while something is masked."""

    def __init__(self, monkeypatch, costs=COSTS):
        self.now, self.costs, self.tried = 0.0, costs, []
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(module.time, "process_time", lambda: self.now)

    def mask(self, some, method):
        self.tried.append((method, some.height))
        self.now += self.costs[method] * grown(method, some.height)


def begun(clock, seconds, rows, methods=METHODS, ks=3):
    """Methods that are begun, as compare begins them."""
    table = pl.DataFrame({"a": range(rows)})
    budget = TimeBudget(seconds, table, [rows], clock.mask, 5)
    found = []
    for method in budget.order(methods):
        for _ in range(ks):
            if budget.refusal(method, 0.0) is None:
                start = clock.now
                clock.mask(table, method)
                budget.took(method, clock.now - start)
                found.append(method)
    return found


@pytest.mark.parametrize("seconds", [0.3, 0.5, 1, 3, 10, 100])
def test_the_two_of_most_use_go_first_and_then_the_quickest(seconds, monkeypatch):
    clock = Clock(monkeypatch)
    found = list(dict.fromkeys(begun(clock, seconds, 240)))
    assert found[:2] == ["mdav", "lowloss"]
    costs = [COSTS[method] for method in found[2:]]
    assert costs == sorted(costs)


def test_a_short_budget_is_not_spent_on_timing(monkeypatch):
    clock = Clock(monkeypatch)
    found = begun(clock, 0.3, 240, ks=1)
    timed = [method for method, rows in clock.tried if rows < 240]
    assert "genetic" not in timed
    assert sum(COSTS[method] for method in timed) <= 0.3 / 3
    assert len(found) > 3
    clock = Clock(monkeypatch)
    assert "genetic" not in begun(clock, 5, 240)
    clock = Clock(monkeypatch)
    assert set(begun(clock, 1000, 240)) == set(METHODS)


@pytest.mark.parametrize("rows", [60, 240, 5_000])
def test_lowloss_is_tried_whenever_its_time_fits(rows, monkeypatch):
    mdav = QUICK * grown("mdav", rows)
    lowloss = 0.03 * rows / FEW
    clock = Clock(monkeypatch)
    assert "lowloss" in begun(clock, mdav + 1.5 * lowloss + 0.2, rows, ks=1)


def test_no_time_is_overdrawn_by_much(monkeypatch):
    for seconds in (0.1, 0.5, 2, 20):
        clock = Clock(monkeypatch)
        begun(clock, seconds, 2_000)
        assert clock.now <= 1.2 * seconds


def test_what_took_longer_than_expected_is_not_begun_again(monkeypatch):
    clock = Clock(monkeypatch)
    mask = clock.mask

    def slow_on_all(some, method):
        mask(some, method)
        clock.now += 20.0 * (some.height == 2_000 and method == "mdav")

    clock.mask = slow_on_all
    assert begun(clock, 30, 2_000, ["mdav", "zscores"]) == ["mdav", *["zscores"] * 3]


def test_what_is_enough_is_enough(monkeypatch):
    for rows in (20, 240, 50_000):
        clock = Clock(monkeypatch)
        table = pl.DataFrame({"a": range(rows)})
        budget = TimeBudget(1e-9, table, [rows], clock.mask, 5)
        assert all(budget.refusal(method, 0.0) for method in budget.order(METHODS))
        enough = budget.enough(METHODS)
        assert enough == math.ceil(enough) >= 1
        assert begun(Clock(monkeypatch), enough, rows)


def test_without_a_limit_nothing_is_timed(monkeypatch):
    clock = Clock(monkeypatch)
    budget = TimeBudget(None, pl.DataFrame({"a": range(240)}), [240], clock.mask, 5)
    assert set(budget.order(METHODS)) == set(METHODS)
    assert budget.refusal("genetic", 1e9) is None
    assert clock.tried == []


def test_a_trial_on_few_records_is_not_squared_for_all_of_them(monkeypatch):
    # Fixed work of a tenth of a second on a hundred records is that on many, too.
    clock = Clock(monkeypatch, COSTS | {"mdav": 0.1})
    budget = TimeBudget(60, pl.DataFrame({"a": range(4_000)}), [4_000], clock.mask, 5)
    assert budget.expected("mdav") < 10
