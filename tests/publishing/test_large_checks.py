"""Manifests held against releases that stay on disk: what is checked so, and what is said of the rest."""

import tempfile

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.out_of_core.workspace import ENDING
from polars_microagg.publishing import memory
from polars_microagg.publishing.manifest.check import check
from tests.publishing.test_large import KEY, PEOPLE, released, small_memory, written

__all__ = ["small_memory"]


def test_what_a_killed_check_left_is_removed_by_the_next_one(tmp_path, monkeypatch):
    source = written(PEOPLE, tmp_path, "parquet")
    released(source, tmp_path / "o.parquet")
    (tmp_path / "one").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "one"))
    left = tmp_path / "one" / f".microagg.0123abcd{ENDING}"
    left.mkdir()
    (left / "in-use").touch()
    (left / "before.parquet").write_bytes(b"values")
    assert all(f.holds for f in check(tmp_path / "o.parquet", original=source, memory="2GB"))
    assert not list((tmp_path / "one").iterdir())


@pytest.mark.parametrize("base", [0, 10**15])
@pytest.mark.parametrize("dx", ["dx", "pay"])
@pytest.mark.parametrize("name", ["o.parquet", "o.csv"])
def test_models_and_categories_are_checked_in_batches(name, dx, base, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "BASE", base)
    source = written(PEOPLE, tmp_path, "parquet")
    rest = ({"dx", "pay"} - {dx}).pop()
    roles = {"keep": ["city"], "drop": ["id", rest], "entity": "who", "confidential": dx, "l": 2}
    released(source, tmp_path / name, ("age", "sex"), **roles, t=0.9, hash_key=KEY)
    told = tmp_path / f"{name}.manifest.json"
    for original in (None, source):
        asked = {"original": original, "hash_key": KEY}
        found = {f.what: f for f in check(tmp_path / name, **asked, memory="2GB")}
        whole = {f.what: f for f in check(tmp_path / name, **asked)}
        assert found["categories"] == whole["categories"]
        assert [f.says for f in found.values() if not f.holds] == []
        unordered = name == "o.parquet" or dx == "dx"
        if unordered:
            assert found["models"] == whole["models"]
        else:
            assert not found["models"].checked
            assert "whole in memory" in found["models"].says
    edited = told.read_text().replace('"alike_min": null', '"alike_min": 3')
    told.write_text(edited.replace('"model": "l"', '"model": "m"'))
    wrong = {f.what for f in check(tmp_path / name, **asked, memory="2GB") if not f.holds}
    assert wrong == {"seal", *["models"] * unordered}


def test_an_original_of_which_rows_were_dropped_is_checked_whole(tmp_path):
    source = written(PEOPLE, tmp_path, "parquet")
    others = {"keep": [], "drop": ["id", "who", "sex", "dx"]}
    released(source, tmp_path / "o.parquet", strata="city", small_strata="drop", **others)
    assert all(f.holds for f in check(tmp_path / "o.parquet", memory="2GB"))
    with pytest.raises(mg.InvalidParameterError, match="which rows were dropped"):
        check(tmp_path / "o.parquet", original=source, memory="2GB")


NANOSECONDS = pl.Series("x", [i * 10**10 for i in range(1200)])
COLUMNS = {
    "x": (NANOSECONDS.cast(pl.Time), {"circular": "x"}),
    "^a$": (NANOSECONDS // 10**9, {}),
    "zoned": (NANOSECONDS.cast(pl.Datetime("ns", "UTC")).dt.cast_time_unit("us"), {}),
    "far": (NANOSECONDS.cast(pl.Datetime("us", "Europe/Berlin")), {}),
    "born": (NANOSECONDS.cast(pl.Datetime("ns")).dt.date(), {}),
}


@pytest.mark.parametrize("base", [0, 10**15])
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("form", ["parquet", "csv", "ndjson", "duckdb::t"])
def test_columns_of_any_type_and_name_hold_however_they_are_read(
    form, name, base, tmp_path, monkeypatch
):
    monkeypatch.setattr(memory, "BASE", base)
    column, options = COLUMNS[name]
    source = written(column.alias(name).to_frame(), tmp_path, "parquet")
    place = f"{tmp_path}/o.{form}"
    mg.publish(source, place, [name], 3, memory="2GB", **options)
    for original in (None, source):
        for limit in (None, "2GB"):
            found = check(place, original=original, memory=limit)
            assert [(f.what, f.says) for f in found if not f.holds] == [], (original, limit)
