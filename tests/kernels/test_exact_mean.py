"""Means that are rounded once, against fractions, whatever the order of the members."""

from fractions import Fraction

import numpy as np
import pytest

from polars_microagg.core.partition import Members
from polars_microagg.kernels import exact_mean
from polars_microagg.kernels.exact_mean import float_means

pytestmark = pytest.mark.whole

MAX = 1.7976931348623157e308
TINY = 5e-324
LEAST, LITTLE = 2.0**-1022, 3 * 2.0**-50
AT_ONCE = 500


def near(rng, n):
    """Values so near each other, beside their size, that their differences are exact, or nearly so."""
    first = (1 + rng.random()) * 2.0 ** rng.integers(-890, 900) * rng.choice([-1, 1])
    reach = 2.0 ** -rng.integers(0, rng.choice([4, 53]))
    return np.sort(first * (1 + reach * rng.random(n)))


def wild(rng, n):
    bits = np.frombuffer(rng.bytes(8 * n), dtype=np.float64)
    return np.where(np.isfinite(bits), bits, 1.5)


def next_to_one(rng, n):
    return 1 + rng.integers(0, 4, n) * 2.0**-52


HOSTILE = {
    "mixed": lambda rng, n: rng.standard_normal(n) * 10.0 ** rng.integers(-300, 300, n),
    "near": lambda rng, n: rng.standard_normal(n) * 10.0 ** rng.integers(-8, 9, n),
    "in_order": near,
    "in_disorder": lambda rng, n: rng.permutation(near(rng, n)),
    "around_zero": lambda rng, n: np.sort(rng.standard_normal(n)),
    "far_from_zero": lambda rng, n: np.sort(rng.integers(0, 2**20, n)) / 2**20 + 1e15,
    "one_binade": lambda rng, n: 1 + rng.random(n),
    "cents": lambda rng, n: np.round(rng.normal(40_000, 10_000, n), 2),
    "ties": next_to_one,
    "ties_but_for_a_trace": lambda rng, n: np.append(
        next_to_one(rng, n), rng.choice([1e-300, -1e-300, TINY, 2.0**-110], 2)
    ),
    "two_scales": lambda rng, n: np.append(next_to_one(rng, n), next_to_one(rng, n) * 2.0**-53),
    "cancel": lambda rng, n: np.append(rng.standard_normal(n), [1e16, -1e16]),
    "powers": lambda rng, n: 2.0 ** rng.integers(-60, 60, n) * rng.choice([-1, 1], n),
    "subnormal": lambda rng, n: rng.integers(-20, 20, n) * TINY,
    "next_to_subnormal": lambda rng, n: rng.choice([LEAST, LEAST - TINY, -2 * LEAST, 3e-308], n),
    "zeros": lambda rng, n: rng.choice([-0.0, 0.0, TINY, -TINY], n),
    "ends": lambda rng, n: rng.choice([MAX, -MAX, 1e308, -1e308, 1.0, 0.0], n),
    "wild": wild,
}
KINDS = sorted(HOSTILE)
ROUNDED = {np.float64: 1e309, np.float32: 3e38, np.float16: 6e4}
"""What the values of each type stay below."""


def rounded(exact, dtype):
    """An exact number rounded once, its sign lost where it is 0."""
    if dtype is np.float64:
        return float(exact) + 0.0
    scale, digits = {np.float32: (149, 24), np.float16: (24, 11)}[dtype]
    # Whole multiples of the smallest number of the type, cut to its digits.
    steps = exact * 2**scale
    spare = max(0, int(abs(steps)).bit_length() - digits)
    return round(steps / 2**spare) * 2.0 ** (spare - scale) + 0.0


def groups(rng, count, dtype, kinds=KINDS):
    drawn = []
    for _ in range(count):
        kind = kinds[rng.integers(len(kinds))]
        size = rng.integers(2, 12) if rng.random() < 0.98 else rng.integers(12, 2000)
        values = HOSTILE[kind](rng, int(size))
        values[np.abs(values) > ROUNDED[dtype]] = 1.5
        drawn.append(values.astype(dtype).astype(np.float64))
    return drawn


@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("seed", range(4))
def test_means_are_those_of_fractions_rounded_once(dtype, seed):
    rng = np.random.default_rng(seed)
    require_rounded(rng, groups(rng, AT_ONCE, dtype), dtype)


@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("kind", HOSTILE)
def test_means_in_a_column_of_one_kind_are_those_of_fractions(kind, dtype):
    # The largest value of a column decides what is known without carrying errors along.
    rng = np.random.default_rng(5)
    require_rounded(rng, groups(rng, AT_ONCE, dtype, [kind]), dtype)


@pytest.mark.parametrize("power", [-1030, -960, -900, -500, -60, -45, -30, 0, 30, 500, 960, 1015])
@pytest.mark.parametrize("n", [2, 3, 5, 6, 7])
def test_means_next_to_a_middle_beside_a_value_of_any_size(n, power):
    # Sums one step around where the rounding changes, and a column with one large value.
    rng = np.random.default_rng(abs(power) + n)
    drawn = []
    for trace in (0.0, 2.0**-60, -(2.0**-60), 2.0**-100, -(2.0**-100), TINY):
        for _ in range(40):
            values = 1 + rng.integers(0, 2 * n, n) * 2.0**-52
            # Of four or eight values, so that a mean may lie in the middle of two doubles.
            values = np.append(values, np.full(4 - n if n < 4 else 8 - n, trace))
            drawn.append(values * rng.choice([-1.0, 1.0]))
    require_rounded(rng, [*drawn, np.array([2.0**power, -(2.0**power), 2.0**power])], np.float64)


def require_rounded(rng, drawn, dtype):
    values = np.concatenate(drawn)
    labels = np.repeat(np.arange(len(drawn)), [len(group) for group in drawn])
    shuffled = rng.permutation(len(values))
    members = Members.of(np.arange(len(values)), labels[shuffled], len(drawn))
    found = float_means(values[shuffled], members, dtype)
    exact = [sum(map(Fraction, group.tolist())) / len(group) for group in drawn]
    expected = np.array([rounded(mean, dtype) for mean in exact])
    assert found.tobytes() == expected.tobytes()


def mean_of(values, dtype=np.float64):
    (found,) = float_means(
        np.array(values), Members(np.arange(len(values)), np.array([len(values)])), dtype
    )
    return float(found)


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        ([1.0, 1 + 2.0**-52], 1.0),
        ([1 + 2.0**-52, 1 + 2.0**-51], 1 + 2.0**-51),
        # The traces decide on which side of the middle the mean lies.
        ([1.0, 1 + 2.0**-52, 0.0, TINY], 0.5 + 2.0**-53),
        ([1.0, 1 + 2.0**-52, 0.0, -TINY], 0.5),
        # So does a trace that a quotient of two doubles loses, and a sum of the smallest digits.
        ([3.0, 3 * 2.0**-53, 2.0**-105], 1 + 2.0**-52),
        ([3.0, 3 * 2.0**-53, -(2.0**-105)], 1.0),
        ([4.0, -(LITTLE + 2.0**-100), -LITTLE, -LITTLE - 2.0**-52], 1 - 19 * 2.0**-53),
        ([4.0, -(LITTLE - 2.0**-100), -LITTLE, -LITTLE - 2.0**-52], 1 - 18 * 2.0**-53),
        ([1e16, 3.0, -1e16], 1.0),
        ([MAX, MAX, MAX], MAX),
        ([MAX, -MAX, 3.0], 1.0),
        ([0.1] * 7, 0.1),
        ([TINY, 3 * TINY], 2 * TINY),
        ([0.0, TINY], 0.0),
        ([7.25], 7.25),
    ],
)
def test_a_mean_by_hand(values, mean):
    assert mean_of(values) == mean_of(values[::-1]) == mean


@pytest.mark.parametrize("values", [[-0.0, -0.0], [-0.0], [-TINY, 0.0], [-1.0, 1.0]])
def test_no_mean_is_minus_zero(values):
    assert str(mean_of(values)) == "0.0"


def test_a_mean_in_single_precision_is_not_rounded_to_double_first():
    # 1 + 2**-24 lies halfway between two singles. The trace is lost in a double.
    trace = 2.0**-80
    assert mean_of([1.0, 1 + 2.0**-23], np.float32) == 1.0
    assert mean_of([1.0, 1 + 2.0**-23, trace, 0.0], np.float32) == 0.5 + 2.0**-24
    over = [1 + 2.0**-23 if i % 2 else 1.0 for i in range(1000)]
    assert mean_of([*over, 1 + 2.0**-24 + 2.0**-47], np.float32) == 1 + 2.0**-23


@pytest.mark.parametrize("turn", [-1, 1])
@pytest.mark.parametrize("last", [0, 2.0**-23, 2.0**-22, 3 * 2.0**-23])
def test_a_trace_decides_between_two_singles_whichever_of_them_is_even(last, turn):
    low, high = 0.5 + last / 2, 0.5 + last / 2 + 2.0**-24
    even = low if (low * 2**24) % 2 == 0 else high
    for trace, mean in ((2.0**-80, high), (0.0, even), (-(2.0**-80), low)):
        values = [turn * value for value in (1 + last, 1 + last + 2.0**-23, trace, 0.0)]
        assert mean_of(values, np.float32) == turn * mean


@pytest.mark.parametrize("turn", [-1, 1])
@pytest.mark.parametrize("trace", [2.0**-100, 2.0**-80, TINY])
@pytest.mark.parametrize("last", range(4))
def test_a_trace_decides_between_two_doubles_whichever_of_them_is_even(last, trace, turn):
    low, high = (0.5 + (last + up) * 2.0**-53 for up in (0, 1))
    even = low if last % 2 == 0 else high
    for sign, mean in ((1, high), (0, even), (-1, low)):
        pair = (1 + last * 2.0**-52, 1 + (last + 1) * 2.0**-52)
        values = [turn * value for value in (*pair, sign * trace, 0.0)]
        assert mean_of(values) == turn * mean


@pytest.mark.parametrize(("trace", "mean"), [(2.0**-130, 0.25 + 2.0**-25), (-(2.0**-130), 0.25)])
def test_a_trace_that_only_integers_see_decides_in_single_precision(trace, mean):
    # The mean lies halfway between two singles, but for the trace.
    values = [1.0, 1 + 2.0**-23, 2.0**-60, trace, -(2.0**-60), 0.0, 0.0, 0.0]
    assert mean_of(values, np.float32) == mean


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_trace_decides_for_the_doubles_next_to_the_middle_of_two_singles(dtype):
    rng, drawn = np.random.default_rng(0), []
    for last in range(4):
        middle = 1 + last * 2.0**-23 + 2.0**-24
        for away in range(-3, 4):
            for trace in (0.0, TINY, -TINY, 2.0**-80, -(2.0**-80)):
                near = middle + away * 2.0**-52
                for turn in (-1, 1):
                    drawn.append(turn * np.array([near, near, trace, 0.0]))
    require_rounded(rng, drawn, dtype)


@pytest.mark.parametrize("trace", [2.0**-89, -(2.0**-89)])
def test_a_trace_in_a_large_group_decides(trace):
    # The mean lies in the middle of two doubles, but for the trace, which a sum of all others loses.
    values = np.append(np.full(1023, 1 + 2.0**-44), trace)
    require_rounded(np.random.default_rng(0), [values], np.float64)


@pytest.mark.parametrize("trace", [2.0**-86, -(2.0**-86)])
def test_a_trace_beside_rests_that_are_as_large_as_they_may_be_decides(trace):
    # Of 1022 values; the sum of 1021 is an odd multiple of 1022 halves of the last digit of a mean.
    steps = [2**53 + 2**11 + 2] * 1020
    last = 2**53 - (2**53 + sum(steps) - 511) % 1022
    values = np.append(np.array([*steps, last]) * 2.0**-53, trace)
    require_rounded(np.random.default_rng(0), [values], np.float64)


def test_products_of_doubles_are_known_to_the_last_digit():
    rng = np.random.default_rng(0)
    a, b = 1 + rng.random(200), rng.standard_normal(200)
    for one, other, product, error in zip(a, b, *exact_mean._product(a, b), strict=True):
        assert Fraction(product) + Fraction(error) == Fraction(one) * Fraction(other)


def test_centres_without_members_are_zero_and_do_not_disturb():
    members = Members(np.array([2, 0]), np.array([0, 1, 0, 1, 0]))
    assert float_means(np.array([5.0, 6.0, 7.0]), members).tolist() == [0, 7, 0, 5, 0]
    assert float_means(np.zeros(0), Members(np.zeros(0, np.intp), np.zeros(2, np.intp))).sum() == 0


@pytest.mark.parametrize("scale", [1.0, 2.0**-60])
@pytest.mark.parametrize("turn", [-1, 1])
def test_means_next_to_a_power_of_two(turn, scale):
    # There the first quotient may be several last digits away from the mean.
    for n in range(3, 300 if scale == 1 else 100):
        totals = [turn * ((n << 60) + n * step) for step in range(-400, 200, 7)]
        heads = [float(total) for total in totals]
        pairs = np.array([(head, t - int(head)) for head, t in zip(heads, totals, strict=True)])
        values = np.zeros((len(totals), n))
        values[:, :2] = pairs
        members = Members(np.arange(values.size), np.full(len(totals), n))
        found = float_means(values.ravel() * scale, members)
        assert found.tolist() == [t / n * scale for t in totals]


DOUBTS = {"ties_but_for_a_trace": 47, "two_scales": 9, "cancel": 109, "wild": 43}
"""How many of 500 means of doubles integers decide at most; of ordinary values, none."""

BY_INTEGERS = ("subnormal", "next_to_subnormal", "zeros", "ends")
"""Values next to the ends of what doubles can hold."""


@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind not in BY_INTEGERS])
def test_integers_decide_where_there_is_a_doubt_and_nowhere_else(kind, dtype, monkeypatch):
    rng, doubts = np.random.default_rng(0), []
    drawn = [HOSTILE[kind](rng, int(rng.integers(2, 12))) for _ in range(AT_ONCE)]
    values = np.concatenate(drawn)
    values[np.abs(values) > ROUNDED[dtype]] = 1.5
    values = values.astype(dtype).astype(np.float64)
    labels = np.repeat(np.arange(AT_ONCE), [len(group) for group in drawn])
    integers = exact_mean._by_integers
    monkeypatch.setattr(
        exact_mean, "_by_integers", lambda some, dtype: doubts.append(1) or integers(some, dtype)
    )
    float_means(values, Members.of(np.arange(len(values)), labels, AT_ONCE), dtype)
    assert len(doubts) <= (DOUBTS.get(kind, 0) if dtype is np.float64 else 0)


STEPS = {
    "one_binade": (50, 0),
    "cents": (55, 0),
    "ties": (52, 0),
    "near": (4, 4),
    "ties_but_for_a_trace": (56, 56),
    "two_scales": (99, 99),
    "powers": (67, 63),
    "opposite": (0, 0),
}
"""Of 500 means, how many at most are divided with all digits, and how many are summed again."""


@pytest.mark.parametrize("kind", STEPS)
def test_most_means_are_decided_in_few_steps(kind, monkeypatch):
    rng, counts = np.random.default_rng(0), {"_divided": 0, "_sums": 0}
    draw = HOSTILE.get(kind, lambda rng, n: np.outer([1, -1], rng.random(n)).ravel())
    drawn = [draw(rng, int(rng.integers(2, 12))) for _ in range(AT_ONCE)]
    labels = np.repeat(np.arange(AT_ONCE), [len(group) for group in drawn])

    def counted(name, sizes_at):
        function = getattr(exact_mean, name)

        def count(*given):
            counts[name] = max(counts[name], len(given[sizes_at]))
            return function(*given)

        monkeypatch.setattr(exact_mean, name, count)

    counted("_divided", 0)
    counted("_sums", 1)
    float_means(np.concatenate(drawn), Members.of(np.arange(len(labels)), labels, AT_ONCE))
    divided, summed = STEPS[kind]
    assert counts["_divided"] <= divided
    assert counts["_sums"] <= summed


@pytest.mark.parametrize(
    ("value", "integers"), [(1.25 * 2.0**-900, False), (1.5 * 2.0**-901, True), (2.0**-890, False)]
)
def test_integers_decide_from_where_products_may_vanish(value, integers, monkeypatch):
    seen = []
    monkeypatch.setattr(exact_mean, "_by_integers", lambda some, dtype: seen.append(some) or 0.0)
    mean_of([value, value])
    assert bool(seen) == integers


def test_integers_round_the_mean_of_small_floats_once():
    # A double next to the middle of two singles, the rest of the mean on the one side or the other.
    for rest in (TINY, 0.0, -TINY):
        for last in (0.0, 2.0**-52, 2.0**-51):
            middle = 1 + 2.0**-24 + last
            found = exact_mean._by_integers([middle, middle, rest, 0.0], np.float32)
            exact = (2 * Fraction(middle) + Fraction(rest)) / 4
            assert rounded(Fraction(found), np.float32) == rounded(exact, np.float32)


@pytest.mark.parametrize("rest", [TINY, -TINY])
def test_integers_see_the_least_rest(rest):
    # The mean is 2**24 + 1, between two singles, and a rest of one in the last place of all.
    found = exact_mean._by_integers([2.0**25 + 2, rest], np.float32)
    assert np.float32(found) == 2.0**24 + (2 if rest > 0 else 0)


def test_differences_that_reach_past_the_first_value_are_not_added_up():
    values = np.array([-0.5, -0.35233406522536925, -0.2551649219572688])
    mean = float(sum(map(Fraction, values.tolist())) / 3)
    assert float_means(values, Members(np.arange(3), np.array([3]))) == mean
