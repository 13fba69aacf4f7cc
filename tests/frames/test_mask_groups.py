"""mask and groups, the promise, and strata that are too small."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.kind import Kind
from polars_microagg.core.masked import Masked
from polars_microagg.frames import batch
from tests.frames.doors import (
    COLUMNWISE,
    ENGINES,
    GROUPING,
    METHODS,
    OPTIONS,
    OTHERS,
    TABLE,
    everywhere,
    same,
)
from tests.loop import share

# mask and groups.


def test_mask_is_mdav_unless_told() -> None:
    same(mg.mask(TABLE, ["a", "b"], 3), mg.mdav(TABLE, ["a", "b"], 3))


@pytest.mark.parametrize("method", METHODS)
def test_a_function_of_one_method_takes_no_other(method: str) -> None:
    with pytest.raises(mg.InvalidParameterError, match=f"{method} has no option 'method'"):
        getattr(mg, method)(TABLE, "a", 3, method="mdav")


@pytest.mark.parametrize("what", [*METHODS, "mask", "groups"])
def test_k_must_be_given(what: str) -> None:
    for frame in (TABLE, TABLE.lazy()):
        with pytest.raises(mg.InvalidParameterError, match="needs k, the smallest group size"):
            getattr(mg, what)(frame, "a")
        with pytest.raises(mg.InvalidParameterError, match="needs k, the smallest group size"):
            getattr(frame.microagg, what)("a")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("method", GROUPING)
def test_groups_are_numbered_by_their_first_record_and_are_those_of_the_masking(
    method: str, options: str
) -> None:
    chosen = OPTIONS[options]
    numbered = mg.groups(TABLE, ["a", "b"], 3, method=method, **chosen)
    same(numbered.drop("microagg_group"), TABLE)
    numbers = numbered["microagg_group"]
    assert numbers.dtype == pl.UInt32
    assert numbers.unique(maintain_order=True).to_list() == list(range(numbers.n_unique()))
    assert numbers.unique_counts().min() >= 3
    masked = mg.mask(TABLE, ["a", "b"], 3, method=method, **chosen)
    together = masked.with_columns(numbers).group_by("microagg_group")
    assert together.agg(pl.struct("a", "b").n_unique())["a"].max() == 1
    if "strata" in chosen:
        assert together.agg(pl.col("region").n_unique())["region"].max() == 1
    for engine in ENGINES:
        lazy = mg.groups(TABLE.lazy(), ["a", "b"], 3, method=method, **chosen)
        assert lazy.collect_schema() == numbered.schema
        same(lazy.collect(engine=engine), numbered)
    same(TABLE.microagg.groups(["a", "b"], 3, method=method, **chosen), numbered)


def test_groups_worked_by_hand() -> None:
    frame = pl.DataFrame({"v": [50, 1, 51, 2, 3, 52], "s": ["y", "x", "y", "x", "x", "y"]})
    # 1 is farthest from the mean, 52 from 1; each takes one neighbour and two are left over.
    assert mg.groups(frame, "v", 2)["microagg_group"].to_list() == [0, 1, 2, 1, 0, 2]
    assert mg.groups(frame, "v", 3, strata="s")["microagg_group"].to_list() == [0, 1, 0, 1, 1, 0]
    backwards = mg.groups(frame, "v", 3, strata="s", order_by="v")
    assert backwards["microagg_group"].to_list() == [0, 1, 0, 1, 1, 0]


@pytest.mark.parametrize("name", ["id", "a", "region"])
def test_groups_refuse_a_name_that_is_taken(name: str) -> None:
    message = f"The table already has a column '{name}'"
    with pytest.raises(mg.InvalidParameterError, match=message):
        mg.groups(TABLE, ["a", "b"], 3, name=name)
    typed = mg.groups(TABLE.lazy(), ["a", "b"], 3, name=name)
    with pytest.raises(mg.InvalidParameterError, match=message):
        typed.collect_schema()


@pytest.mark.parametrize("name", [None, 3, b"g", ["g"], pl.col("g")], ids=str)
def test_groups_refuse_a_name_that_is_no_text(name: object) -> None:
    for frame in (TABLE, TABLE.lazy()):
        with pytest.raises(mg.InvalidParameterError, match="it must be a column name"):
            mg.groups(frame, ["a", "b"], 3, name=name)


@pytest.mark.parametrize(
    ("method", "columns"),
    [("mdav", [["a"], ["b"]]), *[(method, ["a", "b"]) for method in COLUMNWISE]],
)
def test_groups_of_several_partitions_are_refused(method: str, columns: Any) -> None:
    with pytest.raises(mg.InvalidParameterError, match="more than one block of columns"):
        mg.groups(TABLE, columns, 3, method=method)
    typed = mg.groups(TABLE.lazy(), columns, 3, method=method)
    with pytest.raises(mg.InvalidParameterError, match="more than one block of columns"):
        typed.collect_schema()


# The promise is counted on what is emitted.


@pytest.mark.parametrize("strata", [None, "region"])
@pytest.mark.parametrize("column", ["a", "b"])
def test_a_value_that_differs_within_its_group_is_never_released(
    column: str, strata: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    emit = batch.emit

    def spoilt(
        original: pl.Series, masked: Masked, j: int, dtype: pl.DataType, kind: Kind
    ) -> pl.Series:
        values = emit(original, masked, j, dtype, kind)
        return values.set(values.is_first_distinct(), 99) if masked.columns[j] == column else values

    monkeypatch.setattr(batch, "emit", spoilt)
    broken = "mdav made a class of . record.* where k=4 was promised. Nothing was released"
    over = pl.struct("a", "b").microagg.mdav(4).over(strata or pl.lit(0))
    for release in (
        lambda: mg.mdav(TABLE, ["a", "b"], 4, strata=strata),
        lambda: mg.mdav(TABLE.lazy(), ["a", "b"], 4, strata=strata).collect(engine="streaming"),
        lambda: mg.mdav(TABLE.lazy(), ["a", "b"], 4, strata=strata).collect(engine="in-memory"),
        lambda: mg.mdav(TABLE, [["a", "b"], ["c"]], 4, strata=strata),
        lambda: TABLE.select(over),
    ):
        with pytest.raises(mg.GuaranteeError, match=broken):
            release()


def test_records_alike_in_different_strata_do_not_count_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = pl.DataFrame({"s": ["x"] * 6 + ["y"] * 6, "v": [1, 1, 1, 1, 2, 2] * 2})
    # Four and two alike in each stratum; over both, eight and four.
    monkeypatch.setattr(batch, "emit", lambda original, *rest: original)
    with pytest.raises(mg.GuaranteeError, match="a class of 2 record"):
        mg.mdav(frame, "v", 4, strata="s")
    assert mg.mdav(frame, "v", 4).equals(frame)


def test_a_class_of_one_record_too_few_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "emit", lambda original, *rest: original)
    with pytest.raises(mg.GuaranteeError, match="a class of 3 record"):
        mg.mdav(pl.DataFrame({"v": [1, 1, 1, 1, 2, 2, 2]}), "v", 4)


# Strata that are too small.

TINY = TABLE.with_columns(
    region=pl.when(pl.col("id").is_in([0, 7]))
    .then(pl.lit("tiny"))
    .when(pl.col("id").is_in([3, 9]))
    .then(pl.lit("small"))
    .otherwise("region")
)
IS_TINY = pl.col("id").is_in([0, 3, 7, 9])


@pytest.mark.parametrize("method", METHODS)
def test_a_small_stratum_raises_and_is_counted(method: str) -> None:
    # A method that groups cells counts the values of both columns.
    k = 3 if METHODS[method].unit == "record" or method in COLUMNWISE else 5
    with pytest.raises(mg.TooFewRecordsError, match=f"2 of 5 strata have fewer than k={k} records"):
        mg.mask(TINY, ["a", "b"], k, method=method, strata="region")


@pytest.mark.parametrize("method", share([*GROUPING, *COLUMNWISE], 3))
def test_small_strata_null_empties_masked_cells_and_keys_of_these_alone(method: str) -> None:
    options = {"strata": "region", "small_strata": "null"}
    masked = everywhere(TINY, ["a", "b"], 3, method, **options)
    assert masked.filter(IS_TINY).select("a", "b", "region").null_count().row(0) == (4, 4, 4)
    assert masked.filter(~IS_TINY).select("a", "b").null_count().row(0) == (0, 0)
    others = mg.mask(TINY.filter(~IS_TINY), ["a", "b"], 3, method=method, strata="region")
    same(masked.filter(~IS_TINY), others)
    same(masked.drop("a", "b", "region"), TINY.drop("a", "b", "region"))
    same(everywhere(TINY, ["a", "b"], 3, method, strata="region", small_strata="drop"), others)


@pytest.mark.parametrize("method", GROUPING)
def test_small_strata_null_gives_no_group_number(method: str) -> None:
    options = {"strata": "region", "small_strata": "null", "method": method}
    numbered = mg.groups(TINY, ["a", "b"], 3, **options)
    numbers = numbered["microagg_group"]
    assert numbered.filter(IS_TINY)["microagg_group"].to_list() == [None] * 4
    assert numbers.null_count() == 4
    present = numbers.drop_nulls().unique(maintain_order=True)
    assert present.to_list() == list(range(len(present)))
    for engine in ENGINES:
        same(mg.groups(TINY.lazy(), ["a", "b"], 3, **options).collect(engine=engine), numbered)


def test_several_strata_are_their_combinations() -> None:
    frame = TABLE.with_columns(even=pl.col("id") % 2)
    masked = everywhere(frame, ["a", "b"], 3, "mdav", strata=["even", "region"])
    parts = frame.partition_by("region", "even", maintain_order=True)
    assert len(parts) == 6
    each = pl.concat([mg.mdav(part, ["a", "b"], 3) for part in parts])
    same(masked, each.sort("id"))
    same(mg.mdav(frame, ["a", "b"], 3, strata=("region", "even")), masked)


def test_strata_may_be_of_any_type_and_null_is_one() -> None:
    kinds = OTHERS.drop("nothing").columns
    for kind in kinds:
        frame = pl.concat([TABLE, OTHERS.select(kind)], how="horizontal")
        masked = everywhere(frame, ["a", "b"], 3, "mdav", strata=kind)
        parts = frame.partition_by(kind, maintain_order=True)
        assert len(parts) == OTHERS[kind].n_unique()
        each = pl.concat([mg.mdav(part, ["a", "b"], 3) for part in parts])
        same(masked, each.sort("id"))
