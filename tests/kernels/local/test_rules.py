"""What a search under a rule asks and joins, against plain Python on small cases."""

import numpy as np
import pytest

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import models
from polars_microagg.core.rule import Bound, Rule
from polars_microagg.kernels.local import ejection_chains
from polars_microagg.kernels.local.dissolve_split import created_holds, dissolved_holds
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.local_search import squares_within
from polars_microagg.kernels.local.moves_and_swaps import _best_allowed
from polars_microagg.kernels.local.repair import annealed, merged, repaired
from tests.loop import rounds

SEEDS = 200


def rng_of(seed):
    return np.random.default_rng([15, seed])


class Case:
    """Records on a coarse grid, so with ties, in random groups, and a rule of distinct values."""

    def __init__(self, rng, n=24, k=2, groups=6):
        n = int(rng.integers(8, n))
        self.x = rng.integers(-3, 4, (n, 2)).astype(float)
        self.labels = np.unique(rng.integers(0, groups, n), return_inverse=True)[1]
        self.codes = np.unique(rng.integers(0, int(rng.integers(2, 9)), n), return_inverse=True)[1]
        self.need = int(rng.integers(2, 4))
        self.k = k
        self.rule = rule_of(self.codes, self.need)
        self.groups = Groups(self.x, self.labels, k, self.rule)

    def held(self, rows):
        """Whether records satisfy the rule as a group; one without records is no group."""
        return not rows or len({self.codes[row] for row in rows}) >= self.need

    def members(self):
        """The records of each group."""
        return {g: set(np.flatnonzero(self.labels == g)) for g in range(self.labels.max() + 1)}


def rule_of(codes, need):
    return Rule((Bound(models()["l"], need, Attribute.of("a", codes)),))


# --- Questions of the search --------------------------------------------------------------------


def test_hold_answers_as_sets_of_records_do():
    answers = set()
    for seed in range(rounds(SEEDS)):
        rng = rng_of(seed)
        case = Case(rng)
        members, nobody = case.members(), len(case.x)
        for width in (0, 1, 3):
            asked = rng.integers(0, len(members), 12)
            out = np.full((12, 2), nobody)
            into = np.full((12, width), nobody)
            expected = []
            for i, group in enumerate(asked):
                own = rng.permutation(sorted(members[group]))[: rng.integers(0, 3)]
                others = sorted(set(range(nobody)) - members[group])
                come = rng.permutation(others)[: rng.integers(0, width + 1)]
                out[i, : len(own)], into[i, : len(come)] = own, come
                expected.append(case.held((members[group] - set(own)) | set(come)))
            got = case.groups.hold(asked, out=out, into=into if width else None)
            assert got.tolist() == expected
            answers |= set(expected)
    assert answers == {True, False}


def test_hold_answers_the_same_a_few_at_a_time(monkeypatch):
    case = Case(rng_of(1))
    rows = np.arange(len(case.x))
    whole = case.groups.hold(case.labels, out=rows[:, None])
    monkeypatch.setattr("polars_microagg.kernels.local.groups.CELLS", 1)
    assert (case.groups.hold(case.labels, out=rows[:, None]) == whole).all()
    assert len(set(whole.tolist())) == 2


def test_everything_holds_without_a_rule():
    groups = Groups(np.zeros((6, 1)), np.array([0, 0, 1, 1, 2, 2]), 2)
    assert groups.hold(np.arange(3)).all()
    assert created_holds(groups, np.array([[0, 1]])).all()
    assert dissolved_holds(groups, np.array([0]), np.array([[1, 1]])).all()


def test_new_groups_hold_as_sets_of_records_do():
    answers = set()
    for seed in range(rounds(SEEDS)):
        rng = rng_of(seed)
        case = Case(rng, groups=3)
        members = case.members()
        made = np.stack([rng.permutation(len(case.x))[:3] for _ in range(12)])
        expected = [
            case.held(set(new)) and all(case.held(rows - set(new)) for rows in members.values())
            # A group that breaks the rule before may do so afterwards, if it gives nothing.
            if all(case.held(rows) or rows & set(new) for rows in members.values())
            else case.held(set(new))
            and all(case.held(rows - set(new)) for rows in members.values() if rows & set(new))
            for new in made
        ]
        assert created_holds(case.groups, made).tolist() == expected
        answers |= set(expected)
    assert answers == {True, False}


def test_dissolved_groups_hold_as_sets_of_records_do():
    answers = set()
    for seed in range(rounds(SEEDS)):
        rng = rng_of(seed)
        case = Case(rng, groups=5)
        members = case.members()
        sizes = [len(rows) for rows in members.values()]
        size = int(rng.choice(sizes))
        chosen = np.array([group for group, count in enumerate(sizes) if count == size])
        others = [[g for g in members if g != own] for own in chosen]
        if not others[0]:
            continue
        targets = np.stack([rng.choice(rest, size) for rest in others])
        expected = []
        for own, into in zip(chosen, targets, strict=True):
            rows = case.groups.members[own, :size]
            after = {g: members[g] | set(rows[into == g]) for g in set(into)}
            expected.append(all(case.held(group) for group in after.values()))
        assert dissolved_holds(case.groups, chosen, targets).tolist() == expected
        answers |= set(expected)
    assert answers == {True, False}


def test_chains_hold_as_sets_of_records_do():
    answers = []
    for seed in range(rounds(SEEDS)):
        rng = rng_of(seed)
        case = Case(rng, groups=6)
        before = case.members()
        chains, ends, expected = [], [], []
        for _ in range(12):
            order = rng.permutation(len(before))
            chain = [
                int(rng.choice(sorted(before[g]))) for g in order[: rng.integers(2, len(order))]
            ]
            of = [int(case.labels[row]) for row in chain]
            ring = rng.random() < 0.5
            end = of[0] if ring else int(rng.choice([g for g in before if g not in of]))
            after = {g: set(rows) for g, rows in before.items()}
            for row, into in zip(chain, [*of[1:], end], strict=True):
                after[int(case.labels[row])].discard(row)
                after[into].add(row)
            expected.append(all(case.held(after[g]) for g in {*of, end}))
            chains.append(chain + chain[-1:] * (ejection_chains.LENGTH - len(chain)))
            ends.append(end)
        got = ejection_chains._hold(case.groups, np.array(chains), np.array(ends))
        assert got.tolist() == expected
        answers += expected
    assert set(answers) == {True, False}


def test_the_cheapest_exchange_that_is_allowed_is_found():
    several = 0
    for seed in range(rounds(SEEDS)):
        rng = rng_of(seed)
        n, m = 8, int(rng.choice([1, 3, 16, 21, 40]))
        cost = rng.integers(-9, 4, (n, m)).astype(float)
        may = rng.random((n, m)) < rng.choice([0.05, 0.5])
        kept = cost.copy()
        asked = []

        def pays(at, best, kept=kept):
            return kept[at, best] < 0

        def allowed(at, best, may=may, asked=asked):
            asked.extend(zip(at.tolist(), best.tolist(), strict=True))
            return may[at, best]

        best = _best_allowed(cost, pays, allowed)
        for row in range(n):
            paying = sorted(kept[row, j] for j in range(m) if may[row, j] and kept[row, j] < 0)
            tried = [j for i, j in asked if i == row]
            found = cost[row, best[row]]
            # What comes back pays and is allowed, or does not pay.
            if found < 0:
                assert may[row, best[row]]
                assert found == kept[row, best[row]] == paying[0]
                several += len(tried) > 1
            elif paying:
                # It was not among those that are tried, of which there are 21, the cheapest.
                assert sum(kept[row] <= paying[0]) > 21
                assert len(set(tried)) == 21
            assert all(kept[row, j] < 0 for j in tried)
    assert several


# --- Joining ------------------------------------------------------------------------------------


def joined(x, labels, strata, failing):
    """Join each failing group with the one that it costs least, all that do not touch at a time."""
    groups = [sorted(np.flatnonzero(labels == g)) for g in range(labels.max() + 1)]
    while any(map(failing, groups)):
        centres = [[sum(x[row, j] for row in rows) / len(rows) for j in (0, 1)] for rows in groups]
        proposals = []
        for one in sorted(range(len(groups)), key=lambda g: (strata[groups[g][0]], g)):
            if not failing(groups[one]):
                continue
            costs = []
            own = strata[groups[one][0]]
            peers = [g for g in range(len(groups)) if strata[groups[g][0]] == own]
            for other in peers:
                if other != one:
                    a, b = float(len(groups[one])), float(len(groups[other]))
                    far = sum(
                        (p - q) ** 2 for p, q in zip(centres[one], centres[other], strict=True)
                    )
                    turn = (peers.index(other) - peers.index(one)) % len(peers)
                    costs.append((far * (a * b / (a + b)), turn, other))
            # Of equal costs the next group after itself, and the first proposal.
            cost, _, other = min(costs)
            proposals.append((cost, other, one))
        used, into = set(), {}
        for _, other, one in sorted(proposals, key=lambda proposal: proposal[0]):
            if not {one, other} & used:
                used |= {one, other}
                into[one] = other
        for one, other in into.items():
            groups[other] = sorted(groups[other] + groups[one])
            groups[one] = []
        groups = sorted((rows for rows in groups if rows), key=lambda rows: rows[0])
    return [tuple(rows) for rows in groups]


def test_groups_are_joined_as_plain_python_joins_them():
    for seed in range(rounds(SEEDS)):
        rng = rng_of(seed)
        case = Case(rng, groups=8)
        n = len(case.x)
        first = int(rng.integers(0, n)) if seed % 2 else n
        strata = np.arange(n) >= first
        labels = np.unique(case.labels * 2 + strata, return_inverse=True)[1]
        parts = [rows for rows in (range(first), range(first, n)) if rows]
        if not all(case.held(set(rows)) for rows in parts):
            continue
        # In order of their first records, like the result of each round.
        labels = np.unique([np.flatnonzero(labels == g)[0] for g in labels], return_inverse=True)[1]
        sizes = np.array([len(rows) for rows in parts])
        made = merged(case.x, labels, sizes, case.rule)
        found = [tuple(np.flatnonzero(made == g)) for g in range(made.max() + 1)]
        wanted = joined(case.x, labels, strata, lambda rows, case=case: not case.held(set(rows)))
        assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize(
    ("sizes", "codes", "wanted"),
    [
        ([4, 2], [0, 1, 0, 1, 2, 2], [0, 0, 1, 1, 2, 2]),
        ([4, 2], [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1]),
        ([2, 4], [2, 2, 0, 0, 1, 1], [0, 0, 1, 1, 1, 1]),
    ],
)
def test_joining_ends_where_a_stratum_breaks_the_rule_as_one_group(sizes, codes, wanted):
    x, labels = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2])
    made = merged(x, labels, np.array(sizes), rule_of(np.array(codes), 2))
    assert made.tolist() == wanted


def test_groups_that_are_too_far_apart_for_a_number_are_joined():
    x = np.array([[0.0], [0.0], [1e200], [1e200]])
    with np.errstate(over="ignore"):
        made = merged(x, np.array([0, 0, 1, 1]), np.array([4]), rule_of(np.array([0, 0, 1, 1]), 2))
    assert made.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("longer", "thorough"), [(False, True), (False, False), (True, True)])
def test_repaired_groups_satisfy_the_rule_and_end_no_higher_than_joined_ones(longer, thorough):
    for seed in range(rounds(60)):
        rng = rng_of(seed)
        n, k = int(rng.integers(12, 90)), int(rng.integers(2, 4))
        x = rng.normal(size=(n, 2)) if seed % 2 else rng.integers(0, 4, (n, 2)).astype(float)
        sizes = np.array([n // 2, n - n // 2])
        labels = np.concatenate([np.arange(m) // k - (np.arange(m) // k == m // k) for m in sizes])
        labels[sizes[0] :] += labels[: sizes[0]].max() + 1
        labels = np.unique(labels, return_inverse=True)[1]
        codes = np.concatenate([rng.permutation(np.arange(m) % 3) for m in sizes])
        rule = rule_of(codes, 2 + seed % 2)
        search = (
            (lambda x, labels, rule, k=k: annealed(x, labels, k=k, rule=rule)) if longer else None
        )
        made, count = repaired(x, labels, sizes, k, rule, search, thorough=thorough)
        stratum = np.repeat([0, 1], sizes)
        assert sorted(set(made.tolist())) == list(range(count))
        assert all(len(set(stratum[made == g])) == 1 for g in range(count))
        assert all(len(set(codes[made == g])) >= 2 + seed % 2 for g in range(count))
        assert np.bincount(made).min() >= k
        start = merged(x, labels, sizes, rule)
        ends, starts = (np.bincount(stratum, squares_within(x, own)) for own in (made, start))
        assert (ends <= starts * (1 + 1e-12)).all()


def test_groups_that_satisfy_the_rule_stay_as_they_are():
    labels, codes = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    x = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 0.0], [9.0, 0.0]])
    made, count = repaired(x, labels, np.array([4]), 2, rule_of(codes, 2))
    assert (made.tolist(), count) == ([0, 0, 1, 1], 2)


def test_a_stratum_without_broken_groups_stays_as_it_is():
    x = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 0.0], [9.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    labels, codes = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 1, 0, 0, 0, 1, 1])
    x = np.concatenate((x, x[:2]))
    made, _ = repaired(x, labels, np.array([4, 4]), 2, rule_of(codes, 2))
    assert made[:4].tolist() == [0, 0, 1, 1]
