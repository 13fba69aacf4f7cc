"""Leaves: the same records go the same way and come out the same, whatever brought them."""

import pickle
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import polars_microagg as mg
from polars_microagg.core import registry
from polars_microagg.leaves import fit

COLUMNS = ["age", "income", "born", "debt"]


def people(n=4000, seed=0):
    """Records of many types, with ties and a heavy tail."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "age": pl.Series(rng.integers(18, 95, n), dtype=pl.Int16),
            "income": np.round(rng.lognormal(9, 1.2, n), 2),
            "born": [date(1950, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 900, n)],
            "debt": pl.Series(
                [Decimal(int(v)) / 100 for v in rng.integers(0, 999, n)], dtype=pl.Decimal(9, 2)
            ),
            "note": pl.Series([f"note {v}" for v in rng.integers(0, 9, n)]),
        }
    )


def masked_by(leaves, frame):
    """Each leaf masked on its own, and all sorted by id."""
    parts = frame.with_columns(leaves.assign(frame)).partition_by("leaf", include_key=False)
    return pl.concat([leaves.protect(part) for part in parts]).sort("id")


def test_every_leaf_holds_k_and_nothing_else_changes():
    frame = people()
    leaves = mg.fit_leaves(frame, COLUMNS, k=5, size=300)
    masked = masked_by(leaves, frame)
    mg.verify(masked, COLUMNS, k=5)
    assert masked.schema == frame.schema
    assert masked.drop(COLUMNS).equals(frame.drop(COLUMNS))
    assert len(leaves) > 10


def test_a_whole_table_is_masked_leaf_by_leaf(monkeypatch):
    monkeypatch.setattr("polars_microagg.leaves.protect.MANY", 700)
    frame = people()
    leaves = mg.fit_leaves(frame, COLUMNS, k=5, size=300)
    assert leaves.mask(frame).equals(masked_by(leaves, frame))
    assert leaves.mask(frame.clear()).equals(frame.clear())
    few = frame.head(60)
    assert leaves.assign(few).value_counts()["count"].min() < 5
    mg.verify(leaves.mask(few), COLUMNS, k=5)


def test_one_leaf_is_the_table_masked_whole():
    frame = people(600)
    leaves = mg.fit_leaves(frame, ["income"], k=4, size=600, cut="median")
    assert len(leaves) == 1
    assert masked_by(leaves, frame).equals(mg.mdav(frame.sort("income"), "income", k=4).sort("id"))


@pytest.mark.parametrize("seed", range(3))
def test_neither_order_nor_pieces_count(seed):
    frame = people(seed=seed)
    leaves = mg.fit_leaves(frame, COLUMNS, k=3, size=300)
    mixed = frame.sample(fraction=1, shuffle=True, seed=seed)
    pieces = [leaves.assign(part) for part in mixed.iter_slices(333)]
    assert pl.concat(pieces).equals(leaves.assign(mixed))
    again = mg.fit_leaves(pl.concat(mixed.iter_slices(77), rechunk=False), COLUMNS, k=3, size=300)
    assert again.to_json() == leaves.to_json()
    assert masked_by(again, mixed).equals(masked_by(leaves, frame))


def test_records_equal_in_all_masked_columns_do_not_change_places():
    n = 900
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {"id": np.arange(n), "a": rng.integers(0, 30, n), "b": rng.integers(0, 3, n)}
    )
    leaves = mg.fit_leaves(frame, ["a", "b"], k=7, size=200, dtype="float")
    masked = masked_by(leaves, frame)
    for seed in range(5):
        mixed = frame.sample(fraction=1, shuffle=True, seed=seed)
        assert masked_by(leaves, mixed).equals(masked)


def test_a_leaf_of_equal_records_is_cut_all_the_same():
    frame = pl.DataFrame({"id": np.arange(6000), "a": np.repeat([0.0, 1.0], [5980, 20])})
    limit = registry.methods()["fuzzy"].limit
    assert limit < 5980
    leaves = mg.fit_leaves(frame, ["a"], k=5, size=100, method="fuzzy")
    told = []
    with mg.progress(lambda done, total, what: told.append(total)):
        masked = masked_by(leaves, frame)
    assert masked["a"].equals(frame["a"])
    assert told == []


def test_as_an_expression_in_either_engine():
    frame = people()
    leaves = mg.fit_leaves(frame, COLUMNS, k=5, size=300)
    for engine in ("in-memory", "streaming"):
        found = frame.lazy().select(leaves.expr()).collect(engine=engine).to_series()
        assert found.equals(leaves.assign(frame))


def test_arrow_tables_keep_their_types_and_lose_their_notes():
    frame = people(200)
    leaves = mg.fit_leaves(frame, COLUMNS, k=5, size=500)
    table = frame.to_arrow().cast(
        pa.schema(
            [pa.field(f.name, f.type, metadata={"about": f.name}) for f in frame.to_arrow().schema]
        )
    )
    masked = leaves.protect(table)
    assert masked.schema.equals(table.schema)
    assert not any(field.metadata for field in masked.schema)
    assert pl.DataFrame(masked).equals(leaves.protect(frame))
    floats = mg.fit_leaves(frame, COLUMNS, k=5, size=500, dtype="float").protect(table)
    assert {floats.schema.field(name).type for name in COLUMNS} == {pa.float64()}


def test_json_and_pickle_bring_back_the_same_leaves():
    frame = people()
    leaves = mg.fit_leaves(
        frame, COLUMNS, k=5, size=300, method="vmdav", gamma=np.float64(0.7), seed=np.int64(3)
    )
    for other in (mg.Leaves.from_json(leaves.to_json()), pickle.loads(pickle.dumps(leaves))):
        assert other.to_json() == leaves.to_json()
        assert masked_by(other, frame).equals(masked_by(leaves, frame))
    assert len(leaves.to_json()) < 8000


def test_leaves_show_no_value_of_a_record():
    leaves = mg.fit_leaves(people(), COLUMNS, k=5, size=300)
    assert (
        repr(leaves)
        == f"Leaves({len(leaves)} of about 300 records, mdav, k=5, cut by {leaves.cut})"
    )


def test_the_lowest_measured_loss_wins():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(rng.lognormal(0, [0.5, 1, 2], (3000, 3)), schema=["a", "b", "c"])
    leaves = mg.fit_leaves(frame, ["a", "b", "c"], k=5, size=300)
    assert leaves.losses[leaves.cut] == min(leaves.losses.values())
    whole = mg.loss(frame, mg.mdav(frame, frame.columns, 5), frame.columns)
    for how, measured in leaves.losses.items():
        chosen = mg.fit_leaves(frame, frame.columns, k=5, size=300, cut=how)
        rows = frame.with_row_index("id")
        true = mg.loss(frame, masked_by(chosen, rows), frame.columns)
        assert measured == pytest.approx(true, rel=0.02)
        assert how != leaves.cut or true <= 1.25 * whole


@pytest.mark.parametrize(("seed", "size"), [(1, 400), (2, 300), (4, 300)])
def test_few_records_far_beyond_all_others_are_not_shared_by_leaves(seed, size):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(24_000, 3))
    far = rng.random(len(x)) < 0.002
    x[far, 1] = rng.uniform(40, 200, far.sum())
    frame = pl.DataFrame(x, schema=["a", "b", "c"])
    whole = mg.loss(frame, mg.mdav(frame, frame.columns, 5), frame.columns)
    leaves = mg.fit_leaves(frame, frame.columns, 5, size=size)
    assert mg.loss(frame, leaves.mask(frame), frame.columns) < whole


def test_distances_are_on_the_scale_of_the_table_and_not_of_the_leaf():
    # In the lower leaf alone b would spread as much as a; in the table it hardly does.
    a = [0.0, 1, 2, 3, 1000, 1001, 1002, 1003]
    b = [0.0, 0.1, 0, 0.1, 0, 0, 300, 300]
    frame = pl.DataFrame({"id": range(8), "a": a, "b": b})
    leaves = mg.fit_leaves(frame, ["a", "b"], k=2, size=4, cut="median", scale="minmax")
    assert leaves.assign(frame).to_list() == [0] * 4 + [1] * 4
    assert np.allclose(leaves.large[0].weights, [1 / 1003, 1 / 300])
    assert masked_by(leaves, frame)["a"].to_list()[:4] == [0.5, 0.5, 2.5, 2.5]


def test_a_sample_is_enough_and_counts_merge_what_is_too_small():
    frame = people(5000)
    sample = frame.sample(800, seed=1)
    leaves = mg.fit_leaves(sample, COLUMNS, k=5, records=5000, size=300)
    assert leaves.merged == {}
    few = frame.head(60)
    counts = np.bincount(leaves.assign(few), minlength=len(leaves.tree))
    assert counts[counts > 0].min() < 5
    merged = leaves.merge(counts)
    assert few.with_columns(merged.assign(few))["leaf"].value_counts()["count"].min() >= 5
    mg.verify(masked_by(merged, few), COLUMNS, k=5)


def test_a_large_table_is_fitted_to_a_sample_of_it(monkeypatch):
    monkeypatch.setattr(fit, "SAMPLE", 1000)
    frame = people(6000)
    leaves = mg.fit_leaves(frame, COLUMNS, k=5, size=500)
    assert 800 < leaves.tree.expected.sum() < 1200
    mg.verify(masked_by(leaves, frame), COLUMNS, k=5)


# --- What is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (
            {"cut": "tails"},
            mg.InvalidParameterError,
            "Did you mean 'tail'|cut='tails' is not known",
        ),
        ({"size": 9}, mg.InvalidParameterError, "a whole number of at least 2k=10"),
        ({"records": 10}, mg.InvalidParameterError, "at least those of the sample"),
        ({"nulls": "fill"}, mg.InvalidParameterError, "nulls='fill' is not known"),
        ({"strata": "age"}, mg.InvalidParameterError, "'age' is masked and is in strata as well"),
        ({"strata": "regio"}, mg.InvalidParameterError, "'regio', which is not a column"),
        ({"order_by": "regio"}, mg.InvalidParameterError, "'regio', which is not a column"),
        (
            {"entity": "id", "entity_mode": "mean"},
            mg.InvalidParameterError,
            "fit_leaves cannot honour entity_mode='mean'. Mask the table whole",
        ),
        (
            {"strata": "note", "small_strata": "drop", "confidential": "id", "l": 2},
            mg.InvalidParameterError,
            "small_strata='drop'. Empty small strata, with small_strata='null'",
        ),
        ({"gamma": 1}, mg.InvalidParameterError, "mdav has no option 'gamma'"),
        ({"method": "univariate"}, mg.InvalidParameterError, "one column at a time"),
        ({"method": "nearest"}, mg.UnknownMethodError, "There is no method 'nearest'"),
        ({"scale": "sd"}, mg.InvalidParameterError, "scale='sd' is not known"),
    ],
)
def test_calls_that_leaves_cannot_honour(options, error, text):
    with pytest.raises(error, match=text):
        mg.fit_leaves(people(50), ["age", "income"], 5, **options)


def test_data_that_leaves_cannot_split():
    frame = people(50)
    with pytest.raises(mg.InvalidParameterError, match="2 lists"):
        mg.fit_leaves(frame, [["age"], ["income"]], 5)
    with pytest.raises(mg.InvalidParameterError, match="'incom'"):
        mg.fit_leaves(frame, ["incom"], 5)
    with pytest.raises(mg.NotNumericError, match="'note'"):
        mg.fit_leaves(frame.cast({"note": pl.Binary}), ["age", "note"], 5)
    with pytest.raises(mg.TooFewRecordsError, match="k=5 needs at least 5 records, got 4"):
        mg.fit_leaves(frame.head(4), ["age"], 5)
    holes = frame.with_columns(age=pl.when(pl.col("id") > 2).then("age"))
    with pytest.raises(mg.MissingValuesError, match="'age' has 3 null"):
        mg.fit_leaves(holes, ["age"], 5)
    leaves = mg.fit_leaves(frame, ["age", "income"], 5)
    with pytest.raises(mg.MissingValuesError, match="'age' has 3 null"):
        leaves.assign(holes)
    with pytest.raises(mg.InvalidParameterError, match="'income', which is not a column"):
        leaves.assign(frame.drop("income"))
    with pytest.raises(mg.TooFewRecordsError, match="got 3"):
        leaves.protect(frame.head(3))
    with pytest.raises(mg.InvalidParameterError, match="what Leaves.to_json wrote"):
        mg.Leaves.from_json("{}")


def test_extreme_values_stay_finite():
    x = np.array([1e308, -1e308, 1e300, 0.0, 1e-308, 5e-324] * 20) * np.linspace(0.5, 1, 120)
    frame = pl.DataFrame({"id": range(120), "a": x, "b": np.arange(120) % 7})
    leaves = mg.fit_leaves(frame, ["a", "b"], k=3, size=20)
    mg.verify(masked_by(leaves, frame), ["a", "b"], k=3)


def test_fitted_leaves_refuse_another_type_without_showing_a_value():
    leaves = mg.fit_leaves(pl.DataFrame({"age": range(20)}), "age", 3, size=6)
    names = pl.DataFrame({"age": ["Anna"] * 20})
    for call in (leaves.mask, leaves.assign, leaves.protect):
        with pytest.raises(
            mg.NotNumericError, match="'age' is of type String|fitted to another kind"
        ) as caught:
            call(names)
        assert "Anna" not in str(caught.value)


def test_no_threshold_is_the_value_of_a_record():
    table = pl.DataFrame(np.random.default_rng(8).normal(size=(4000, 3)), schema=["a", "b", "c"])
    leaves = mg.fit_leaves(table, ["a", "b", "c"], 5, size=100)
    values = {name: set(table[name].to_list()) for name in table.columns}
    found = zip(leaves.tree.columns.tolist(), leaves.tree.thresholds.tolist(), strict=True)
    assert len(leaves) > 20
    assert not any(at in values["abc"[column]] for column, at in found if column < 3)


@pytest.mark.parametrize("text", ["hello", "{}", "[]", '{"version": 1}', ""])
def test_what_is_no_json_of_leaves_is_refused(text):
    with pytest.raises(mg.InvalidParameterError, match=r"what Leaves\.to_json wrote"):
        mg.Leaves.from_json(text)


def test_a_lazyframe_is_masked_as_well():
    table = pl.DataFrame({"age": range(50)})
    leaves = mg.fit_leaves(table, "age", 3, size=20)
    assert leaves.mask(table.lazy()).equals(leaves.mask(table))
