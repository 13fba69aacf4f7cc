"""Centres of groups: which records make them, and their exact values."""

from fractions import Fraction
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.core.masked import Centres
from polars_microagg.core.partition import Grouping, Members, Strata
from polars_microagg.kernels import centre as centre_file
from polars_microagg.kernels.centre import CENTRES, _sums, centres, real_centres, whole_centres

pytestmark = pytest.mark.whole

NAN = np.nan
MAX = 1.7976931348623157e308
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
every_centre = pytest.mark.parametrize("how", CENTRES)


def emitted(x, labels, groups, how, strata=None):
    """Centres as each record has them, NaN where there is none."""
    found = []
    for j, centre in enumerate(
        centres(x, Grouping.by_label(np.asarray(labels), groups), how, strata)
    ):
        table = np.append(real_centres(x[:, j], centre), NAN)
        found.append(table[centre.labels])
    return np.column_stack(found)


@pytest.mark.parametrize(
    ("how", "values", "centre"),
    [
        ("mean", [5, 6], 5.5),
        ("mean", [1, 2, 6], 3),
        ("mean", [7], 7),
        ("mean", [4, NAN, 8], 6),
        ("mean", [NAN, NAN], NAN),
        ("median", [9, 1, 5], 5),
        ("median", [1, 2, 6, 100], 4),
        ("median", [3, 3, 3, 50], 3),
        ("median", [4, NAN, 8, 5], 5),
        ("median", [7], 7),
        ("median", [NAN], NAN),
        ("mean", [2.0**53, 2.0**53 + 2, 2.0**53 + 4], 2.0**53 + 2),
        # From one end of the range to the other: the centre is a third of the way.
        ("mean", [MAX, -MAX, -MAX], float(-Fraction(MAX) / 3)),
        ("mean", [MAX, MAX], MAX),
        ("median", [MAX, MAX], MAX),
        ("median", [MAX, -MAX], 0),
        ("median", [MAX, -MAX, -MAX, MAX, MAX], MAX),
        ("mean", [5e-324, 15e-324], 1e-323),
        ("median", [-0.0, -0.0, 3.0, -2.0], 0.0),
    ],
)
def test_a_centre_by_hand(how, values, centre):
    x = np.array(values, dtype=float)[:, None]
    found = emitted(x, [0] * len(x), 1, how)[0, 0]
    assert found == centre or (np.isnan(found) and np.isnan(centre))


def test_the_members_are_the_records_with_a_value():
    x = np.array([[NAN, 1.0], [2.0, 2.0], [4.0, NAN], [6.0, NAN], [8.0, NAN]])
    first, second = centres(x, Grouping.by_label(np.array([0, 0, 1, 0, -1]), 2), "mean")
    assert (first.members.order.tolist(), first.members.sizes.tolist()) == ([1, 3, 2], [2, 1])
    assert (second.members.order.tolist(), second.members.sizes.tolist()) == ([0, 1], [2, 0])
    assert (first.labels.tolist(), second.labels.tolist()) == ([0, 0, 1, 0, -1], [0, 0, -1, 0, -1])


def test_an_empty_group_takes_the_centre_of_its_stratum():
    x = np.array([[1.0], [NAN], [4.0], [NAN], [NAN]])
    strata = Strata(np.array([0, 1, 2, 3, 4]), np.array([3, 2]))
    found = emitted(x, [0, 1, 0, 2, 2], 3, "mean", strata)[:, 0]
    # The second stratum has no value at all.
    assert found[:3].tolist() == [2.5, 2.5, 2.5]
    assert np.isnan(found[3:]).all()


def test_a_record_without_a_group_takes_no_centre_where_the_last_group_is_empty():
    x = np.array([[9.0], [NAN], [4.0], [NAN]])
    strata = Strata(np.array([1, 2]), np.array([2]))
    for some, filled in ((strata, 2), (None, -1)):
        (found,) = centres(x, Grouping.by_label(np.array([-1, 1, 0, -1]), 2), "mean", some)
        assert found.labels.tolist() == [-1, filled, 0, -1]


def test_a_step_is_one_unit_unless_it_is_told():
    listed = Members(np.array([0, 1]), np.array([2]))
    pair = Centres(Grouping.by_list(listed, 2), listed, "mean")
    assert real_centres(np.array([2, 3]), pair).tolist() == [2.5]


@every_centre
def test_no_records_have_no_centres(how):
    found = centres(np.empty((0, 2)), Grouping.by_label(np.array([], dtype=np.intp), 0), how)
    assert [len(real_centres(np.zeros(0), centre)) for centre in found] == [0, 0]
    assert [len(whole_centres(np.zeros(0, np.int64), centre)) for centre in found] == [0, 0]


@every_centre
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e15 + 0.125, 5e-324, MAX, -MAX, 1e300])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10])
def test_a_constant_group_keeps_its_value_to_the_bit(how, value, size):
    x = np.array([value] * size + [-value, 0.0])[:, None]
    assert emitted(x, [0] * size + [1, 1], 2, how)[0, 0] == value


def exact_centre(values, how):
    return median(values) if how == "median" else Fraction(sum(values)) / len(values)


@every_centre
@given(rng=seeds)
def test_centres_are_those_of_exact_arithmetic_to_the_last_bit(how, rng):
    n, groups = int(rng.integers(1, 30)), int(rng.integers(1, 5))
    x = rng.standard_normal((n, 2)) * 10.0 ** rng.integers(-300, 308, 2)
    x[rng.random(x.shape) < 0.2] = NAN
    labels = rng.integers(0, groups, n)
    found = emitted(x, labels, groups, how)
    for g in range(groups):
        for j in range(2):
            values = [Fraction(v) for v in x[labels == g, j] if v == v]
            cells = found[labels == g, j]
            if values:
                assert (cells == float(exact_centre(values, how))).all()
            else:
                assert np.isnan(cells).all()


SPREADS = [1, 3, 10**6, 2**53, 2**61, 2**63, 2**64, 10**38]


@every_centre
@pytest.mark.parametrize("divisor", [1, 10, 10**14, 10**38])
@pytest.mark.parametrize("spread", SPREADS)
@given(rng=seeds)
def test_whole_numbers_are_summed_exactly_and_rounded_once(how, divisor, spread, rng):
    n, groups = int(rng.integers(1, 25)), int(rng.integers(1, 4))
    low = int(rng.integers(-2, 2)) * int(rng.choice([0, 1, 2**53, 2**62]))
    low = max(low, -(2**63)) if spread < 2**63 else -spread // 2
    steps = [low + int(rng.integers(0, 2**62)) * spread // 2**62 for _ in range(n)]
    narrow = min(steps) >= -(2**63) and max(steps) < 2**63
    values = np.array(steps, dtype=np.int64 if narrow else object)
    labels = rng.integers(0, groups, n)
    members = Members.of(np.arange(n), labels, groups)
    chosen = Centres(Grouping.by_label(labels, len(members.sizes)), members, how)
    whole, real = whole_centres(values, chosen), real_centres(values, chosen, divisor)
    assert whole.dtype == values.dtype
    for g in set(labels.tolist()):
        here = [Fraction(steps[i]) for i in np.flatnonzero(labels == g)]
        exact = exact_centre(here, how)
        assert int(whole[g]) == round(exact)
        assert real[g] == float(exact / divisor)


@every_centre
@given(rng=seeds)
def test_a_group_has_the_same_centre_whatever_the_other_groups_hold(how, rng):
    x = rng.standard_normal((8, 1)) * np.repeat(10.0 ** rng.integers(-320, 308, 2), 4)[:, None]
    labels = np.repeat([0, 1], 4)
    together = emitted(x, labels, 2, how)
    for g in (0, 1):
        alone = emitted(x[labels == g], [0] * 4, 1, how)
        assert (together[labels == g] == alone).all()


def test_empty_groups_of_later_strata_take_the_centres_of_theirs():
    x = np.array([[1.0], [3.0], [NAN], [10.0], [NAN], [NAN], [100.0], [NAN]])
    strata = Strata(np.arange(8), np.array([2, 3, 3]))
    for how in CENTRES:
        found = emitted(x, [0, 0, 1, 2, 1, 3, 4, 3], 5, how, strata)[:, 0]
        assert found.tolist() == [2, 2, 10, 10, 10, 100, 100, 100]


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("divisor", [1, 3, 10])
@pytest.mark.parametrize("least", [2**53 - 40, 2**53 + 1, 2**54 - 60])
def test_sums_that_are_no_doubles_are_divided_without_rounding_them_first(least, divisor, size):
    totals = range(least, least + 60)
    parts = [(2**52, total - 2**52, 0) if size == 3 else (total,) for total in totals]
    members = Members(np.arange(60 * size), np.full(60, size))
    steps = Centres(Grouping.by_label(np.arange(60), 60), members, "mean")
    found = real_centres(np.array(parts).ravel(), steps, divisor)
    assert found.tolist() == [float(Fraction(total, size * divisor)) for total in totals]


@pytest.mark.parametrize(
    ("least", "most", "base", "dtype"),
    [
        (1000, 1007, 0, np.int64),
        (-(2**60), 2**60, 0, np.int64),
        (2**61 - 3, 2**61 - 1, 0, np.int64),
        # From here a sum of two might overflow once it is doubled.
        (2**61 - 2, 2**61, 2**61 - 2, np.int64),
        (2**61 + 1, 2**61 + 9, 2**61, np.int64),
        (-(2**61), 5 - 2**61, -(2**61), np.int64),
        # Values that are far apart have no base in common.
        (2**62 - 2**61, 2**62 - 2, 2**61, np.int64),
        (2**62 - 2**61, 2**62 - 1, 0, object),
        (-(2**62), 2**62, 0, object),
    ],
)
def test_sums_count_from_a_base_where_they_might_overflow(least, most, base, dtype):
    values, members = np.array([least, most]), Members(np.arange(2), np.array([2]))
    sums, found = _sums(values, members)
    assert (found, sums.dtype) == (base, dtype)
    assert int(sums[0]) + 2 * found == least + most


@pytest.mark.parametrize(
    ("values", "divisor"),
    [([3, 4], 1), ([2**53 - 1, 1], 1), ([2**52, 3], 3), ([7], 2**53), ([-1, -5], 2**52)],
)
def test_whole_numbers_that_are_doubles_are_divided_at_once(values, divisor, monkeypatch):
    monkeypatch.setattr(centre_file, "zip", None, raising=False)
    members = Members(np.arange(len(values)), np.array([len(values)]))
    found = real_centres(np.array(values), Centres(np.zeros(1, int), members, "mean"), divisor)
    assert found.tolist() == [float(Fraction(sum(values), len(values) * divisor))]
