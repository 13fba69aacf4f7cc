"""Models of privacy: what they count, and that every call holds groups against them."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import models
from polars_microagg.core.partition import Members
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Bound, Rule


def counted(*codes, ordered=False, nulls=False):
    return Attribute.of("a", np.array(codes), ordered=ordered, nulls=nulls)


def rule_of(name, limit, attribute=None, **options):
    return Rule((Bound(models()[name], limit, attribute, options),))


def test_k_is_a_model_like_any_other():
    assert [bound.model.name for bound in Plan.make("mdav", 3).rule().bounds] == ["k"]
    assert set(models()) == {"k", "l", "max_entity_share", "max_share", "t"}


def test_models_are_found_by_a_process_that_imported_none():
    asked = "from polars_microagg.core.model import models; print(*models())"
    found = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["k", "l", "max_entity_share", "max_share", "t"]


@pytest.mark.parametrize(("labels", "fails"), [([0, 0, 1, 1], False), ([0, 0, 1, 0], True)])
def test_k_counts_the_records_of_each_group(labels, fails):
    rule = rule_of("k", 2)
    assert (rule.broken(rule.groups(np.array(labels))) is not None) == fails


def test_records_of_no_group_are_one_group():
    rule = rule_of("k", 3)
    assert rule.groups(np.array([3, -1, 3, -1, -1, 0])).sizes.tolist() == [3, 1, 2]
    entities = rule_of("k", 3, counted(0, 1, 1, 2, 3, 4))
    groups = entities.groups(np.array([3, -1, 3, -1, -1, 0]))
    assert groups.order.tolist() == [1, 3, 4, 5, 0, 2]
    assert entities.failing(groups).tolist() == [False, True, True]


def test_nothing_is_released_without_a_model(monkeypatch):
    monkeypatch.setattr("polars_microagg.core.model._MODELS", {})
    with pytest.raises(mg.GuaranteeError, match="No privacy model is registered"):
        mg.mdav(pl.DataFrame({"a": [1, 2, 3, 4]}), "a", k=2)


def plain(name, values, group, table, ordered, scale):
    """The number of a model, from its definition; values are codes, 0 is null if None is in."""
    mine = [values[i] for i in group]
    known = [v for v in mine if v is not None]
    if name == "k":
        return len(set(mine))
    if name == "l":
        return max(1, len(set(known)))
    if name == "max_entity_share":
        return max(mine.count(v) for v in mine) / len(mine)
    if name == "max_share":
        return max((known.count(v) / len(known) for v in known), default=0.0)
    order = sorted(set(table), key=lambda v: (v is not None, v))
    ours = np.array([mine.count(v) / len(mine) for v in order])
    all_ = np.array([table.count(v) / len(table) for v in order])
    if not ordered:
        return abs(ours - all_).sum() / 2
    counts = np.array([table.count(v) for v in order])
    places = np.arange(len(order)) if scale == "values" else np.cumsum(counts) - counts / 2
    if len(order) == 1:
        return 0.0
    steps = np.diff(places) / (places[-1] - places[0])
    return float((abs(np.cumsum(ours - all_))[:-1] * steps).sum())


@pytest.mark.parametrize("seed", range(40))
def test_models_count_as_they_are_defined(seed):
    rng = np.random.default_rng(seed)
    n, kinds = int(rng.integers(4, 40)), int(rng.integers(1, 9))
    values = [None if v == 0 and seed % 2 else int(v) for v in rng.integers(0, kinds, n)]
    order = sorted(set(values), key=lambda v: (v is not None, v))
    codes = [order.index(v) for v in values]
    labels = np.unique(rng.integers(0, 4, n), return_inverse=True)[1]
    groups = Members.of(np.arange(n), labels, labels.max() + 1)
    for ordered in (True, False):
        attribute = counted(*codes, ordered=ordered, nulls=None in values)
        for name, entry in models().items():
            for scale in ("values", "ranks") if name == "t" else ("",):
                options = {"t_scale": scale} if scale else {}
                got = entry.measure(attribute, groups, **options)
                want = [
                    plain(name, values, np.flatnonzero(labels == g), values, ordered, scale)
                    for g in range(labels.max() + 1)
                ]
                if not (entry.of == "entity" and None in values):
                    assert np.allclose(got, want, atol=1e-12, rtol=0), (name, ordered, scale)


@pytest.mark.parametrize("seed", range(30))
def test_a_union_of_groups_that_satisfy_a_model_does_too(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    codes = np.unique(rng.integers(0, 5, n), return_inverse=True)[1]
    labels = np.unique(rng.integers(0, 6, n), return_inverse=True)[1]
    for name, limits in {
        "k": (2, 3),
        "l": (1, 2, 3),
        "max_entity_share": (0.4, 0.6),
        "max_share": (0.4, 0.6),
        "t": (0.2, 0.4),
    }.items():
        for ordered in (True, False):
            attribute = counted(*codes, ordered=ordered, nulls=bool(seed % 2))
            for limit in limits:
                rule = rule_of(name, limit, attribute)
                failing = rule.failing(rule.groups(labels))
                held = np.isin(labels, np.flatnonzero(~failing))
                if held.any():
                    joined = np.where(held, 99, labels)
                    assert not rule.failing(rule.groups(joined))[-1]
