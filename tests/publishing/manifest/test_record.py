"""The parts of a manifest by themselves: counts, canonical form, seal, and what is read as one."""

from __future__ import annotations

import hashlib
import hmac
import json
import math

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing.manifest.model import VERSION, Manifest
from polars_microagg.publishing.manifest.record import (
    attack_scenario,
    canonical,
    config_hash,
    dumped,
    read_manifest,
    recorded_classes,
    seal,
    taken,
    tools,
)
from polars_microagg.publishing.manifest.rows import row_counts
from tests.publishing.releases import made

__all__ = ["made"]

KEY = b"a key of more than 16 bytes"


def test_versions_of_all_that_values_depend_on():
    found = tools()
    assert list(found) == ["polars_microagg", "polars", "numpy", "pyarrow", "duckdb", "python"]
    assert found["polars"] == pl.__version__
    assert found["polars_microagg"] == mg.__version__


def test_classes_are_counted_block_by_block_and_in_strata():
    table = pl.DataFrame({"a": [1, 1, 2, 2, 2, None], "b": [5] * 6, "s": ["x"] * 3 + ["y"] * 3})
    whole, by_b = recorded_classes(table, [["a"], ["b"]], [])
    assert (whole["columns"], whole["classes"], whole["smallest"]) == (["a"], 3, 1)
    sizes = {"0": 1, "0.05": 1, "0.25": 1, "0.5": 2, "0.75": 2, "0.95": 2, "1": 3}
    assert whole["size_quantiles"] == sizes
    assert (by_b["classes"], by_b["smallest"]) == (1, 6)
    (apart,) = recorded_classes(table, [["a"]], ["s"])
    assert (apart["classes"], apart["smallest"]) == (4, 1)
    (none,) = recorded_classes(table.clear(), [["a"]], [])
    assert (none["classes"], none["smallest"]) == (0, None)
    assert set(none["size_quantiles"].values()) == {None}


def test_rows_that_were_emptied_and_dropped_are_counted():
    counted = {"in": 4, "out": 4, "emptied": 1, "dropped": 0, "suppressed": 25.0}
    assert row_counts(0, 4, 1, None) == counted
    counted = {"in": 0, "out": 0, "emptied": 0, "dropped": 0, "suppressed": 0.0}
    assert row_counts(0, 0, 0, None) == counted
    # 333 of 1,000 is 33.3 %, which are 33 % of two digits, and what follows from these.
    counted = {"in": 1330, "out": 1000, "emptied": 7, "dropped": 330, "suppressed": 25.34}
    assert row_counts(333, 1000, 7, 2) == row_counts(334, 1000, 7, 2) == counted
    counted = {"in": None, "out": 60, "emptied": 7, "dropped": None, "suppressed": None}
    assert row_counts(333, 60, 7, 0) == row_counts(0, 60, 7, 0) == counted
    # Some are never none, and nearly all are not more than a number can be.
    assert row_counts(1, 10**6, 0, 2)["dropped"] == 10_000
    assert row_counts(10**9, 100, 0, 2)["in"] == 100_100


def test_measures_are_taken():
    frame = pl.DataFrame({"a": [1.0, 2.0, 5.0, 6.0]})
    found = taken(frame, mg.mdav(frame, "a", 2), ["a"])
    assert found["k_min"] == 2
    assert "loss" in found


def test_the_intruder_is_told_with_the_strata():
    assert attack_scenario(["a"], [])["k"] == "classes of equal masked records are counted"
    assert attack_scenario(["a"], ["s", "t"])["k"].endswith("counted within each value of 's', 't'")
    assert attack_scenario(["a"], [])["known"] == ["a"]


def test_persons_of_several_rows_are_measured_where_it_is_known_whose_they_are():
    said = [attack_scenario(["a"], [], entity=known)["not_measured"] for known in (False, True)]
    assert ["several rows of one person" in text for text in said] == [True, False]
    # Each row is linked by itself.
    assert "what all rows of one person tell together" in said[1]
    assert all(text.endswith("and other releases of the same persons") for text in said)


def test_the_canonical_form():
    assert canonical({"b": [1, 2], "a": "é"}) == b'{"a":"\\u00e9","b":[1,2]}'
    assert config_hash({"b": 1, "a": 2}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    with pytest.raises(ValueError, match="JSON"):
        canonical({"a": math.nan})


def test_a_manifest_is_written_without_numbers_that_are_none():
    odd = {1: (math.inf, [math.nan, 1.5]), "a": {"b": -math.inf, "c": "é", "d": True}}
    text = dumped(odd)
    assert text.endswith(b"}\n")
    assert text.isascii()
    assert b'\n  "1": [\n    null' in text
    assert json.loads(text) == {
        "1": [None, [None, 1.5]],
        "a": {"b": None, "c": "é", "d": True},
    }


def test_the_seal():
    told = {"rows": 9, "x": math.nan, "seal": "old"}
    message = b'polars_microagg/manifest\n{"rows":9,"x":null}'
    assert seal(told, KEY) == hmac.new(KEY, message, "sha256").hexdigest()
    assert seal(told | {"rows": 8}, KEY) != seal(told, KEY) != seal(told, KEY[1:])
    assert seal(told | {"x": 1.0}, KEY) != seal(told, KEY)


def refused(path, words):
    with pytest.raises(mg.InvalidDataError, match=words) as raised:
        read_manifest(path)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_what_is_read_as_a_manifest(made, tmp_path):
    told, path = made["out.parquet"].manifest, tmp_path / "m.json"
    refused(path, "there is no such manifest")
    refused(tmp_path, "it is no JSON file")
    path.write_bytes(dumped(told))
    assert read_manifest(path) == json.loads(json.dumps(told))
    for text in ("", "{", '{"schema": 1, "schema": 1}', '{"a": NaN}', "[Infinity]", "[" * 100_000):
        path.write_text(text)
        refused(path, "it is no JSON file, or names a key twice")
    for text in ("[]", "null", "3", "{}", '{"schema": "x"}'):
        path.write_text(text)
        refused(path, "it is JSON and no polars_microagg/manifest")
    for version in (VERSION - 1, VERSION + 1, "3", 3.0, None, True):
        path.write_bytes(dumped(told | {"schema_version": version}))
        refused(path, f"its schema version is not {VERSION}")
    assert VERSION == 4
    for key in Manifest.__annotations__:
        if key in ("schema", "schema_version"):
            continue
        rest = {name: value for name, value in told.items() if name != key}
        # Manifests of tables without persons, confidential columns, categories or filled cells lack them;
        # those of earlier versions do not say how the table was masked.
        lacking = [] if key in ("models", "categories", "how", "imputed") else [rest]
        for other in (*lacking, told | {key: 1.5}):
            path.write_bytes(dumped(other))
            refused(path, f"its key '{key}' is missing or of the wrong type")
    path.write_bytes(dumped(told | {"seal": None}))
    assert read_manifest(path)["seal"] is None
