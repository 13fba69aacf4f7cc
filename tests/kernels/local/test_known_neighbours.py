"""Neighbours that are found once for several searches."""

import numpy as np

from polars_microagg.core.partition import Partition
from polars_microagg.kernels.local import local_search, repair
from polars_microagg.kernels.local.local_search import about_zero, neighbour_count, refined
from polars_microagg.kernels.neighbour_lists import neighbour_lists
from polars_microagg.methods.mdav import mdav
from tests.kernels.local.test_rules import rule_of
from tests.loop import rounds


def test_groups_are_those_of_a_search_that_finds_its_neighbours():
    for seed in range(rounds(60)):
        rng = np.random.default_rng(seed)
        sizes, k = rng.integers(4, 400, 3), int(rng.integers(2, 5))
        n = int(sizes.sum())
        x = rng.normal(size=(n, 2)) if seed % 2 else rng.integers(0, 4, (n, 2)).astype(float)
        first = np.concatenate([np.arange(m) // k - (np.arange(m) // k == m // k) for m in sizes])
        stratum = np.repeat([0, 1, 2], sizes)
        labels = np.unique(first * 3 + stratum, return_inverse=True)[1]
        near = neighbour_lists(about_zero(x, sizes), sizes, neighbour_count(k))
        expected, count = refined(x, labels, sizes, k)
        found, groups = refined(x, labels, sizes, k, near=near)
        assert groups == count
        assert np.array_equal(found, expected)


def test_known_neighbours_are_those_of_all_records_and_not_of_the_few_that_may_move(monkeypatch):
    """A record in a very large group stays, and its neighbours have others instead."""
    rng = np.random.default_rng(3)
    x, codes = rng.normal(size=(90, 2)), np.arange(90) % 3
    rule = rule_of(codes, 3)
    labels = np.repeat([0, 1, 2, 3, 4], [42, 12, 12, 12, 12])
    monkeypatch.setattr(local_search, "largest_searched", lambda k: 20)
    monkeypatch.setattr(local_search, "cut_large_groups", lambda x, labels, k, rule: labels)
    expected = refined(x, labels, np.array([90]), 3, rule)[0]
    near = neighbour_lists(about_zero(x, np.array([90])), np.array([90]), neighbour_count(3))
    assert np.array_equal(refined(x, labels, np.array([90]), 3, rule, near=near)[0], expected)
    assert not np.array_equal(expected, labels)


def test_a_stratum_is_repaired_as_if_alone_beside_one_of_very_many_records(monkeypatch):
    """Its neighbours are known alone, and are found anew where others are searched in patches."""
    monkeypatch.setattr(local_search, "WHOLE", 950)
    monkeypatch.setattr(repair, "WHOLE", 950)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(300, 900))
        # Many are equally near but for what is rounded.
        values = rng.integers(0, n, n) / 10, rng.integers(0, 60, 960) / 10
        x = np.concatenate([part / part.std() for part in values])[:, None]
        codes, sizes = rng.integers(0, 8, len(x)), np.array([n, 960])
        order = np.lexsort((x[:n, 0], codes[:n]))
        x[:n], codes[:n] = x[order], codes[order]
        labels = np.concatenate([mdav(x[:n], k=4).labels, n + mdav(x[n:], k=4).labels])
        labels = np.unique(labels, return_inverse=True)[1]
        together, _ = repair.repaired(x, labels, sizes, 4, rule_of(codes, 4))
        alone, _ = repair.repaired(x[:n], labels[:n], sizes[:1], 4, rule_of(codes[:n], 4))
        assert np.array_equal(Partition.from_labels(together[:n]).labels, alone)


def labelled(rng, sizes, k):
    """Records stratum by stratum, their groups by MDAV, and codes of which groups need several."""
    x = rng.normal(size=(sum(sizes), 2))
    ends = np.cumsum(sizes)
    parts = [mdav(x[end - n : end], k=k).labels for end, n in zip(ends, sizes, strict=True)]
    labels = np.concatenate([part + end for part, end in zip(parts, ends, strict=True)])
    return x, np.unique(labels, return_inverse=True)[1], rng.integers(0, 6, len(x))


def test_strata_of_which_some_are_searched_from_a_start_are_repaired_as_if_alone():
    """Those of few records have no groups that are spread."""
    sizes, k = [60, 200, 90, 300], 3
    x, labels, codes = labelled(np.random.default_rng(8), sizes, k)
    together, _ = repair.repaired(x, labels, np.array(sizes), k, rule_of(codes, 3))
    for end, n in zip(np.cumsum(sizes), sizes, strict=True):
        own = slice(end - n, end)
        part = Partition.from_labels(labels[own]).labels
        alone, _ = repair.repaired(x[own], part, np.array([n]), k, rule_of(codes[own], 3))
        assert np.array_equal(Partition.from_labels(together[own]).labels, alone)


def test_only_a_thorough_search_begins_at_every_start(monkeypatch):
    x, labels, codes = labelled(np.random.default_rng(9), [400], 3)
    searched, refined = [], repair.refined

    def counting(x, *arguments, **options):
        searched.append(len(x))
        return refined(x, *arguments, **options)

    monkeypatch.setattr(repair, "refined", counting)
    for thorough, times in ((True, 2), (False, 1)):
        searched.clear()
        repair.repaired(x, labels, np.array([400]), 3, rule_of(codes, 3), thorough=thorough)
        assert searched == [400] * times
