"""Persons of whom some record is linked: laws, and a plain product as the oracle."""

import math

import numpy as np
import pytest

from polars_microagg.kernels.risk.record_linkage import linked_persons
from polars_microagg.metrics.linkage import dld, dld_entity
from tests.loop import rounds
from tests.metrics.test_laws import chances, persons, release, rngs, table


def brute_of_persons(p, entity):
    """One minus the product of the chances that each record is missed, person by person."""
    missed = [math.prod(1 - p[entity == person]) for person in np.unique(entity)]
    return 100 * (1 - sum(missed) / len(missed))


@rngs
def test_persons_are_linked_by_any_of_their_records(rng):
    x = table(rng)
    y, who = release(rng, x), persons(rng, len(x))
    for optimistic in (False, True):
        found = dld_entity(x, y, None, None, who, optimistic=optimistic)
        expected = brute_of_persons(chances(x, y, optimistic=optimistic), who)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-10)
    alone = dld_entity(x, y, None, None, rng.permutation(len(x)))
    assert alone == pytest.approx(dld(x, y), rel=1e-12, abs=1e-12)
    # The best record of a person is a lower bound, the sum of all an upper one.
    p = chances(x, y)
    most = 100 * np.mean([min(1, p[who == person].sum()) for person in np.unique(who)])
    least = 100 * np.mean([p[who == person].max() for person in np.unique(who)])
    assert least - 1e-9 <= dld_entity(x, y, None, None, who) <= most + 1e-9


def test_chances_of_persons_are_those_of_a_plain_product():
    rng, hostile = np.random.default_rng(0), [0.0, -0.0, 1.0, 0.5, 1 / 3, 1e-300, 1e-17, 1 - 2**-53]
    for _ in range(rounds(2_000)):
        n = int(rng.integers(1, 40))
        p, who = rng.choice(hostile, n), persons(rng, n)
        expected = brute_of_persons(p, who)
        assert 100 * linked_persons(p, who) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    # A product of numbers next to 1 loses what a sum of logarithms keeps.
    assert linked_persons(np.full(10, 1e-20), np.zeros(10, int)) == pytest.approx(1e-19, rel=1e-12)
