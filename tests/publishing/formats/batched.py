"""A table written in a format, and read in batches beside the whole."""

import duckdb
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.input_table import source_of
from polars_microagg.publishing.formats import csv, ndjson
from polars_microagg.publishing.formats.batches import Typed, frames_of, set_down
from polars_microagg.publishing.formats.duckdb_write import _query
from polars_microagg.publishing.formats.files import Location, write
from polars_microagg.publishing.raw_table import raw, typed_columns, typed_values

BATCH = 4
UNHELD = {"Int128", "Int128 large", "UInt128", "UInt128 large", "List Int128", "Array empty"}
UNHELD |= {"Struct empty"}
"""Types that no file that is read in batches has; those of CSV and NDJSON are read as others."""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Parse a few bytes at a time."""
    monkeypatch.setattr(csv, "SMALL", 32)
    monkeypatch.setattr(csv, "CELLS", 1)
    monkeypatch.setattr(ndjson, "PIECE", 16)


def place_of(table, form, folder):
    """Write a table in a format, and return where it is."""
    place = Location.of(f"{folder}/o.{form}")
    if place.tables:
        with duckdb.connect(str(place.path)) as con:
            con.register("given", table.to_arrow())
            con.execute(f"CREATE TABLE t AS {_query(table, 'given')}")
    else:
        with place.path.open("wb") as file:
            write(table, file, place.format, place)
    return place


def in_batches(places, folder, **options):
    inner = folder / "inner"
    inner.mkdir(exist_ok=True)
    source = set_down(places, inner, batch=BATCH, **options)
    parts = list(frames_of(source, 3))
    assert max(part.height for part in parts) <= 3
    return pl.concat(parts)


def same(found, expected):
    assert found.schema == expected.schema
    assert list(found.schema) == list(expected.schema)
    assert found.equals(expected)


def whole(place, names=(), quantities=()):
    table = raw(place)
    resolved(table.columns, [*names, *quantities])
    return typed_values(place, typed_columns(place, table, names), quantities)


def told(step):
    try:
        return step()
    except mg.MicroaggError as error:
        return f"{type(error).__name__} {error}"


def resolved(columns, names):
    """What the roles of a call do."""
    if missing := [name for name in names if name not in columns]:
        raise mg.InvalidParameterError.unknown_column("columns", missing[0], columns)
    return names


def alike(path, folder, names=(), quantities=(), separator=None):
    """Both paths give one table or one sentence."""
    place = source_of(str(path), separator)
    expected = told(lambda: whole(place, names, quantities))

    def typed(columns):
        return Typed(resolved(columns, names), resolved(columns, quantities))

    found = told(lambda: in_batches(place, folder, typed=typed, raw=True))
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
    else:
        same(found, expected)
    return expected
