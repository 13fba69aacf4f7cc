"""Laws of the privacy models: what is promised holds on what is emitted, for every call."""

import contextlib
import re

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_microagg as mg
from tests.loop import every_case, rounds
from tests.models.hostile import ASKED, CHEAP, METHODS, Call, broken, draw, draw_call, released

MODELS = {
    "rows": {"entity": "person", "entity_mode": "rows"},
    "mean": {"entity": "person", "entity_mode": "mean"},
    "alike": {"entity": "person", "entity_mode": "alike"},
    "max_entity_share": {"entity": "person", "entity_mode": "rows", "max_entity_share": 0.3},
    "l": {"confidential": "sick", "l": 2},
    "max_share": {"confidential": "sick", "max_share": 0.6},
    "t": {"confidential": "sick", "t": 0.4},
    "all": {
        "entity": "person",
        "entity_mode": "rows",
        "confidential": "sick",
        "l": 2,
        "max_share": 0.7,
        "t": 0.5,
    },
}
"""Calls on a table of `untied`."""


def untied(seed, n=60):
    """A table without equal values or equal distances, in which models can be satisfied."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "person": rng.permutation(np.arange(n) // 2),
            "sick": rng.choice([3, 5, 7, 8], n),
            "s": rng.permutation(np.arange(n) % 2),
        }
    )


# --- What is promised is kept -------------------------------------------------------------------


@pytest.mark.parametrize("asked", ASKED, ids=" and ".join)
def test_what_is_emitted_satisfies_the_models(asked):
    rng = np.random.default_rng([7, ASKED.index(asked)])
    calls = [draw_call(rng, asked) for _ in range(rounds(80))]
    done = [(call, out) for call in calls if (out := released(call)) is not None and out.height]
    assert len(done) >= len(calls) // 8 > 0
    wrong = broken(done)
    assert not wrong, done[wrong[0][0]][0].options


def test_the_count_finds_what_breaks_a_model():
    table = pl.DataFrame(
        {
            "a": [1, 1, 1, 2, 2, 2],
            "person": ["x", "x", "y", "y", "z", "z"],
            "sick": [1, 1, 2, 2, None, 2],
        }
    )
    options = {"entity": ["person"], "confidential": ["sick"], "entity_mode": "alike"}
    options |= {"l": 3, "max_share": 0.5, "t": 0.05, "max_entity_share": 0.6}
    found = {
        name: number for _, name, number in broken([(Call(table, [["a"]], 3, options), table)])
    }
    # Nulls are 1/6 of the table, ones 2/6 and twos 3/6; of the classes the first is the farther.
    shift = (1 / 6 + 1 / 6) / 2
    numbers = {"k": 2, "l": 1, "max_share": 1.0, "t": pytest.approx(shift), "alike": 1}
    assert found == numbers | {"max_entity_share": 2 / 3}


# --- Where a model asks for nothing -------------------------------------------------------------

NOTHING = {
    "entity": {"entity": "own", "entity_mode": "rows"},
    "max_entity_share": {"entity": "own", "entity_mode": "rows", "max_entity_share": 1.0},
    "l": {"confidential": ["sick", "wage"], "l": 1},
    "max_share": {"confidential": ["sick", "wage"], "max_share": 1.0},
    "t": {"confidential": ["sick", "wage"], "t": 1.0},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NOTHING)
def test_a_model_that_asks_for_nothing_changes_no_bit(name, method):
    rng = np.random.default_rng([8, METHODS.index(method)])
    for _ in range(rounds(12)):
        frame = draw(rng)
        frame = frame.with_columns(own=pl.Series(rng.permutation(frame.height)))
        call = draw_call(rng, (), frame, **{"method": method})
        call.options = {k: v for k, v in call.options.items() if k not in WITHOUT} | CHEAP.get(
            method, {}
        )
        without, asked = released(call), released(call, **NOTHING[name])
        assert (without is None) == (asked is None), call.options
        if without is not None:
            assert_frame_equal(without, asked, check_exact=True)
            assert same_bits(without, asked)


WITHOUT = ("effort", "generations", "iterations")


def same_bits(one, other):
    """Whether all floats have the same bits: 0.0 is not -0.0."""
    floats = [name for name, dtype in one.schema.items() if dtype.is_float()]
    bits = [
        np.signbit(frame[name].fill_null(1.0).to_numpy())
        for frame in (one, other)
        for name in floats
    ]
    half = len(floats)
    return all((bits[i] == bits[i + half]).all() for i in range(half))


# --- What rows and names may not change ---------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_the_order_of_rows_changes_nothing(name):
    for seed in range(rounds(12)):
        # Records of equal confidential values are spread in the order in which they come, so a table
        # has so few records that none are, or distinct values.
        frame = untied(seed, 60 if name == "t" else 22)
        if name == "t":
            frame = frame.with_columns(sick=pl.int_range(60).shuffle(seed))
        shuffled = frame.with_row_index("row").sample(fraction=1.0, shuffle=True, seed=seed)
        method = ("mdav", "vmdav", "md", "cbfs")[seed % 4]
        call = {"k": 3, "method": method, "small_strata": "drop", **MODELS[name]}
        out = mg.mask(frame.with_row_index("row"), ["a", "b"], **call)
        assert_frame_equal(mg.mask(shuffled, ["a", "b"], **call).sort("row"), out)


@pytest.mark.parametrize("name", MODELS)
def test_names_of_persons_and_of_confidential_values_change_nothing(name):
    for seed in range(rounds(12)):
        frame, rng = untied(seed), np.random.default_rng(seed)
        person = pl.Series([f"{code:x}" for code in rng.permutation(10_000)[:60]])
        renamed = frame.with_columns(
            person=person.gather(frame["person"]), sick=pl.col("sick").cast(pl.Float64) * 10 - 99
        )
        call = {"k": 3, "small_strata": "drop", "refine": bool(seed % 2), **MODELS[name]}
        out = mg.mdav(frame, ["a", "b"], **call).select("a", "b")
        assert_frame_equal(
            mg.mdav(renamed, ["a", "b"], **call).select("a", "b"), out, check_exact=True
        )


@pytest.mark.parametrize("name", MODELS)
def test_the_same_call_gives_the_same_bits(name):
    for method in METHODS[:: 1 if every_case() else 5]:
        call = {"k": 3, "method": method, "small_strata": "drop", **CHEAP.get(method, {})}
        call |= {"refine": True, **MODELS[name]}
        one, other = (mg.mask(untied(1), ["a", "b"], **call) for _ in range(2))
        assert_frame_equal(one, other, check_exact=True)


# --- What cannot be satisfied -------------------------------------------------------------------

REACHED = {
    "k": r"needs at least \d+ \w+, got (\d+)|the smallest has (\d+)",
    "l": r"l can be at most (\d+)",
    "max_share": r"max_share can be at least ([\d.e-]*\d)",
    "max_entity_share": r"max_entity_share can be at least ([\d.e-]*\d)",
    "t": r"\bt can be at least ([\d.e-]*\d)",
}


# All records are as far from the table as the table from itself.
@pytest.mark.parametrize(
    ("name", "strata"), [(n, s) for n in REACHED for s in (None, "s") if (n, s) != ("t", None)]
)
def test_what_is_refused_is_accepted_with_the_number_that_could_be_had(name, strata):
    refused = 0
    for seed in range(rounds(40)):
        rng = np.random.default_rng([9, seed])
        frame = draw(rng, 24)
        frame = frame.with_columns(a=pl.Series(rng.normal(size=frame.height)))
        call = {"strata": strata, "k": 2}
        people = {"entity": "person", "entity_mode": ("rows", "mean")[seed % 2]}
        call |= people if name in ("k", "max_entity_share") else {"confidential": "sick"}
        call[name] = {"k": 99, "l": 9, "t": 0.0}.get(name, 0.01)
        with contextlib.suppress(mg.InvalidDataError):
            mg.mdav(frame, "a", **call)
            continue
        with pytest.raises(mg.InvalidDataError) as error:
            mg.mdav(frame, "a", **call)
        said = str(error.value)
        found = re.search(REACHED[name], said)
        if found is None:
            # Some stratum has fewer records than k.
            assert name != "k"
            assert "k=2" in said
            continue
        call[name] = float(next(number for number in found.groups() if number))
        if name in ("k", "l"):
            call[name] = int(call[name])
        if call["k"] < 2:
            continue
        refused += 1
        out = mg.mdav(frame, "a", **call)
        options = {key: value for key, value in call.items() if value is not None}
        for key in options.keys() & {"strata", "entity", "confidential"}:
            options[key] = [options[key]]
        assert not broken([(Call(frame, [["a"]], call["k"], options), out)])
        call[name] += 1 if name in ("k", "l") else -0.01
        if call[name] >= 0:
            with pytest.raises(mg.InvalidDataError):
                mg.mdav(frame, "a", **call)
    assert refused >= rounds(40) // 3


# --- Modes of entities --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["mean", "alike"])
@pytest.mark.parametrize("center", ["mean", "median"])
def test_rows_of_a_person_come_out_as_the_centre_of_the_group(mode, center):
    for seed in range(rounds(20)):
        rng = np.random.default_rng([10, seed])
        frame = untied(seed).with_columns(i=pl.Series(rng.integers(0, 99, 60)))
        columns = ["a", "b", "i"]
        out = mg.mdav(frame, columns, 3, entity="person", entity_mode=mode, center=center)
        means = frame.group_by("person").agg(pl.col(columns).mean())
        groups = out.group_by(columns).agg(pl.col("person").unique())
        for row in groups.iter_rows(named=True):
            own = means.filter(pl.col("person").is_in(row["person"]))
            for name in columns:
                exact = getattr(own[name], center)()
                near = 0.5 + 1e-9 if name == "i" else 1e-9
                assert abs(row[name] - exact) <= near, (name, row[name], exact)


@pytest.mark.parametrize("center", ["mean", "median"])
@pytest.mark.parametrize("name", ["rows", "max_entity_share", "l", "max_share", "t", "all"])
def test_records_come_out_as_the_centre_of_their_group(name, center):
    for seed in range(rounds(12)):
        frame = untied(seed).with_columns(i=pl.int_range(60).shuffle(seed))
        call = {"k": 3, "strata": ["s", None][seed % 2], "center": center, **MODELS[name]}
        call |= {"refine": seed % 4 > 1, "small_strata": "drop"}
        out = mg.mdav(frame, ["a", "b", "i"], **call)
        label = pl.col("microagg_group")
        numbered = mg.groups(frame, ["a", "b", "i"], **call)
        own = [getattr(pl.col(c), center)().over(label).alias(c) for c in ("a", "b", "i")]
        wanted = numbered.filter(label.is_not_null()).select(own)
        assert_frame_equal(out.select("a", "b"), wanted.select("a", "b"))
        assert ((out["i"] - wanted["i"]).abs() <= 0.5).all()


def test_rows_of_a_person_are_equal_in_a_stratum_by_means():
    for seed in range(rounds(40)):
        call = draw_call(np.random.default_rng([11, seed]), ("mean",))
        if call.options.get("nulls") == "pattern" or call.options.get("small_strata") == "null":
            continue
        out = released(call)
        if out is not None:
            keys = call.options["entity"] + call.strata
            seen = out.group_by(keys).agg(
                pl.struct(block).n_unique().alias(str(b)) for b, block in enumerate(call.blocks)
            )
            assert all((seen[str(b)] == 1).all() for b in range(len(call.blocks)))


def test_persons_alike_are_persons_in_a_class():
    for seed in range(rounds(60)):
        call = draw_call(np.random.default_rng([12, seed]), ("alike",))
        if (out := released(call)) is not None and out.height:
            as_rows = Call(call.frame, call.blocks, call.k, call.options | {"entity_mode": "rows"})
            assert not broken([(call, out), (as_rows, out)])


# --- The search ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rows", "max_entity_share", "l", "max_share", "t", "all"])
def test_refinement_never_ends_higher(name):
    for seed in range(rounds(24)):
        frame = untied(seed, 40 + 40 * (seed % 2))
        call = {"k": 3 + seed % 3, "method": METHODS[seed % len(METHODS)], **MODELS[name]}
        call |= CHEAP.get(call["method"], {})
        plain, better = (mg.mask(frame, ["a", "b"], refine=r, **call) for r in (False, True))
        least, most = (mg.loss(frame, out, ["a", "b"]) for out in (better, plain))
        assert least <= most * (1 + 1e-9), call


@pytest.mark.parametrize("mode", ["mean", "alike"])
def test_refinement_of_entities_never_ends_higher(mode):
    for seed in range(rounds(24)):
        frame = untied(seed, 80)
        call = {"entity": "person", "entity_mode": mode, "scale": "none", "method": "mdav1"}
        if seed % 2:
            call |= {"confidential": "sick", "l": 3}
        outs = [mg.mask(frame, ["a", "b"], 3, refine=r, **call) for r in (False, True)]
        # Every person has two rows, so the sums over rows are those over the means but for a constant.
        squares = [sum(((frame[c] - out[c]) ** 2).sum() for c in ("a", "b")) for out in outs]
        assert squares[1] <= squares[0] * (1 + 1e-9)


@pytest.mark.parametrize("name", ["rows", "mean", "alike", "max_entity_share", "l", "max_share"])
def test_a_stratum_is_masked_alone_as_among_others(name):
    for seed in range(rounds(24)):
        frame = untied(seed, 50)
        if name == "alike":
            frame = frame.with_columns(person=frame["person"] * 2 + frame["s"])
        method = ("mdav", "vmdav", "fixed_size", "k_ward")[seed % 4]
        call = {"k": 3, "method": method, "refine": bool(seed % 2), **MODELS[name]}
        call["small_strata"] = "drop"
        among = mg.mask(frame.with_row_index("row"), ["a", "b"], strata="s", **call)
        alone = [
            mg.mask(part, ["a", "b"], **call)
            for part in frame.with_row_index("row").partition_by("s")
        ]
        assert_frame_equal(among.sort("row"), pl.concat(alone).sort("row"), check_exact=True)


# --- Doors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ASKED, ids=" and ".join)
def test_a_lazy_frame_and_an_expression_give_what_the_function_gives(asked):
    rng = np.random.default_rng([13, ASKED.index(asked)])
    for _ in range(rounds(8)):
        call = draw_call(rng, asked)
        out = released(call)
        lazy = Call(call.frame.lazy(), call.blocks, call.k, call.options)
        if out is None:
            with pytest.raises(mg.InvalidDataError):
                lazy().collect()
            continue
        assert_frame_equal(lazy().collect(), out, check_exact=True)
        if len(call.blocks) == 1 and call.options.get("small_strata") is None:
            counted = [
                name for role in ("entity", "confidential") for name in call.options.get(role, [])
            ]
            if call.strata or "order_by" in call.options or "max_rows_per_entity" in call.options:
                continue
            options = {key: v for key, v in call.options.items() if key != "method"}
            fields = pl.struct(*call.blocks[0], *counted)
            masked = getattr(fields.microagg, call.options["method"])(k=call.k, **options)
            got = call.frame.select(masked.alias("m")).unnest("m").select(call.blocks[0])
            assert_frame_equal(got, out.select(call.blocks[0]), check_exact=True)
