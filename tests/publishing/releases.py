"""Releases whose manifests are held against them one check at a time, and edits of them."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.recheck import Recheck
from tests.publishing.manifest.edits import KEY, PEOPLE, publish

SMALL = PEOPLE.select("age", "region").head(60)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Releases in a file, as text, in a table, of few records, and of one that was masked elsewhere."""
    folder = tmp_path_factory.mktemp("again")
    found = {}
    for name in ("out.parquet", "out.csv", "out.duckdb::t"):
        source, target, told = publish(folder, name)
        found[name] = Recheck(told, target, target.read(), source.read(), source, KEY)
    few = Location.of(folder / "few.parquet")
    told = mg.publish(SMALL, few.path, "age", 5, keep="region", require=["rows>=60", "k>=5"])
    found["few"] = Recheck(told, few, few.read(), SMALL)
    dropped = Location.of(folder / "dropped.parquet")
    options = {"strata": "region", "small_strata": "drop", "require": "suppressed<=1"}
    told = mg.publish(PEOPLE.select("age", "region"), dropped.path, "age", 5, **options)
    found["dropped"] = Recheck(told, dropped, dropped.read(), PEOPLE.select("age", "region"))
    elsewhere = Location.of(folder / "elsewhere.parquet")
    masked = mg.mdav(PEOPLE.select("age", "net"), "age", 5)
    told = mg.publish(masked, elsewhere.path, "age", 5, keep="net", method=None)
    found["elsewhere"] = Recheck(told, elsewhere, elsewhere.read())
    return found


@pytest.fixture
def file(made):
    return made["out.parquet"]


def edited(release, path="", value=None, **fields):
    """The same release with another value in its manifest."""
    told = copy.deepcopy(release.manifest)
    *way, last = path.split(".")
    inner = told
    for key in way:
        inner = inner[int(key) if isinstance(inner, list) else key]
    if path:
        inner[int(last) if isinstance(inner, list) else last] = value
    return replace(release, manifest=told, **fields)


def alone(release):
    return replace(release, before=None, source=None, key=None)


def wrong(outcome, says=""):
    holds, said = outcome
    assert holds is False
    assert says in said, said
