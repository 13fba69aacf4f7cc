"""What cannot be written: the column that is to blame is named, as far as it can be found."""

from __future__ import annotations

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing import staging as stages
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.staging import foresee, stage

FRAME = pl.DataFrame({"age": [31, 31, 40, 40], "kept": [0.1, None, -3.5, 2.0]})


def full(*_):
    raise mg.OutputError("the disk is full")


@pytest.mark.parametrize(("name", "blamed"), [("o.duckdb::t", True), ("o.parquet", False)])
def test_a_table_that_cannot_be_written_is_blamed_on_a_column(name, blamed, tmp_path, monkeypatch):
    seen = []
    place = Location.of(f"{tmp_path}/{name}")
    with stage(place, None, False) as waits:
        monkeypatch.setattr(type(waits.target), "write", full)
        monkeypatch.setattr(stages, "refuse_lost", lambda *given: seen.append(given))
        with pytest.raises(mg.OutputError, match="the disk is full"):
            waits.write(FRAME)
    assert [given[0] is FRAME for given in seen] == [True] * blamed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["o.parquet", "o.csv", "-"])
def test_a_file_that_cannot_be_written_is_foreseen(name, tmp_path, monkeypatch):
    place = Location.of(name if name == "-" else tmp_path / name)
    monkeypatch.setattr(stages, "write", full)
    with pytest.raises(mg.OutputError, match="the disk is full"):
        foresee(place, None, False, FRAME)
