"""An attacker who knows the strata links records within them: worked by hand, and by brute force."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.kernels.risk.agreement_patterns import pattern_weights
from polars_microagg.kernels.risk.record_linkage import attributes, subset_hits
from polars_microagg.metrics.linkage import dld, dld_entity, pld

BEFORE = pl.DataFrame(
    {
        "age": [1.0, 3.0, 1.0, 3.0, 1.0, 3.0],
        "region": ["a", "a", "b", "b", None, None],
        "who": [1, 2, 3, 3, 4, 4],
    }
)
AFTER = BEFORE.with_columns(age=pl.lit(2.0))
"""The masked values are all the same: the strata are the whole risk."""


def test_strata_that_are_the_whole_risk_by_hand():
    """Six records share the masked age, and two of them each region."""
    of_all = mg.assess(BEFORE, AFTER, "age", entity="who").row(0, named=True)
    found = mg.assess(BEFORE, AFTER, "age", entity="who", strata="region").row(0, named=True)
    assert (of_all["dld"], found["dld"]) == (pytest.approx(100 / 6), 50.0)
    assert (of_all["pld"], found["pld"]) == (pytest.approx(100 / 6), 50.0)
    # Persons 1 and 2 have one record each, 3 and 4 have two: 1/2, 1/2, 3/4 and 3/4.
    assert found["dld_entity"] == pytest.approx(62.5)
    assert (of_all["k_min"], found["k_min"], found["k_prime"]) == (6, 2, 2.0)
    # Each value is compared with its own masked value only.
    assert of_all["interval_disclosure"] == found["interval_disclosure"]
    assert found["dr"] == pytest.approx(0.5 * 50 + 0.5 * found["interval_disclosure"])
    assert found["score"] == pytest.approx(0.5 * found["il"] + 0.5 * found["dr"])
    rest = {*found} - {"dld", "dld_entity", "pld", "dr", "score", "k_min", "k_prime"}
    assert {n: found[n] for n in rest} == {n: of_all[n] for n in rest}


def test_the_other_number_is_that_of_an_attacker_who_does_not_know_them():
    both = mg.assess(BEFORE, AFTER, "age", strata="region", metrics=["dld", "dld_without_strata"])
    assert both.row(0) == (50.0, pytest.approx(100 / 6))
    assert mg.dld_without_strata(BEFORE, AFTER, "age", strata="region") == pytest.approx(100 / 6)
    assert "dld_without_strata" not in mg.assess(BEFORE, AFTER, "age", strata="region").columns


@pytest.mark.parametrize("name", ["dld", "pld", "dr", "score", "k_min", "k_prime"])
def test_each_metric_takes_strata_as_assess_does(name):
    whole = mg.assess(BEFORE, AFTER, "age", strata=["region"], metrics=name).item()
    assert getattr(mg, name)(BEFORE, AFTER, "age", strata="region") == whole
    assert getattr(mg, name)(BEFORE, AFTER, "age") != whole


def test_suppressed_records_are_looked_for_among_suppressed_ones():
    """The two of region b are suppressed: their masked records share the key null, and no value."""
    before = pl.DataFrame({"age": [1.0, 3.0, 1.0, 3.0], "region": ["a", "a", "b", "b"]})
    after = pl.DataFrame({"age": [2.0, 2.0, None, None], "region": ["a", "a", None, None]})
    assert mg.dld(before, after, "age", strata="region") == 50.0


def test_strata_are_not_measured_by_default():
    before = BEFORE.with_columns(code=pl.Series([1, 1, 2, 2, 3, 3])).drop("region", "who")
    after = before.with_columns(age=pl.lit(2.0))
    found = mg.assess(before, after, strata="code", metrics=["loss", "dld"]).row(0)
    assert found == mg.assess(before, after, "age", strata="code", metrics=["loss", "dld"]).row(0)


def test_strata_are_columns_of_the_masked_table():
    with pytest.raises(mg.InvalidParameterError, match="strata names 'regoin'"):
        mg.assess(BEFORE, AFTER, "age", strata="regoin")
    with pytest.raises(mg.InvalidParameterError, match="strata names 'region'"):
        mg.dld(BEFORE, AFTER.drop("region"), "age", strata="region")


def test_with_one_stratum_every_measure_is_the_same():
    rng = np.random.default_rng(4)
    before = pl.DataFrame(rng.normal(size=(60, 2)), schema=["a", "b"])
    after = mg.mdav(before, ["a", "b"], k=3)
    one, other = before.with_columns(s=pl.lit("x")), after.with_columns(s=pl.lit("x"))
    found = mg.assess(one, other, ["a", "b"], strata="s")
    assert found.equals(mg.assess(before, after, ["a", "b"]))
    several = {"known": "subsets", "metrics": ["dld", "pld", "k_min", "k_prime"]}
    found = mg.assess(one, other, ["a", "b"], strata="s", **several)
    assert found.equals(mg.assess(before, after, ["a", "b"], **several))


def drawn(rng):
    """Draw a table with ties, a constant column, gaps or an outlier, its release, and strata."""
    n, p = int(rng.integers(1, 150)), int(rng.integers(1, 4))
    x = rng.standard_normal((n, p)) if rng.random() < 0.5 else rng.integers(0, 4, (n, p)) * 1.0
    x[:, rng.random(p) < 0.2] = 7.0
    x[rng.random((n, p)) < 0.1 * (rng.random() < 0.3)] = np.nan
    x[0] *= 1e6 if rng.random() < 0.2 else 1.0
    strata = rng.integers(0, rng.integers(1, n + 1), n)
    order = np.lexsort((x[:, 0], strata))
    group = np.empty(n, dtype=int)
    group[order] = np.arange(n) // int(rng.integers(1, 5))
    y = np.array([np.nanmean(x[group == g], axis=0) for g in group]) if n else x
    y[np.isnan(y)] = 0.0
    y[strata == strata[0]] = np.nan if rng.random() < 0.2 else y[strata == strata[0]]
    return x, y, strata


def nearest(known, strata, columns):
    """Return the chances of records by all distances within their strata."""
    before, after = known.only(columns)
    slack = 1e-12 * max(1.0, *(np.abs(t).max(initial=1.0) for t in (before, after)))
    hits = np.zeros(len(before))
    for row in range(len(before)):
        others = np.flatnonzero(strata == strata[row])
        far = np.sqrt(np.square(after[others] - before[row]).sum(axis=1))
        own = far[others == row][0]
        hits[row] = (own <= far.min() + slack) / np.count_nonzero(far <= far.min() + slack)
    return hits


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("seed", range(60))
def test_distances_within_strata_as_by_brute_force(seed):
    x, y, strata = drawn(np.random.default_rng(seed))
    known, every = attributes(x, y), tuple(range(x.shape[1]))
    hits = nearest(known, strata, every)
    assert dld(x, y, None, None, strata) == pytest.approx(100 * hits.mean(), abs=1e-9)
    share = 100 * np.count_nonzero(hits) / len(hits)
    assert dld(x, y, None, None, strata, optimistic=True) == pytest.approx(share, abs=1e-9)
    assert dld_entity(x, y, None, None, strata, strata) == pytest.approx(
        100 * np.mean([1 - np.prod(1 - hits[strata == s]) for s in np.unique(strata)]), abs=1e-9
    )
    sets = [(j,) for j in every] + [every]
    of_sets = [nearest(known, strata, s).mean() for s in sets]
    found = subset_hits(attributes(x, y, None, strata), sets)
    assert found == pytest.approx(of_sets, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_likelihoods_within_strata_as_by_brute_force(seed):
    """Patterns of all pairs of one stratum, the parameters by the EM algorithm of these pairs."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 60)), int(rng.integers(1, 4))
    x = rng.integers(0, 5, (n, p)) * 1.0
    x[:2] = [[0.0] * p, [4.0] * p]  # every column varies
    strata, sd = rng.integers(0, rng.integers(1, n), n), x.std(axis=0)
    y = x[rng.permutation(n)] if rng.random() < 0.3 else x + rng.integers(0, 2, (n, p))
    agree = np.abs(x[:, None] - y) / sd <= 0.1 * (1 + 1e-9)
    pattern = (agree * 2 ** np.arange(p)).sum(axis=2)
    same = strata[:, None] == strata
    evidence = pattern_weights(np.bincount(pattern[same], minlength=2**p).astype(float), n)
    told = np.where(same, evidence[pattern], -np.inf)
    best = told >= told.max(axis=1, keepdims=True) - 1e-9
    hits = np.where(np.diag(best), 1 / best.sum(axis=1), 0)
    assert pld(x, y, None, None, strata) == pytest.approx(100 * hits.mean(), abs=1e-9)


def test_many_strata_do_not_take_much_longer_than_none():
    """100,000 records in 30,000 strata: no loop over strata."""
    rng = np.random.default_rng(0)
    strata = np.sort(rng.integers(0, 30_000, 100_000))
    x = rng.normal(size=(100_000, 3))
    y = np.stack(
        [(np.bincount(strata, c) / np.maximum(np.bincount(strata), 1))[strata] for c in x.T], 1
    )
    sizes = np.bincount(strata)
    # Each stratum has one masked record, so a record is linked by chance.
    expected = 100 * np.count_nonzero(sizes) / len(x)
    assert dld(x, y, None, None, strata) == pytest.approx(expected)
