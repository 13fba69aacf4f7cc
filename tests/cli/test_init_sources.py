"""What `init` reads: files of every format, folders and patterns, and text that is no number."""

import re
import tomllib

import polars as pl
import pytest


def zeros():
    """Text that reads as numbers, of which some differ by their zeros alone."""
    texts = [f"{i % 500}" if i < 1000 else f"{i % 500:06d}" for i in range(2000)]
    ages = [20 + i % 50 for i in range(2000)]
    return pl.DataFrame({"code": texts, "age": ages, "person": [f"{i:010d}" for i in range(2000)]})


@pytest.mark.parametrize("form", ["parquet", "csv", "ndjson"])
def test_text_with_leading_zeros_is_text_in_every_format(form, tmp_path, microagg):
    place = tmp_path / f"in.{form}"
    getattr(zeros(), f"write_{form}")(place)
    text = microagg("init", place).out
    assert "1,000 distinct" in next(line for line in text.splitlines() if "code" in line)
    assert re.search(r'^    "person",  # String; .* it looks like the id of a person', text, re.M)
    assert re.search(r'^    "age",  # Int64; 50 distinct in 2,000 rows', text, re.M)


def test_text_of_a_format_with_types_is_no_number(tmp_path, microagg):
    # Nearly all differ, as quantities may and texts of a person do.
    frame = pl.DataFrame({"x": [str(i * 37) for i in range(2000)]})
    frame.write_parquet(tmp_path / "in.parquet")
    frame.write_csv(tmp_path / "in.csv")
    told = microagg("init", tmp_path / "in.parquet").out
    assert re.search(r'^    "x",  # String; 2,000 distinct', told, re.M)
    assert tomllib.loads(told)["drop"] == ["x"]
    assert '"x",  # String' not in microagg("init", tmp_path / "in.csv").out


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_folder_and_a_pattern_are_one_table(form, tmp_path, microagg):
    whole = zeros()
    for year in (2023, 2024):
        part = tmp_path / "in" / f"year={year}"
        part.mkdir(parents=True)
        getattr(whole.filter(pl.col("age") % 2 == year % 2), f"write_{form}")(part / f"a.{form}")
    for place in ("in", f"in/*/*.{form}"):
        done = microagg("init", tmp_path / place)
        assert done.code == 0, done.err
        assert "50 distinct in 2,000 rows" in done.out
        assert "1,000 distinct in 2,000 rows" in done.out
        assert re.search(r"year: has few values \(2 distinct in 2,000 rows\)", done.out)
    done = microagg("init", tmp_path / "in" / f"none*.{form}")
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert "no file of a known format is there" in done.err
