"""One schema: what the reader refuses is what the JSON Schema of the documentation refuses."""

import copy
import json
import re
from pathlib import Path

import pytest

from polars_microagg.publishing.manifest import consistency
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.manifest.schema import first_misfit, json_schema, misfits
from tests.publishing.manifest.edits import leaves, publish, put
from tests.publishing.releases import edited, made

__all__ = ["made"]

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
    assert SCHEMA["properties"]["schema_version"] == {"const": 4}


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


# --- Each value by itself --------------------------------------------------------------------------


@pytest.fixture
def told(made):
    return made["out.parquet"].manifest


@pytest.fixture
def change(made):
    return lambda path, value: edited(made["out.parquet"], path, value).manifest


def test_every_manifest_has_the_form(made):
    yes = (True, "The manifest has the keys of its schema, and no other.")
    for release in made.values():
        assert misfits(release.manifest) == []
        assert consistency.form(release.manifest) == yes


def test_up_to_three_misfits_are_named(told):
    say = "In the manifest {}."
    parts = [f"'{name}' is missing" for name in ("schema", "schema_version", "verdict", "tool")]
    less = dict(told)
    for number, name in enumerate(("schema", "schema_version", "verdict", "tool"), 1):
        del less[name]
        more = " and 1 more" if number == 4 else ""
        assert consistency.form(less) == (False, say.format(", ".join(parts[:number][:3]) + more))


@pytest.mark.parametrize(
    ("path", "value", "fits"),
    [
        ("seed", 3, True),
        ("seed", True, False),
        ("seed", 3.0, False),
        ("digits", False, False),
        ("verdict.released", 1, False),
        ("verdict.released", False, True),
        ("verdict.requirements", {}, False),
        ("verdict.requirements.0.found", None, True),
        ("verdict.requirements.0.found", True, False),
        ("verdict.requirements.0.found", "5", False),
        ("rows.suppressed", 0, False),
        ("rows.suppressed", 0.0, True),
        ("rows.in", 1.0, False),
        ("cells.compared", None, True),
        ("cells.all", None, True),
        ("rows.out", None, False),
        ("measures", [], False),
        ("measures.loss", None, True),
        ("measures.loss", False, False),
        ("roles.keep", {}, False),
        ("warnings", [], True),
        ("warnings", "x", False),
        ("times.seconds", 1, True),
        ("times.seconds", None, False),
        ("input", {"of": None, "hmac_sha256": None}, True),
        ("input.of", "rows", True),
        ("input.of", "row", False),
        ("input.of", "files", False),
        ("output.of", None, False),
        ("output.bytes", None, True),
        ("output.bytes", 1.0, False),
        ("output.sha256", "a" * 64, True),
        ("output.sha256", "a" * 64 + "\n", False),
        ("output.sha256", "A" * 64, False),
        ("output.sha256", "a" * 63, False),
        ("output.sha256", None, False),
        ("seal", None, True),
        ("seal", "g" * 64, False),
        ("config", [], False),
        ("config.k", True, True),
        ("tool.numpy", "2.0.1.dev3+x", True),
        ("tool.numpy", "two", False),
        ("tool.numpy", "2", False),
        ("k.classes.0.size_quantiles.0", None, True),
        ("k.classes.0.size_quantiles.0", 1.0, False),
        ("k.found", None, True),
        ("k.asked", None, False),
    ],
)
def test_the_form_of_a_value(path, value, fits, change):
    found = misfits(change(path, value))
    assert (found == []) == fits, found
    assert fits or found == [f"{path!r} is of another type"]


def test_a_value_inside_a_list_has_its_place(change):
    assert misfits(change("roles.keep", ["a", 1])) == ["'roles.keep.1' is of another type"]
    assert misfits(change("warnings", [None, "", 1])) == [
        "'warnings.0' is of another type",
        "'warnings.2' is of another type",
    ]


def test_keys_that_are_more_or_less_are_named_with_their_path(told):
    def without(inner, key):
        del inner[key]

    assert misfits(put(told, ("rows", "in"), without)) == ["'rows.in' is missing"]
    assert misfits(put(told, ("seed",), without)) == ["'seed' is missing"]
    more = put(told, ("rows", "x"), lambda inner, key: inner.update(x=1))
    assert misfits(more) == ["'rows.x' is unknown"]
    assert misfits(told | {"x": 1}) == ["'x' is unknown"]
    assert misfits(told | {"config": {"x": 1}, "measures": {}}) == []
