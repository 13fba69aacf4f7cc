"""DuckDB's lists through the batch: rows in any order, strata, repeated columns, the promise."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.partition import ValueMasking
from polars_microagg.core.plan import Plan
from polars_microagg.duckdb.arrow_lists import ListColumn, in_order
from polars_microagg.duckdb.list_batch import batch_of
from polars_microagg.duckdb.macro_call import MaskCall
from polars_microagg.frames import batch

AGE = [31.0, 67.0, 34.0, 39.0, 71.0, 62.0, 45.0]
PAY = [21, 37, 19, 24, 44, 40, 30]
STRATA = [0, 0, 0, 0, 0, 0, 6]
N = len(AGE)
ROWS, WHOLE = np.arange(N), np.zeros(N, dtype=np.int64)


def call(k=3, columns=("age", "pay"), groups=False, method="mdav", **options):
    blocks = [columns] if isinstance(columns[0], str) else list(columns)
    return MaskCall(Plan.make(method, k, **options), blocks, (), groups)


def lists(name, type_, values):
    dtypes = {"DOUBLE": pl.Float64, "BIGINT": pl.Int64}
    return ListColumn(name, type_, pl.Series(values, dtype=dtypes[type_]))


def columns(absent=()):
    age = [None if i in absent else value for i, value in enumerate(AGE)]
    return [lists("age", "DOUBLE", age), lists("pay", "BIGINT", PAY)]


def polars(k=3, columns=("age", "pay"), absent=(), strata="s", **options):
    frame = pl.DataFrame({"age": AGE, "pay": PAY, "s": STRATA})
    gone = pl.int_range(pl.len()).is_in(list(absent))
    frame = frame.with_columns(age=pl.when(~gone).then("age"))
    return mg.mdav(frame, list(columns), k, strata=strata, **options)


def masked(*given):
    """Masked columns by name, and which records are suppressed."""
    masker, records, types = batch_of(*given)
    released = masker.mask(records)
    names = dict(zip(types, released.columns, strict=True))
    return names, released.flags(records.height).to_list()


def listed(names):
    return {name: column.to_list() for name, column in names.items()}


def test_rows_are_brought_in_order():
    assert in_order(np.arange(4)) is None
    assert in_order(np.array([], dtype=np.int64)) is None
    assert in_order(np.array([2, 0, 1])).tolist() == [1, 2, 0]
    for wrong in ([0, 2], [0, 0], [1, 1, 2], [1, 2]):
        with pytest.raises(mg.GuaranteeError, match=f"{len(set(wrong))} of {len(wrong)}"):
            in_order(np.array(wrong))


def test_strata_are_those_of_their_first_rows():
    def rows(first):
        given = [lists("age", "DOUBLE", AGE[: len(first)])]
        asked = call(columns=("age",))
        where = np.arange(len(first)), np.array(first, dtype=np.int64)
        masker, records, _ = batch_of(asked, given, *where)
        return [part.tolist() for part in masker._strata(records).rows()]

    assert rows([0]) == [[0]]
    assert rows([0, 0, 0]) == [[0, 1, 2]]
    assert rows([0, 1, 0, 3, 1, 0]) == [[0, 2, 5], [1, 4], [3]]
    assert rows([0, 0, 2, 3]) == [[0, 1], [2], [3]]


@pytest.mark.parametrize("order", [list(range(N)), [3, 6, 0, 1, 5, 4, 2]])
@pytest.mark.parametrize("dtype", ["keep", "float"])
def test_records_in_any_order_are_masked_as_in_polars(order, dtype):
    given = [column.take(pl.Series(order)) for column in columns()]
    first = np.array(STRATA)[order]
    request = call(small_strata="drop", dtype=dtype)
    expected = polars(small_strata="drop", dtype=dtype)
    for chosen in (given, given[::-1]):
        found, hidden = masked(request, chosen, np.array(order), first)
        assert hidden == [False] * 6 + [True]
        assert list(found) == ["age", "pay"]
        for name, column in found.items():
            assert column.dtype == expected[name].dtype
            assert column.to_list()[:6] == expected[name].to_list()
            assert column.to_list()[6] is None
    types = batch_of(request, given, np.array(order), first)[2]
    assert types == {"age": "DOUBLE", "pay": "BIGINT"}


def test_blocks_are_masked_each_on_its_own():
    found, _ = masked(call(columns=(("pay",), ("age",))), columns(), ROWS, WHOLE)
    expected = polars(columns=(["pay"], ["age"]), strata=None)
    assert list(found) == ["pay", "age"]
    assert listed(found) == expected[["pay", "age"]].to_dict(as_series=False)


def test_a_broken_promise_releases_nothing(monkeypatch):
    emit = batch.emit

    def other(column, masked, j, dtype, kind):
        found = emit(column, masked, j, dtype, kind)
        return found.set(pl.int_range(len(found), eager=True) == 0, found[0] + 1)

    monkeypatch.setattr(batch, "emit", other)
    with pytest.raises(mg.GuaranteeError, match=r"class of 1 record\(s\) where k=3"):
        masked(call(), columns(), ROWS, WHOLE)


def groups(*given):
    masker, records, _ = batch_of(*given)
    return masker.groups(records)


def test_groups_are_numbered_by_their_first_record():
    request = call(groups=True, small_strata="drop")
    numbers = groups(request, columns(), ROWS, np.array(STRATA))
    frame = pl.DataFrame({"age": AGE, "pay": PAY, "s": STRATA})
    expected = mg.groups(frame, ["age", "pay"], 3, strata="s", small_strata="drop")
    assert numbers.dtype == pl.UInt32
    assert numbers.to_list() == [*expected["microagg_group"], None]
    numbers = groups(call(groups=True), columns(), ROWS, WHOLE)
    assert numbers.null_count() == 0
    assert set(numbers) == {0, 1}
    assert len(groups(call(groups=True), nothing(), ROWS[:0], WHOLE[:0])) == 0


def nothing():
    return [lists("age", "DOUBLE", []), lists("pay", "BIGINT", [])]


def unmaskable(name="age"):
    return ListColumn(name, "BLOB", None)


def test_no_records_are_masked_to_none_but_their_types_are_checked():
    found, hidden = masked(call(), nothing(), ROWS[:0], WHOLE[:0])
    assert {name: column.dtype for name, column in found.items()} == {
        "age": pl.Float64,
        "pay": pl.Int64,
    }
    assert [len(column) for column in found.values()] == [0, 0]
    assert hidden == []
    with pytest.raises(mg.NotNumericError, match="'age'"):
        masked(call(), [unmaskable(), nothing()[1]], ROWS[:0], WHOLE[:0])


def test_a_column_that_cannot_be_masked_is_refused_in_any_order():
    rows = np.array([1, 0, 2, 3, 4, 5, 6])
    with pytest.raises(mg.NotNumericError, match="'age'"):
        masked(call(), [unmaskable(), columns()[1]], rows, WHOLE)


def test_nulls_are_held_against_the_policy():
    with pytest.raises(mg.MissingValuesError, match="'age'"):
        masked(call(), columns([1, 2]), ROWS, WHOLE)
    for options in ({"nulls": "impute"}, {"nulls": "pattern", "small_strata": "drop"}):
        found, hidden = masked(call(**options), columns([1, 2]), ROWS, WHOLE)
        expected = polars(absent=[1, 2], strata=None, **options)
        shown = {name: column.filter(~pl.Series(hidden)) for name, column in found.items()}
        assert listed(shown) == expected[["age", "pay"]].to_dict(as_series=False)


def test_a_second_column_of_a_name_is_refused_if_it_holds_the_same():
    with pytest.raises(mg.InvalidParameterError, match="'age_1' holds the values.*'age'"):
        masked(call(), [*columns(), lists("age_1", "DOUBLE", AGE)], ROWS, WHOLE)
    other = lists("age_1", "DOUBLE", AGE[::-1])
    found, _ = masked(call(), [*columns(), other], ROWS, WHOLE)
    assert listed(found) == listed(masked(call(), columns(), ROWS, WHOLE)[0])


def test_a_column_repeats_another_if_it_holds_the_same_wherever_both_have_a_value():
    one = lists("a", "DOUBLE", [1.0, 2.0, None])
    assert one.repeats(lists("b", "DOUBLE", [1.0, 2.0, 3.0]))
    assert one.repeats(lists("b", "DOUBLE", [None, 2.0, None]))
    assert not one.repeats(lists("b", "DOUBLE", [1.0, 3.0, None]))
    assert not one.repeats(lists("b", "DOUBLE", [None, None, 3.0]))
    assert not one.repeats(lists("b", "BIGINT", [1, 2, None]))
    for given in ((unmaskable("a"), unmaskable("b")), (one, ListColumn("b", "DOUBLE", None))):
        assert not given[0].repeats(given[1])
        assert not given[1].repeats(given[0])


def test_a_column_that_nobody_asked_for_is_a_bug():
    with pytest.raises(mg.GuaranteeError, match="The macro labelled 3 of 2"):
        masked(call(), [*columns(), lists("zip", "DOUBLE", AGE)], ROWS, WHOLE)


def test_whole_numbers_beyond_doubles_count_from_their_stratum():
    wide = [2**60 + i for i in (0, 1, 1, 9, 9, 8)]
    given = [lists("age", "BIGINT", wide)]
    found, _ = masked(call(columns=("age",)), given, np.arange(6), np.zeros(6, np.int64))
    assert found["age"].to_list() == mg.mdav(pl.DataFrame({"a": wide}), "a", 3)["a"].to_list()
    assert found["age"].to_list() == [2**60 + 1] * 3 + [2**60 + 9] * 3


@pytest.mark.parametrize("dtype", ["keep", "float"])
@pytest.mark.parametrize("method", ["mic1d", "grand"])
def test_values_that_are_grouped_are_masked_as_in_polars(method, dtype, toys):
    @toys(cite="Nobody (2000)", unit="value")
    def grand(x, /, *, k: int) -> ValueMasking:
        """Replace all by the mean of all."""
        return ValueMasking(np.full(x.shape, x.mean()))

    wide, first = [2**60 + 3 * i * i for i in range(N)], [0, 0, 0, 0, 4, 4, 4]
    given = [*columns(), lists("n", "BIGINT", wide)]
    for names in (("age", "pay", "n"), ("age", "pay")):
        request = call(columns=names, method=method, dtype=dtype)
        found, _ = masked(request, given[: len(names)], ROWS, np.array(first))
        frame = pl.DataFrame({"age": AGE, "pay": PAY, "n": wide, "s": first})
        expected = mg.mask(frame, list(names), 3, method=method, strata="s", dtype=dtype)
        assert listed(found) == expected[names].to_dict(as_series=False)
    if method == "grand" and dtype == "keep":
        # As the mean of all lies beyond them, whole numbers go no further than their own.
        assert found["pay"].to_list() == [34] * 4 + [44] * 3


def test_entities_and_confidential_columns_come_in_the_order_of_the_records():
    who = ListColumn("who", "UUID", None, pl.Series(["u", "v", "w", "u", "v", "w", "x"]))
    sick = lists("sick", "BIGINT", [1, 1, 2, 2, 3, 3, None])
    asked = {"entity": "who", "entity_mode": "rows", "confidential": "sick", "l": 2}
    order = [6, 2, 4, 0, 5, 1, 3]
    given = [*columns(), sick, who]
    shuffled = [column.take(pl.Series(order)) for column in columns()]
    shuffled += [
        ListColumn("who", "UUID", None, who.texts.gather(order)),
        sick.take(pl.Series(order)),
    ]
    masker, in_order_, _ = batch_of(call(**asked), given, ROWS, np.array(STRATA))
    again = batch_of(call(**asked), shuffled, np.array(order), np.array(STRATA)[order])[1]
    assert in_order_.equals(again)
    assert in_order_.rows()[:2] == [(31.0, 21, 0, "u", 1), (67.0, 37, 0, "v", 1)]
    assert masker.plan.entity == ("who",)
