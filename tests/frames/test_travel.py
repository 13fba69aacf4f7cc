"""Plans travel: what they carry survives pickle and serialisation."""

from __future__ import annotations

import importlib.util
import io
import pickle
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core import registry
from polars_microagg.frames import expressions, mask

from .doors import BOTH, coarse, same

BATCH = coarse().select("a", "b", "region", "id")


@pytest.mark.parametrize("method", registry.methods())
def test_the_function_of_a_node_that_masks_survives_pickle(method: str) -> None:
    options = {"strata": "region", "order_by": "id"}
    function = mask.MaskNode(
        mask.MaskRequest.of(method, ["a", "b"], 3, options).masker(BATCH.schema)
    )
    again = pickle.loads(pickle.dumps(function))
    assert again == function
    assert again(BATCH.to_struct("batch")).equals(function(BATCH.to_struct("batch")))


PLANS: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "mask": lambda t: mg.mdav(t, ["a", "b"], 3, strata="region", order_by="id"),
    "groups": lambda t: mg.groups(t, ["a", "b"], 3, strata="region", order_by="id"),
    "mask a struct": lambda t: t.select("id", BOTH.microagg.mdav(3)),
    "groups of a struct": lambda t: t.select("id", BOTH.microagg.groups(3)),
    "mask a column": lambda t: t.select("id", pl.col("a").microagg.univariate(3)),
    "groups of a column": lambda t: t.select(pl.col("a").microagg.groups(3, method="univariate")),
}


@pytest.mark.parametrize("plan", PLANS)
def test_every_function_that_a_plan_carries_survives_pickle(
    plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, carried = mask.node, []

    def pickled(inputs: pl.Expr, function: Any, dtype: pl.DataType) -> pl.Expr:
        again = pickle.loads(pickle.dumps(function))
        assert again == function
        carried.append(again)
        return node(inputs, again, dtype)

    expected = PLANS[plan](coarse().lazy()).collect()
    for module in (mask, expressions):
        monkeypatch.setattr(module, "node", pickled)
    same(PLANS[plan](coarse().lazy()).collect(), expected)
    assert carried


@pytest.mark.skipif(
    importlib.util.find_spec("cloudpickle") is None,
    reason="polars serialises Python functions with cloudpickle, which is not installed",
)
def test_a_serialised_plan_gives_the_same() -> None:
    masked = mg.mdav(coarse().lazy(), ["a", "b"], 3, strata="region")
    again = pl.LazyFrame.deserialize(io.BytesIO(masked.serialize()))
    same(again.collect(), masked.collect())
