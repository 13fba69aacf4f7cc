"""Tables of other libraries: what they have and Polars has not is not lost in silence."""

import duckdb
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd

pandas = pytest.importorskip("pandas")
PEOPLE = {"id": [7, 8, 9, 4], "age": [23, 25, 47, 51]}
PLAIN = pandas.DataFrame(PEOPLE)
INDEXED = {
    "named": (PLAIN.set_index("id"), ", 'id'"),
    "filtered": (PLAIN[PLAIN["age"] > 23], ""),
    "sliced": (PLAIN[1:], ""),
    "two names": (PLAIN.set_index(["id", "age"], drop=False), ", 'id', 'age'"),
    "a name alone": (PLAIN.rename_axis("row"), ", 'row'"),
}
WAY = "Make it a column with reset_index(), or remove it with its option drop."


def sql(frame, **_):
    return mgd.mask(mgd.register(duckdb.connect()), frame, "age", 2)


CALLS = {
    "mask": ("frame", lambda frame, tmp_path: mg.mdav(frame, "age", k=2)),
    "groups": ("frame", lambda frame, tmp_path: mg.groups(frame, "age", k=2)),
    "assess": ("original", lambda frame, tmp_path: mg.assess(frame, PLAIN, "age")),
    "dld": ("masked", lambda frame, tmp_path: mg.dld(PLAIN, frame, "age")),
    "publish": ("frame", lambda frame, tmp_path: mg.publish(frame, tmp_path / "a.csv", "age", 2)),
    "duckdb": ("source", lambda frame, tmp_path: sql(frame)),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("index", INDEXED)
def test_an_index_of_pandas_is_not_lost_in_silence(tmp_path, index, call):
    (frame, names), (parameter, run) = INDEXED[index], CALLS[call]
    with pytest.raises(mg.InvalidParameterError) as caught:
        run(frame, tmp_path)
    assert str(caught.value) == (
        f"{parameter} is a pandas DataFrame with an index of its own{names}; the result has no "
        f"index. {WAY}"
    )


def test_an_index_of_pandas_is_seen_inside_of_narwhals():
    narwhals = pytest.importorskip("narwhals")
    with pytest.raises(mg.InvalidParameterError, match="an index of its own, 'id'"):
        mg.mdav(narwhals.from_native(PLAIN.set_index("id")), "age", k=2)
    assert mg.mdav(narwhals.from_native(PLAIN), "age", k=2)["age"].to_list() == [24, 24, 49, 49]


def test_numbers_of_rows_are_no_index_to_lose(tmp_path):
    kept = PLAIN.set_index("id").reset_index()
    assert mg.mdav(kept, "age", k=2).equals(mg.mdav(pl.DataFrame(PEOPLE), "age", k=2))
    assert sql(PLAIN).columns == ["id", "age"]


def test_a_lazy_frame_of_narwhals_is_named_with_its_library():
    narwhals = pytest.importorskip("narwhals")
    frame = narwhals.from_native(pl.LazyFrame(PEOPLE))
    with pytest.raises(mg.InvalidParameterError) as caught:
        mg.mdav(frame, "age", k=2)
    assert str(caught.value) == (
        "frame is of type narwhals.LazyFrame; it must be a polars DataFrame or LazyFrame, or a table "
        "that exports Arrow. Pass the table inside of it, as in frame.to_native()."
    )
    assert mg.mdav(frame.to_native(), "age", k=2).collect().height == 4
    with pytest.raises(mg.InvalidParameterError, match=r"narwhals.LazyFrame.*\.to_native\(\)"):
        sql(frame)
