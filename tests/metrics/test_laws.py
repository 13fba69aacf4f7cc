"""What holds for every measure of any release, and oracles for the searches."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from polars_microagg.core import registry
from polars_microagg.core.evaluate import evaluate
from polars_microagg.kernels.equal_records import class_sizes, codes, distinct, prefixes
from polars_microagg.kernels.risk import nearest_links, record_linkage
from polars_microagg.kernels.risk.agreement_patterns import pattern_counts, pattern_weights
from polars_microagg.kernels.risk.record_linkage import (
    attributes,
    expected_hits,
    subset_hits,
)
from polars_microagg.metrics.interval import interval_disclosure
from polars_microagg.metrics.linkage import dld, pld
from tests.metrics.worked import sorted_means

RISKS = ("dld", "dld_entity", "pld", "interval_disclosure", "dr")
rngs = given(rng=st.integers(0, 2**32 - 1).map(np.random.default_rng))


def table(rng, *, least=2):
    """Records of any kind: continuous, integers with many ties, skewed, some columns constant."""
    n, p = int(rng.integers(least, 120)), int(rng.integers(1, 5))
    draw = rng.integers(0, 3)
    x = rng.standard_normal((n, p)) if draw else rng.integers(0, 4, (n, p)).astype(float)
    x = np.exp(3 * x) if draw == 2 else x
    x[:, rng.random(p) < 0.15] = 7.0
    return x


def release(rng, x):
    """A grouping by one column, of shuffled records, of each column alone, or noise."""
    k = int(rng.integers(1, 6))
    kind = rng.integers(0, 4)
    if kind == 0:
        return sorted_means(x, k)
    if kind == 1:
        order = rng.permutation(len(x))
        return sorted_means(x[order], k)[np.argsort(order)]
    if kind == 2:
        return np.hstack([sorted_means(x[:, j : j + 1], k) for j in range(x.shape[1])])
    return x + rng.standard_normal(x.shape)


def persons(rng, n):
    """Persons of n records: one each, one of all, or any, numbered with gaps."""
    drawn = rng.integers(0, rng.integers(1, n + 1), n)
    return [np.arange(n), np.zeros(n, int), 3 * drawn][rng.integers(0, 3)]


def all_metrics(x, y, subsets=None, entity=None):
    release = SimpleNamespace(
        original=x,
        masked=y,
        known=(x, y, None),
        joint=None,
        numeric=None,
        subsets=subsets or [tuple(range(x.shape[1]))],
        entity=np.arange(len(x)) // 2 if entity is None else entity,
        strata=None,
        classes=[np.bincount(distinct(y)[1])],
    )
    found = {}
    for entry in registry.metrics().values():
        evaluate(entry, release, found)
    return found


def chances(x, y, *, optimistic=False):
    """Chances that records are linked to their own, on the whole matrix of distances."""
    sd = x.std(axis=0)
    vary = x.max(axis=0) > x.min(axis=0)
    a, b = (((t - x.mean(axis=0)) / np.where(vary, sd, 1))[:, vary] for t in (x, y))
    distances = np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2))
    largest = max(1.0, np.abs(a).max(initial=0), np.abs(b).max(initial=0))
    tied = distances <= distances.min(axis=1)[:, None] + 1e-12 * largest
    hit = np.diagonal(tied)
    return hit.astype(float) if optimistic else hit / tied.sum(axis=1)


def brute(x, y, **options):
    """Distance-based linkage of records."""
    return 100 * float(np.mean(chances(x, y, **options)))


@rngs
def test_risks_are_percentages_and_losses_not_negative(rng):
    x = table(rng)
    found = all_metrics(x, release(rng, x))
    for name in RISKS:
        assert 0 <= found[name] <= 100 + 1e-9, name
    for name in ("sse", "loss", "il1", "il2", "il3", "il4", "il5", "il", "score", "il1s"):
        assert found[name] >= 0, name
    assert found["fpc_share"] is None or 0 <= found["fpc_share"] <= 100 + 1e-9
    assert 0 <= found["drisk"] <= 1
    assert found["delta_corr"] is None or 0 <= found["delta_corr"] <= 2


@rngs
def test_a_release_of_the_original_loses_nothing_and_links_all_distinct_records(rng):
    x = table(rng)
    found = all_metrics(x, x)
    for name in ("sse", "loss", "il", "il1s", "il1_zero_cells"):
        assert found[name] == 0, name
    assert found["interval_disclosure"] == 100
    assert found["drisk"] == 1
    first = distinct(x)[0]
    assert found["dld"] == pytest.approx(100 * len(first) / len(x))
    assert found["dld"] == pytest.approx(100 / found["k_prime"])
    if len(first) == len(x):
        assert found["dld"] == pytest.approx(100)
        assert pld(x, x, agreement="exact") == pytest.approx(100)
    assert dld(x, x, optimistic=True) == 100
    for name in ("delta_r", "delta_w", "delta_corr", "eigenvalue_difference"):
        assert found[name] is None or found[name] == pytest.approx(0, abs=1e-6), name


@rngs
def test_a_release_of_one_record_can_only_be_guessed(rng):
    x = table(rng)
    y = np.broadcast_to(x.mean(axis=0), x.shape).copy()
    found = all_metrics(x, y)
    assert found["dld"] == pytest.approx(100 / len(x))
    assert found["pld"] == pytest.approx(100 / len(x))
    if x.std(axis=0).any():
        assert found["loss"] == pytest.approx(100)


@rngs
def test_linkage_is_bounded_by_the_anonymity(rng):
    # A record is linked with a chance of at most 1 in the size of its class: 100 / k' in all.
    x = table(rng)
    y = release(rng, x)
    sizes = np.bincount(distinct(y)[1])
    k_prime, k_min = len(x) / len(sizes), sizes.min()
    for risk in (dld(x, y), pld(x, y)):
        assert risk <= 100 / k_prime + 1e-9
        assert risk <= 100 / k_min + 1e-9
    assert dld(x, y) <= dld(x, y, optimistic=True) + 1e-9


@rngs
def test_the_order_of_the_records_does_not_matter(rng):
    x = table(rng, least=3)
    y = release(rng, x)
    order = rng.permutation(len(x))
    who = persons(rng, len(x))
    found = all_metrics(x, y, entity=who)
    shuffled = all_metrics(x[order], y[order], entity=who[order])
    # The first component is any of those with the largest eigenvalue.
    for name in found.keys() - {"delta_r", "delta_w"}:
        # A floor is proven wherever its search ends, and that is where rounding lets it.
        near = 1e-2 if name == "above_optimum" else 1e-7
        expected = None if found[name] is None else pytest.approx(found[name], rel=near, abs=near)
        assert shuffled[name] == expected, name


@rngs
def test_the_search_agrees_with_all_distances(rng):
    x = table(rng)
    y = release(rng, x)
    for optimistic in (False, True):
        assert dld(x, y, optimistic=optimistic) == pytest.approx(brute(x, y, optimistic=optimistic))


@pytest.mark.parametrize("d", [1, 3, 6])
@pytest.mark.parametrize("kind", ["normal", "integers", "outliers", "noise"])
def test_the_search_agrees_with_all_distances_in_deep_trees(d, kind, monkeypatch):
    monkeypatch.setattr(nearest_links, "REGION", 16)
    monkeypatch.setattr(nearest_links, "BLOCK", 2)
    monkeypatch.setattr(nearest_links, "ROWS", 8)
    rng = np.random.default_rng(d)
    x = rng.standard_normal((700, d))
    x = {"integers": x.round(), "outliers": x**7}.get(kind, x)
    y = x + rng.standard_normal(x.shape) if kind == "noise" else sorted_means(x, 3)
    assert dld(x, y) == pytest.approx(brute(x, y), rel=1e-12)


@rngs
def test_equal_masked_records_are_searched_once_with_the_same_result(rng):
    known = attributes(*(lambda x: (x, release(rng, x)))(table(rng)))
    once = expected_hits(known.before, known.after)
    assert once == pytest.approx(expected_hits(known.before, known.after, merge=False))


@rngs
def test_sets_of_attributes_share_their_distances_with_the_same_result(rng):
    x = table(rng)
    y = release(rng, x)
    known = attributes(x, y)
    subsets = [s for _, s in zip(range(12), _subsets(x.shape[1]), strict=False)] * 2
    for optimistic in (False, True):
        shared = subset_hits(known, subsets, optimistic=optimistic)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(record_linkage, "SHARED", -1)
            alone = subset_hits(known, subsets, optimistic=optimistic)
        assert shared == pytest.approx(alone)
        assert 100 * shared[0] == pytest.approx(
            brute(x[:, list(subsets[0])], y[:, list(subsets[0])], optimistic=optimistic)
        )


def _subsets(p):
    return [tuple(j for j in range(p) if bits >> j & 1) for bits in range(1, 2**p)]


@rngs
def test_classes_of_sets_of_attributes(rng):
    x = rng.integers(0, 3, (int(rng.integers(1, 60)), 4)).astype(float)
    first, labels = distinct(x)
    subsets = _subsets(4)
    found = class_sizes(codes(x[first]), np.bincount(labels), subsets)
    for subset, sizes in zip(subsets, found, strict=True):
        counts = np.unique(x[:, list(subset)], axis=0, return_counts=True)[1]
        assert sorted(sizes) == sorted(counts)


@rngs
def test_prefixes_make_every_set(rng):
    subsets = [s for s in _subsets(5) if rng.random() < 0.3] or [(2,)]
    stack, made = [], {}
    for depth, attribute, number in prefixes(subsets):
        stack[depth:] = [attribute]
        if number >= 0:
            made[number] = tuple(stack)
    assert [made[i] for i in range(len(subsets))] == subsets


def test_distinct_records():

    x = np.random.default_rng(0).integers(0, 3, (50, 3)).astype(float)
    expected = len(np.unique(x, axis=0))
    assert len(distinct(x)[0]) == expected
    minus = np.array([[0.0], [-0.0], [np.nan], [-np.nan]])
    assert distinct(minus)[1].tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_interval_disclosure_by_rank_of_every_record():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((80, 2))
    y = np.hstack([sorted_means(x[:, :1], 4), sorted_means(x[:, 1:], 5)])
    shares = []
    for width in (1, 7, 10, 30):
        inside = 0
        for before, after in zip(x.T, y.T, strict=True):
            ranked = np.sort(after)
            for a, b in zip(before, after, strict=True):
                ranks = np.flatnonzero(ranked == b).mean() + np.array([-1, 1]) * width / 200 * 80
                within = ranked[max(int(np.ceil(ranks[0])), 0) : int(np.floor(ranks[1])) + 1]
                inside += min([*within, b]) <= a <= max([*within, b])
        shares.append(100 * inside / x.size)
        assert interval_disclosure(x, y, widths=width) == pytest.approx(shares[-1])
    assert interval_disclosure(x, y, widths=[1, 7, 10, 30]) == pytest.approx(np.mean(shares))
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_evidence_of_agreement():
    # 100 records of which 90 agree with their own masked record and few with others.
    rng = np.random.default_rng(0)
    x = rng.integers(0, 50, (300, 3)).astype(float)
    y = np.where(rng.random(x.shape) < 0.1, rng.integers(0, 50, x.shape), x)
    counts = pattern_counts(x, y, np.ones(len(y)), 0.0)
    assert counts.sum() == 300 * 300
    weights = pattern_weights(counts, 300)
    # The more columns agree, the more evidence; 0.9 to 0.02 is a weight of about log(45) each.
    assert weights[7] == weights.max()
    assert weights[0] == weights.min()
    assert weights[7] == pytest.approx(3 * np.log(0.9 / 0.02), rel=0.15)
    assert pld(x, y, agreement="exact") > 85
    # Blocks of pairs do not matter.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polars_microagg.kernels.risk.agreement_patterns.PAIRS", 700)
        assert pattern_counts(x, y, np.ones(len(y)), 0.0).tolist() == counts.tolist()


def test_probabilistic_linkage_knows_its_limits():
    x = np.arange(12.0)[:, None]
    assert pld(x, x, limit=11) is None
    assert pld(x, x, limit=12) == pytest.approx(100)
    assert pld(np.zeros((3, 21)), np.zeros((3, 21))) is None


def by_scipy(x, y):
    """Expected hits by the tree of scipy over distinct masked records, ties shared."""
    scale = x.std(axis=0)
    a, b = (t / np.where(scale > 0, scale, 1) for t in (x, y))
    centroids, labels, sizes = np.unique(b, axis=0, return_inverse=True, return_counts=True)
    labels = labels.ravel()
    tree = cKDTree(centroids)
    least = tree.query(a)[0]
    tied = [sizes[near].sum() for near in tree.query_ball_point(a, least + 1e-9)]
    hit = np.linalg.norm(a - centroids[labels], axis=1) <= least + 1e-9
    return 100 * float(np.mean(hit / np.array(tied)))


@pytest.mark.parametrize("k", [1, 3, 50])
@pytest.mark.parametrize(("n", "p"), [(3000, 1), (3000, 4), (2000, 9)])
@pytest.mark.parametrize("kind", ["normal", "whole", "skewed"])
def test_the_tree_of_scipy_links_alike(n, p, k, kind):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, p))
    if kind == "whole":
        # Half whole numbers: many centroids lie exactly as far away as others.
        x = np.round(2 * x)
    elif kind == "skewed":
        x = np.exp(2 * x)
    y = sorted_means(x, k) if kind != "whole" else np.round(sorted_means(x, k))
    assert dld(x, y) == pytest.approx(by_scipy(x, y), rel=1e-9)
