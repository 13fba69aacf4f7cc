"""What stands between a choice and a release, and what a column's weight and scale are: by hand."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.kind import kind_of
from polars_microagg.core.mixtures import located
from polars_microagg.kernels.scale import scaled
from polars_microagg.kinds import nominal, ordinal
from polars_microagg.kinds import taxonomy as trees

PETS = mg.Taxonomy({"cat": "mammal", "dog": "mammal", "mammal": "*", "eel": "fish", "fish": "*"})


def always(code):
    """A choice of one code for every group, whoever has it."""
    return lambda codes, centres, holders: np.full(len(centres.members.sizes), code)


# --- A choice that is at fault is found ---------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "name", "asked"),
    [(nominal, "commonest", {}), (ordinal, "middle_values", {"ordinal": "a"})],
    ids=["nominal", "ordinal"],
)
def test_a_rare_category_is_not_released(monkeypatch, module, name, asked):
    table = pl.DataFrame({"a": ["x", "x", "x", "x", "y"]})
    monkeypatch.setattr(module, name, always(0))
    assert mg.mdav(table, "a", 3, **asked)["a"].to_list() == ["x"] * 5
    monkeypatch.setattr(module, name, always(1))
    with pytest.raises(mg.MicroaggError, match=r"1 holders of a category where k=3"):
        mg.mdav(table, "a", 3, **asked)


def test_a_category_of_one_person_or_of_another_stratum_is_rare(monkeypatch):
    table = pl.DataFrame(
        {
            "a": ["x", "x", "x", "y", "y", "y"],
            "s": [0, 0, 0, 1, 1, 1],
            "person": ["p", "q", "r", "s", "s", "s"],
        }
    )
    monkeypatch.setattr(nominal, "commonest", always(0))
    assert mg.mdav(table, "a", 3)["a"].to_list() == ["x"] * 6
    with pytest.raises(mg.MicroaggError, match=r"0 holders of a category where k=3"):
        mg.mdav(table, "a", 3, strata="s")
    monkeypatch.setattr(nominal, "commonest", always(1))
    assert mg.mdav(table, "a", 3)["a"].to_list() == ["y"] * 6
    with pytest.raises(mg.MicroaggError, match=r"1 holders of a category where k=3"):
        mg.mdav(table, "a", 3, entity="person", entity_mode="rows")


def test_a_class_is_held_by_all_that_are_under_it(monkeypatch):
    table = pl.DataFrame(
        {"a": ["cat", "dog", "eel", "eel", "eel"], "person": ["p", "p", "r", "q", "r"]}
    )
    nodes = PETS.nodes(["cat", "dog", "eel"])[0]
    for name, rows, persons in (("mammal", 2, 1), ("fish", 3, 2), ("cat", 1, 1)):
        monkeypatch.setattr(trees, "shared_class", always(nodes.index(name)))
        for held, who in ((rows, {}), (persons, {"entity": "person", "entity_mode": "rows"})):
            if held >= 2:
                out = mg.mdav(table, "a", 2, taxonomy={"a": PETS}, **who)
                assert out["a"].to_list() == [name] * 5
                continue
            with pytest.raises(mg.MicroaggError, match=f"{held} holders of a category where k=2"):
                mg.mdav(table, "a", 2, taxonomy={"a": PETS}, **who)


# --- Values of trees ----------------------------------------------------------------------------


def test_the_median_of_a_tree_is_asked_for_by_center():
    table = pl.DataFrame({"a": ["cat", "cat", "cat", "dog", "eel"]})
    for center, value in (("mean", "*"), ("median", "cat")):
        out = mg.mdav(table, "a", 3, taxonomy={"a": PETS}, center=center)
        assert out["a"].to_list() == [value] * 5


# --- Scales and weights -------------------------------------------------------------------------


def test_the_largest_distance_is_twice_the_way_up_from_the_deepest_value():
    deep = mg.Taxonomy({"a": "*", "b": "a", "c": "b", "d": "*"}, lengths={"b": 7.0})
    for values, height in ((["d"], 1), (["a", "d"], 1), (["b", "d"], 8), (["c", "*"], 9)):
        column = pl.Series(values)
        kind = kind_of(pl.String(), "v", {"taxonomy": {"v": deep}})
        codes = kind.coordinates(column, None)
        spans = located(codes[:, None], [kind.embedding(column)])[2]
        assert spans == pytest.approx((2 * height) ** 0.5)
    clock = kind_of(pl.Time(), "v", {"circular": ["v"]})
    noon = pl.Series([3600 * 10**9]).cast(pl.Time)
    spans = located(clock.coordinates(noon, None)[:, None], [clock.embedding(noon)])[2]
    assert spans.tolist() == [2.0, 2.0]


def test_coordinates_of_a_column_are_scaled_together():
    rng = np.random.default_rng(3)
    x = np.asfortranarray(rng.normal(size=(40, 4)) * [1, 5, 0, 9])
    sizes, joint = np.array([15, 25]), np.array([0, 0, 0, -1])
    spans = np.array([2.0, 2.0, 2.0, 1.0])
    parts = [slice(0, 15), slice(15, 40)]
    for how in ("zscore", "robust", "minmax"):
        out = scaled(x, how, np.ones(4), sizes, joint, spans)
        for rows in parts:
            one, other = x[rows, :3], out[rows, :3]
            centred = one - one.mean(axis=0)
            unit = 2.0 if how == "minmax" else np.sqrt(np.square(centred).sum() / len(one))
            assert other == pytest.approx(centred / unit, rel=1e-12, abs=1e-12)


def test_a_weight_counts_squared_distances():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    wide = table.with_columns(pl.col("b") * 2)
    options = {"scale": "none", "name": "g"}
    groups = mg.groups(table, ["a", "b"], 3, column_weights={"b": 4}, **options)["g"]
    assert groups.equals(mg.groups(wide, ["a", "b"], 3, **options)["g"])
    assert not groups.equals(mg.groups(table, ["a", "b"], 3, **options)["g"])
    assert groups.equals(
        mg.groups(table, ["a", "b"], 3, column_weights={"a": 1, "b": 4}, **options)["g"]
    )


# --- A stratum and the others -------------------------------------------------------------------


@pytest.mark.whole
@pytest.mark.parametrize("mode", ["rows", "mean"])
@pytest.mark.parametrize("kind", ["ordinal", "taxonomy"])
@pytest.mark.parametrize("scale", ["zscore", "minmax", "none"])
def test_persons_of_a_stratum_are_masked_as_if_they_were_alone(mode, kind, scale):
    rng = np.random.default_rng(2)
    n = 90
    part = rng.integers(0, 2, n)
    # A stratum has the same categories at other ranks, and only one has deep ones.
    code = np.where(part == 0, rng.integers(0, 12, n), rng.integers(0, 5, n) ** 2)
    chain = mg.Taxonomy({f"v{i:02d}": f"v{i - 1:02d}" for i in range(1, 17)})
    asked = {"ordinal": "a"} if kind == "ordinal" else {"taxonomy": {"a": chain}}
    asked |= {"entity": "person", "entity_mode": mode, "scale": scale}
    table = pl.DataFrame(
        {
            "a": [f"v{i:02d}" for i in code],
            "b": rng.normal(size=n),
            "s": part,
            "person": rng.integers(0, 40, n),
        }
    )
    among = mg.mdav(table, ["a", "b"], 3, strata="s", **asked)
    for s in (0, 1):
        alone = mg.mdav(table.filter(s=s), ["a", "b"], 3, **asked)
        assert alone.equals(among.filter(s=s))
