"""A metric gets what its parameters name, in whatever order they stand."""

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core import registry

BEFORE = pl.DataFrame({"age": [1.0, 2.0, 3.0], "income": [10.0, 20.0, 30.0]})
AFTER = BEFORE.with_columns(pl.lit(2.0).alias("age"), pl.lit(20.0).alias("income"))


@pytest.fixture
def added():
    """Register a metric that is gone after the test."""
    registry.metrics()
    before = dict(registry._METRICS)
    yield registry.metric(cite="nobody (2026)")
    registry._METRICS.clear()
    registry._METRICS.update(before)


def test_a_metric_of_known_columns_may_name_the_sets_first(added):
    def first_before(subsets: object, masked: object, original: object, /) -> float:
        """First value before, of the last column of the first set."""
        return float(original[0, subsets[0][-1]] + 100 * masked[0, 0] + 1000 * original.shape[1])

    added(first_before)
    seen = mg.assess(BEFORE, AFTER, metrics="first_before")
    assert seen.item() == 10 + 200 + 2000
    seen = mg.assess(BEFORE, AFTER, metrics="first_before", known=["income"])
    assert seen.item() == 10 + 2000 + 1000


def test_a_metric_may_name_the_masked_table_first(added):
    def masked_first(masked: object, original: object, /) -> float:
        """Value after and before."""
        return float(100 * masked[0, 0] + original[0, 0])

    added(masked_first)
    assert mg.assess(BEFORE, AFTER, metrics="masked_first").item() == 201


def test_a_metric_may_take_the_persons_of_the_records(added):
    def most_records(entity: object, /) -> int:
        """Records of the person who has most."""
        return max(list(entity).count(person) for person in entity)

    added(most_records)
    before = BEFORE.with_columns(who=pl.Series(["b", "a", "b"]))
    assert mg.assess(before, AFTER, metrics="most_records", entity="who").item() == 2
    with pytest.raises(mg.InvalidParameterError, match="'most_records' was given without entity"):
        mg.assess(before, AFTER, metrics="most_records")


def test_classes_stand_alone(added):
    def both(original: object, classes: object, /) -> float:
        """Cannot be computed."""
        return 0.0

    added(both)
    with pytest.raises(TypeError, match="'both' takes original beside classes, which stands alone"):
        registry.metrics()
