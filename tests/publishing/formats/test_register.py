"""A format is one file: written and registered, it is at every door."""

import importlib.util
import json

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.main import main
from polars_microagg.publishing.formats import register
from polars_microagg.publishing.formats.files import Location
from tests.publishing.register import PEOPLE, holds

SOURCE = '''
"""One JSON list of rows."""

import polars as pl

from polars_microagg.publishing.formats.register import Format, register

ROWS = register(
    Format(
        "rows",
        "JSON rows",
        (".rows",),
        read=lambda file, _: pl.read_json(file),
        write=lambda frame, file: frame.write_json(file),
        holds=lambda dtype: not isinstance(dtype, pl.Object | pl.Binary),
        refuse_names=lambda names: "a column is named id." if "id" in names else "",
        typeless=True,
        compressed=True,
        begins=rb"\\[\\{",
    )
)
'''
"""All that it takes."""


@pytest.fixture
def rows(tmp_path):
    """Register a format that is gone after the test."""
    before = dict(register.formats())
    path = tmp_path / "rows_format.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("rows_format", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    yield tmp_path
    register._FORMATS.clear()
    register._FORMATS.update(before)


TABLE = PEOPLE.select("age", "income", "region")
ROLES = ["--columns", "age,income", "--strata", "region", "--k", "5"]


def test_a_format_in_one_file_is_published_and_verified_in_python(rows):
    told = mg.publish(TABLE, rows / "out.rows", ["age", "income"], 5, strata="region")
    assert told["output"]["format"] == "rows"
    assert pl.read_json(rows / "out.rows").equals(
        mg.mdav(TABLE, ["age", "income"], 5, strata="region")
    )
    assert all(holds(Location.of(rows / "out.rows")).values())


def test_a_format_in_one_file_is_at_the_command_line(rows, capsys):
    TABLE.write_json(rows / "in.rows")
    source, target = str(rows / "in.rows"), str(rows / "out.rows")
    assert main(["protect", source, "-o", target, *ROLES, "--dry-run"]) == 0
    assert main(["protect", source, "-o", target, *ROLES]) == 0
    assert main(["verify", target, "--original", source]) == 0
    assert "rows does not keep the types of columns" in capsys.readouterr().out
    (rows / "out.rows").write_text("[]")
    assert main(["verify", target]) == 3
    assert main(["risk", source, "--columns", "age"]) == 0
    assert main(["init", source]) == 0


def test_what_a_format_cannot_hold_is_refused(rows):
    bad = TABLE.with_columns(photo=pl.lit(b"x"))
    why = "column 'photo' is of type Binary, which JSON rows cannot hold"
    with pytest.raises(mg.OutputError, match=why):
        mg.publish(bad, rows / "out.rows", "age", 5, keep=["income", "region", "photo"])
    with pytest.raises(mg.OutputError, match="a column is named id"):
        mg.publish(PEOPLE.select("age", "id"), rows / "out.rows", "age", 5, keep="id")
    assert not (rows / "out.rows").exists()


def test_a_file_of_the_format_is_recognised_and_unpacked(rows):
    import gzip

    TABLE.write_json(rows / "in.parquet")
    with pytest.raises(mg.InvalidDataError, match=r"it is a JSON rows file.*ending \.rows"):
        Location.of(rows / "in.parquet").read()
    with gzip.open(rows / "in.rows.gz", "wb") as file:
        file.write((rows / "in.parquet").read_bytes())
    assert Location.of(rows / "in.rows.gz").read().equals(TABLE)
    (rows / "in.rows").write_text(json.dumps({"a": "never closed"})[:-4])
    with pytest.raises(mg.InvalidDataError, match="it is not a whole JSON rows file"):
        Location.of(rows / "in.rows").read()
    with pytest.raises(mg.InvalidParameterError, match=r"one of .*\.rows"):
        Location.of("in.docx")


def test_the_register_names_every_format_once():
    names = [entry.name for entry in register.formats().values()]
    endings = [ending for entry in register.formats().values() for ending in entry.endings]
    assert names == list(register.formats())
    assert len(endings) == len(set(endings))
    assert {"arrow", "csv", "duckdb", "ndjson", "parquet", "stream"} <= set(names)
