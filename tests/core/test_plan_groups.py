"""A plan by itself: what reaches the method, which records are grouped together, and how numbered."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import polars_microagg as mg
from polars_microagg.core import grouping, registry
from polars_microagg.core import plan as plans
from polars_microagg.core.options import COMMON
from polars_microagg.core.partition import Partition, Strata, ValueMasking
from polars_microagg.core.plan import Plan
from polars_microagg.core.registry import Axis

pytestmark = pytest.mark.whole

NAN = np.nan


def matrix(*columns):
    return np.array(columns, dtype=float).T.copy(order="F")


def strata_of(*sizes):
    return Strata(np.arange(sum(sizes)), np.array(sizes, dtype=np.intp))


def labels_of(plan, x, strata=None):
    (found,) = plan.mask(x, np.ones(x.shape[1]), strata or Strata.whole(len(x)))
    return found.labels.tolist()


@pytest.fixture
def pairs(toys):
    """A method that groups record by record, k at a time; what it is called with is kept."""
    calls = []

    @toys(cite="Nobody (2000)", scaled=False)
    def pairs(x, /, *, k: int, at: Axis | Literal["all"] = "all") -> Partition:
        """Group the first k records, the next k, and so on."""
        calls.append({"x": x.tolist(), "k": k, "at": at})
        return Partition.from_labels(np.minimum(np.arange(len(x)) // k, len(x) // k - 1))

    return calls


# --- Columns and blocks -----------------------------------------------------------------------------


def test_the_columns_of_each_block():
    plan = Plan.make("mdav", 2).bind([["a"], ["b", "c"], ["d"]])
    assert list(plan.slices()) == [slice(0, 1), slice(1, 3), slice(3, 4)]
    assert plan.blocks == (("a",), ("b", "c"), ("d",))
    each = Plan.make("univariate", 2).bind([["a", "b"], ["c"]])
    assert each.blocks == (("a",), ("b",), ("c",))
    assert not each.groups_cells
    assert Plan.make("mic1d", 2).groups_cells
    assert not plan.groups_cells


def test_an_option_may_name_one_of_its_block(pairs):
    plan = Plan.make("pairs", 2, at="b")
    assert plan.bind([["a", "b"], ["b"]]).options == {"at": "b"}
    for blocks in ([["a"]], [["a", "b"], ["a"]]):
        with pytest.raises(mg.InvalidParameterError, match="at='b'"):
            plan.bind(blocks)
    Plan.make("pairs", 2, at="all").bind([["a"]])
    bound = plan.bind([["c", "b"]])
    labels_of(bound, matrix([1, 2], [3, 4]))
    assert pairs[-1]["at"] == 1
    labels_of(Plan.make("pairs", 2).bind([["c", "b"]]), matrix([1, 2], [3, 4]))
    assert pairs[-1]["at"] == "all"


def test_each_block_is_grouped_with_its_own_columns_and_factors():
    x = matrix([1, 2, 9, 8], [1, 9, 2, 8])
    plan = Plan.make("mdav", 2).bind([["a"], ["b"]])
    one, other = plan.mask(x, np.ones(2), Strata.whole(4))
    assert (one.columns, other.columns) == (("a",), ("b",))
    assert one.labels.tolist() == [one.labels[0]] * 2 + [one.labels[2]] * 2
    assert other.labels.tolist()[0] == other.labels.tolist()[2]
    assert other.labels.tolist()[1] == other.labels.tolist()[3]


# --- Strata and patterns -----------------------------------------------------------------------------


def test_each_stratum_is_grouped_by_itself_and_numbered_after_those_before(pairs):
    plan = Plan.make("pairs", 2).bind([["a"]])
    x = matrix([5, 1, 6, 2, 7, 3, 4])
    strata = Strata(np.array([0, 2, 4, 1, 3, 5, 6]), np.array([3, 4]))
    assert labels_of(plan, x, strata) == [0, 1, 0, 1, 0, 2, 2]
    assert [call["x"] for call in pairs] == [[[5], [6], [7]], [[1], [2], [3], [4]]]
    # Records in none of the strata are suppressed, and in no group.
    assert labels_of(plan, x, Strata(np.array([4, 1, 6]), np.array([3]))) == [
        -1,
        0,
        -1,
        -1,
        0,
        -1,
        0,
    ]
    assert pairs[-1]["x"] == [[7], [1], [4]]
    none = Strata(np.zeros(0, np.intp), np.zeros(0, np.intp))
    assert labels_of(plan, x, none) == [-1] * 7


def test_records_of_one_pattern_are_grouped_by_the_columns_that_they_have(pairs, toys):
    seen = []

    @toys(cite="Nobody (2000)", scaled=False)
    def whole(x, /, *, k: int) -> Partition:
        """Put all in one group."""
        seen.append(x)
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))

    x = matrix([1, NAN, 2, NAN, NAN, NAN], [3, 4, 5, 6, NAN, NAN])
    assert labels_of(Plan.make("whole", 2, nulls="pattern").bind([["a", "b"]]), x) == [
        0,
        1,
        0,
        1,
        2,
        2,
    ]
    assert [part.tolist() for part in seen] == [[[1, 3], [2, 5]], [[4], [6]]]
    assert seen[1].flags.f_contiguous
    # A method that is told a column by its number gets all of them.
    named = Plan.make("pairs", 2, nulls="pattern", at="b").bind([["a", "b"]])
    labels_of(named, x[:4])
    assert [len(call["x"][0]) for call in pairs] == [2, 2]


def test_patterns_are_strata_only_where_nulls_stay():
    x = matrix([1, NAN, 2, NAN])
    whole = Strata.whole(4)
    keep = Plan.make("mdav", 2, nulls="pattern").bind([["a"]])
    assert [rows.tolist() for rows in keep.patterns(x, whole).rows()] == [[0, 2], [1, 3]]
    assert keep.patterns(x[[0, 2]], Strata.whole(2)).sizes.tolist() == [2]
    none = Strata(np.zeros(0, np.intp), np.zeros(0, np.intp))
    assert keep.patterns(x, none) is none
    fill = Plan.make("mdav", 2, nulls="impute").bind([["a"]])
    assert fill.patterns(x, whole) is whole


def test_absent_values_are_completed_within_their_stratum_and_filled(pairs):
    plan = Plan.make("pairs", 2, nulls="impute").bind([["a", "b"]])
    # The nearest record with a value is in another stratum, and does not count.
    x = matrix([1, 100, 99, 2, 51, 50], [3, NAN, 70, NAN, 8, NAN])
    assert labels_of(plan, x, strata_of(2, 2, 2)) == [0, 0, 1, 1, 2, 2]
    given = [call["x"] for call in pairs]
    assert given == [[[1, 3], [100, 3]], [[99, 70], [2, 70]], [[51, 8], [50, 8]]]
    bare = matrix([1, 3, NAN, NAN])
    (found,) = (
        Plan.make("pairs", 2, nulls="impute").bind([["a"]]).mask(bare, np.ones(1), Strata.whole(4))
    )
    (centres,) = found.values
    assert found.labels.tolist() == [0, 0, 1, 1]
    assert len({*centres.labels.tolist()}) == 2  # the empty group takes the centre of its stratum
    assert centres.members.sizes[centres.labels].tolist() == [2] * 4


def test_values_are_scaled_by_stratum_for_methods_that_ask_for_it(toys):
    seen = []

    @toys(cite="Nobody (2000)")
    def looks(x, /, *, k: int) -> Partition:
        """Look at what it gets."""
        seen.append(x.copy())
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))

    x = matrix([0, 10, 500, 700])
    labels_of(Plan.make("looks", 2, scale="minmax").bind([["a"]]), x, strata_of(2, 2))
    assert [np.ptp(part) for part in seen] == [1, 1]


# --- Methods that take many strata at once, and limits ---------------------------------------------------


@pytest.fixture
def together(toys, monkeypatch):
    """A method that groups small strata side by side; who was called is kept."""
    calls = []

    def side_by_side(x, sizes, *, k):
        calls.append(("together", x.ravel().tolist(), sizes.tolist()))
        return np.repeat(np.arange(len(sizes)), sizes), len(sizes)

    @toys(cite="Nobody (2000)", scaled=False, lockstep=side_by_side)
    def together(x, /, *, k: int) -> Partition:
        """Put all in one group."""
        calls.append(("alone", x.ravel().tolist()))
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))

    monkeypatch.setattr(grouping, "LOCKSTEP", 3)
    return calls


def test_a_plan_has_the_defaults_of_the_door():
    plan = Plan(registry.methods()["mdav"], 2)
    named = {name: getattr(plan, name) for name in COMMON if hasattr(plan, name)}
    for name in ("entity", "confidential", "column_weights"):
        named[name] = named[name] or None
    assert named == {name: COMMON[name] for name in named}
    kinds = {"nominal", "ordinal", "taxonomy", "circular"}
    assert COMMON.keys() - named.keys() == (
        {"l", "max_entity_share", "max_share", "t", "t_scale"} | kinds
    )
    assert plan.models == plan.kinds == {}
    assert plan.blocks == ()


def test_strata_up_to_8192_records_are_grouped_side_by_side(together, monkeypatch):
    monkeypatch.undo()
    plan = Plan.make("together", 2).bind([["a"]])
    for size, how in ((8192, ["together"]), (8193, ["alone", "alone"])):
        together.clear()
        labels_of(plan, matrix(range(2 * size)), strata_of(size, size))
        assert [call[0] for call in together] == how


def test_small_strata_are_grouped_side_by_side_and_the_others_alone(together):
    plan = Plan.make("together", 2).bind([["a"]])
    x = matrix(range(11))
    assert labels_of(plan, x, strata_of(4, 2, 3, 2)) == [3] * 4 + [0] * 2 + [1] * 3 + [2] * 2
    assert together == [("together", [4, 5, 6, 7, 8, 9, 10], [2, 3, 2]), ("alone", [0, 1, 2, 3])]
    together.clear()
    assert labels_of(plan, x[:7], strata_of(4, 3)) == [0] * 4 + [1] * 3
    assert together == [("alone", [0, 1, 2, 3]), ("alone", [4, 5, 6])]
    together.clear()
    assert labels_of(plan, x[:6], strata_of(3, 3)) == [0] * 3 + [1] * 3
    assert together == [("together", [0, 1, 2, 3, 4, 5], [3, 3])]


def test_patterns_go_side_by_side_with_the_columns_that_they_have(together):
    plan = Plan.make("together", 2, nulls="pattern").bind([["a", "b"]])
    a = [1, 2, 3, 4, NAN, NAN, NAN, NAN]
    x = matrix(a, range(8))
    assert labels_of(plan, x) == [0] * 4 + [1] * 4
    assert together[-1] == ("alone", [4, 5, 6, 7])
    mixed = matrix([1, 2, NAN, NAN, NAN, NAN, 5, 6], range(8))
    together.clear()
    assert labels_of(plan, mixed, strata_of(6, 2)) == [0, 0, 2, 2, 2, 2, 1, 1]
    assert together[-1] == ("alone", [2, 3, 4, 5])


def test_a_method_takes_as_many_records_at_a_time_as_it_says(toys):
    @toys(cite="Nobody (2000)", cost="n^2", limit=4)
    def few(x, /, *, k: int) -> Partition:
        """Put all in one group."""
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))

    @toys(cite="Nobody (2000)", unit="value", cost="n^2", limit=4)
    def cells(x, /, *, k: int) -> ValueMasking:
        """Leave all as it is."""
        return ValueMasking(x)

    for name in ("few", "cells"):
        plan = Plan.make(name, 2).bind([["a"]])
        for sizes in ((4,), (4, 4), (2, 4)):
            list(plan.mask(matrix(range(sum(sizes))), np.ones(1), strata_of(*sizes), [False]))
        for sizes in ((5,), (2, 5), (5, 2)):
            with pytest.raises(
                mg.InvalidParameterError, match="at most 4 records at a time.* got 5"
            ):
                list(plan.mask(matrix(range(sum(sizes))), np.ones(1), strata_of(*sizes), [False]))


# --- Promises, refinement, seeds --------------------------------------------------------------------------


def test_groups_of_k_pass_and_smaller_ones_do_not(toys):
    @toys(cite="Nobody (2000)")
    def last(x, /, *, k: int) -> Partition:
        """Put the last two records apart."""
        return Partition.from_labels((np.arange(len(x)) >= len(x) - 2).astype(np.intp))

    x = matrix(range(5))
    assert labels_of(Plan.make("last", 2).bind([["a"]]), x) == [0, 0, 0, 1, 1]
    with pytest.raises(mg.GuaranteeError, match=r"class of 2 record\(s\) where k=3"):
        labels_of(Plan.make("last", 3).bind([["a"]]), x)
    with pytest.raises(mg.GuaranteeError, match=r"class of 1 record\(s\) where k=2"):
        labels_of(Plan.make("last", 2).bind([["a"]]), x, strata_of(2, 3))


def test_refining_is_asked_for(monkeypatch):
    asked = []

    def refined(x, labels, sizes, k, rule, **_):
        asked.append((len(x), sizes.tolist(), k))
        return labels, int(labels.max()) + 1

    monkeypatch.setattr(plans, "refined", refined)
    x = matrix(range(6))
    labels_of(Plan.make("mdav", 2).bind([["a"]]), x)
    assert asked == []
    labels_of(Plan.make("mdav", 2, refine=True).bind([["a"]]), x, strata_of(4, 2))
    assert asked == [(6, [4, 2], 2)]


def test_a_seed_reaches_the_methods_that_draw(toys):
    seen = []

    @toys(cite="Nobody (2000)")
    def draws(x, /, *, k: int, seed: int = 0) -> Partition:
        """Put all in one group."""
        seen.append(seed)
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))

    labels_of(Plan.make("draws", 2, seed=7).bind([["a"]]), matrix([1, 2]))
    labels_of(Plan.make("draws", 2).bind([["a"]]), matrix([1, 2]))
    assert seen == [7, 0]
    for wrong in (-1, 1.5, True):
        with pytest.raises(mg.InvalidParameterError, match="at least 0"):
            Plan.make("draws", 2, seed=wrong)


def test_what_groups_values_masks_those_that_are_there():
    plan = Plan.make("mic1d", 2, nulls="pattern").bind([["a", "b"]])
    x = matrix([1, NAN, 2, NAN, 3], [1, NAN, 2, NAN, 3])
    one, other = plan.mask(x, np.ones(2), Strata.whole(5), [False, True])
    assert (one.columns, other.columns) == (("a",), ("b",))
    assert one.labels.tolist() == [0, -1, 2, -1, 4]
    (cells,) = one.values
    assert np.isnan(cells.values).tolist() == [False, True, False, True, False]
    assert cells.strata.order.tolist() == [0, 2, 4]
    nothing = Strata(np.zeros(0, np.intp), np.zeros(0, np.intp))
    for masked in plan.mask(x, np.ones(2), nothing, [False, False]):
        assert masked.labels.tolist() == [-1] * 5
