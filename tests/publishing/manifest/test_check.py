"""The checks of a manifest put together: each is a finding, and what breaks one is one, too."""

from __future__ import annotations

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing.manifest import check as checks
from polars_microagg.publishing.manifest.check import Finding, check
from polars_microagg.publishing.manifest.recheck import Recheck
from polars_microagg.publishing.manifest.record import dumped
from tests.publishing.manifest.edits import KEY, publish

WHATS = [
    *("form", "configuration", "hash", "name", "shape", "types", "roles", "k", "requirements"),
    *("measures", "warnings", "attack", "times", "input", "seal"),
]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return publish(tmp_path_factory.mktemp("release"))


def test_everything_is_checked_in_order(release):
    source, target, _ = release
    found = check(target, original=source, hash_key=KEY)
    assert [finding.what for finding in found] == WHATS
    assert {finding.state for finding in found} == {"ok"}
    with pytest.raises(TypeError):
        check(target, target.record, source)
    assert (
        check(place=str(target), record=target.record, original=str(source), hash_key=KEY) == found
    )


def test_what_needs_the_original_or_the_key_is_not_checked_without(release):
    source, target, _ = release
    states = {finding.what: finding.state for finding in check(target)}
    assert [what for what, state in states.items() if state == "not checked"] == [
        *("requirements", "measures", "warnings", "input", "seal"),
    ]
    states = {finding.what: finding.state for finding in check(target, original=source)}
    assert [what for what, state in states.items() if state != "ok"] == ["input", "seal"]


def test_a_finding_says_its_state():
    assert Finding("k", True, "").state == "ok"
    assert Finding("k", True, "", False).state == "not checked"
    assert Finding("k", False, "").state == Finding("k", False, "", False).state == "WRONG"


def test_the_manifest_of_a_stream_must_be_named():
    with pytest.raises(mg.InvalidDataError, match="Name it with --manifest"):
        check("-")


@pytest.mark.parametrize(
    ("outcome", "finding"),
    [
        ((True, "yes"), Finding("k", True, "yes", True)),
        ((None, "perhaps"), Finding("k", True, "perhaps", False)),
        ((False, "no"), Finding("k", False, "no", True)),
    ],
)
def test_each_outcome_is_a_finding(outcome, finding):
    assert checks._found("k", lambda: outcome) == finding


def test_an_error_of_the_library_says_what_is_wrong():
    def step():
        raise mg.InvalidDataError("there is no such column.")

    assert checks._found("k", step) == Finding("k", False, "there is no such column.", True)


@pytest.mark.parametrize(
    "error",
    [
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
        ValueError,
        pl.exceptions.ColumnNotFoundError,
    ],
)
def test_a_manifest_whose_parts_are_missing_or_of_another_kind_does_not_hold(error):
    def step():
        raise error("a value of a record")

    says = "The manifest does not say it as protect writes it."
    assert checks._found("k", step) == Finding("k", False, says, True)


def test_no_other_error_is_taken_for_a_finding():
    def step():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        checks._found("k", step)


def test_one_check_that_breaks_leaves_the_others(release, monkeypatch, tmp_path):
    _, target, manifest = release
    other = tmp_path / "other.json"
    other.write_bytes(dumped(manifest | {"config": {}}))
    states = {finding.what: finding.state for finding in check(target, other)}
    assert list(states) == WHATS
    assert states["configuration"] == states["k"] == "WRONG"
    assert states["hash"] == states["name"] == states["times"] == "ok"
    monkeypatch.setattr(Recheck, "hash", lambda self: self.no_such_check)
    states = {finding.what: finding.state for finding in check(target)}
    assert [what for what, state in states.items() if state == "WRONG"] == ["hash"]
