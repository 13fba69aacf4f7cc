"""Which columns a call means, and which it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from tests.frames.doors import COLUMNWISE, OPTIONS, TABLE, everywhere, same

# Which columns are meant.

SPECIFICATIONS: dict[str, tuple[Any, list[str]]] = {
    "a name": ("a", ["a"]),
    "a list of one": (["b"], ["b"]),
    "a list": (["a", "b"], ["a", "b"]),
    "a tuple": (("a", "b"), ["a", "b"]),
    "another order": (["c", "a"], ["c", "a"]),
    "a selector": (cs.float(), ["b", "c"]),
    "a selector minus another": (cs.numeric() - cs.by_name("id"), ["a", "b", "c"]),
    "a selector of several names": (cs.by_name("a", "b"), ["a", "b"]),
    "a selector of a name that may be absent": (
        cs.by_name("a", "absent", require_all=False),
        ["a"],
    ),
    "columns": (pl.col("a", "c"), ["a", "c"]),
    "columns by pattern": (pl.col("^[ab]$"), ["a", "b"]),
    "columns by type": (pl.col(pl.Float64), ["b", "c"]),
    "all but some": (pl.all().exclude("id", "region"), ["a", "b", "c"]),
    "by position": (pl.nth(2, 3), ["a", "b"]),
    "a list of selectors": ([cs.by_name("a"), cs.float()], ["a", "b", "c"]),
    "names and selectors": (["a", cs.float()], ["a", "b", "c"]),
}


@pytest.mark.parametrize("what", SPECIFICATIONS)
def test_a_specification_means_the_columns_it_selects(what: str) -> None:
    columns, names = SPECIFICATIONS[what]
    masked = everywhere(TABLE, columns, 3, "mdav")
    same(masked, mg.mdav(TABLE, names, 3))
    changed = [name for name in TABLE.columns if not masked[name].equals(TABLE[name])]
    assert sorted(changed) == sorted(names)
    numbered = mg.groups(TABLE, columns, 3)
    same(numbered, mg.groups(TABLE, names, 3))
    same(mg.groups(TABLE.lazy(), columns, 3).collect(), numbered)


BLOCKS: dict[str, tuple[Any, list[list[str]]]] = {
    "one": ([["a", "b"]], [["a", "b"]]),
    "two": ([["a", "b"], ["c"]], [["a", "b"], ["c"]]),
    "tuples": ((("c", "a"), ("b",)), [["c", "a"], ["b"]]),
    "each alone": ([["a"], ["b"], ["c"]], [["a"], ["b"], ["c"]]),
    "selectors": ([[cs.float()], ["a"]], [["b", "c"], ["a"]]),
    "names and selectors": ([["a", cs.by_name("c")], ["b"]], [["a", "c"], ["b"]]),
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("what", BLOCKS)
def test_each_block_is_masked_as_if_alone(what: str, options: str) -> None:
    columns, blocks = BLOCKS[what]
    if options in ("order", "strata and order"):
        # "c" gives the order here, so it must not be masked before the others.
        expected = TABLE.with_columns(
            [
                mg.mdav(TABLE, block, 3, **OPTIONS[options])[name]
                for block in blocks
                for name in block
            ]
        )
    else:
        expected = TABLE
        for block in blocks:
            expected = mg.mdav(expected, block, 3, **OPTIONS[options])
    same(everywhere(TABLE, columns, 3, "mdav", **OPTIONS[options]), expected)
    mg.verify(expected, blocks, 3, strata=OPTIONS[options].get("strata"))


@pytest.mark.parametrize("method", COLUMNWISE)
def test_a_columnwise_method_masks_each_column_as_if_alone(method: str) -> None:
    expected = mg.mask(mg.mask(TABLE, "a", 3, method=method), "b", 3, method=method)
    same(everywhere(TABLE, ["a", "b"], 3, method), expected)


def test_columns_have_one_order_of_their_own() -> None:
    frame = TABLE.select("c", "region", "a", "id", "b")
    masked = mg.mdav(frame, ["b", "a"], 3)
    assert masked.columns == frame.columns
    assert mg.mdav(frame.lazy(), ["b", "a"], 3).collect().columns == frame.columns


TYPED: dict[str, tuple[Any, str]] = {
    "nothing": ([], "No column was given to mask"),
    "an empty tuple": ((), "No column was given to mask"),
    "an empty block": ([["a"], []], "No column was given to mask"),
    "only an empty block": ([[]], "No column was given to mask"),
    "None": (None, "columns='NoneType' was given; it must be a column name.* lists. Name columns."),
    "a set": ({"a"}, "columns='set' was given"),
    "an array": (np.array(["a"]), "columns='ndarray' was given"),
    "bytes": (b"a", "columns='bytes' was given"),
    "a number in a list": (["a", 1], "columns='int' was given"),
    "None in a list": (["a", None], "columns='NoneType' was given"),
    "names and lists": (["a", ["b"]], "columns='list' was given"),
    "lists in blocks": ([[["a"]]], "columns='list' was given"),
    "a name twice": (["a", "b", "a"], "columns lists 'a' more than once"),
    "a name in two blocks": ([["a", "b"], ["b"]], "columns lists 'b' more than once"),
    "a computed column": (pl.col("a") + 1, r'columns=.*col\("a"\).* was given'),
    "a renamed column": (pl.col("a").alias("b"), r'columns=.*alias\("b"\).* was given'),
    "a struct": (pl.struct("a", "b"), r"columns='as_struct\(.* was given"),
    "an aggregate in a list": (["b", pl.col("a").sum()], r"columns=.*sum\(\).* was given"),
    "a literal": (pl.lit(1), "columns='dyn int: 1' was given"),
}


@pytest.mark.parametrize("wrong", TYPED)
def test_a_wrong_specification_raises_when_the_call_is_typed(wrong: str) -> None:
    columns, message = TYPED[wrong]
    for frame in (TABLE, TABLE.lazy()):
        with pytest.raises(mg.InvalidParameterError, match=message):
            mg.mdav(frame, columns, 3)
        with pytest.raises(mg.InvalidParameterError, match=message):
            frame.microagg.groups(columns, 3)


Names = dict[str, tuple[dict[str, Any], type[Exception], str]]
LOOKED_UP: Names = {
    "no such name": (
        {"columns": ["a", "A"]},
        mg.InvalidParameterError,
        r"columns names 'A', which is not a column of the table\. Did you mean 'a'",
    ),
    "no such selected name": (
        {"columns": cs.by_name("a", "absent")},
        mg.InvalidParameterError,
        "columns names .*absent.*, which is not a column of the table",
    ),
    "no such column": (
        {"columns": [pl.col("absent")]},
        mg.InvalidParameterError,
        "columns names .*absent.*, which is not a column of the table",
    ),
    "no such position": (
        {"columns": pl.nth(9)},
        mg.InvalidParameterError,
        "columns names .*9.*, which is not a column of the table",
    ),
    "nothing selected": (
        {"columns": cs.temporal()},
        mg.InvalidParameterError,
        "No column was given to mask",
    ),
    "nothing selected for a block": (
        {"columns": [["a"], [cs.temporal()]]},
        mg.InvalidParameterError,
        "No column was given to mask",
    ),
    "named and selected": (
        {"columns": ["b", cs.float()]},
        mg.InvalidParameterError,
        "columns lists 'b' more than once",
    ),
    "selected for two blocks": (
        {"columns": [[cs.float()], [cs.numeric() - cs.by_name("id")]]},
        mg.InvalidParameterError,
        "columns lists 'b', 'c' more than once",
    ),
    "masked and a stratum": (
        {"strata": ["region", "b"]},
        mg.InvalidParameterError,
        "'b' is masked and is in strata as well",
    ),
    "selected and a stratum": (
        {"columns": cs.numeric(), "strata": "c"},
        mg.InvalidParameterError,
        "'c' is masked and is in strata as well",
    ),
    "no such stratum": (
        {"strata": ["regions"]},
        mg.InvalidParameterError,
        "strata names 'regions'.*Did you mean 'region'",
    ),
    "no such order": ({"order_by": "ids"}, mg.InvalidParameterError, "order_by names 'ids'"),
    "text": (
        {"columns": ["a", "region"], "taxonomy": {"a": mg.Taxonomy({"1": "*"})}},
        mg.NotNumericError,
        "Column 'a' is of type .*; taxonomy takes text",
    ),
}


@pytest.mark.parametrize("wrong", LOOKED_UP)
def test_wrong_columns_raise_with_the_schema(wrong: str) -> None:
    changed, error, message = LOOKED_UP[wrong]
    arguments = {"columns": ["a", "b"], "k": 3} | changed
    for function in (mg.mdav, mg.groups):
        with pytest.raises(error, match=message):
            function(TABLE, **arguments)
        typed = function(TABLE.lazy(), **arguments)
        with pytest.raises(error, match=message):
            typed.collect_schema()
        with pytest.raises(error, match=message):
            typed.collect()


def test_order_by_may_name_masked_columns_and_strata() -> None:
    masked = everywhere(TABLE, ["a", "b"], 3, "mdav", strata="region", order_by=["a", "region"])
    by_hand = TABLE.sort("a", "region", nulls_last=True, maintain_order=True)
    same(masked, mg.mdav(by_hand, ["a", "b"], 3, strata="region").sort("id"))


def test_no_strata_and_no_order_may_be_written_as_an_empty_list() -> None:
    same(mg.mdav(TABLE, "a", 3, strata=[], order_by=()), mg.mdav(TABLE, "a", 3))
