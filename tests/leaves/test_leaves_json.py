"""JSON of leaves: what comes back is what was written, and what was altered is refused."""

import json
import pickle

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

TABLE = pl.DataFrame(np.random.default_rng(5).normal(7, 2, (300, 2)), schema=["a", "b"])
LEAVES = mg.fit_leaves(TABLE, ["a", "b"], 5, size=40)
MERGED = LEAVES.merge([40, 1, 0, 40, *[40] * (len(LEAVES.tree) - 4)])


def altered(path, value):
    """Text of leaves in which one thing is another; `...` takes it out."""
    read = json.loads(MERGED.to_json())
    *outer, last = path
    place = read
    for step in outer:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value(place[last]) if callable(value) else value
    return json.dumps(read)


def test_leaves_are_equal_after_a_round_trip():
    for leaves in (LEAVES, MERGED):
        for other in (mg.Leaves.from_json(leaves.to_json()), pickle.loads(pickle.dumps(leaves))):
            assert other == leaves
            assert hash(other) == hash(leaves)
            assert other.assign(TABLE).equals(leaves.assign(TABLE))
    assert MERGED != LEAVES
    assert mg.fit_leaves(TABLE, ["a", "b"], 5, size=40) == LEAVES
    assert mg.fit_leaves(TABLE, ["a", "b"], 5, size=40, seed=1) != LEAVES
    assert len(mg.fit_leaves(TABLE, ["a", "b"], 5, size=600)) == 1
    assert LEAVES.to_json() != LEAVES


def test_the_order_of_options_does_not_count():
    one, other = (
        mg.fit_leaves(TABLE, "a", 5, **options)
        for options in (
            {"center": "median", "dtype": "float"},
            {"dtype": "float", "center": "median"},
        )
    )
    assert one == other


def test_one_leaf_comes_back_as_one_leaf():
    for table in (TABLE, TABLE.with_columns(a=1.0, b=2.0)):
        leaves = mg.fit_leaves(table, ["a", "b"], 5, size=600)
        assert mg.Leaves.from_json(leaves.to_json()) == leaves


NODES = len(LEAVES.tree) - 1

FIRST = ["large", 0]
"""The way to the only large stratum."""

ALTERED = {
    "version": (["version"], 1, "of version 2"),
    "columns: a number": (["columns"], 5, "names as its columns"),
    "columns: a word": (["columns"], "ab", "names as its columns"),
    "columns: numbers": (["columns"], [1, 2], "names as its columns"),
    "columns: none": (["columns"], [], "names as its columns"),
    "columns: twice": (["columns"], ["a", "a"], "names as its columns"),
    "columns: more": (["columns"], ["a", "b", "c"], "each column as its weights"),
    "k: 1": (["k"], 1, "k=1 is not a group size"),
    "k: a word": (["k"], "5", "k='5' is not a group size"),
    "method: unknown": (["method"], "mdaw", "Did you mean 'mdav'"),
    "method: a list": (["method"], ["mdav"], "a method's options"),
    "method: of columns": (["method"], "univariate", "univariate cannot honour leaves of several"),
    "method: of cells": (["method"], "individual_ranking", "cannot honour leaves"),
    "options: strata": (["options", "x"], 1, "mdav has no option 'x'"),
    "options: nulls": (["options"], {"nulls": "pattern"}, "the hashes of each stratum as its key"),
    "options: a cap": (
        ["options"],
        {"max_rows_per_entity": 3, "entity": "a"},
        "max_rows_per_entity",
    ),
    "strata: a number": (["large"], 5, "with its large strata"),
    "strata: no trees": (["large"], [], "columns for each"),
    "strata: two": (["large"], lambda large: large * 2, "one large stratum at most"),
    "key": ([*FIRST, "key"], [1, 2], "the hashes of each stratum as its key"),
    "options: a list": (["options"], [1], "a method's options"),
    "options: a scale": (["options", "scale"], "sd", "scale='sd' is not known"),
    "size: too few": (["size"], 9, "at least 2k=10"),
    "size: a fraction": (["size"], 40.5, "whole number as its size"),
    "size: none": (["size"], None, "whole number as its size"),
    "weights: fewer": ([*FIRST, "weights"], [1.0], "each column as its weights"),
    "weights: negative": ([*FIRST, "weights"], [1.0, -1.0], "each column as its weights"),
    "weights: infinite": ([*FIRST, "weights"], [1.0, float("inf")], "each column as its weights"),
    "weights: huge": ([*FIRST, "weights"], [1.0, 10**400], "each column as its weights"),
    "weights: more than products can hold": (
        [*FIRST, "weights"],
        [1.0, 1e308],
        "weights below 2e\\+301",
    ),
    "weights: nothing": ([*FIRST, "weights"], [0, 0.0], "with a weight above 0"),
    "weights: nan": ([*FIRST, "weights"], [1.0, float("nan")], "each column as its weights"),
    "weights: true": ([*FIRST, "weights"], [1.0, True], "each column as its weights"),
    "centre: a word": ([*FIRST, "centre"], "ab", "each column as its centre"),
    "centre: nan": ([*FIRST, "centre"], [1.0, float("nan")], "each column as its centre"),
    "centre: fewer": ([*FIRST, "centre"], [1.0], "each column as its centre"),
    "centre: infinite": ([*FIRST, "centre"], [1.0, float("-inf")], "each column as its centre"),
    "cut": ([*FIRST, "cut"], "best", "a cut that there is"),
    "losses: a list": ([*FIRST, "losses"], [], "the losses of cuts"),
    "losses: a name": ([*FIRST, "losses", "x"], 1.0, "the losses of cuts"),
    "losses: a word": ([*FIRST, "losses", "gain"], "much", "finite losses"),
    "losses: nan": ([*FIRST, "losses", "gain"], float("nan"), "finite losses"),
    "losses: negative": ([*FIRST, "losses", "gain"], -1.0, "finite losses"),
    "tree: nan": (["tree", "thresholds", 0], float("nan"), "finite threshold for each"),
    "tree: none": (["tree"], None, "with a tree"),
    "tree: a part less": (["tree", "below"], ..., "with a tree"),
    "tree: a column that is not": (["tree", "columns", 0], 6, "columns for each"),
    "tree: columns are a word": (["tree", "columns"], "ab", "columns for each"),
    "tree: a threshold less": (
        ["tree", "thresholds"],
        lambda t: t[1:],
        "finite threshold for each",
    ),
    "tree: a null": (["tree", "thresholds", 0], None, "finite threshold for each"),
    "tree: endless": (["tree", "below", 0], 0, "reaches each leaf once"),
    "tree: outside": (["tree", "below", 0], NODES, "below for each"),
    "tree: no such leaf": (["tree", "above", -1], -2 - NODES, "above for each"),
    "tree: a leaf twice": (["tree", "above"], lambda a: [-1] * len(a), "reaches each leaf once"),
    "tree: sides": (["tree"], lambda t: {**t, "below": t["above"], "above": t["below"]}, "left to"),
    "tree: expected of fewer": (["tree", "expected"], lambda e: e[1:], "expected for each"),
    "tree: nobody": (["tree", "expected"], lambda e: [0] * len(e), "records in its leaves"),
    "tree: less than nobody": (["tree", "expected", 0], -1, "expected for each"),
    "merged: a number": (["merged"], 1, "pairs of leaves"),
    "merged: three": (["merged", 0], [1, 2, 3], "pairs of leaves"),
    "merged: outside": (["merged", 0], [1, NODES + 1], "pairs of leaves"),
    "merged: into itself": (["merged", 0], [1, 1], "into one that stays"),
    "merged: on": (["merged"], lambda m: [*m, [m[0][1], 5]], "into one that stays"),
    "merged: twice": (["merged"], lambda m: [*m, m[0]], "merged once"),
    "gone": ([*FIRST, "centre"], ..., "what Leaves.to_json wrote"),
}


@pytest.mark.parametrize("what", list(ALTERED))
def test_what_was_altered_is_refused_in_a_sentence(what):
    path, value, text = ALTERED[what]
    assert MERGED.merged
    with pytest.raises(mg.InvalidParameterError, match=text) as caught:
        mg.Leaves.from_json(altered(path, value))
    shown = [str(value)[:8] for value in MERGED.tree.thresholds]
    assert not [value for value in shown if value in str(caught.value)]


@pytest.mark.parametrize("text", ["[" * 10**5, "9" * 10**4, None, 5, "null", "\ud800"])
def test_what_is_no_json_of_leaves_is_refused(text):
    with pytest.raises(mg.InvalidParameterError, match="what Leaves.to_json wrote"):
        mg.Leaves.from_json(text)


def test_a_method_of_one_column_is_read_with_one_column():
    leaves = mg.fit_leaves(TABLE, "a", 5, size=40, method="univariate")
    assert mg.Leaves.from_json(leaves.to_json()) == leaves


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cut", ["median", "tail+gain"])
@pytest.mark.parametrize("weight", [None, 0.0, 5e-324, 1e155, 1e301])
def test_large_weights_and_values_mask_without_a_warning(cut, weight):
    read = json.loads(mg.fit_leaves(TABLE, ["a", "b"], 5, size=40, cut=cut).to_json())
    read["large"][0]["weights"][1] = read["large"][0]["weights"][1] if weight is None else weight
    leaves = mg.Leaves.from_json(json.dumps(read))
    for size in (1.0, 1e300, 1e307):
        mg.verify(leaves.mask(TABLE * size), ["a", "b"], 5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cut", ["median", "tail+gain"])
@pytest.mark.parametrize("scale", ["zscore", "none"])
@pytest.mark.parametrize(
    "weights", [[5e-324, 1], [0, 1], [1, 1e301], [1e-310, 1e300], [5e-324, 5e-324], [1, 2e-100]]
)
def test_weights_far_apart_mask_without_a_warning(weights, scale, cut):
    # Such are those of columns of 1e300 and 1e-300.
    fitted = mg.fit_leaves(TABLE, ["a", "b"], 5, size=40, cut=cut, scale=scale)
    read = json.loads(fitted.to_json())
    read["large"][0]["weights"] = weights
    leaves = mg.Leaves.from_json(json.dumps(read))
    for size in (1e-300, 1.0, 1e300, 1e307):
        mg.verify(leaves.mask(TABLE * size), ["a", "b"], 5)
        leaves.protect((TABLE * size).to_arrow())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", ["zscore", "minmax", "robust", "none"])
def test_columns_of_very_different_size_are_fitted_and_masked_without_a_warning(scale):
    wide = TABLE.select(pl.col("a") * 1e307, pl.col("b") * 1e-310)
    leaves = mg.Leaves.from_json(mg.fit_leaves(wide, ["a", "b"], 5, size=40, scale=scale).to_json())
    mg.verify(leaves.mask(wide), ["a", "b"], 5)
