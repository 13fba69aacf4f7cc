"""Leaves of columns of categories: k, rare ones, order, pieces, JSON, and the table masked whole."""

import json
import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import polars_microagg as mg
from polars_microagg.leaves import fit
from polars_microagg.leaves.fit_keys import MOST
from polars_microagg.leaves.key_columns import Classes, Points, Ranks
from tests.leaves.mixtures import PREFIXES, drawn, emitted_rarely, table
from tests.leaves.people import by_hand
from tests.loop import rounds


def call(seed, n=None):
    """A table, columns, k, and options of leaves."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(40, 700))
    columns, options = drawn(rng)
    return table(rng, n), columns, int(rng.integers(2, 7)), {"size": 60, **options}


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(rounds(120)))
def test_laws_of_leaves_hold_for_any_mixture(seed):
    frame, columns, k, options = call(seed)
    leaves = mg.fit_leaves(frame, columns, k, **options)
    masked = by_hand(leaves, frame)
    who = {"entity": options["entity"]} if "entity" in options else {}
    mg.verify(masked, columns, k, **who)
    assert not emitted_rarely(frame, masked, columns, k, options)
    assert masked.schema == frame.schema
    assert masked.drop(columns).equals(frame.drop(columns))
    assert leaves.mask(frame).equals(masked)
    mixed = frame.sample(fraction=1, shuffle=True, seed=seed)
    again = mg.fit_leaves(pl.concat(mixed.iter_slices(77), rechunk=False), columns, k, **options)
    assert again == leaves
    assert pl.concat(leaves.assign(part) for part in mixed.iter_slices(33)).equals(
        leaves.assign(mixed)
    )
    assert again.mask(mixed).sort("id").equals(masked)
    read = mg.Leaves.from_json(leaves.to_json())
    assert read == leaves == pickle.loads(pickle.dumps(leaves))
    assert read.mask(frame).equals(masked)


def test_a_few_mixtures_in_the_quick_loop():
    for seed in range(rounds(12)):
        frame, columns, k, options = call(1000 + seed, 150)
        leaves = mg.fit_leaves(frame, columns, k, **options)
        masked = by_hand(leaves, frame)
        mg.verify(masked, columns, k)
        assert not emitted_rarely(frame, masked, columns, k, options)
        assert mg.Leaves.from_json(leaves.to_json()).mask(frame).equals(masked)


@pytest.mark.parametrize("seed", range(8))
def test_one_leaf_is_the_table_masked_whole(seed):
    rng = np.random.default_rng(seed)
    frame = table(rng, 300)
    columns = ["income", *rng.permutation(["sex", "kind", "level", "zip", "rich", "day"])[:4]]
    options = {"ordinal": "day"} if "day" in columns else {}
    options |= {"taxonomy": {"zip": PREFIXES}} if "zip" in columns else {}
    options["column_weights"] = {"income": 1.7}
    leaves = mg.fit_leaves(frame, columns, 4, size=300, **options)
    assert len(leaves) == 1
    ordered = frame.sort(columns)
    assert leaves.mask(ordered).equals(mg.mdav(ordered, columns, 4, **options))


def test_known_are_the_categories_that_k_of_the_sample_have():
    job = ["cook"] * 40 + ["clerk"] * 30 + ["judge"] * 4 + ["mayor"]
    level = pl.Series(
        ["low"] * 40 + ["high"] * 33 + ["top"] * 2, dtype=pl.Enum(["low", "high", "top"])
    )
    zips = ["1234"] * 3 + ["1299"] * 3 + ["5678"] * 69
    frame = pl.DataFrame({"id": range(75), "job": job, "level": level, "zip": zips})
    columns, trees = ["job", "level", "zip"], {"zip": PREFIXES}
    leaves = mg.fit_leaves(frame, columns, 5, size=20, taxonomy=trees)
    known = dict(zip(columns, leaves.large[0].known, strict=True))
    assert set(known["job"].names) == {"cook", "clerk"}
    assert known["level"] == Ranks(("low", "high"), (0, 40), (40, 33), 75)
    # What parts the records as another class does is that class.
    assert known["zip"].names == ("1***",) or known["zip"].names == ("12**",)
    text = json.dumps(json.loads(leaves.to_json())["large"][0]["keys"])
    assert not [name for name in ("judge", "mayor", "top", "1234", "1299") if name in text]
    persons = frame.with_columns(who=pl.min_horizontal("id", 43))
    own = mg.fit_leaves(
        persons, columns, 5, size=20, taxonomy=trees, entity="who", entity_mode="rows"
    )
    assert own.large[0].known[0].names == ("cook",)


def test_categories_that_are_refused_by_a_sample_say_so(monkeypatch):
    frame = pl.DataFrame({"id": range(2000)}).with_columns(
        name=pl.format("n{}", pl.col("id") % 400)
    )
    # Five records have each name, of whom a sample mostly has one.
    mg.fit_leaves(frame, "name", 5, size=100)
    monkeypatch.setattr(fit, "SAMPLE", 200)
    with pytest.raises(mg.InvalidDataError, match=r"in \d{3} records that were drawn from 2000;"):
        mg.fit_leaves(frame, "name", 5, size=1000)


def test_a_category_of_nobody_in_the_sample_is_like_all_others():
    rng = np.random.default_rng(2)
    frame = table(rng, 400)
    leaves = mg.fit_leaves(frame, ["job", "level", "zip"], 3, size=60, taxonomy={"zip": PREFIXES})
    new = frame.head(30).with_columns(
        job=pl.Series([f"new {i % 3}" for i in range(30)]), zip=pl.lit("00") + pl.lit("07")
    )
    assert leaves.assign(new.with_columns(job=pl.lit("other"))).equals(leaves.assign(new))
    both = pl.concat([frame, new])
    masked = leaves.mask(both)
    mg.verify(masked, ["job", "level", "zip"], 3)
    assert not emitted_rarely(
        both, masked, ["job", "level", "zip"], 3, {"taxonomy": {"zip": PREFIXES}}
    )


def test_a_large_leaf_of_unknown_categories_is_cut_by_rank():
    job = [f"job {i // 3}" for i in range(300)]
    frame = pl.DataFrame({"id": range(300), "job": job})
    leaves = mg.fit_leaves(frame, "job", 5, size=20, records=300)
    assert leaves.large[0].known == (Classes(),)
    assert len(leaves) == 1
    masked = leaves.protect(frame)
    mg.verify(masked, "job", 5)
    # No category may be told: three records have each.
    assert masked["job"].null_count() == 300
    assert leaves.protect(frame.sample(fraction=1, shuffle=True, seed=1)).sort("id").equals(masked)


def test_a_table_is_cut_between_categories():
    # Each job has salaries of its own, which say nothing beside it.
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"id": range(800), "job": np.repeat(list("abcdefgh"), 100)})
    frame = frame.with_columns(noise=pl.Series(rng.normal(size=800)))
    leaves = mg.fit_leaves(
        frame, ["job", "noise"], 4, size=100, column_weights={"job": 9}, cut="gain"
    )
    found = frame.with_columns(leaves.assign(frame)).group_by("leaf").agg(pl.col("job").n_unique())
    assert found["job"].to_list() == [1] * 8
    assert leaves.mask(frame)["job"].equals(frame["job"])
    assert len(leaves.large[0].known[0].names) == 8


def test_those_that_tell_most_are_known_of_all_columns_together():
    rng = np.random.default_rng(4)
    many = [f"c{i}" for i in range(60)]
    frame = pl.DataFrame({"a": rng.choice(many, 3000), "b": rng.choice(["x", "y"], 3000)})
    leaves = mg.fit_leaves(frame, ["a", "b"], 3, size=300)
    assert sum(len(key.names) for key in leaves.large[0].known) == MOST
    assert leaves.large[0].known[1] == Classes(leaves.large[0].known[1].names, (1.0,))
    heavy = mg.fit_leaves(frame, ["a", "b"], 3, size=300, column_weights={"a": 1000})
    assert len(heavy.large[0].known[0].names) == MOST


def test_distances_are_on_the_scale_of_the_table():
    # In the table next to nobody has another sex; in the lower leaf alone half of them would.
    frame = pl.DataFrame(
        {
            "id": range(40),
            "a": [float(i) for i in range(8)] + [1000.0 + i for i in range(32)],
            "sex": ["f", "m"] * 2 + ["m"] * 36,
        }
    )
    leaves = mg.fit_leaves(frame, ["a", "sex"], 2, size=20, cut="tail+median")
    share = 2 / 40
    assert np.isclose(leaves.large[0].weights[1], 1 / np.sqrt(share * (1 - share)))
    same = mg.fit_leaves(frame, ["a", "sex"], 2, size=20, cut="tail+median", scale="minmax")
    assert same.large[0].weights[1] == 1.0


def test_ranks_are_those_of_the_table():
    day = pl.Series(np.repeat(np.arange(10), 10), dtype=pl.Int32).cast(pl.Date)
    frame = pl.DataFrame({"id": range(100), "day": day, "a": np.arange(100) % 2 * 1e6})
    leaves = mg.fit_leaves(frame, ["a", "day"], 3, size=20, ordinal="day", cut="median")
    (ranks,) = [key for key in leaves.large[0].known if key]
    assert ranks.before == tuple(range(0, 100, 10))
    assert np.isclose(
        leaves.large[0].weights[1], 1 / np.std(np.repeat(np.arange(5.5, 100, 10), 10))
    )
    mg.verify(leaves.mask(frame), ["a", "day"], 3)


def test_an_unknown_rank_is_that_between_its_neighbours_in_any_piece():
    # Two of each day, of which leaves thus know none, between days that many have.
    days = np.sort([*np.repeat([0, 50, 99], 60), *np.repeat(np.arange(1, 99), 2)])
    frame = pl.DataFrame({"id": range(len(days)), "day": pl.Series(days, dtype=pl.Int32)})
    leaves = mg.fit_leaves(frame, "day", 5, size=20, ordinal="day")
    assert leaves.large[0].known[0].names == ("0", "50", "99")
    whole = leaves.assign(frame)
    for size in (1, 7):
        assert pl.concat(leaves.assign(part) for part in frame.iter_slices(size)).equals(whole)
    assert leaves.key_columns[0].matrix([pl.Series([0, 3, 40, 50], dtype=pl.Int32)]).T.tolist() == [
        [30.5, 109.5, 109.5, 189.5]
    ]


def test_times_of_day_weigh_by_their_circle():
    frame = table(np.random.default_rng(9), 200)
    by = {
        scale: mg.fit_leaves(frame, "hour", 5, size=50, circular="hour", scale=scale)
        for scale in ("minmax", "zscore")
    }
    assert by["minmax"].large[0].weights == (0.5,)
    x = by["zscore"].key_columns[0].matrix([frame["hour"]])
    assert np.isclose(by["zscore"].large[0].weights[0], 1 / np.sqrt(x.var(axis=0).sum()))
    assert np.allclose(np.square(x).sum(axis=1), 1)


def test_a_sample_is_enough_and_rare_categories_stay_in(monkeypatch):
    monkeypatch.setattr(fit, "SAMPLE", 500)
    frame = table(np.random.default_rng(5), 4000)
    columns, options = (
        ["job", "level", "zip", "hour"],
        {"taxonomy": {"zip": PREFIXES}, "circular": "hour"},
    )
    leaves = mg.fit_leaves(frame, columns, 5, size=400, **options)
    assert 300 < leaves.tree.expected.sum() < 700
    masked = leaves.mask(frame)
    mg.verify(masked, columns, 5)
    assert not emitted_rarely(frame, masked, columns, 5, options)
    assert leaves.large[0].known[3] == Points(2)


def test_dictionaries_of_arrow_keep_their_types_and_may_become_null():
    rng = np.random.default_rng(6)
    words = [f"w{i}" for i in rng.integers(0, 12, 200)]
    small = pa.array(words).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    schema = pa.schema(
        [
            pa.field("a", small.type, nullable=False),
            pa.field("b", pa.string(), nullable=False, metadata={"about": "b"}),
            pa.field("c", pa.bool_()),
            pa.field("n", pa.int16(), nullable=False),
        ]
    )
    table = pa.table([small, words[::-1], rng.random(200) < 0.5, np.arange(200)], schema=schema)
    for dtype in ("keep", "float"):
        leaves = mg.fit_leaves(table, ["a", "b", "c", "n"], 4, size=300, dtype=dtype)
        masked = leaves.protect(table)
        assert masked.schema.types[:3] == table.schema.types[:3]
        assert masked.schema.field("n").type == (pa.int16() if dtype == "keep" else pa.float64())
        assert [field.nullable for field in masked.schema] == [True, True, True, False]
        assert not masked.schema.field("b").metadata
        mg.verify(masked, ["a", "b", "c", "n"], 4)


def test_what_is_refused():
    frame = pl.DataFrame({"id": range(40), "zip": ["1234", "12"] * 20, "job": ["cook"] * 40})
    name = frame.with_columns(name=pl.col("id").cast(pl.String))
    with pytest.raises(mg.InvalidDataError, match="'name' has 40 of 40 values in categories"):
        mg.fit_leaves(name, ["name"], 5)
    with pytest.raises(mg.InvalidDataError, match="1 distinct value.* 'zip' are not in its tax"):
        mg.fit_leaves(frame, ["zip"], 5, taxonomy={"zip": PREFIXES})
    with pytest.raises(mg.NotNumericError, match="'id' is of type Int64; taxonomy takes text"):
        mg.fit_leaves(frame, ["id"], 5, taxonomy={"id": PREFIXES})
    with pytest.raises(mg.InvalidParameterError, match="'zap', which is not"):
        mg.fit_leaves(frame, ["zip"], 5, nominal="zap")
    holes = frame.with_columns(job=pl.when(pl.col("id") > 2).then("job"))
    with pytest.raises(mg.MissingValuesError, match="'job' has 3 null"):
        mg.fit_leaves(holes, ["job"], 5)
    for cellwise in ("univariate", "individual_ranking"):
        with pytest.raises(mg.MicroaggError, match=cellwise):
            mg.fit_leaves(frame, ["job"], 5, method=cellwise)
    leaves = mg.fit_leaves(frame, ["job"], 5, size=15)
    for call in (leaves.assign, leaves.mask, leaves.protect):
        with pytest.raises(mg.MissingValuesError, match="'job' has 3 null"):
            call(holes)
        with pytest.raises(mg.NotNumericError, match="fitted to another kind of column") as caught:
            call(frame.with_columns(job=pl.lit(5)))
        assert "cook" not in str(caught.value)


MIXED = mg.fit_leaves(
    table(np.random.default_rng(7), 500),
    ["job", "level", "zip", "hour", "age"],
    4,
    size=60,
    taxonomy={"zip": PREFIXES},
    circular="hour",
)
ALTERED = {
    "keys: a list": (["large", 0, "keys"], [], "keys that are its columns"),
    "keys: of another column": (["large", 0, "keys", "x"], {}, "keys that are its columns"),
    "form": (["large", 0, "keys", "job", "form"], "classy", "a form that there is"),
    "form: a list": (["large", 0, "keys", "job", "form"], [], "a form that there is"),
    "one field more": (["large", 0, "keys", "job", "x"], 1, "a form that there is"),
    "names: numbers": (["large", 0, "keys", "job", "names"], [1], "names of categories"),
    "names: twice": (["large", 0, "keys", "job", "names"], ["a", "a"], "names of categories"),
    "lengths: fewer": (["large", 0, "keys", "job", "lengths"], [], "lengths of its classes"),
    "lengths: huge": (["large", 0, "keys", "job", "lengths", 0], 1e300, "lengths of its classes"),
    "lengths: negative": (
        ["large", 0, "keys", "job", "lengths", 0],
        -1.0,
        "lengths of its classes",
    ),
    "counts: fewer": (["large", 0, "keys", "level", "counts"], [], "counts of its categories"),
    "counts: none": (["large", 0, "keys", "level", "counts", 0], 0, "counts of its categories"),
    "counts: too many": (["large", 0, "keys", "level", "counts", 0], 10**6, "in their order"),
    "before: a word": (["large", 0, "keys", "level", "before"], "ab", "counts of its categories"),
    "records: few": (["large", 0, "keys", "level", "records"], 3, "in their order"),
    "points: none": (["large", 0, "keys", "hour", "width"], 0, "coordinates of its points"),
    "points: more": (["large", 0, "keys", "hour", "width"], 3, "each column as its centre"),
    "no keys": (["large", 0, "keys"], {}, "each column as its centre"),
    "taxonomy: a word": (["options", "taxonomy", "zip"], "x", "Taxonomy objects in taxonomy"),
    "taxonomy: empty": (["options", "taxonomy", "zip"], {}, "Taxonomy objects in taxonomy"),
    "taxonomy: of nothing": (["options", "taxonomy"], 5, "taxonomy=5"),
    "column_weights": (["options", "column_weights"], {"job": -1}, "a number from"),
}


@pytest.mark.parametrize("what", list(ALTERED))
def test_what_was_altered_is_refused_in_a_sentence(what):
    path, value, text = ALTERED[what]
    read = json.loads(MIXED.to_json())
    *outer, last = path
    place = read
    for step in outer:
        place = place[step]
    place[last] = value
    with pytest.raises(mg.InvalidParameterError, match=text):
        mg.Leaves.from_json(json.dumps(read))
