"""Distances between the values of groups and those of the table, where groups are large or empty."""

import numpy as np
import pytest

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import models
from polars_microagg.core.partition import Members
from polars_microagg.kernels.earth_mover import Ladder
from tests.loop import rounds


@pytest.mark.parametrize("scale", ["values", "ranks"])
def test_distances_of_large_groups_are_areas_between_two_functions(scale):
    for seed in range(rounds(80)):
        rng = np.random.default_rng([20, seed])
        sizes = rng.integers(1, 200, 3)
        sizes[seed % 3] = (64, 65, 66, 150)[seed % 4]
        codes = np.unique(rng.integers(0, rng.integers(2, 90), sizes.sum()), return_inverse=True)[1]
        wage = Attribute.of("wage", codes, ordered=True)
        members = Members(rng.permutation(len(codes)), sizes)
        counts = np.bincount(codes)
        places = np.arange(len(counts)) if scale == "values" else np.cumsum(counts) - counts / 2
        steps = np.diff(places) / (places[-1] - places[0])
        wanted = []
        for start, size in zip(members.starts, sizes, strict=True):
            own = np.bincount(codes[members.order[start : start + size]], minlength=len(counts))
            gap = np.cumsum(own / size - counts / len(codes))[:-1]
            wanted.append((abs(gap) * steps).sum())
        found = models()["t"].measure(wage, members, t_scale=scale)
        assert np.allclose(found, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_group_without_members_is_at_no_distance(ordered):
    wage = Attribute.of("wage", np.array([0, 1, 2]), ordered=ordered)
    empty = Members(np.arange(3), np.array([1, 0, 2]))
    found = models()["t"].measure(wage, empty)
    alone = models()["t"].measure(wage, Members(np.arange(3), np.array([1, 2])))
    assert found.tolist() == [alone[0], 0.0, alone[1]]


def test_values_lie_at_equal_steps_unless_by_rank():
    assert Ladder.of(np.array([1, 4, 1, 2])).places.tolist() == [0, 1 / 3, 2 / 3, 1]
    assert Ladder.of(np.array([1, 4, 1, 2]), by_rank=True).places.tolist() == [
        0,
        2.5 / 6.5,
        5 / 6.5,
        1,
    ]


def test_values_are_in_no_order_and_known_unless_it_is_said():
    sick = Attribute.of("sick", np.array([0, 1]))
    assert (sick.ordered, sick.nulls) == (False, False)
    assert Attribute.of("sick", np.array([0])).shares.tolist() == [1.0]
    nobody = sick.among(np.array([False, False]))
    assert (nobody.counts.tolist(), nobody.shares.tolist()) == ([0], [0.0])
