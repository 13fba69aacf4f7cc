"""Every leaf of a manifest is edited, one at a time: what is found out, and what only a seal finds."""

import copy
import hmac
import json

import pytest

from polars_microagg.publishing.manifest.check import check
from tests.publishing.manifest.edits import (
    KEY,
    REQUIRED,
    every_edit,
    found_out,
    later,
    leaves,
    publish,
    put,
    rehashed,
    undetected,
)

TOOLS = [f"tool.{n}" for n in ("polars_microagg", "polars", "numpy", "pyarrow", "duckdb", "python")]
UNSEALED = [*TOOLS, "input.of", "input.hmac_sha256", "seal"]
"""What nothing but the seal proves."""

OF_ORIGINAL = [
    *("loss", "pld", "mean_sd", "delta_r", "delta_w", "fpc_share", "delta_corr", "delta_corr_sd")
]
"""Measures that no other measure is made of, and that are not of the release alone."""


@pytest.mark.deep
def test_an_edit_of_any_leaf_is_found_out(tmp_path):
    source, target, told = publish(tmp_path)
    changes = every_edit(told)
    assert undetected(target, told, changes, hash_key=KEY) == []
    assert sorted(undetected(target, told, changes, original=source)) == sorted(UNSEALED)
    # What either finds, both together find: left are those that only the seal does.
    sealed = {name: changes[name] for name in UNSEALED}
    assert undetected(target, told, sealed, original=source, hash_key=KEY) == []
    needs = [w for w in told["warnings"] if w.startswith(("The kept column 'net' rev", "In "))]
    assert len(needs) == 3
    warnings = [f"warnings.{told['warnings'].index(w)}" for w in needs]
    measures = [f"measures.{name}" for name in OF_ORIGINAL]
    expected = [*UNSEALED, *warnings, *measures, "roles.drop.0", "roles.drop.1"]
    assert sorted(undetected(target, told, changes)) == sorted(expected)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["out.csv", "out.duckdb::t", "out.arrows", "out.ndjson"])
def test_an_edit_is_found_out_in_other_formats(name, tmp_path):
    """Text does not keep types, so only the seal proves them there."""
    source, target, told = publish(tmp_path, name)
    changes = {n: c for n, c in every_edit(told).items() if n.startswith(("output", "rows", "k."))}
    typeless = name.endswith(("csv", "ndjson"))
    types = [f"output.columns.{n}" for n in told["output"]["columns"]] if typeless else []
    assert undetected(target, told, changes, original=source) == types
    assert undetected(target, told, changes, hash_key=KEY) == []


def without(inner, key):
    del inner[key]


@pytest.mark.deep
def test_a_key_that_is_missing_or_more_is_found_out(tmp_path):
    source, target, told = publish(tmp_path)
    changes = {}
    for path, value in leaves(told):
        for end in range(1, len(path) + 1):
            changes["-" + ".".join(map(str, path[:end]))] = put(told, path[:end], without)
        if isinstance(path[-1], str):
            more = {"extra": value}
            where = ".".join(map(str, path[:-1]))
            changes[f"+{where}"] = put(
                told, (*path[:-1], "extra"), lambda inner, key, more=more: inner.update(more)
            )
    assert len(changes) > 150
    assert undetected(target, told, changes, original=source) == []


def test_what_is_changed_in_step_is_found_by_the_seal_alone(tmp_path):
    source, target, told = publish(tmp_path)
    assert rehashed(told) == told
    changes = {"gamma": rehashed(told, gamma=0.9), "times": later(told)}
    changes["require"] = rehashed(told, require=REQUIRED[:-1])
    changes["require"]["verdict"]["requirements"].pop()
    assert undetected(target, told, changes, original=source) == list(changes)
    assert undetected(target, told, changes, hash_key=KEY) == []
    seal = {f.what: f for f in check(target, original=source)}["seal"]
    assert (seal.holds, seal.checked, seal.state) == (True, False, "not checked")
    for word in ("options", "k, requirements, seed", "versions", "times", "dropped columns"):
        assert word in seal.says


@pytest.mark.parametrize(
    "changes",
    [
        {"gamma": -1},
        {"method": "vmdva", "gamma": 0.2, "seed": 1},
        {"colour": "red"},
        {"k": 4},
        {"seed": 3},
        {"strata": []},
        {"columns": [["income", "age"]]},
        {"columns": [["age"]]},
        {"require": ["k >= 5", *REQUIRED[1:]]},
        {"require": ["dlt<=5"]},
    ],
    ids=str,
)
def test_a_configuration_that_does_not_agree_is_found_out_without_a_key(changes, tmp_path):
    _, target, told = publish(tmp_path)
    assert found_out(target, rehashed(told, **changes))


def test_a_configuration_is_whole(tmp_path):
    _, target, told = publish(tmp_path)
    short = copy.deepcopy(told)
    del short["config"]["gamma"]
    assert found_out(target, rehashed(short))


# --- The seal -------------------------------------------------------------------------------------


def test_the_seal_is_that_of_any_other_tool(tmp_path):
    _, target, told = publish(tmp_path)
    rest = {name: value for name, value in told.items() if name != "seal"}
    plain = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    message = b"polars_microagg/manifest\n" + plain
    assert told["seal"] == hmac.new(KEY, message, "sha256").hexdigest()
    assert found_out(target, told, hash_key=b"another key of 16 bytes")


def test_without_a_key_there_is_no_seal_and_none_is_demanded(tmp_path):
    source, target, told = publish(tmp_path, key=None)
    assert told["seal"] is told["input"]["hmac_sha256"] is None
    found = {finding.what: finding for finding in check(target, original=source)}
    assert [n for n, f in found.items() if f.state == "not checked"] == ["input", "seal"]
    assert all(finding.holds for finding in found.values())
    states = {finding.what: finding.state for finding in check(target, hash_key=KEY)}
    assert states["seal"] == states["input"] == "WRONG"


def test_a_seal_that_was_taken_away_is_missed(tmp_path):
    _, target, told = publish(tmp_path)
    assert found_out(target, told | {"seal": None})
    both = told | {"seal": None, "input": {"of": None, "hmac_sha256": None}}
    assert not found_out(target, both)  # as if it had been published without a key
    assert found_out(target, both, hash_key=KEY)
