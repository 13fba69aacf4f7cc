"""What a plan does with values that are grouped, and with broken promises."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.partition import Partition, Strata, ValueMasking
from polars_microagg.core.plan import Plan
from polars_microagg.kernels.centre import real_centres

pytestmark = pytest.mark.whole

NAN = float("nan")


TABLE = pl.DataFrame({"a": [1, 2, 8, 9], "b": [4.0, 3.0, 2.0, 1.0], "s": ["x", "x", "y", "y"]})


# --- Methods that group values ----------------------------------------------------------------


@pytest.fixture
def grand(toys):
    """A method that gives every cell the mean of all cells."""

    @toys(cite="Nobody (2000)", unit="value")
    def grand(x, /, *, k: int) -> ValueMasking:
        """Replace all by the mean of all."""
        return ValueMasking(np.full(x.shape, x.mean()))


def both(frame, columns, k, **options):
    """The same call on a DataFrame and on a LazyFrame."""
    eager = mg.mask(frame, columns, k, method="grand", **options)
    lazy = mg.mask(frame.lazy(), columns, k, method="grand", **options)
    assert lazy.collect_schema() == eager.schema
    for engine in ("in-memory", "streaming"):
        assert lazy.collect(engine=engine).equals(eager)
    return eager


def test_values_are_masked_through_the_door_in_their_own_types(grand):
    # All eight cells: (1 + 2 + 8 + 9 + 4 + 3 + 2 + 1) / 8 = 3.75, as an integer 4.
    masked = both(TABLE, ["a", "b"], 2)
    assert masked.to_dict(as_series=False) == {"a": [4] * 4, "b": [3.75] * 4, "s": [*"xxyy"]}
    assert masked.schema == TABLE.schema
    assert both(TABLE, ["a", "b"], 2, dtype="float")["a"].to_list() == [3.75] * 4


def test_values_are_masked_by_stratum_and_by_block(grand):
    # x: (1 + 2 + 4 + 3) / 4 = 2.5; y: (8 + 9 + 2 + 1) / 4 = 5. The integer goes to the even one,
    # and no further than the integers of its stratum, 8 and 9.
    masked = both(TABLE, ["a", "b"], 2, strata="s")
    assert masked["b"].to_list() == [2.5, 2.5, 5.0, 5.0]
    assert masked["a"].to_list() == [2, 2, 8, 8]
    apart = both(TABLE, [["a"], ["b"]], 2)
    assert apart.row(0) == (5, 2.5, "x")


def test_values_keep_their_nulls_by_pattern(grand):
    frame = pl.DataFrame({"a": [1.0, None, 3.0, None, None], "b": [2.0, 4.0, 6.0, 8.0, None]})
    # Complete rows: (1 + 3 + 2 + 6) / 4 = 3; rows with b only: 6; the last has nothing.
    masked = both(frame, ["a", "b"], 2, nulls="pattern")
    assert masked["a"].to_list() == [3.0, None, 3.0, None, None]
    assert masked["b"].to_list() == [3.0, 6.0, 3.0, 6.0, None]


def test_values_of_different_types_meet_in_their_units(grand):
    # (1.10 + 1.31 + 2 + 4) / 4 = 2.1025, and not 110 and 131 hundredths.
    prices = pl.Series("a", [Decimal("1.10"), Decimal("1.31")], dtype=pl.Decimal(10, 2))
    frame = pl.DataFrame([prices, pl.Series("b", [2.0, 4.0])])
    assert both(frame, ["a", "b"], 2)["b"].to_list() == pytest.approx([2.1025] * 2)
    assert both(frame, ["a", "b"], 2, dtype="float")["a"].to_list() == pytest.approx([2.1025] * 2)
    assert both(frame, "a", 2)["a"].to_list() == [Decimal("1.20")] * 2  # 120.5 hundredths


def test_long_integers_keep_their_size_where_values_are_grouped(grand):
    stamps = pl.Series("t", [1_700_000_000 * 10**9, 1_700_000_010 * 10**9]).cast(pl.Datetime("ns"))
    masked = both(stamps.to_frame(), "t", 2)["t"]
    assert masked.cast(pl.Int64).to_list() == [1_700_000_005 * 10**9] * 2


def test_k_counts_values_where_values_are_grouped(grand):
    # Two rows of two columns are four values.
    assert both(TABLE.head(2), ["a", "b"], 4)["b"].to_list() == [2.5, 2.5]
    with pytest.raises(mg.TooFewRecordsError, match="k=5 needs at least"):
        mg.mask(TABLE.head(2), ["a", "b"], 5, method="grand")
    frame = TABLE.with_columns(s=pl.Series(["x", "y", "y", "y"]))
    masked = both(frame, ["a", "b"], 4, strata="s", small_strata="drop")
    assert masked["s"].to_list() == ["y", "y", "y"]
    # One row with one value is one value.
    gaps = pl.DataFrame({"a": [1.0, None, 3.0], "b": [2.0, 4.0, 6.0]})
    with pytest.raises(mg.TooFewRecordsError, match="fewer than k=2"):
        mg.mask(gaps, ["a", "b"], 2, method="grand", nulls="pattern")


@pytest.mark.parametrize(
    ("options", "what"),
    [({"center": "median"}, "center='median'"), ({"nulls": "impute"}, "nulls='impute'")],
)
def test_what_a_method_cannot_honour_is_refused_when_the_call_is_typed(grand, options, what):
    with pytest.raises(mg.InvalidParameterError, match=f"^grand cannot honour {what}"):
        mg.mask(TABLE.lazy(), ["a", "b"], 2, method="grand", **options)


@pytest.mark.parametrize(
    ("method", "columns"), [("grand", ["a", "b"]), ("mdav", [["a"], ["b"]]), ("univariate", "ab")]
)
def test_groups_of_more_than_one_grouping_are_refused(grand, method, columns):
    columns = list(columns)
    with pytest.raises(mg.InvalidParameterError, match=f"{method} cannot honour groups of records"):
        mg.groups(TABLE, columns, 2, method=method)


# --- Methods that break their promise ---------------------------------------------------------

BROKEN = {
    "one of k-1": (lambda n: [0] * (n - 1) + [1], r"made a class of 1 record\(s\) where k=2"),
    "each alone": (lambda n: list(range(n)), r"made a class of 1 record\(s\) where k=2"),
    "too short": (lambda n: [0] * (n - 1), "labelled 3 of 4 records"),
    "too long": (lambda n: [0] * (n + 1), "labelled 5 of 4 records"),
    "none": (lambda n: [], "labelled 0 of 4 records"),
}


@pytest.mark.parametrize("columnwise", [False, True])
@pytest.mark.parametrize("broken", list(BROKEN))
@pytest.mark.parametrize("how", ["mask", "groups"])
def test_a_broken_promise_releases_nothing(toys, broken, columnwise, how):
    labels, said = BROKEN[broken]

    @toys(cite="Nobody (2000)", columnwise=columnwise)
    def liar(x, /, *, k: int) -> Partition:
        """Break the promise, and claim that all groups are large."""
        found = np.array(labels(len(x)), dtype=np.intp)
        return Partition(found, np.array([10] * len(set(labels(len(x))))))

    door = getattr(mg, how)
    wanted = f"^liar {said}.*Nothing was released. This is a bug of polars_microagg"
    with pytest.raises(mg.GuaranteeError, match=wanted):
        door(TABLE, ["a"], 2, method="liar")
    lazy = door(TABLE.lazy(), ["a"], 2, method="liar")
    for engine in ("in-memory", "streaming"):
        with pytest.raises(mg.GuaranteeError, match=wanted):
            lazy.collect(engine=engine)


LISTED = {
    "one of k-1": ([0, 1, 2, 3], [3, 1], r"made a class of 1 record\(s\) where k=2"),
    "an empty group": ([0, 1, 2, 3], [2, 0, 2], r"made a class of 0 record\(s\) where k=2"),
    "a row twice": ([0, 1, 0, 1], [2, 2], "labelled 2 of 4 records"),
    "a row left out": ([0, 1, 2], [3], "labelled 3 of 4 records"),
    "a row too many": ([0, 1, 2, 3, 3], [2, 3], "labelled 5 of 4 records"),
    "rows of others": ([0, 1, 2, 4], [2, 2], "labelled 3 of 4 records"),
    "rows from the end": ([0, 1, 2, -1], [2, 2], "labelled 3 of 4 records"),
    "runs too long": ([0, 1, 2, 3], [2, 3], "labelled 5 of 4 records"),
    "runs too short": ([0, 1, 2, 3], [3], "labelled 3 of 4 records"),
}


@pytest.mark.parametrize("broken", list(LISTED))
@pytest.mark.parametrize("how", ["mask", "groups"])
def test_a_list_that_is_no_partition_releases_nothing(toys, broken, how):
    order, lengths, said = LISTED[broken]

    @toys(cite="Nobody (2000)", columnwise=True)
    def liar(x, /, *, k: int) -> Partition:
        """Hand over an order that is none, or runs that are not along it."""
        return Partition.along(np.array(order, dtype=np.intp), np.array(lengths, dtype=np.intp))

    door, table = getattr(mg, how), pl.DataFrame({"a": [5.0, 1.0, 2.0, 4.0]})
    wanted = f"^liar {said}.*Nothing was released. This is a bug of polars_microagg"
    for call in (
        lambda: door(table, ["a"], 2, method="liar"),
        lambda: door(table.lazy(), ["a"], 2, method="liar").collect(),
    ):
        with pytest.raises(mg.GuaranteeError, match=wanted):
            call()


@pytest.mark.parametrize("rows", [3, 5, 1])
def test_values_of_the_wrong_shape_are_not_released(toys, rows):
    @toys(cite="Nobody (2000)", unit="value")
    def liar(x, /, *, k: int) -> ValueMasking:
        """Return other rows than were given."""
        return ValueMasking(np.zeros((rows, x.shape[1])))

    with pytest.raises(mg.GuaranteeError, match=f"^liar labelled {rows} of 4 records"):
        mg.mask(TABLE, ["a", "b"], 2, method="liar")


def test_the_promise_is_counted_in_each_stratum(toys):
    @toys(cite="Nobody (2000)")
    def uneven(x, /, *, k: int) -> Partition:
        """Leave one record of a larger stratum alone."""
        return Partition.from_labels(np.arange(len(x)) // (len(x) - 1 if len(x) > 2 else 2))

    frame = pl.DataFrame({"a": [1, 1, 1, 1, 1], "s": [0, 0, 1, 1, 1]})
    # All five records hold the same value, so only a count within the strata finds the one.
    with pytest.raises(mg.GuaranteeError, match=r"^uneven made a class of 1 record\(s\)"):
        mg.mask(frame, "a", 2, method="uneven", strata="s")


def test_the_promise_is_counted_on_what_is_emitted(monkeypatch):
    from polars_microagg.frames import batch

    def different(column, masked, j, dtype, kind):
        return pl.Series(column.name, range(len(column)), dtype=dtype)

    monkeypatch.setattr(batch, "emit", different)
    with pytest.raises(mg.GuaranteeError, match=r"^mdav made a class of 1 record\(s\)"):
        mg.mdav(TABLE, ["a", "b"], 2)


def test_impute_by_hand():
    # The nulls of a stand at its mean, 6, and are a group that has none: it takes the mean.
    frame = pl.DataFrame({"a": [1.0, 2.0, None, None, 10.0, 11.0]})
    masked = mg.univariate(frame, "a", 2, nulls="impute")
    assert masked["a"].to_list() == [1.5, 1.5, 6.0, 6.0, 10.5, 10.5]
    # The null of b is completed by the row nearest in a, and its group's mean of b fills it.
    frame = pl.DataFrame({"a": [0, 1, 2, 50, 51, 52], "b": [4, None, 8, 90, 94, 92]})
    masked = mg.mdav(frame, ["a", "b"], 3, nulls="impute")
    assert masked["a"].to_list() == [1, 1, 1, 51, 51, 51]
    assert masked["b"].to_list() == [6, 6, 6, 92, 92, 92]


def test_records_without_any_value_stay_so_in_each_stratum():
    frame = pl.DataFrame(
        {"a": [1.0, 2.0, None, None, 5.0, 6.0, None, None, 8.0, 8.0], "s": [*"xxxxyyyyzz"]}
    )
    masked = mg.mdav(frame, "a", 2, strata="s", nulls="pattern")
    assert masked["a"].to_list() == [1.5, 1.5, None, None, 5.5, 5.5, None, None, 8.0, 8.0]
    groups = mg.groups(frame, "a", 2, strata="s", nulls="pattern")
    assert groups["microagg_group"].to_list() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    bare = frame.with_columns(a=pl.when(pl.col("s") == "x").then("a"))[2:8]
    groups = mg.groups(bare, "a", 2, strata="s", nulls="pattern")
    assert groups["microagg_group"].to_list() == [0, 0, 1, 1, 1, 1]
    # The groups of a plan have numbers without gaps, of which none is used twice.
    plan = Plan.make("mdav", 2, nulls="pattern").bind([["a"]])
    x = np.array([[NAN], [NAN], [1.0], [2.0], [NAN], [NAN], [3.0], [3.0]], order="F")
    strata = Strata(np.arange(8), np.array([4, 4]))
    (found,) = plan.mask(x, np.ones(1), strata)
    assert sorted(found.labels.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert len({*found.labels[[0, 2, 4, 6]].tolist()}) == 4


def test_a_plan_masks_a_matrix_without_any_frame():
    # Groups {1, 2} and {8, 9}: the records that make each centre.
    plan = Plan.make("univariate", 2).bind([["a"]])
    x = np.array([[1.0], [9.0], [2.0], [8.0]], order="F")
    (masked,) = plan.mask(x, np.ones(1), Strata.whole(4))
    assert masked.columns == ("a",)
    assert masked.labels.tolist() == [0, 1, 0, 1]
    (centres,) = masked.values
    assert real_centres(x[:, 0], centres).tolist() == [1.5, 8.5]


def test_groups_that_refining_left_too_small_are_not_released(monkeypatch):
    from polars_microagg.core import plan

    def apart(x, labels, sizes, k, rule, **_):
        return np.arange(len(x)), len(x)

    monkeypatch.setattr(plan, "refined", apart)
    with pytest.raises(mg.GuaranteeError, match=r"^mdav made a class of 1 record\(s\)"):
        mg.mdav(TABLE, ["a", "b"], 2, refine=True)
