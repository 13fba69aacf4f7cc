"""Distances and values of groups against what their definitions say, in loops over dictionaries."""

import datetime
import itertools
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.kind import kind_of
from polars_microagg.core.masked import Centres, Holders
from polars_microagg.core.mixtures import located
from polars_microagg.core.partition import Grouping, Members, Strata
from polars_microagg.kernels.group_values import (
    commonest,
    middle_of_tree,
    middle_values,
    shared_class,
)
from tests.kinds.draws import tree, upwards
from tests.loop import rounds

# --- Distances ----------------------------------------------------------------------------------


def squared(column, asked=None):
    """Squared distances of all pairs of records, by the coordinates of a kind."""
    kind = kind_of(column.dtype, "v", asked)
    codes = kind.coordinates(column, Strata.whole(len(column)))
    wide = located(codes[:, None], [kind.embedding(column)])[0]
    return np.square(wide[:, None] - wide[None]).sum(axis=2)


def length(parents, lengths, one, other):
    """The length of the path between two names of a tree, edge by edge."""
    up, down = upwards(parents, one), upwards(parents, other)
    edges = set(up[:-1]) ^ set(down[:-1])
    # The edges of both paths above where they meet are on neither way.
    return sum(lengths.get(name, 1.0) for name in edges)


def test_categories_without_order_are_at_distance_1():
    rng = np.random.default_rng(1)
    for _ in range(rounds(60)):
        many, n = int(rng.integers(1, 200)), int(rng.integers(1, 60))
        words = [f"w{code}" for code in rng.integers(0, many, n)]
        want = [[float(one != other) for other in words] for one in words]
        for column in (pl.Series(words), pl.Series(words, dtype=pl.Categorical)):
            assert squared(column) == pytest.approx(np.array(want), abs=1e-12)
        codes = pl.Series([int(word[1:]) for word in words])
        assert squared(codes, {"nominal": ["v"]}) == pytest.approx(np.array(want), abs=1e-12)


def test_the_distance_in_a_tree_is_the_length_of_the_path():
    rng = np.random.default_rng(2)
    for _ in range(rounds(200)):
        parents, lengths = tree(rng)
        names = ["n0", *parents]
        values = [names[i] for i in rng.integers(0, len(names), int(rng.integers(1, 30)))]
        found = squared(
            pl.Series(values), {"taxonomy": {"v": mg.Taxonomy(parents, lengths=lengths)}}
        )
        want = [[length(parents, lengths, one, other) for other in values] for one in values]
        assert found == pytest.approx(np.array(want), rel=1e-12, abs=1e-12)


def test_the_distance_of_prefixes_is_the_length_of_the_path():
    rng = np.random.default_rng(3)
    zips = [f"{int(i):04d}" for i in rng.integers(0, 300, 80)]
    found = squared(pl.Series(zips), {"taxonomy": {"v": mg.Taxonomy.prefix(4, [3, 1])}})
    for (i, one), (j, other) in itertools.product(enumerate(zips), repeat=2):
        steps = next(s for s, kept in enumerate([4, 3, 1, 0]) if one[:kept] == other[:kept])
        assert found[i, j] == pytest.approx(2 * steps, abs=1e-12)


def test_ranks_are_mean_ranks_in_a_stratum():
    rng = np.random.default_rng(4)
    for _ in range(rounds(200)):
        n = int(rng.integers(1, 40))
        words = [None if rng.random() < 0.2 else "abcdef"[i] for i in rng.integers(0, 6, n)]
        part = rng.integers(0, 3, n)
        order = np.argsort(part, kind="stable")
        sizes = np.bincount(part)
        column = pl.Series(words, dtype=pl.Enum(["f", "e", "d", "c", "b", "a"]))
        found = kind_of(column.dtype).coordinates(column, Strata(order, sizes[sizes > 0]))
        for i, word in enumerate(words):
            own = [other for j, other in enumerate(words) if part[j] == part[i] and other]
            if word is None:
                assert math.isnan(found[i])
                continue
            # The enum counts backwards.
            before, alike = sum(o > word for o in own), own.count(word)
            assert found[i] == before + (alike + 1) / 2


def test_times_of_day_lie_on_a_circle():
    rng = np.random.default_rng(5)
    day = 24 * 3600 * 10**9
    steps = [0, day - 1, day // 2, day // 4, *map(int, rng.integers(0, day, 40))]
    found = squared(pl.Series(steps).cast(pl.Time), {"circular": ["v"]})
    for (i, one), (j, other) in itertools.product(enumerate(steps), repeat=2):
        gap = min(abs(one - other), day - abs(one - other))
        chord = 2 * math.sin(math.pi * gap / day)
        assert found[i, j] == pytest.approx(chord**2, abs=1e-12)


def test_the_mean_of_times_of_day_is_their_mean_direction():
    times = [datetime.time(23, 0), datetime.time(1, 0), datetime.time(0, 30), datetime.time(23, 30)]
    table = pl.DataFrame({"at": times})
    assert mg.mdav(table, "at", 4, circular="at")["at"].to_list() == [datetime.time(0, 0)] * 4
    # Opposite times have no mean: the lower of them stands for both.
    noon = pl.DataFrame({"at": [datetime.time(18, 0), datetime.time(6, 0)]})
    assert mg.mdav(noon, "at", 2, circular="at")["at"].to_list() == [datetime.time(6, 0)] * 2


# --- Values of groups ---------------------------------------------------------------------------


def drawn(rng):
    """Codes, groups, strata, entities and k of a small hostile table."""
    n = int(rng.choice([rng.integers(1, 16), rng.integers(16, 40)]))
    many = int(rng.integers(1, 9))
    codes = rng.integers(0, many, n)
    codes[rng.random(n) < rng.choice([0.0, 0.3, 0.9])] = -1
    labels = rng.integers(0, int(rng.integers(1, 5)), n)
    # Groups do not cross strata.
    part = rng.integers(0, 2, int(labels.max()) + 1)[labels]
    entity = rng.integers(0, n, n) if rng.random() < 0.5 else None
    return codes, labels, part, entity, int(rng.integers(1, [n + 2, 6][rng.integers(0, 2)]))


def asked(codes, labels, part, entity, k):
    """What the kernels take."""
    rows = np.flatnonzero(codes >= 0)
    members = Members.of(rows, labels[rows], int(labels.max()) + 1)
    order = np.argsort(part, kind="stable")
    sizes = np.bincount(part)
    holders = Holders(Strata(order, sizes[sizes > 0]), entity, k)
    return Centres(Grouping.by_label(labels, len(members.sizes)), members, "mean"), holders


def holding(codes, part, entity):
    """The holders of each category of each stratum, as a dictionary of sets."""
    who = {}
    for i, code in enumerate(codes):
        if code >= 0:
            who.setdefault((part[i], code), set()).add(i if entity is None else entity[i])
    return {key: len(holders) for key, holders in who.items()}


def groups_of(codes, labels):
    """The rows with a value of each group."""
    for group in range(int(labels.max()) + 1):
        yield group, [i for i, code in enumerate(codes) if labels[i] == group and code >= 0]


def test_the_category_of_a_group_against_dictionaries():
    rng = np.random.default_rng(6)
    for _ in range(rounds(2000)):
        codes, labels, part, entity, k = drawn(rng)
        commonest_, middle_ = (
            values(codes, *asked(codes, labels, part, entity, k))
            for values in (commonest, middle_values)
        )
        held = holding(codes, part, entity)
        for group, rows in groups_of(codes, labels):
            counts = Counter(codes[i] for i in rows)
            well = [c for c in counts if held[part[rows[0]], c] >= k]
            want = max(well, key=lambda c: (counts[c], held[part[rows[0]], c], -c), default=-1)
            assert commonest_[group] == want
            if not rows:
                assert middle_[group] == -1
                continue
            s = part[rows[0]]
            middle = sorted(codes[i] for i in rows)[(len(rows) - 1) // 2]
            own = sorted(code for i, code in enumerate(codes) if part[i] == s and code >= 0)
            rank = {c: own.index(c) + (own.count(c) + 1) / 2 for c in own}
            well = [c for c in rank if held[s, c] >= k]
            # The median itself is at distance 0; of two as near the lower one.
            want = min(well, key=lambda c: (abs(rank[c] - rank[middle]), c), default=-1)
            assert middle_[group] == want


def drawn_tree(rng):
    """A hostile table whose codes are values of a tree, with the tree and what its kind takes."""
    parents, lengths = tree(rng)
    codes, labels, part, entity, k = drawn(rng)
    names = ["n0", *parents]
    values = [None if code < 0 else names[code * 7 % len(names)] for code in codes]
    known = sorted({value for value in values if value is not None})
    nodes, paths, _ = mg.Taxonomy(parents, lengths=lengths).nodes(known)
    wide = np.vstack([paths, np.full((1, paths.shape[1]), -1)])
    rows = wide[[-1 if value is None else known.index(value) for value in values]]
    held = {}
    for i, value in enumerate(values):
        for name in upwards(parents, value) if value is not None else ():
            who = held.setdefault((part[i], name), set())
            who.add(i if entity is None else entity[i])
    return parents, lengths, values, (codes, labels, part, entity, k), nodes, rows, held


def checked_tree(choose, wanted, seed):
    rng = np.random.default_rng(seed)
    for _ in range(rounds(1000)):
        parents, lengths, values, table, nodes, paths, held = drawn_tree(rng)
        codes, labels, part, _, k = table
        found = choose(paths, *asked(*table))
        for group, rows in groups_of(codes, labels):
            if not rows:
                assert found[group] == -1
                continue
            name = wanted(parents, lengths, [values[i] for i in rows])
            # Rare ones give way to the class above.
            path = upwards(parents, name)
            want = next(
                n for n in path if n == "n0" or len(held[part[rows[0]], n]) >= k
            )  # fmt: skip
            assert [*nodes, "n0"][found[group]] == want


def lowest_common(parents, lengths, values):
    del lengths
    paths = [upwards(parents, value) for value in values]
    return next(name for name in paths[0] if all(name in path for path in paths))


def median_of_tree(parents, lengths, values):
    """The name from which the paths are shortest; of several the one next to the root."""
    cost = {
        name: sum(length(parents, lengths, name, value) for value in values)
        for name in ["n0", *parents]
    }
    least = min(cost.values())
    best = [name for name in cost if cost[name] <= least * (1 + 1e-12)]
    return min(best, key=lambda name: len(upwards(parents, name)))


def test_the_lowest_common_class_against_dictionaries():
    checked_tree(shared_class, lowest_common, 8)


def test_the_median_of_a_tree_against_the_lengths_of_paths():
    checked_tree(middle_of_tree, median_of_tree, 9)


def test_holders_against_dictionaries():
    rng = np.random.default_rng(10)
    for _ in range(rounds(1000)):
        codes, labels, part, entity, k = drawn(rng)
        found = asked(codes, labels, part, entity, k)[1].count(codes)
        held = holding(codes, part, entity)
        assert found.tolist() == [held.get((part[i], c), 0) for i, c in enumerate(codes)]
