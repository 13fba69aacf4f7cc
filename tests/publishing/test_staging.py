"""A release that waits: written, read again, held against itself, and put in place or not."""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
import os
from pathlib import Path

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing import staging as stages
from polars_microagg.publishing.formats.files import Location, rows_digest
from polars_microagg.publishing.staging import foresee, stage, types

FRAME = pl.DataFrame(
    {
        "age": pl.Series([31, 31, 40, 40], dtype=pl.Int16),
        "kept": [0.1, None, -3.5, 2.0],
        "day": [dt.date(2024, 1, day) for day in (1, 2, 3, 4)],
    }
)
FILES = ("o.parquet", "o.arrow", "o.arrows", "o.csv", "o.ndjson")
EXACT = ("o.parquet", "o.arrow", "o.arrows")
UNLIKE = "what was read back is not what was written"
every_file = pytest.mark.parametrize("name", FILES)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def delivered(monkeypatch):
    """What goes to standard output."""
    got = []
    monkeypatch.setattr(stages, "deliver", got.append)
    return got


# --- From writing to committing ---------------------------------------------------------------------


@every_file
def test_a_file_is_seen_when_it_is_committed_and_not_before(name, tmp_path):
    place = Location.of(tmp_path / name)
    with stage(place, None, False) as waits:
        waits.write(FRAME)
        read = waits.reread(FRAME)
        same = waits.same(FRAME, read, ["age"])
        assert same["age"].equals(FRAME["age"])
        assert same["age"].dtype == pl.Int16
        told = waits.described(FRAME, read)
        assert not place.path.exists()
        waits.commit(b"the record")
    content = place.path.read_bytes()
    assert told == {
        "name": name,
        "format": place.format,
        "of": "file",
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "columns": types(FRAME),
    }
    assert types(FRAME) == {"age": "Int16", "kept": "Float64", "day": "Date"}
    assert names(tmp_path) == [name, f"{name}.manifest.json"]
    assert place.record.read_bytes() == b"the record"


def test_a_table_is_seen_when_it_is_committed_and_not_before(tmp_path):
    place = Location.of(f"{tmp_path}/o.duckdb::t")
    with stage(place, None, False) as waits:
        assert not waits.target.exists()
        waits.write(FRAME)
        read = waits.reread(FRAME)
        assert waits.same(FRAME, read, ["age"]).equals(FRAME)
        told = waits.described(FRAME, read)
        waits.commit(b"the record")
    rows = {"of": "rows", "sha256": rows_digest(place.read()), "bytes": None}
    assert told == {"name": "t", "format": "duckdb", "columns": types(FRAME), **rows}
    assert place.record.read_bytes() == b"the record"
    with pytest.raises(mg.TargetExistsError), stage(place, None, False):
        pass
    with pytest.raises(mg.TargetExistsError), stage(place, tmp_path / "m.json", False):
        pass
    with stage(place, None, True) as waits:
        assert waits.target.exists()


def test_a_stream_is_delivered_with_its_record_last(tmp_path, delivered, monkeypatch):
    place, record = Location.of("-"), tmp_path / "m.json"
    with stage(place, record, False) as waits:
        waits.write(FRAME)
        read = waits.reread(FRAME)
        assert waits.same(FRAME, read, ["age"]).equals(FRAME)
        told = waits.described(FRAME, read)
        assert delivered == []
        waits.commit(b"the record")
    (content,) = delivered
    digest = hashlib.sha256(content).hexdigest()
    sizes = {"of": "file", "sha256": digest, "bytes": len(content)}
    assert told == {"name": "-", "format": "stream", "columns": types(FRAME), **sizes}
    assert record.read_bytes() == b"the record"
    record.unlink()

    def lost(content):
        assert not record.exists()
        raise mg.OutputError("its reader went away")

    monkeypatch.setattr(stages, "deliver", lost)
    with stage(place, record, False) as waits:
        waits.write(FRAME)
        with pytest.raises(mg.OutputError, match="went away"):
            waits.commit(b"the record")
    assert names(tmp_path) == []


def test_a_stream_needs_no_record(tmp_path, delivered, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with stage(Location.of("-"), None, False) as waits:
        waits.write(FRAME)
        waits.commit(b"the record")
    assert len(delivered) == 1
    assert names(tmp_path) == []
    with (
        pytest.raises(mg.OutputError, match="it is a folder"),
        stage(Location.of("-"), tmp_path, True),
    ):
        pass
    (tmp_path / "m.json").touch()
    with (
        pytest.raises(mg.TargetExistsError),
        stage(Location.of("-"), tmp_path / "m.json", False),
    ):
        pass


@pytest.mark.parametrize("name", [*FILES, "o.duckdb::t"])
def test_without_a_commit_nothing_remains(name, tmp_path):
    with stage(Location.of(f"{tmp_path}/{name}"), None, False) as waits:
        waits.write(FRAME)
        waits.reread(FRAME)
    assert names(tmp_path) == []


def test_what_is_there_is_replaced_only_where_that_is_allowed(tmp_path):
    place, elsewhere = Location.of(tmp_path / "o.parquet"), tmp_path / "m.json"
    for there in (place.path, place.record):
        there.touch()
        with pytest.raises(mg.TargetExistsError), stage(place, None, False):
            pass
        with pytest.raises(mg.TargetExistsError):
            foresee(place, None, False, FRAME)
        foresee(place, None, True, FRAME)
        there.unlink()
    elsewhere.touch()
    with pytest.raises(mg.TargetExistsError), stage(place, elsewhere, False):
        pass
    with stage(place, elsewhere, True) as waits:
        waits.write(FRAME)
        waits.commit(b"the record")
    assert elsewhere.read_bytes() == b"the record"
    assert not place.record.exists()


def test_a_file_without_a_place_for_its_record_is_refused():
    with pytest.raises(mg.OutputError, match="it has no place. Name one."):
        stages._target(Location.of("o.parquet"), None)


# --- Writing and reading again ------------------------------------------------------------------------


@every_file
def test_a_file_is_on_disk_before_it_is_read_again(name, tmp_path, monkeypatch):
    sizes = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda d: sizes.append(os.fstat(d).st_size) or fsync(d))
    with stage(Location.of(tmp_path / name), None, False) as waits:
        waits.write(FRAME)
        assert sizes == [waits.target.path.stat().st_size]

        def failing(_):
            raise OSError(errno.EIO, "x")

        monkeypatch.setattr(os, "fsync", failing)
        with pytest.raises(mg.OutputError, match="Input/output error."):
            waits.write(FRAME)


@pytest.mark.parametrize("name", [*FILES, "-"])
def test_what_cannot_be_read_again_is_refused(name, tmp_path, monkeypatch):
    def unread(*_):
        raise mg.InvalidDataError("a value of a record")

    place = Location.of("-" if name == "-" else tmp_path / name)
    with stage(place, None, False) as waits:
        waits.write(FRAME)
        blamed = []
        monkeypatch.setattr(stages, "parsed", unread)
        monkeypatch.setattr(stages, "refuse_lost", lambda *given: blamed.append(given))
        with pytest.raises(mg.OutputError, match="cannot be read again. Check the disk.") as raised:
            waits.reread(FRAME)
        assert raised.value.__suppress_context__
        assert blamed[0][0] is FRAME


def test_a_type_that_a_format_cannot_hold_is_refused_before_it_is_written(tmp_path):
    lists = FRAME.with_columns(kept=pl.Series([[1], [2], [3], [4]]))
    place = Location.of(tmp_path / "o.csv")
    with stage(place, None, False) as waits:
        with pytest.raises(mg.OutputError, match="'kept' is of type List"):
            waits.write(lists)
        assert waits.target.path.stat().st_size == 0
    with pytest.raises(mg.OutputError, match="'kept' is of type List"):
        foresee(place, None, False, lists)


# --- What comes back ------------------------------------------------------------------------------------


def other(column, value):
    return FRAME.with_columns(
        pl.when(pl.int_range(4) == 2)
        .then(value)
        .otherwise(column)
        .cast(FRAME.schema[column])
        .alias(column)
    )


@pytest.mark.parametrize("name", [*FILES, "o.duckdb::t"])
def test_what_comes_back_otherwise_is_refused(name, tmp_path):
    place = Location.of(f"{tmp_path}/{name}")
    with stage(place, None, False) as waits:
        waits.write(FRAME)
        read = waits.reread(FRAME)
        for changed in (read[:3], read[:, ::-1], read.rename({"kept": "other"}), read[:0]):
            with pytest.raises(mg.OutputError, match=rf"{UNLIKE}\. Write Parquet, or check"):
                waits.same(FRAME, changed, ["age"])
        where = ", in column 'kept' of type Float64"
        for value in (None, 0.25):
            with pytest.raises(mg.OutputError, match=rf"{UNLIKE}{where}\. Write Parquet"):
                waits.same(other("kept", value), read, ["age"])
        assert waits.same(FRAME, read, ["age"])["age"].equals(FRAME["age"])
        if name in EXACT:
            where = ", in column 'age' of type Int16"
            with pytest.raises(mg.OutputError, match=rf"{UNLIKE}{where}\."):
                waits.same(other("age", 41), read, ["age"])
            return
        # Classes of masked columns are counted on what is read, so they need not be the same.
        assert waits.same(other("age", 41), read, ["age"])["age"].equals(FRAME["age"])
        where = ", in column 'age' of type Int16"
        with pytest.raises(mg.OutputError, match=rf"{UNLIKE}{where}\."):
            waits.same(other("age", None), read, ["age"])


def test_the_column_that_is_lost_is_blamed_where_it_can_be_found(tmp_path, monkeypatch):
    blamed = []
    monkeypatch.setattr(stages, "refuse_lost", lambda *given: blamed.append(given))
    for name, times in (("o.csv", 1), ("o.parquet", 0)):
        blamed.clear()
        place = Location.of(tmp_path / name)
        with stage(place, None, False) as waits:
            waits.write(FRAME)
            read = waits.reread(FRAME)
            with pytest.raises(mg.OutputError, match=UNLIKE):
                waits.same(FRAME, read[:2], ["age"])
        assert len(blamed) == times
        assert all(given[0] is FRAME and given[2] == "csv" for given in blamed)


@pytest.mark.parametrize("name", [*FILES, "o.duckdb::t", "-"])
def test_a_trial_is_what_would_be_read(name, tmp_path):
    place = Location.of("-" if name == "-" else f"{tmp_path}/{name}")
    assert stages._trial(place, FRAME).columns == FRAME.columns
    assert stages._trial(place, FRAME).height == 4
    assert names(tmp_path) == []


# --- Foreseeing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*FILES, "o.duckdb::t", "-"])
def test_what_could_be_written_is_foreseen_and_nothing_is_written(name, tmp_path, delivered):
    place = Location.of("-" if name == "-" else f"{tmp_path}/{name}")
    foresee(place, None, False, FRAME)
    assert names(tmp_path) == delivered == []
    away = tmp_path / "nowhere" / "m.json"
    with pytest.raises(mg.OutputError, match="its folder does not exist"):
        foresee(place, away, False, FRAME)
    if name != "-":
        gone = Location.of(f"{tmp_path}/nowhere/{name}")
        with pytest.raises(mg.OutputError, match="its folder does not exist"):
            foresee(gone, tmp_path / "m.json", False, FRAME)


def test_a_table_that_could_not_be_written_is_foreseen(tmp_path, monkeypatch):
    place = Location.of(f"{tmp_path}/o.duckdb::t")
    with stage(place, None, False) as waits:
        waits.write(FRAME)
        waits.commit(b"the record")
    place.record.unlink()
    with pytest.raises(mg.TargetExistsError):
        foresee(place, None, False, FRAME)
    foresee(place, None, True, FRAME)
    foresee(Location.of(f"{tmp_path}/o.duckdb::other"), None, False, FRAME)
    access = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: Path(p) != place.path and access(p, mode))
    with pytest.raises(mg.OutputError, match="Permission denied."):
        foresee(place, None, True, FRAME)
    foresee(Location.of(f"{tmp_path}/new.duckdb::t"), None, False, FRAME)


@pytest.mark.parametrize("lost", ["columns", "rows"])
def test_a_table_that_would_not_come_back_is_foreseen(lost, tmp_path, monkeypatch):
    def trial(place, frame):
        if lost == "rows":
            raise mg.InvalidDataError("a value of a record")
        return frame.drop("kept")

    place = Location.of(f"{tmp_path}/o.duckdb::t")
    monkeypatch.setattr(stages, "_trial", trial)
    blamed = []
    monkeypatch.setattr(stages, "refuse_lost", lambda *given: blamed.append(given))
    with pytest.raises(mg.OutputError, match=UNLIKE):
        foresee(place, None, False, FRAME)
    assert [given[0] is FRAME for given in blamed] == [True]
