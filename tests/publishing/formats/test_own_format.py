"""A format that somebody adds: its files are its own, and its faults are no bug of this library."""

from dataclasses import replace

import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from polars_microagg.cli.main import main
from polars_microagg.publishing.formats import register
from polars_microagg.publishing.formats.column_types import refuse_lost
from polars_microagg.publishing.formats.files import Location
from tests.publishing.register import PEOPLE

TABLE = PEOPLE.select("age", "income", "region")
ROLES = ["--columns", "age,income", "--strata", "region", "--k", "5"]


def packed(frame, file):
    file.write(b"PK\x03\x04")
    frame.write_ndjson(file)


def unpacked(file, _):
    return pl.read_ndjson(file.read()[4:])


@pytest.fixture
def added():
    """Register formats that are gone after the test."""
    before = dict(register.formats())

    def add(**fields):
        entry = register.Format("own", "own", (".own",), read=unpacked, write=packed, typeless=True)
        return register.register(replace(entry, **fields))

    yield add
    register._FORMATS.clear()
    register._FORMATS.update(before)


def test_a_format_that_begins_as_an_archive_is_read(added, tmp_path):
    added(begins=rb"PK\x03\x04")
    mg.publish(TABLE, tmp_path / "out.own", ["age", "income"], 5, strata="region")
    assert Location.of(tmp_path / "out.own").read().shape == TABLE.shape


def test_a_format_of_several_tables_has_no_reader_and_no_writer_of_a_file(added, tmp_path):
    added(read=None, write=None)
    (tmp_path / "in.own").write_bytes(b"PK")
    with pytest.raises(mg.InvalidDataError, match="it holds several tables. Name one of them"):
        Location.of(tmp_path / "in.own").read()
    with pytest.raises(mg.OutputError, match="it holds several tables. Name one of them"):
        mg.publish(TABLE, tmp_path / "out.own", ["age", "income"], 5, strata="region")
    assert not (tmp_path / "out.own").exists()


def test_a_format_that_does_not_say_how_it_begins_is_not_blamed_on_a_column(added, tmp_path):
    added()
    with pytest.raises(mg.OutputError, match=r"cannot be read again\. Check the disk"):
        mg.publish(TABLE, tmp_path / "out.own", ["age", "income"], 5, strata="region")


def test_a_column_is_blamed_though_all_of_them_fail():
    def trial(frame):
        return frame.with_columns(cs.float().fill_nan(None))

    lost = pl.DataFrame({"a": [float("nan")], "b": [float("nan")]})
    with pytest.raises(mg.OutputError, match="column 'a' is of type Float64"):
        refuse_lost(lost, trial, "ndjson", "o.ndjson")
    refuse_lost(lost, lambda _: lost[:0], "ndjson", "o.ndjson")


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError])
def test_a_writer_that_fails_is_told_without_its_words(error, added, tmp_path, capsys):
    def fails(frame, file):
        raise error("a value of a record")

    added(write=fails)
    TABLE.write_parquet(tmp_path / "in.parquet")
    target = tmp_path / "out.own"
    assert main(["protect", str(tmp_path / "in.parquet"), "-o", str(target), *ROLES]) == 5
    said = capsys.readouterr().err
    assert f"cannot be written: what writes own failed with {error.__name__}." in said
    assert "a value" not in said
    assert not target.exists()


def test_a_column_that_does_not_come_back_exactly_is_named(added, tmp_path):
    def read(file, _):
        return pl.read_ipc(file).with_columns(pl.col("region").str.to_lowercase())

    arrow = {"begins": b"ARROW1", "write": lambda frame, file: frame.write_ipc(file)}
    added(read=read, typeless=False, exact=True, **arrow)
    with pytest.raises(mg.OutputError, match="is not what was written, in column 'region' of type"):
        mg.publish(TABLE, tmp_path / "out.own", ["age", "income"], 5, strata="region")


@pytest.mark.parametrize("nulls", ["raise", "impute"])
@pytest.mark.parametrize("where", ["kept", "masked"])
def test_a_dry_run_ends_as_a_writer_does_that_takes_no_null(nulls, where, added, tmp_path):
    def write(frame, file):
        if frame.select(pl.any_horizontal(pl.all().is_null().any())).item():
            raise ValueError("a value of a record")
        packed(frame, file)

    added(begins=b"PK", write=write)
    table = TABLE.with_columns(pl.col("region").fill_null("none"), kept=1)
    holed = {"kept": "kept", "masked": "income"}[where]
    later = pl.when(pl.int_range(pl.len()) != 7).then(holed).alias(holed)
    table.with_columns(later).write_parquet(tmp_path / "in.parquet")
    words = ["protect", str(tmp_path / "in.parquet"), "-o", str(tmp_path / "out.own"), *ROLES]
    words += ["--keep", "kept", "--nulls", nulls]
    expected = 5 if where == "kept" else 3 if nulls == "raise" else 0
    assert (main([*words, "--dry-run"]), main(words)) == (expected, expected)
