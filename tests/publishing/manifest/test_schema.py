"""One schema: what the reader refuses is what the JSON Schema of the documentation refuses."""

import copy
import json
import re
from pathlib import Path

import pytest

from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.manifest.schema import first_misfit, json_schema, misfits
from tests.publishing.manifest.edits import leaves, publish, put

SCHEMA = json_schema()
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_a(value, name):
    """As JSON Schema has it: a whole number is a number."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in ("integer", "number"):
        return number and (name == "number" or isinstance(value, int))
    return isinstance(value, TYPES[name])


def valid(value, schema):
    """The few words of JSON Schema that are written here, read by hand."""
    assert set(schema) <= {
        *("$schema", "title", "description", "type", "const", "pattern", "properties", "required"),
        *("additionalProperties", "items"),
    }
    if "const" in schema:
        return value == schema["const"]
    names = schema.get("type", [*TYPES, "number"])
    if not any(is_a(value, name) for name in ([names] if isinstance(names, str) else names)):
        return False
    if isinstance(value, str):
        return re.search(schema.get("pattern", ""), value) is not None
    if isinstance(value, list):
        return all(valid(item, schema["items"]) for item in value if "items" in schema)
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        inner = {key: known.get(key, others) for key in value}
        return set(schema.get("required", ())) <= set(value) and all(
            form is True or (form is not False and valid(value[key], form))
            for key, form in inner.items()
        )
    return True


def test_the_documentation_has_the_schema_of_the_types():
    text = (Path(__file__).parents[3] / "docs" / "manifest.schema.json").read_text("utf-8")
    assert json.loads(text) == SCHEMA
    assert list(SCHEMA["properties"]) == list(Manifest.__annotations__)
    assert SCHEMA["properties"]["schema_version"] == {"const": 3}


@pytest.mark.parametrize("key", [None, b"a key of more than 16 bytes"])
def test_a_manifest_fits_its_schema(key, tmp_path):
    _, _, told = publish(tmp_path, key=key)
    assert valid(told, SCHEMA)
    assert misfits(told) == []


def test_whatever_the_reader_refuses_the_schema_refuses_too(tmp_path):
    """Each leaf takes a value of every type; only whole numbers for real ones are told apart."""
    _, _, told = publish(tmp_path)
    tried = 0
    for path, value in leaves(told):
        for other in (None, True, 7, 0.5, "x", [], {}, ["x"], {"x": 1}):
            changed = put(told, path, lambda inner, key, other=other: inner.update({key: other}) if isinstance(inner, dict) else inner.__setitem__(key, other))  # fmt: skip
            whole = isinstance(value, float) and other == 7 and other is not True
            assert whole or valid(changed, SCHEMA) == (misfits(changed) == []), (path, other)
            tried += 1
    assert tried > 1_000


def test_what_does_not_fit_is_named(tmp_path):
    _, _, told = publish(tmp_path)
    changed = copy.deepcopy(told)
    changed["rows"]["in"] = "40"
    del changed["k"]["asked"]
    changed["tool"]["perl"] = "5"
    changed["output"]["sha256"] = "0" * 63
    assert misfits(changed) == [
        "'tool.perl' is unknown",
        "'rows.in' is of another type",
        "'k.asked' is missing",
        "'output.sha256' is of another type",
    ]
    assert first_misfit(changed) is None
    assert first_misfit(changed | {"digits": True}) == "digits"
    assert first_misfit({**changed, "roles": []}) == "roles"
