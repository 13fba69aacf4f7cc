"""A struct without fields: kept and a stratum like any column, refused in a sentence where it is to be masked."""

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.errors import InvalidParameterError, NotNumericError
from polars_microagg.publishing.formats.scrub import visible
from tests.versions import planned

N = 6
EMPTY = pl.Series("s", [{}] * N, dtype=pl.Struct([]))
NESTED = pl.Series("s", [{"i": {}}] * N, dtype=pl.Struct({"i": pl.Struct([])}))
FRAME = pl.DataFrame({"a": range(N), "b": range(N)})
ENGINES = ("in-memory", "streaming")


@pytest.mark.parametrize("method", ["mdav", "univariate", "individual_ranking", "lowloss"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_struct_without_fields_has_nothing_to_mask(method, engine):
    frame = FRAME.with_columns(EMPTY)
    made = getattr(pl.col("s").microagg, method)(3)
    for run in (frame.select, lambda e: frame.lazy().select(e).collect(engine=engine)):
        with pytest.raises(InvalidParameterError, match="struct without fields"):
            run(made)
    with pytest.raises(InvalidParameterError, match="struct without fields"):
        planned(frame.lazy().select(made))


def test_nor_has_it_groups():
    with pytest.raises(
        InvalidParameterError, match='Name it, as in pl.struct\\("age", "income"\\)'
    ):
        FRAME.with_columns(EMPTY).select(pl.col("s").microagg.groups(3))


@pytest.mark.parametrize("column", [EMPTY, NESTED], ids=["empty", "nested"])
def test_it_is_kept_and_a_stratum_and_no_number(column):
    frame = FRAME.with_columns(column)
    for table in (frame, frame.lazy()):
        kept = mg.mdav(table, ["a", "b"], 3).lazy().collect()
        assert kept["s"].equals(column)
        assert mg.mdav(table, "a", 3, strata="s").lazy().collect().equals(mg.mdav(frame, "a", 3))
        with pytest.raises(NotNumericError, match="'s' is of type Struct"):
            mg.mdav(table, ["a", "s"], 3).lazy().collect()
    for wrong in (mg.lower_bound, mg.fit_leaves, mg.compare):
        with pytest.raises(NotNumericError, match="'s' is of type Struct"):
            wrong(frame, ["s"], *(() if wrong is mg.compare else (3,)))


INSTANTS = [pl.Time(), pl.Datetime("ns"), pl.Datetime("ns", "Europe/Berlin"), pl.Duration("ns")]


@pytest.mark.parametrize("dtype", INSTANTS, ids=str)
@pytest.mark.parametrize("shape", ["struct", "list", "array"])
def test_a_release_keeps_the_nanoseconds_beside_it(dtype, shape, tmp_path):
    """Parquet has no such struct, and Python's times end at the microsecond."""
    times = pl.Series("t", [1, 2, 3, 4, 5, None]).cast(pl.Int64).cast(dtype)
    column = pl.DataFrame([EMPTY.alias("e"), times]).to_struct("s")
    column = column.set(pl.Series([False] * 4 + [True, False]), None)
    if shape != "struct":
        lists = FRAME.select(pl.concat_list(pl.lit(column), pl.lit(column))).to_series().alias("s")
        column = lists if shape == "list" else lists.cast(pl.Array(column.dtype, 2))
    frame = FRAME.with_columns(column)
    assert visible(frame).equals(frame)
    for ending in ("arrow", "arrows"):
        mg.publish(frame, tmp_path / f"out.{ending}", ["a", "b"], 3, keep="s")
    assert pl.read_ipc(tmp_path / "out.arrow")["s"].equals(column)
