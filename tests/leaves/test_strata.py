"""Strata, nulls and order in leaves: a stratum in one leaf is masked as by the function, and all hold k."""

import json

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.leaves.protect import mask_counted
from tests.loop import rounds

REGIONS = ["north", "south", "east", "west", "far", None]


def people(rng, n, *, holes=0.0, ties=False):
    """Records with an id of their own, strata of very different sizes, and numbers with or without ties."""
    share = rng.dirichlet(np.full(len(REGIONS), 0.5))
    region = rng.choice(len(REGIONS), n, p=share)
    age = rng.integers(18, 30, n).astype(float) if ties else rng.normal(40, 12, n)
    pay = rng.lognormal(8, 1, n) * (1 + region)
    job = rng.integers(0, 3, n)
    frame = pl.DataFrame(
        {
            "id": rng.permutation(n),
            "region": [REGIONS[r] for r in region],
            "zone": pl.Series(np.where(rng.random(n) < 0.5, -0.0, 0.0)),
            "age": age,
            "pay": pay,
            "job": pl.Series([["cook", "clerk", "smith"][j] for j in job], dtype=pl.Categorical),
        }
    )
    gaps = rng.random((n, 2)) < holes
    return frame.with_columns(
        age=pl.when(pl.Series(~gaps[:, 0])).then("age"),
        pay=pl.when(pl.Series(~gaps[:, 1])).then("pay"),
    )


def options_of(rng):
    """A call that leaves take."""
    nulls = str(rng.choice(["impute", "pattern"]))
    small = str(rng.choice(["null", "drop"]))
    strata = [["region"], "region", ["region", "zone"], []][rng.integers(4)]
    options = {"strata": strata, "nulls": nulls, "small_strata": small, "order_by": "id"}
    options["scale"] = str(rng.choice(["zscore", "minmax", "robust", "none"]))
    options["method"] = str(rng.choice(["mdav", "vmdav", "md"]))
    return options


def by_leaf(leaves, frame):
    """Each leaf masked on its own, through Arrow, and all sorted by id."""
    parts = frame.with_columns(leaves.assign(frame)).partition_by("leaf", include_key=False)
    masked = [pl.DataFrame(leaves.protect(part.to_arrow())) for part in parts]
    return pl.concat(masked).sort("id")


def function(frame, columns, k, options):
    """The same call of the function of the method."""
    own = {name: value for name, value in options.items() if name != "method"}
    return mg.mask(frame, columns, k, method=options["method"], **own)


def outcome(call, *arguments):
    """What a call makes, or the kind of its error."""
    try:
        return call(*arguments).sort("id")
    except mg.InvalidDataError as error:
        return type(error)


def test_a_stratum_in_one_leaf_is_masked_as_by_the_function():
    for seed in range(rounds(120)):
        rng = np.random.default_rng(seed)
        frame = people(rng, int(rng.integers(20, 200)), holes=rng.choice([0, 0.1]))
        k, options = int(rng.integers(2, 6)), options_of(rng)
        columns = [["age", "pay"], ["age", "job"], ["pay"]][rng.integers(3)]
        leaves = mg.fit_leaves(frame, columns, k, size=400, **options)
        assert_same(outcome(leaves.mask, frame), outcome(function, frame, columns, k, options))


def assert_same(found, expected):
    if isinstance(expected, pl.DataFrame) and isinstance(found, pl.DataFrame):
        assert found.equals(expected)
        assert found.schema == expected.schema
    else:
        assert found is expected


@pytest.fixture
def small_parts(monkeypatch):
    budget = MemoryBudget(10**9, 1, 60, 37, 53)
    monkeypatch.setattr(MemoryBudget, "of", classmethod(lambda cls, *_: budget))


def test_every_door_of_leaves_has_the_same_bits_and_every_class_k(tmp_path, small_parts):
    for seed in range(rounds(60)):
        rng = np.random.default_rng(seed)
        ties = bool(rng.integers(2))
        frame = people(rng, int(rng.integers(60, 300)), holes=rng.choice([0, 0.1]), ties=ties)
        k, options = int(rng.integers(2, 6)), options_of(rng)
        if rng.integers(2):
            del options["order_by"]
        columns = [["age", "pay"], ["age", "job"], ["pay"]][rng.integers(3)]
        call = {"size": int(rng.integers(2 * k, 40)), "cut": "median", **options}
        leaves = mg.fit_leaves(frame, columns, k, **call)
        mixed = frame.sample(fraction=1, shuffle=True, seed=seed)
        assert mg.fit_leaves(mixed, columns, k, **call) == leaves
        assert mg.Leaves.from_json(leaves.to_json()) == leaves
        masked = outcome(leaves.mask, frame)
        assert_same(outcome(leaves.mask, mixed), masked)
        frame.write_parquet(tmp_path / "in.parquet", row_group_size=50)
        assert_same(outcome(out_of_core, tmp_path, columns, k, call), masked)
        if isinstance(masked, pl.DataFrame):
            assert counted(masked, columns, leaves.request.strata, k)
            if options["small_strata"] == "drop":
                assert by_leaf(leaves, frame).equals(masked)


def out_of_core(folder, columns, k, call):
    mg.protect_parquet(folder / "in.parquet", folder / "out.parquet", columns, k, **call)
    return pl.read_parquet(folder / "out.parquet")


def counted(masked, columns, strata, k):
    keys = [*columns, *strata]
    return masked.height == 0 or masked.group_by(keys).len()["len"].min() >= k


def test_groups_never_cross_strata():
    rng = np.random.default_rng(1)
    frame = people(rng, 900)
    call = {"size": 40, "cut": "median"}
    leaves = mg.fit_leaves(frame, ["age", "pay"], 4, strata="region", small_strata="drop", **call)
    assert len(leaves.large) > 2
    masked = leaves.mask(frame)
    for region in frame["region"].unique():
        own = frame.filter(pl.col("region").eq_missing(region))
        if own.height >= 4:
            alone = mg.fit_leaves(own, ["age", "pay"], 4, **call).mask(own)
            assert masked.filter(pl.col("region").eq_missing(region)).equals(alone)


def test_small_strata_are_refused_with_the_counts_of_the_whole_table():
    frame = pl.DataFrame(
        {"s": [i // 10 for i in range(200)] + ["a", "b", "b"].__len__() * [99], "x": range(203)}
    )
    calls = {
        "leaves": lambda: mg.fit_leaves(frame, "x", 5, size=12, strata="s").mask(frame),
        "function": lambda: mg.mdav(frame, "x", 5, strata="s"),
    }
    for call in calls.values():
        with pytest.raises(mg.TooFewRecordsError, match="1 of 21 strat.* fewest .* 3|1 of 21"):
            call()


PERSONS = {"entity": "who", "entity_mode": "rows"}
SECRETS = {"confidential": "sick", "l": 3}
BROKEN = {
    "persons of small strata": ("pq", PERSONS),
    "persons of a large stratum": ("c", PERSONS),
    "persons of both": ("bpq", PERSONS),
    "secrets of a small stratum": ("p", SECRETS),
    "secrets of a large stratum": ("b", SECRETS),
    "secrets of both": ("bp", {**SECRETS, **PERSONS}),
    "shares of both": ("bp", {"confidential": "sick", "max_share": 0.9}),
}
"""Strata that break a bound, and the bound."""


@pytest.mark.whole
@pytest.mark.parametrize("name", BROKEN)
def test_broken_strata_are_refused_with_the_counts_of_the_whole_table(name, tmp_path, small_parts):
    few, call = BROKEN[name]
    strata = "a" * 60 + "b" * 90 + "c" * 80 + "p" * 7 + "q" * 8
    rows = range(len(strata))
    persons, secrets = "entity" in call, "confidential" in call
    alone = "sick" not in call.values() or persons
    frame = pl.DataFrame(
        {
            "s": list(strata),
            "x": [i * 7 % 31 for i in rows],
            "who": [f"{s}{i % 3 if s in few and alone else i}" for i, s in enumerate(strata)],
            # Of the large one that breaks it some are well, so that the small one is farther from it.
            "sick": [
                "flu" if s in few and secrets and (s != "b" or i % 30) else f"{i % 3}"
                for i, s in enumerate(strata)
            ],
        }
    )
    frame.write_parquet(tmp_path / "in.parquet")
    call = {"strata": "s", **call}

    def told(door):
        with pytest.raises(mg.InvalidDataError) as refused:
            door()
        return str(refused.value)

    leaves = mg.fit_leaves(frame, "x", 5, size=20, **call)
    files = tmp_path / "in.parquet", tmp_path / "out.parquet"
    expected = told(lambda: mg.mdav(frame, "x", 5, **call))
    assert not persons or expected.startswith(
        f"{len(few)} of 5 strata have fewer than k=5 entities"
    )
    if secrets:
        expected += (
            " With confidential columns small_strata='drop' needs the whole table in memory."
        )
    assert told(lambda: leaves.mask(frame)) == expected
    assert told(lambda: mg.protect_parquet(*files, "x", 5, size=20, **call)) == expected
    assert not files[1].exists()


@pytest.mark.parametrize("call", [PERSONS, {}], ids=["persons", "records"])
def test_a_leaf_that_was_counted_elsewhere_is_refused_if_its_strata_are_broken(call):
    """The table may have changed since, as a plan of Spark is run again."""
    frame = pl.DataFrame({"s": [1] * 9 + [2] * 3, "x": range(12), "who": range(12)})
    leaves = mg.fit_leaves(frame, "x", 5, strata="s", **call).merge(frame if call else [12])
    ties = pl.zeros(12, pl.UInt64, eager=True)
    with pytest.raises(mg.TooFewRecordsError, match="1 of 2 strata have fewer than k=5"):
        mask_counted(leaves, frame, ties, [])


def test_emptied_rows_are_counted_over_all_leaves(tmp_path, small_parts):
    # Two strata of two records each, in different leaves: four rows are emptied.
    keys = [f"s{i // 40}" for i in range(200)] + ["p", "p", "q", "q"]
    frame = pl.DataFrame({"s": keys, "x": np.random.default_rng(2).normal(size=204)})
    frame.write_parquet(tmp_path / "in.parquet")
    for k, fits in ((4, True), (5, False)):
        call = {"size": 20, "strata": "s", "small_strata": "null"}
        leaves = mg.fit_leaves(frame, "x", k, **call)
        doors = (
            lambda leaves=leaves: leaves.mask(frame),
            lambda k=k, call=call: mg.protect_parquet(
                tmp_path / "in.parquet", tmp_path / "out.parquet", "x", k, **call
            ),
        )
        for door in doors:
            if fits:
                door()
            else:
                with pytest.raises(mg.TooFewRecordsError, match="4 records.*emptied|emptied"):
                    door()
        if fits:
            masked = leaves.mask(frame)
            assert masked.filter(pl.col("s").is_null())["x"].to_list() == [None] * 4
            assert pl.read_parquet(tmp_path / "out.parquet").equals(masked)


def test_a_bound_on_confidential_values_is_that_of_the_table_though_strata_are_emptied():
    for seed in range(rounds(6)):
        rng = np.random.default_rng(seed)
        sick = pl.Series(rng.choice(["flu", "ok", "gout"], 600))
        frame = people(rng, 600).with_columns(s=rng.geometric(0.2, 600), sick=sick)
        call = {"strata": "s", "small_strata": "null", "confidential": "sick", "t": 0.3}
        masked = mg.fit_leaves(frame, ["age", "pay"], 4, size=60, **call).mask(frame)
        assert masked["s"].null_count()
        call.pop("small_strata")
        mg.verify(masked, ["age", "pay"], 4, **call)


def test_nulls_that_part_the_suppressed_rows_of_several_blocks_are_refused(tmp_path):
    frame = people(np.random.default_rng(3), 100, holes=0.1)
    frame.write_parquet(tmp_path / "in.parquet")
    files = tmp_path / "in.parquet", tmp_path / "out.parquet"
    said = "nulls='pattern' with small_strata='drop' for several blocks"
    with pytest.raises(mg.InvalidParameterError, match=said):
        mg.protect_parquet(*files, [["age"], ["pay"]], 4, nulls="pattern", small_strata="drop")


def test_blocks_are_masked_each_on_their_own(tmp_path, small_parts):
    frame = people(np.random.default_rng(3), 300)
    frame.write_parquet(tmp_path / "in.parquet")
    call = {"size": 30, "strata": "region", "small_strata": "drop"}
    made = mg.protect_parquet(
        tmp_path / "in.parquet", tmp_path / "out.parquet", [["age"], ["pay"]], 4, **call
    )
    assert [leaves.columns for leaves in made] == [("age",), ("pay",)]
    masked = pl.read_parquet(tmp_path / "out.parquet")
    for name in ("age", "pay"):
        # Records that are equal in one block go by the hash of what nobody masks.
        alone = mg.fit_leaves(frame, name, 4, **call).mask(frame)
        assert masked[name].equals(alone[name])
    # Columns of a method that takes one at a time are blocks, too.
    mg.protect_parquet(
        tmp_path / "in.parquet",
        tmp_path / "each.parquet",
        ["age", "pay"],
        4,
        method="univariate",
        **call,
    )
    each = pl.read_parquet(tmp_path / "each.parquet")
    for name in ("age", "pay"):
        assert each.group_by(name, "region").len()["len"].min() >= 4


def test_leaves_hold_no_key_of_a_stratum():
    frame = people(np.random.default_rng(4), 400)
    leaves = mg.fit_leaves(frame, ["age"], 3, size=30, strata="region", small_strata="drop")
    text = leaves.to_json()
    assert len(leaves.large) > 1
    assert not [name for name in REGIONS if name and name in text]
    read = json.loads(text)
    read["large"] = read["large"][::-1]
    for altered in (read | {"large": read["large"][1:]}, read | {"large": read["large"] * 2}):
        with pytest.raises(mg.InvalidParameterError, match="what Leaves.to_json wrote"):
            mg.Leaves.from_json(json.dumps(altered))


def test_a_stratum_that_grew_since_the_leaves_were_fitted_is_masked_all_the_same():
    rng = np.random.default_rng(6)
    few = pl.DataFrame({"who": range(30), "s": ["a", "b", "c"] * 10, "x": rng.normal(size=30)})
    many = pl.DataFrame({"who": range(400), "s": ["a", "b"] * 200, "x": rng.normal(size=400)})
    plain = mg.fit_leaves(few, "x", 3, size=20, strata="s")
    persons = mg.fit_leaves(few, "x", 3, size=20, strata="s", entity="who", entity_mode="rows")
    assert not plain.large
    for leaves in (plain, persons):
        masked = leaves.mask(many)
        assert masked.group_by("s", "x").len()["len"].min() >= 3
        assert masked["x"].null_count() == 0
    # What is too large for a leaf is cut by rank, but not where halves could lack persons.
    assert masked.equals(mg.mdav(many.sort("s", "x"), "x", 3, strata="s").sort("who"))


def test_a_gap_is_filled_where_nobody_of_a_leaf_has_a_value():
    rng = np.random.default_rng(8)
    types = {"f": pl.Float64, "i": pl.Int16, "d": pl.Decimal(9, 2), "t": pl.Date}
    for name, dtype in types.items():
        frame = pl.DataFrame({name: pl.Series(rng.integers(100, 900, 600)).cast(dtype)})
        frame = frame.with_columns(pl.when(pl.Series(rng.random(600) < 0.5)).then(name).alias(name))
        leaves = mg.fit_leaves(frame, name, 4, size=60, nulls="impute")
        assert len(leaves) > 4
        masked = leaves.mask(frame)
        assert masked.schema == frame.schema
        assert masked[name].null_count() == 0
        # All that lack a value are at the centre, or in a leaf with values near it.
        gaps = masked.filter(frame[name].is_null())[name].to_physical().cast(pl.Float64)
        centre = frame[name].to_physical().cast(pl.Float64).mean()
        assert (gaps - centre).abs().max() < 0.15 * centre
