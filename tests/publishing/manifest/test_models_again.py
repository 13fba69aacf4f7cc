"""What a manifest says of persons and confidential columns: no edit of it stays unnoticed."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.manifest.record import dumped
from polars_microagg.publishing.manifest.schema import misfits
from polars_microagg.publishing.privacy_models import PROMISES
from tests.loop import share
from tests.publishing.manifest.edits import every_edit, found_out, put, rehashed, undetected

RNG = np.random.default_rng(8)
N = 400
VISITS = pl.DataFrame(
    {
        "patient": RNG.integers(0, 120, N),
        "age": RNG.integers(18, 90, N),
        "stage": pl.Series(RNG.choice(["i", "ii", "iii"], N), dtype=pl.Enum(["i", "ii", "iii"])),
        "code": RNG.choice(["1", "2", "3"], N).tolist(),
        "pay": RNG.integers(1, 30, N),
    }
)
HIDDEN = ["stage", "code", "pay"]
ASKED = {"entity": "patient", "confidential": HIDDEN, "l": 2, "t": 0.4}


MADE = share(["o.parquet", "o.csv", "followed.parquet"], 3)


@pytest.fixture(scope="module", params=MADE)
def made(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    VISITS.write_parquet(folder / "in.parquet")
    target = Location.of(folder / request.param)
    more = {"keep": "patient", "entity_mode": "rows"} if request.param[0] == "f" else {}
    told = mg.publish(VISITS, target.path, "age", 5, require=["k>=5"], **ASKED, **more)
    return target, told, folder / "in.parquet"


def of_models(told):
    """The edits of all that the manifest says of persons and confidential columns."""
    parts = ("models", "roles.entity", "roles.confidential")
    return {name: edit for name, edit in every_edit(told).items() if name.startswith(parts)}


def test_with_the_original_every_edit_is_found_out(made):
    target, told, original = made
    changes = of_models(told)
    assert len(changes) > 40
    assert undetected(target, told, changes, original=original) == []


def test_without_it_what_the_release_shows_is_found_out(made):
    target, told, _ = made
    left = undetected(target, told, of_models(told))
    if "followed" in target.path.name:
        assert left == []
        return
    # Nobody can count persons who are not there, but for what is impossible; and text has no order.
    share = "models.entity.models.max_entity_share"
    unseen = {"models.entity.entities", "models.entity.k_entities", share}
    lost = [i for i, row in enumerate(told["models"]["confidential"]) if row["column"] == "stage"]
    if target.path.suffix == ".csv":
        unseen |= {f"models.confidential.{i}.found" for i in lost}
    assert set(left) <= unseen
    assert "models.entity.entities" in left


@pytest.mark.parametrize("value", [4, 0, None, 10**6])
@pytest.mark.parametrize("name", ["entities", "k_entities", "alike_min"])
def test_counts_of_persons_that_are_impossible(name, value, made):
    target, told, _ = made
    if name == "alike_min" and value is None:
        return
    changed = put(told, ("models", "entity", name), lambda inner, key: inner.update({key: value}))
    assert found_out(target, changed)


def test_another_mode_is_found_out(made):
    target, told, _ = made
    changed = put(
        told, ("models", "entity", "mode"), lambda inner, key: inner.update({key: "mean"})
    )
    assert found_out(target, changed)


def test_what_is_left_out_is_found_out(made):
    target, told, original = made

    def without(*path):
        return put(told, path, lambda inner, key: inner.pop(key))

    for changed in (without("models"), without("models", "entity"), without("roles", "entity")):
        assert found_out(target, changed)
        assert found_out(target, changed, original=original)
    fewer = put(told, ("models", "confidential", 0), lambda rows, at: rows.pop(at))
    assert found_out(target, fewer)
    other = {"entity": None, "confidential": None, "l": None, "t": None, "entity_mode": None}
    assert found_out(target, rehashed(told, **other))
    assert found_out(target, rehashed(told, l=None))
    assert found_out(target, rehashed(told, t=0.41))


def test_rows_of_another_person(made):
    target, told, _ = made
    VISITS.with_columns(pl.col("patient").reverse()).write_parquet(target.path.parent / "x.parquet")
    assert found_out(target, told, original=target.path.parent / "x.parquet")


def test_a_bound_that_does_not_hold(made):
    """A manifest of a lower t, hashed again, as somebody would write it who wants to deceive."""
    target, told, _ = made
    changed = copy.deepcopy(rehashed(told, t=0.01))
    for row in changed["models"]["confidential"]:
        row["asked"] = 0.01 if row["model"] == "t" else row["asked"]
    target.record.write_bytes(dumped(changed))
    (wrong,) = [f for f in check(target) if f.what == "models"]
    assert wrong.state == "WRONG"
    assert wrong.says.startswith("The table does not keep t=0.01 on 'age'")
    target.record.write_bytes(dumped(told))


def test_requirements_on_persons_who_are_not_there_are_not_checked(tmp_path):
    """Somebody may write any bound and any count, which only the original tells to be false."""
    VISITS.write_parquet(tmp_path / "in.parquet")
    target = Location.of(tmp_path / "o.parquet")
    asked = ["k>=5", "k_entities>=5"]
    roles = {"entity": "patient", "keep": "pay", "drop": ["stage", "code"]}
    told = mg.publish(VISITS, target.path, "age", 5, require=asked, **roles)
    forged = rehashed(told, require=["k>=5", "k_entities>=50"])
    forged["verdict"]["requirements"][1] = {
        "requirement": "k_entities>=50",
        "found": 50,
        "met": True,
    }
    forged["models"]["entity"]["k_entities"] = 50
    for written in (told, forged):
        target.record.write_bytes(dumped(written))
        bound = written["config"]["require"][1]
        says = f"The verdict and its 1 requirement(s) hold; what needs the original: {bound}."
        for memory in (None, "2GB"):
            found = check(target, memory=memory)
            (alone,) = [f for f in found if f.what == "requirements"]
            assert (alone.holds, alone.checked, alone.says) == (True, False, says)
            found = check(target, original=tmp_path / "in.parquet", memory=memory)
            (beside,) = [f for f in found if f.what == "requirements"]
            assert beside.state == ("ok" if written is told else "WRONG")


def test_a_manifest_of_another_version_may_know_other_models(made):
    target, told, _ = made
    other = put(told, ("tool", "polars_microagg"), lambda inner, key: inner.update({key: "9.0.0"}))
    rows = other["models"]["confidential"]
    rows.append({"model": "entropy", "column": rows[0]["column"], "asked": None, "found": 1.5})
    target.record.write_bytes(dumped(other))
    states = {finding.what: finding.state for finding in check(target)}
    assert states["models"] == "not checked"
    target.record.write_bytes(dumped(told))
    assert misfits(other) == []


def test_a_configuration_that_is_no_possible_call(made):
    target, told, original = made
    changed = rehashed(told, max_rows_per_entity=7)
    assert found_out(target, changed, original=original)
    assert found_out(target, changed)


def test_a_manifest_from_before_there_were_models_stays_valid(tmp_path):
    target = Location.of(tmp_path / "o.parquet")
    told = mg.publish(VISITS.select("age", "pay"), target.path, "age", 5, keep="pay")
    rest = {name: value for name, value in told["config"].items() if name not in PROMISES}
    old = rehashed(told | {"config": rest, "tool": told["tool"] | {"polars_microagg": "0.0.9"}})
    assert len(rest) < len(told["config"])
    assert not found_out(target, old)


@pytest.mark.parametrize("bound", ["max_entity_share<=0.9", "k_entities>=2", "l>=2", "t<=0.5"])
def test_requirements_on_what_text_has_lost_are_left_open_on_disk(tmp_path, bound):
    VISITS.write_parquet(tmp_path / "in.parquet")
    told = mg.publish(VISITS, tmp_path / "o.csv", "age", 5, require=["k>=5", bound], **ASKED)
    for original in (None, tmp_path / "in.parquet"):
        found = check(tmp_path / "o.csv", original=original, memory="300MB")
        assert [(f.what, f.says) for f in found if not f.holds] == []
        (judged,) = [f for f in found if f.what == "requirements"]
        assert not judged.checked
        assert bound in judged.says
    # What is said is held against its bound.
    told["verdict"]["requirements"][1]["found"] = 1.0 if "<" in bound else 1
    (tmp_path / "o.csv.manifest.json").write_bytes(dumped(told))
    found = check(tmp_path / "o.csv", memory="300MB")
    assert "requirements" in [f.what for f in found if not f.holds]


def test_an_original_as_text_has_the_order_of_its_confidential_columns_on_disk(tmp_path):
    VISITS.write_csv(tmp_path / "in.csv")
    hidden = {
        "entity": "patient",
        "confidential": "pay",
        "l": 2,
        "t": 0.6,
        "drop": ["stage", "code"],
    }
    told = mg.publish(tmp_path / "in.csv", tmp_path / "o.parquet", "age", 5, **hidden)
    assert told["output"]["columns"]["pay"] == "Int64"
    for memory in (None, "300MB"):
        found = check(tmp_path / "o.parquet", original=tmp_path / "in.csv", memory=memory)
        assert [(f.what, f.says) for f in found if not f.holds] == []
        assert [f.checked for f in found if f.what == "models"] == [True]
