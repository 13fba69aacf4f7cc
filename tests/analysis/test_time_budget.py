"""What is tried in the time there is, with a clock that goes on by what each method costs."""

import math
from itertools import pairwise

import polars as pl
import pytest

from polars_microagg.analysis import time_budget as module
from polars_microagg.analysis.time_budget import FEW, TimeBudget, not_begun
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
        self.ruled, self.measured = lambda _: 0.0, 0.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(module.time, "process_time", lambda: self.now)

    def mask(self, some, method):
        self.tried.append((method, some.height))
        self.now += self.costs[method] * grown(method, some.height)


def lines(methods=METHODS, ks=(5,)):
    return [(method, k) for k in ks for method in methods]


def ran(clock, seconds, rows, methods=METHODS, ks=(5, 10, 20), **asked):
    """Lines that run, as compare runs them; privacy models and measuring take time as well."""
    table = pl.DataFrame({"a": range(rows)})
    budget = TimeBudget(seconds, table, [rows], clock.mask, min(ks), **asked)
    found = []
    for method, k in budget.order(lines(methods, ks)):
        if budget.refusal(method, k) is None:
            start = clock.now
            clock.mask(table, method)
            clock.now += clock.ruled(k)
            masked = clock.now
            clock.now += clock.measured
            budget.took(method, k, masked - start, clock.measured)
            found.append((method, k))
    return found


def begun(clock, seconds, rows, methods=METHODS, ks=(5, 10, 20)):
    """Methods of the lines that run."""
    return [method for method, _ in ran(clock, seconds, rows, methods, ks)]


@pytest.mark.parametrize("seconds", [0.3, 0.5, 1, 3, 10, 100])
def test_cheap_lines_run_first_then_the_two_of_most_use_and_then_the_cheapest(seconds, monkeypatch):
    clock = Clock(monkeypatch)
    clock.ruled = lambda k: 0.0
    found = begun(clock, seconds, 240)
    cheap = [method for method in found[: found.index("lowloss")] if method != "mdav"]
    costs = {method: COSTS[method] * grown(method, 240) for method in METHODS}
    # What runs before lowloss takes a quarter of the time at most, and all ks of MDAV.
    assert sum(costs[method] for method in cheap) <= 0.3 * seconds
    later = [costs[m] for m in found[found.index("lowloss") :] if m not in ("mdav", "lowloss")]
    assert all(one <= 1.01 * other for one, other in pairwise(later))


def test_cheap_lines_run_where_mdav_would_take_all_the_time(monkeypatch):
    """Of 20 seconds, MDAV with three ks took all, and lines of 0.04 seconds did not run."""
    clock = Clock(monkeypatch, COSTS | {"pcp": 4e-5, "fixed_size": 4e-5})
    rows, seconds, cheap = 100_000, 20, ["pcp", "fixed_size"]
    table = pl.DataFrame({"a": range(rows)})
    assert 3 * QUICK * grown("mdav", rows) > 2 * seconds
    found = ran(clock, seconds, rows, ["mdav", "lowloss", *cheap])
    assert set(found[:6]) == set(lines(cheap, (5, 10, 20)))
    assert found[6:] == [("mdav", 20)]
    assert clock.now <= seconds
    budget = TimeBudget(2, table, [rows], clock.mask, 5)
    late = budget.refusal("mdav", 5)
    assert late.startswith("mdav was not begun: it is expected to take ")
    assert not_begun({"method": "mdav", "note": str(late)})
    assert not not_begun({"method": "mdav", "note": "mdav takes at most 9 records"})
    assert not not_begun({"method": "mdav", "note": None})


@pytest.mark.parametrize("seconds", [5, 20, 60, 200])
@pytest.mark.parametrize(("models", "measured"), [(0.5, 0.0), (3.0, 0.0), (0.0, 4.0), (2.0, 2.0)])
def test_the_time_is_kept_with_entities_and_slow_metrics(seconds, models, measured, monkeypatch):
    clock = Clock(monkeypatch)
    clock.ruled, clock.measured = lambda k: models * k, measured
    # A quarter of what privacy models take is expected: the first line says how long it really is.
    ran(clock, seconds, 2_000, ruled=lambda k: models * k / 4, pairs=True)
    assert clock.now <= seconds + 0.75 * models * 10 + measured


def test_lines_of_entities_are_expected_to_take_what_models_take(monkeypatch):
    clock = Clock(monkeypatch)
    table = pl.DataFrame({"a": range(20_000)})
    budget = TimeBudget(60, table, [20_000], clock.mask, 5, ruled=lambda k: 0.8 * k, pairs=True)
    alone = TimeBudget(60, table, [20_000], clock.mask, 5)
    assert budget.expected("pcp", 5) - alone.expected("pcp", 5) == pytest.approx(4.0 + 2.8)
    budget.took("pcp", 5, 8.0 + budget._alone("pcp", 5), 0.1)
    assert budget.expected("mdav", 10) - alone.expected("mdav", 10) == pytest.approx(16, abs=0.2)
    # Privacy models that had little to do with one k may have more with another.
    budget.took("pcp", 20, 0.1, 0.1)
    assert budget.expected("pcp", 20) - alone.expected("pcp", 20) < 0.2
    assert budget.expected("pcp", 10) - alone.expected("pcp", 10) == pytest.approx(16, abs=0.2)


def test_a_method_beyond_its_limit_ends_at_once(monkeypatch):
    clock = Clock(monkeypatch)
    budget = TimeBudget(5, pl.DataFrame({"a": range(6_000)}), [6_000], clock.mask, 5)
    assert budget.refusal("fuzzy", 5) is None
    assert budget.refusal("lowloss", 5) is None or budget.expected("lowloss", 5) > 1


def test_on_a_busy_machine_lines_are_expected_to_take_longer(monkeypatch):
    clock = Clock(monkeypatch)
    table = pl.DataFrame({"a": range(2_000)})
    idle = TimeBudget(60, table, [2_000], clock.mask, 5).expected("mdav", 5)
    monkeypatch.setattr(module.time, "monotonic", lambda: 3 * clock.now)
    busy = TimeBudget(60, table, [2_000], clock.mask, 5).expected("mdav", 5)
    assert busy == pytest.approx(3 * idle)


def test_a_short_budget_is_not_spent_on_timing(monkeypatch):
    clock = Clock(monkeypatch)
    found = begun(clock, 0.3, 240, ks=(5,))
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
    assert "lowloss" in begun(clock, mdav + 1.5 * lowloss + 0.2, rows, ks=(5,))


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
    found = begun(clock, 30, 2_000, ["mdav", "zscores"])
    assert sorted(found) == ["mdav", *["zscores"] * 3]


def test_what_is_enough_is_enough(monkeypatch):
    for rows in (20, 240, 50_000):
        clock = Clock(monkeypatch)
        table = pl.DataFrame({"a": range(rows)})
        budget = TimeBudget(1e-9, table, [rows], clock.mask, 5)
        assert all(budget.refusal(*line) for line in budget.order(lines()))
        enough = budget.enough(lines())
        assert enough == math.ceil(enough) >= 1
        assert begun(Clock(monkeypatch), enough, rows)


def test_without_a_limit_nothing_is_timed(monkeypatch):
    clock = Clock(monkeypatch)
    budget = TimeBudget(None, pl.DataFrame({"a": range(240)}), [240], clock.mask, 5)
    assert set(budget.order(lines())) == set(lines())
    assert budget.refusal("genetic", 5) is None
    assert clock.tried == []


def test_a_trial_on_few_records_is_not_squared_for_all_of_them(monkeypatch):
    # Fixed work of a tenth of a second on a hundred records is that on many, too.
    clock = Clock(monkeypatch, COSTS | {"mdav": 0.1})
    budget = TimeBudget(60, pl.DataFrame({"a": range(4_000)}), [4_000], clock.mask, 5)
    assert budget.expected("mdav", 5) < 10
