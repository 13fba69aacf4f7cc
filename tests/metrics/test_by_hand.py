"""Every measure on the worked example, and where it has nothing to divide by."""

import numpy as np
import pytest

from polars_microagg.core import registry
from polars_microagg.metrics.anonymity import k_min, k_prime
from polars_microagg.metrics.components import (
    delta_corr,
    delta_corr_sd,
    delta_r,
    delta_w,
    eigenvalue_difference,
    fpc_share,
    mean_sd,
)
from polars_microagg.metrics.information_loss import cells, changed, loss, sse, sst
from polars_microagg.metrics.interval import drisk, il1s, interval_disclosure
from polars_microagg.metrics.linkage import dld, dld_entity, dld_without_strata, pld
from polars_microagg.metrics.optimum import above_optimum
from polars_microagg.metrics.score import dr, score
from polars_microagg.metrics.variation import il, il1, il1_zero_cells, il2, il3, il4, il5
from tests.metrics.worked import MEANS, SIZES, U, V, X, Y

IL1 = (1 + 1 / 3 + 1 / 5 + 1 / 7 + 1 / 4 + 1 / 2 + 1 / 8 + 1 / 6) / 8

CROSSED, PERSONS = np.array([[0.0], [8.0], [0.0], [8.0]]), np.array([0, 0, 1, 2])
LINE = np.array([[0.0], [1.0], [8.0], [9.0]])
BY_HAND = {
    ("cells", ""): (cells(X, np.where(Y == 7, np.nan, Y)), 6),
    # Both groups have two records.
    ("k_min", ""): (k_min(SIZES), 2),
    ("k_prime", ""): (k_prime(SIZES), 2),
    # Two of 8 cells are others; of the records, as one column of two coordinates, two of 4.
    ("changed", ""): (changed(X, np.where(Y == 7, Y, X)), 25),
    ("changed", "of a column"): (changed(X, np.where(Y == 7, Y, X), np.array([0, 0])), 50),
    # Each of 8 cells is 1 off, which is 1/5 in variances; 1.6 of 8 is 20 per cent.
    ("sse", ""): (sse(X, Y), 1.6),
    ("sst", ""): (sst(X), 8),
    ("loss", ""): (loss(X, Y), 20),
    ("il1", ""): (il1(X, Y), IL1),
    # The first column of zeros becomes 2 2 6 6.
    ("il1_zero_cells", ""): (il1_zero_cells(X * [0, 1], Y), 4),
    ("il2", ""): (il2(X, Y), 0),
    # Variances 5 -> 4 twice, covariance 3 -> 4.
    ("il3", ""): (il3(X, Y), (1 / 5 + 1 / 3 + 1 / 5) / 3),
    ("il4", ""): (il4(X, Y), 1 / 5),
    # r = 0.6 -> 1.
    ("il5", ""): (il5(X, Y), 0.4),
    ("il5", "relative"): (il5(X, Y, change="relative"), 0.4 / 0.6),
    ("il", ""): (il(0.3, 0.0, 0.2, 0.1, 0.4), 20),
    # Distances go with the raw ones. (1, 4) is sqrt(2) from (2, 3), sqrt(34) from (6, 7), and so
    # on: all are nearest to their own centroid, which two records share.
    ("dld", ""): (dld(X, Y), 50),
    ("dld", "optimistic"): (dld(X, Y, optimistic=True), 100),
    # (1, 1) to (2, 1.5): all own ones are nearest, and all masked records are different.
    ("dld", "of blocks"): (dld(U, V), 100),
    # By a alone, or b alone, two share each masked value.
    ("dld", "of subsets"): (dld(U, V, [(0,), (1,), (0, 1)]), (50 + 50 + 100) / 3),
    # All records are as far from their own mean as from that of the others: 1 in 4.
    ("dld", "of means"): (dld(X, MEANS), 25),
    # Each record is one of two: of two such records one is linked with 1 - 1/4, of one with 1/2.
    # Records 1 and 3 are a stratum, and 2 and 4: in each the own masked record is the nearer one.
    ("dld", "of strata"): (dld(X, Y, None, None, np.array([0, 1, 0, 1])), 100),
    # Records 1 and 2 are a stratum, as they are a group.
    ("dld", "of groups"): (dld(X, Y, None, None, np.array([0, 0, 1, 1])), 50),
    ("dld_without_strata", ""): (dld_without_strata(X, Y), 50),
    ("dld_without_strata", "optimistic"): (dld_without_strata(X, Y, optimistic=True), 100),
    ("dld_entity", ""): (dld_entity(X, Y, None, None, np.array([0, 1, 0, 2])), (75 + 50 + 50) / 3),
    ("dld_entity", "alone"): (dld_entity(X, Y, None, None, np.arange(4)), 50),
    ("dld_entity", "one person"): (dld_entity(X, Y, None, None, np.zeros(4, int)), 100 * 15 / 16),
    # 0 and 1 are nearest to 0, 8 and 9 to 8: the first and the last to their own, one of two each.
    ("dld_entity", "wrong links"): (dld_entity(LINE, CROSSED, None, None, PERSONS), 100 / 3),
    ("dld_entity", "optimistic"): (
        dld_entity(LINE, CROSSED, None, None, PERSONS, optimistic=True),
        200 / 3,
    ),
    # By a alone and by b alone each is one of two, and by both alone in its place.
    ("dld_entity", "of subsets"): (
        dld_entity(U, V, [(0,), (1,), (0, 1)], None, PERSONS),
        ((75 + 50 + 50) / 3 * 2 + 100) / 3,
    ),
    # 0.5 sd = 1.118: own values, 1 apart, agree, and no others, 3 or more apart.
    ("pld", ""): (pld(X, Y, tolerance=0.5), 50),
    # 0.1 sd = 0.22: nothing agrees, so all four look alike.
    ("pld", "narrow"): (pld(X, Y), 25),
    # Mean ranks before 1 2 3 4, after 1.5 1.5 3.5 3.5: own ones 0.5 apart, others 1.5 or more.
    ("pld", "by rank"): (pld(X, Y, agreement="rank", tolerance=0.2), 50),
    ("pld", "exact"): (pld(X, X, agreement="exact"), 100),
    # 50 % of the sd is 1.118, 40 % is 0.894.
    ("interval_disclosure", "by sd"): (interval_disclosure(X, Y, by="sd", widths=[40, 50]), 50),
    # 50 % of 2, 3, 6, 7 is at least 1; 20 % only of 6 and 7; 10 % of none.
    ("interval_disclosure", "by value"): (
        interval_disclosure(X, Y, by="value", widths=[50, 20, 10]),
        50,
    ),
    # Ranks 0.5 and 2.5 in 2 2 6 6, and half of 100 % of 4 is 2 ranks: from 2 to 6, where 3 and 5
    # lie and 1 and 7 do not. The same in 3 3 7 7 with 4 and 6.
    ("interval_disclosure", "by rank"): (interval_disclosure(X, Y, widths=100), 50),
    # 5 % of 4 is 0.2 of a rank to either side: the interval is the masked value itself.
    ("interval_disclosure", "by small rank"): (interval_disclosure(X, Y, widths=10), 0),
    ("interval_disclosure", "default"): (interval_disclosure(X, Y), 0),
    # sd (ddof 1) after is sqrt(16 / 3) = 2.31; 0.5 of it is 1.15, 0.4 of it 0.92.
    ("drisk", ""): (drisk(X, Y), 0),
    ("drisk", "wide"): (drisk(X, Y, width=0.5), 1),
    ("drisk", "narrow"): (drisk(X, Y, width=0.4), 0),
    # sd (ddof 1) before is sqrt(20 / 3); 1 / (sqrt(2) sd) = sqrt(3 / 40) in all 8 cells.
    ("il1s", ""): (il1s(X, Y), np.sqrt(3 / 40)),
    ("il1s", "total"): (il1s(X, Y, total=True), 8 * np.sqrt(3 / 40)),
    ("mean_sd", ""): (mean_sd(X, Y), np.sqrt(4 / 5)),
    # The correlations 1 0.6 / 0.6 1 have eigenvalues 1.6 and 0.4, and after that 2 and 0; the
    # first vector is (1, 1) / sqrt(2). R = sqrt(0.8) -> 1.
    ("delta_r", ""): (delta_r(X, Y), 100 * (1 / np.sqrt(0.8) - 1)),
    # W = 1 / sqrt(3.2) -> 1 / 2.
    ("delta_w", ""): (delta_w(X, Y), 100 * (1 - np.sqrt(3.2) / 2)),
    ("fpc_share", ""): (fpc_share(X, Y), 100),
    ("fpc_share", "before"): (fpc_share(X, X), 80),
    ("delta_corr", ""): (delta_corr(X, Y), 0.4),
    ("delta_corr_sd", ""): (delta_corr_sd(X, Y), 0),
    ("eigenvalue_difference", ""): (eigenvalue_difference(X, Y), 0.4 / 1.6 + 0.4 / 0.4),
    # 0 1 8 9 in pairs that are 8 apart lose 4 * 16; no record is nearer than 1, a quarter each.
    # The bound is lowered by a billionth of itself, for rounding.
    ("above_optimum", ""): (round(above_optimum(LINE, np.array([[4.0], [5.0]] * 2)), 4), 6300),
    ("dr", ""): (dr(50, 25, 40), 45),
    ("dr", "sugeno"): (dr(50, 25, 40, weights="sugeno"), 12.5 + 6.25 + 20),
    ("dr", "own"): (dr(50, 25, 40, weights={"pld": 3, "dld": 1, "il": 9}), (75 + 50) / 4),
    ("score", ""): (score(20, 50, None, 40), 10 + 12.5 + 10),
    ("score", "own"): (score(20, 50, None, 40, weights={"il": 1, "dld": 3}), (20 + 150) / 4),
}


@pytest.mark.parametrize(("metric", "case"), BY_HAND)
def test_by_hand(metric, case):
    found, expected = BY_HAND[metric, case]
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_every_metric_is_worked_by_hand():
    assert {metric for metric, _ in BY_HAND} == set(registry.metrics())


@pytest.mark.parametrize(
    ("weights", "parts", "published"),
    [
        # Mic1D, table 6, Census, correlated: MDAV, PCP, Zscores with k=5, and Mic1D-3000.
        ("mic1d", (31.67, 34.11, None, 69.70), 41.79),
        ("mic1d", (63.18, 4.35, None, 47.63), 44.59),
        ("mic1d", (59.64, 12.13, None, 57.71), 47.28),
        ("mic1d", (22.17, 35.95, None, 54.16), 33.61),
        # Sugeno, table 1, EIA: Mic2PCP05, Mic2Zscores05, Mic4Sugeno25; Census: Mic3PCP05.
        ("sugeno", (13.90, 2.94, 6.91, 70.04), 25.69),
        ("sugeno", (4.27, 25.36, 36.08, 89.26), 32.13),
        ("sugeno", (45.27, 0.42, 0.71, 70.31), 40.35),
        ("sugeno", (57.72, 10.15, 5.71, 43.48), 41.71),
    ],
)
def test_scores_of_the_papers(weights, parts, published):
    assert score(*parts, weights=weights) == pytest.approx(published, abs=0.0101)
    il_, *risks = parts
    assert (il_ + dr(*risks, weights=weights)) / 2 == pytest.approx(score(*parts, weights=weights))


def test_a_part_that_is_unknown_makes_the_score_unknown_only_if_it_counts():
    assert score(20.0, 50.0, None, 40.0) is not None
    assert score(20.0, 50.0, None, 40.0, weights="sugeno") is None
    assert dr(50.0, None, 40.0, weights={"il": 1}) is None


# --- Zeros and constant columns ---------------------------------------------------------------


def test_zero_cells_of_il1():
    x, y = np.array([[0.0], [0.0], [3.0], [5.0]]), np.array([[0.0], [1.5], [1.5], [5.0]])
    # 0 stays 0; 1.5 over the mean 2; 1.5 over 3; 0.
    assert il1(x, y) == pytest.approx((0 + 0.75 + 0.5 + 0) / 4)
    assert il1(x, y, zero="skip") == pytest.approx((0 + 0.5 + 0) / 3)
    assert il1_zero_cells(x, y) == 1
    assert il1_zero_cells(x, x) == 0


def test_a_column_of_zeros_counts_each_change_as_one():
    x, y = np.zeros((4, 1)), np.array([[0.0], [0.0], [0.0], [7.0]])
    assert il1(x, y) == 0.25
    assert il1(x, x) == il2(x, x) == il3(x, x) == il4(x, x) == 0
    assert il2(x, y) == il3(x, y) == il4(x, y) == 1
    assert il1_zero_cells(x, y) == 1


def test_a_mean_of_zero_is_measured_by_the_size_of_the_column():
    x = np.array([[-1.0], [1.0], [-3.0], [3.0]])
    # The mean absolute value is 2, the mean moves by 1.
    assert il2(x, x + 1) == pytest.approx(0.5)
    # Rounding of a mean that is 0 but for rounding is no change.
    tenths = np.array([[0.1], [0.2], [-0.3], [1e-3], [-1e-3]])
    assert il2(tenths, tenths[::-1]) == 0


def test_a_covariance_of_zero_is_measured_by_the_standard_deviations():
    x = np.array([[0.0, 0.0], [0.0, 4.0], [2.0, 0.0], [2.0, 4.0]])
    y = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 4.0], [2.0, 4.0]])
    # sd 1 and 2; covariance 0 -> 2 over 2.
    assert il3(x, y) == pytest.approx((0 + 1 + 0) / 3)


@pytest.mark.parametrize("constant", [0.0, 0.1, -7.0, 1e300])
def test_constant_columns(constant):
    x, y = (np.column_stack([table, np.full(4, constant)]) for table in (X, Y))
    pairs = {"dld": 50, "mean_sd": np.sqrt(0.8), "delta_corr": 0.4, "loss": 20, "fpc_share": 100}
    for name, value in pairs.items():
        assert registry.metrics()[name].function(x, y) == pytest.approx(value), name
    assert delta_r(x, y) == pytest.approx(delta_r(X, Y))
    assert il4(x, y) == pytest.approx(0.4 / 3)
    # The correlations with it are 0 before and after.
    assert il5(x, y) == pytest.approx(0.4 / 3)
    assert il1(x, y) == pytest.approx(IL1 * 2 / 3)


@pytest.mark.parametrize("seed", range(20))
def test_weights_have_no_sign(seed):
    # Correlated by less than 0, two columns weigh 1 and -1, and which is which is up to rounding.
    # Both vectors are (1, -1) / sqrt(2), and the first eigenvalue is 1 - r.
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 2)) @ np.array([[1.0, -0.1 - seed / 10], [0.0, 1.0]])
    y = x + 0.01 * rng.normal(size=x.shape)
    r, s = (np.corrcoef(table.T)[0, 1] for table in (x, y))
    assert r < 0 > s
    expected = 100 * abs(np.sqrt((1 - r) / (1 - s)) - 1)
    assert delta_w(x, y) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    mirrored = delta_w(x * [1.0, -1.0], y * [1.0, -1.0])
    assert mirrored == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_tables_that_do_not_vary_at_all():
    x = np.full((4, 2), 3.0)
    assert [f(x, x) for f in (mean_sd, delta_r, delta_w, fpc_share, delta_corr)] == [None] * 5
    assert dld(x, x) == pld(x, x) == 25
    assert il1(x, x) == il5(x, x) == 0
    assert drisk(x, x) == 1
    assert interval_disclosure(x, x) == 100


def test_no_rows():
    x = np.empty((0, 2))
    assert dld(x, x) is pld(x, x) is interval_disclosure(x, x) is drisk(x, x) is None
    assert il1(x, x) == il2(x, x) == il3(x, x) == il4(x, x) == il5(x, x) == il1s(x, x) == 0
    assert mean_sd(x, x) is delta_r(x, x) is None


# --- Absent values ----------------------------------------------------------------------------


def test_absent_cells_are_passed_over():
    x, y = X.copy(), Y.copy()
    x[0, 0] = y[3, 1] = np.nan
    # Left are 1/3 1/5 1/7 and 1/4 1/2 1/8.
    assert il1(x, y) == pytest.approx((1 / 3 + 1 / 5 + 1 / 7 + 1 / 4 + 1 / 2 + 1 / 8) / 6)
    # Values before 3 5 7 with variance 8/3, after 2 6 6 with 32/9; 4 2 8 with 56/9, 3 3 7 32/9.
    assert il4(x, y) == pytest.approx((8 / 9 * 3 / 8 + 24 / 56) / 2)
    assert interval_disclosure(x, y, by="value", widths=20) == pytest.approx(50)
    # The sds after are 2.31 and 2.31: records 2 and 3 have all their values, and these are 1 off.
    assert drisk(x, y, width=1) == 0.5


def test_absence_is_what_an_intruder_sees():
    # Two records alike but for a null, which masking kept ("pattern").
    x = np.array([[1.0, np.nan], [1.0, 5.0], [9.0, 5.0], [9.0, 7.0]])
    assert dld(x, x) == pytest.approx(100)
    y = x.copy()
    y[:2] = np.nan
    # The first two are masked as nothing at all, so each can only guess among all or none.
    assert 0 <= dld(x, y) <= 75
    assert pld(x, x, agreement="exact") == pytest.approx(100)
