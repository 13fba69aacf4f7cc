"""Publishing: what is on disk is what was promised, or nothing is."""

import hashlib
import hmac
import json

import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.precision import published
from polars_microagg.publishing.manifest.record import read_manifest
from tests.publishing.register import MASKED, PEOPLE, N, holds, publish

ENDINGS = ["out.parquet", "out.csv", "out.arrow", "out.arrows", "out.ndjson", "out.duckdb::t"]


@pytest.mark.parametrize("name", ENDINGS)
def test_what_is_on_disk_is_what_a_mask_gives(name, tmp_path):
    told = publish(f"{tmp_path}/{name}", PEOPLE.lazy())
    place = Location.of(f"{tmp_path}/{name}")
    found, expected = place.read(), mg.mdav(PEOPLE, MASKED, 5, strata="region")
    if name.endswith("csv"):
        assert found["id"].to_list() == expected["id"].to_list()  # leading zeros are kept
        assert [float(v) for v in found["income"]] == expected["income"].to_list()
    elif name.endswith("ndjson"):
        assert found["income"].to_list() == expected["income"].to_list()
    else:
        assert found.equals(expected)
    assert told == read_manifest(place.record)
    assert all(holds(place).values())
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {place.path.name, place.record.name}


@pytest.mark.parametrize("name", ENDINGS)
def test_the_measures_are_those_of_the_file(name, tmp_path):
    told = publish(f"{tmp_path}/{name}")
    masked = mg.mdav(PEOPLE, MASKED, 5, strata="region")
    expected = mg.assess(PEOPLE, masked, MASKED, strata="region").row(0, named=True)
    assert told["digits"] == 3
    assert list(told["measures"]) == [n for n in expected if n not in ("sse", "sst")]
    assert told["measures"] == published(expected, 3)  # more would let values be solved for
    assert told["measures"]["loss"] == round(expected["loss"], 1)
    sizes = masked.group_by([*MASKED, "region"]).len()["len"]
    assert told["k"]["found"] == sizes.min() >= 5
    assert told["k"]["classes"][0]["classes"] == len(sizes)
    assert told["rows"] == {"in": N, "out": N, "emptied": 0, "dropped": 0, "suppressed": 0}


def test_a_manifest_says_how_it_was_made(tmp_path):
    told = publish(
        tmp_path / "out.parquet", method="vmdav", gamma=0.3, require=["k=5", "dld <= 90"]
    )
    assert told["config"]["method"] == "vmdav"
    assert told["config"]["gamma"] == 0.3
    assert told["config"]["nulls"] == "raise"  # a default that holds is written as well
    assert told["roles"] == {"mask": MASKED, "stratum": ["region"], "keep": ["id"], "drop": []}
    assert [r["requirement"] for r in told["verdict"]["requirements"]] == ["k>=5", "dld<=90"]
    assert told["attack"]["known"] == MASKED
    plain = json.dumps(told["config"], sort_keys=True, separators=(",", ":")).encode()
    assert told["config_sha256"] == hashlib.sha256(plain).hexdigest()
    content = (tmp_path / "out.parquet").read_bytes()
    assert told["output"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert told["output"]["bytes"] == len(content)
    text = (tmp_path / "out.parquet.manifest.json").read_text()
    assert not [value for value in PEOPLE["income"].to_list() if str(value) in text]


def test_the_input_has_a_hash_only_with_a_key(tmp_path):
    assert publish(tmp_path / "a.parquet")["input"] == {"of": None, "hmac_sha256": None}
    key = b"k" * 16
    first = publish(tmp_path / "b.parquet", hash_key=key)["input"]
    other = publish(tmp_path / "c.parquet", hash_key=b"x" * 16)["input"]
    assert first["of"] == "rows"
    assert first["hmac_sha256"] != other["hmac_sha256"]
    with pytest.raises(mg.InvalidParameterError, match="at least 16 bytes"):
        publish(tmp_path / "d.parquet", hash_key=b"short")


def test_the_hash_of_a_file_is_that_of_any_other_tool(tmp_path):
    PEOPLE.write_parquet(tmp_path / "in.parquet")
    place, key = Location.of(tmp_path / "in.parquet"), b"k" * 20
    expected = hmac.new(key, (tmp_path / "in.parquet").read_bytes(), "sha256").hexdigest()
    assert place.mac(key, PEOPLE) == {"of": "file", "hmac_sha256": expected}


def test_a_masked_table_is_published_without_a_method(tmp_path):
    masked = mg.mdav(PEOPLE, MASKED, 5, strata="region")
    made = {"method": None, "strata": "region", "keep": "id"}
    told = mg.publish(masked, tmp_path / "o.parquet", MASKED, 5, original=PEOPLE, **made)
    assert told["measures"]["loss"] > 0
    again = mg.publish(masked, tmp_path / "p.parquet", MASKED, 5, **made)
    assert again["measures"] == {}
    assert again["config"]["method"] is None
    with pytest.raises(mg.NotAnonymousError, match="not 5-anonymous"):
        mg.publish(PEOPLE, tmp_path / "q.parquet", MASKED, 5, **made)
    with pytest.raises(mg.RequirementError, match="found no value"):
        mg.publish(masked, tmp_path / "q.parquet", MASKED, 5, require="dld<=10", **made)
    assert not (tmp_path / "q.parquet").exists()


def test_k_is_counted_on_the_file_and_not_on_the_frame(tmp_path, monkeypatch):
    """A writer that changes one value on its way to the disk is found out."""
    from polars_microagg.publishing import staging as publish_stage

    original = publish_stage.write

    def faulty(frame, file, form, what):
        changed = frame.with_columns(
            age=pl.when(pl.int_range(pl.len()) == 7).then(1).otherwise("age")
        )
        original(changed, file, form, what)

    monkeypatch.setattr(publish_stage, "write", faulty)
    with pytest.raises(mg.OutputError, match="what was read back is not what was written"):
        publish(tmp_path / "out.parquet")
    with pytest.raises(mg.NotAnonymousError, match="the smallest has 1"):
        publish(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


# --- Checking again ------------------------------------------------------------------------------

TAMPER = {
    "form": lambda told: told["rows"].update(more=1),
    "configuration": lambda told: told["config"].update(k=3),
    "hash": lambda told: told["output"].update(sha256="0" * 64),
    "name": lambda told: told["output"].update(name="other.parquet"),
    "shape": lambda told: told["rows"].update(out=91),
    "types": lambda told: told["output"]["columns"].update(age="Int8"),
    "roles": lambda told: told["roles"]["keep"].clear(),
    "k": lambda told: told["k"].update(found=7),
    "requirements": lambda told: told["verdict"].update(k_holds=False),
    "measures": lambda told: told["measures"].update(loss=told["measures"]["loss"] + 0.3),
    "warnings": lambda told: told["warnings"].clear(),
    "attack": lambda told: told["attack"]["known"].clear(),
    "times": lambda told: told["times"].update(seconds=9.0),
    "input": lambda told: told["input"].update(hmac_sha256="0" * 64),
    "seal": lambda told: told["tool"].update(python="3.11.99"),
}


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """A sealed release, what it is checked with, and its manifest."""
    folder = tmp_path_factory.mktemp("sealed")
    key, place = b"k" * 16, Location.of(folder / "out.parquet")
    source = Location.of(folder / "in.duckdb::people")
    mg.publish(PEOPLE, folder / "in.duckdb::people", ["age"], 2, keep=cs.all())
    before = source.read()
    publish(place.path, before, hash_key=key, require="dld<=90")
    return place, {"original": source, "hash_key": key}, place.record.read_bytes()


def test_a_manifest_that_was_not_changed_holds(sealed):
    place, options, manifest = sealed
    place.record.write_bytes(manifest)
    assert holds(place, **options) == dict.fromkeys(TAMPER, True)


@pytest.mark.parametrize("what", TAMPER)
def test_a_manifest_that_was_changed_is_found_out(what, sealed):
    place, options, manifest = sealed
    told = json.loads(manifest)
    TAMPER[what](told)
    place.record.write_text(json.dumps(told))
    assert not holds(place, **options)[what]


def test_a_release_that_was_changed_is_found_out(tmp_path):
    place = Location.of(tmp_path / "out.parquet")
    publish(place.path)
    changed = place.read().with_columns(
        age=pl.when(pl.int_range(pl.len()) == 7).then(1).otherwise("age")
    )
    changed.write_parquet(place.path)
    found = holds(place)
    assert not found["hash"]
    assert not found["k"]


@pytest.mark.parametrize(
    "told", ["", "[]", "{}", '{"schema": "polars_microagg/manifest"}', "null", "[" * 100_000]
)
def test_what_is_no_manifest_is_refused(told, tmp_path):
    (tmp_path / "m.json").write_text(told)
    with pytest.raises(mg.InvalidDataError, match="cannot be read"):
        read_manifest(tmp_path / "m.json")


def test_a_manifest_of_other_parts_does_not_hold(tmp_path):
    place = Location.of(tmp_path / "out.parquet")
    told = publish(place.path)
    for key in ("config", "roles", "rows", "k", "verdict", "output"):
        place.record.write_text(json.dumps({**told, key: {}}))
        assert not all(holds(place).values())


@pytest.mark.parametrize(
    ("option", "way"),
    [
        ({"effort": 2}, "name a method that takes it: 'lowloss'."),
        ({"refine": True}, "name a method such as mdav."),
        ({"small_strata": "drop"}, "name a method such as mdav."),
    ],
)
def test_an_option_of_masking_is_refused_where_nothing_is_masked(tmp_path, option, way):
    frame = pl.DataFrame({"age": [1, 1, 2, 2]})
    with pytest.raises(mg.InvalidParameterError, match="says how a table is masked") as error:
        mg.publish(frame, tmp_path / "o.parquet", "age", 2, method=None, **option)
    assert str(error.value).startswith(next(iter(option)))
    assert str(error.value).endswith(f"Leave it out, or {way}")
    assert not (tmp_path / "o.parquet").exists()
    mg.publish(frame, tmp_path / "o.parquet", "age", 2, method=None)
