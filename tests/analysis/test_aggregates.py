"""Aggregates of expressions: the same numbers as anonymity, in every context and on both engines."""

import io

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.analysis.counted_classes import confidential_models
from polars_microagg.frames.selection import by_name
from tests.analysis.test_counted_classes import HIDDEN, KEYS, PEOPLE, TYPES, VISITS, drawn
from tests.loop import rounds
from tests.versions import POLARS_2

ENGINES = ("in-memory", "streaming")


def written(struct, entity, confidential, scale):
    """All aggregates, under the names of the columns of anonymity."""
    made = {"k_entities": struct.microagg.k_entities(entity)}
    for name, entry in confidential_models().items():
        options = {"t_scale": scale} if "t_scale" in entry.options else {}
        made[name] = getattr(struct.microagg, name)(confidential, **options)
    return [aggregate.alias(name) for name, aggregate in made.items()]


def counted(frame, columns, asked):
    row = mg.anonymity(frame, columns, **asked)
    return row.select("k_entities", *confidential_models()).row(0)


@pytest.mark.parametrize("engine", ENGINES)
def test_aggregates_count_as_anonymity_does(engine):
    rng = np.random.default_rng(len(engine))
    for _ in range(rounds(120)):
        table, columns, _, entity, confidential = drawn(rng)
        frame = pl.DataFrame(table, schema=TYPES).with_columns(
            part=pl.Series(rng.integers(0, 3, len(table["a"])))
        )
        scale = str(rng.choice(["values", "ranks"]))
        made = written(pl.struct(map(by_name, columns)), entity, confidential, scale)
        whole = frame.lazy().select(made).collect(engine=engine)
        asked = {"entity": entity, "confidential": confidential, "t_scale": scale}
        assert whole.row(0) == counted(frame, columns, asked)
        parts = {
            part["part"][0]: counted(part, columns, asked) for part in frame.partition_by("part")
        }
        grouped = frame.lazy().group_by("part").agg(made).collect(engine=engine)
        assert {row[0]: row[1:] for row in grouped.rows()} == parts
        over = frame.lazy().select("part", *[one.over("part") for one in made])
        for part, *row in over.collect(engine=engine).rows():
            assert tuple(row) == parts[part]


def test_by_hand():
    age = pl.struct("age").microagg
    assert VISITS.select(age.k_entities("who")).item() == 2
    assert VISITS.select(age.l("sick"), age.max_share("sick").alias("share")).row(0) == (2, 0.75)
    # no and yes have 4/6 and 2/6; the classes have 3/4 1/4 and 1/2 1/2.
    assert VISITS.select(age.t("sick")).item() == pytest.approx(1 / 6)
    assert VISITS.lazy().select(age.l("sick")).collect_schema() == {"age": pl.Int64}
    assert VISITS.lazy().select(age.t("sick").alias("t")).collect_schema() == {"t": pl.Float64}
    # Beside other columns, one number stands in every row.
    assert VISITS.select("who", age.k_entities("who"))["age"].to_list() == [2] * 6


@pytest.mark.parametrize("engine", ENGINES)
def test_no_rows_have_no_number(engine):
    made = written(pl.struct(map(by_name, KEYS)), list(PEOPLE), list(HIDDEN), "values")
    none = pl.LazyFrame(schema=TYPES)
    assert none.select(made).collect(engine=engine).row(0) == (None,) * 4
    assert none.group_by("a").agg(made).collect(engine=engine).height == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "ask",
    [
        lambda frame, made: frame.select(made),
        lambda frame, made: frame.group_by("sick").agg(made),
        lambda frame, made: frame.select(made.over("sick")),
    ],
    ids=["select", "agg", "over"],
)
def test_an_entity_that_is_null_is_refused(ask, engine):
    frame = VISITS.with_columns(which=pl.Series([1, None, 3, 4, None, 6])).lazy()
    made = pl.struct("age").microagg.k_entities(["who", "which"])
    nulls = "2" if POLARS_2 else "[12]"  # Polars 1 asks group by group
    with pytest.raises(mg.InvalidDataError, match=f"Column 'which' has {nulls} null"):
        ask(frame, made).collect(engine=engine)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda e: e.k_entities(None), "entity=None was given"),
        (lambda e: e.k_entities(3), "entity=3 was given"),
        (lambda e: e.l([]), r"confidential=\[\] was given"),
        (lambda e: e.l("sick", t_scale="ranks"), "l has no option 't_scale'"),
        (lambda e: e.t("sick", t_scale="rank"), "t_scale='rank' is not known"),
    ],
    ids=range(5),
)
def test_wrong_calls_are_refused_when_they_are_typed(ask, said):
    with pytest.raises(mg.InvalidParameterError, match=said):
        ask(pl.struct("age").microagg)


def test_plans_with_aggregates_can_be_serialised():
    made = written(pl.struct("age"), "who", "sick", "ranks")
    plan = VISITS.lazy().select(made)
    again = pl.LazyFrame.deserialize(io.BytesIO(plan.serialize()))
    assert again.collect().equals(plan.collect())
