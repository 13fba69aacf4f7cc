"""Leaves take a name for what it is, where Polars would read a pattern or make one up."""

import polars as pl
import pytest

import polars_microagg as mg
from tests.loop import every_case

NAMES = ["", " ", "*", "^a$", "^.*$", "a.b", "`a`", '"', "column_0", "a\nb", "é😀", "x" * 999]
TYPES = [pl.Int16, pl.Float32, pl.Date, pl.Decimal(9, 2)]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_changes_no_value(name, tmp_path):
    for dtype in TYPES if every_case() else TYPES[NAMES.index(name) % 4 :][:1]:
        frame = pl.DataFrame({"x": range(60), "other": range(60)}).cast({"x": dtype})
        expected = mg.fit_leaves(frame, "x", 5, size=20).mask(frame)
        named = frame.rename({"x": name})
        leaves = mg.fit_leaves(named, [name], 5, size=20)
        assert leaves.mask(named).rename({name: "x"}).equals(expected)
        batches = named.lazy().select(leaves.expr()).collect()["leaf"]
        assert batches.equals(leaves.assign(named))
        assert leaves.assign(named.to_arrow()).equals(leaves.assign(named))
        one = named.filter(leaves.assign(named) == leaves.assign(named)[0])
        assert leaves.protect(one.to_arrow()).equals(leaves.protect(one).to_arrow())
        named.write_parquet(tmp_path / "in.parquet")
        out = tmp_path / f"{dtype}.parquet"
        mg.protect_parquet(tmp_path / "in.parquet", out, [name], 5, size=20)
        assert pl.read_parquet(out).rename({name: "x"}).sort("other").equals(expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_tells_nulls_apart(name):
    holes = pl.Series([i % 3 == 0 for i in range(60)])
    frame = pl.DataFrame({"x": range(60)}).with_columns(x=pl.when(~holes).then("x"))
    masked = mg.fit_leaves(frame.rename({"x": name}), [name], 5, nulls="pattern").mask(
        frame.rename({"x": name})
    )
    assert masked.to_series().alias("x").is_null().equals(holes.alias("x"))
