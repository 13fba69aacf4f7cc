"""Releases measured and checked beside an original that may be another, and by what an intruder knows."""

import duckdb
import numpy as np
import polars as pl
import pytest

from polars_microagg.publishing.formats.files import Location


@pytest.mark.parametrize("memory", [(), ("--memory", "2GB")])
@pytest.mark.parametrize("target", ["out.parquet", "out.csv", "out.duckdb::t"])
def test_risk_says_of_a_changed_release_that_it_is_not_the_one_of_its_manifest(
    target, memory, tmp_path, microagg
):
    rng = np.random.default_rng(3)
    before = pl.DataFrame({"x": rng.integers(0, 99, 200), "y": rng.normal(0, 9, 200)})
    original = tmp_path / "before.parquet"
    before.write_parquet(original)
    place = Location.of(f"{tmp_path}/{target}")
    roles = ["--columns", "x,y", "--k", 5]
    assert microagg("protect", original, "-o", place, *roles).code == 0
    asked = ["risk", place, "--original", original, *memory]
    assert microagg(*asked).code == 0
    if place.table:
        with duckdb.connect(str(place.path)) as con:
            con.execute("UPDATE t SET x = x + 1 WHERE rowid = 0")
    else:
        frame = place.read()
        changed = pl.col("x").cast(pl.Float64) + 1
        changed = pl.when(pl.int_range(pl.len()) == 0).then(changed).otherwise(pl.col("x"))
        frame = frame.with_columns(changed.cast(frame.schema["x"], strict=False))
        getattr(frame, f"write_{place.format}")(place.path)
    done = microagg(*asked)
    assert done.code == 3
    assert "The release is not the one of its manifest: The " in done.err
    assert "the hash of the manifest. Name the one that was released, or" in done.err
    assert "without its manifest, with --columns." in done.err
    assert microagg(*asked, "--columns", "x,y").code == 0


@pytest.mark.parametrize("memory", [(), ("--memory", "2GB")])
def test_verify_tells_of_an_original_of_other_rows_without_options_that_it_has_not(
    memory, tmp_path, microagg
):
    before = pl.DataFrame({"x": range(200), "y": [i * 7 % 31 for i in range(200)]})
    before.write_parquet(tmp_path / "before.parquet")
    before[:150].write_parquet(tmp_path / "less.parquet")
    target = tmp_path / "out.parquet"
    roles = ["--columns", "x,y", "--k", 5]
    assert microagg("protect", tmp_path / "before.parquet", "-o", target, *roles).code == 0
    done = microagg("verify", target, "--original", tmp_path / "less.parquet", *memory)
    assert done.code == 4
    assert "has 150 rows to compare and the release has 200; rows are matched by pos" in done.out
    assert "Name the table that was protected, its rows in the same order." in done.out
    assert "key=" not in done.out
    assert "--key" not in done.out
