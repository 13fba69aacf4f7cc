"""Every leaf of a manifest is edited, one at a time: what is found out, and what only a seal finds."""

import copy
import datetime as dt
import hashlib
import hmac
import json

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publish import Job, release
from polars_microagg.release.check import check
from polars_microagg.release.files import Place
from polars_microagg.release.manifest import VERSION, dumped, read_manifest

KEY = b"a key of more than 16 bytes"
N = 70
RNG = np.random.default_rng(17)
INCOME = RNG.lognormal(10, 0.7, N).round(2)
PEOPLE = pl.DataFrame(
    {
        "name": [f"p{i}" for i in range(N)],
        "phone": [f"{i:05d}" for i in range(N)],
        "age": RNG.integers(18, 90, N),
        "income": INCOME,
        "net": (INCOME * 0.9).round(2),  # reveals the income
        "region": ["A"] * 3 + ["B"] * 8 + ["C"] * (N - 11),  # emptied, rare, and neither
    }
)
REQUIRED = ["k=5", "rows=60", "dld<=90", "score<=99"]


def publish(folder, name="out.parquet", key=KEY, **options):
    """Publish as the command line does, with every kind of entry that a manifest has."""
    PEOPLE.write_parquet(folder / "in.parquet")
    source, target = Place.of(folder / "in.parquet"), Place.of(f"{folder}/{name}")
    options = {"strata": ["region"], "small_strata": "null", "center": "median", **options}
    job = Job.of(
        ["age", "income"],
        5,
        "vmdav",
        options,
        require=REQUIRED,
        hash_key=key,
        dropped=("name", "phone"),
    )
    release(job, PEOPLE, target, source=source, overwrite=True)
    return source, target, read_manifest(target.record)


def leaves(value, path=()):
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    if not isinstance(value, dict | list) or not value:
        yield path, value


def edited(path, value):
    """Another value that could stand in the same place."""
    where = ".".join(map(str, path))
    if where.endswith(("sha256", "seal")):
        return "0" * 64 if value is None or value[0] != "0" else "1" * 64
    if path[0] == "times" and path[1] != "seconds":
        later = dt.datetime.fromisoformat(value) + dt.timedelta(seconds=1)
        return later.isoformat(timespec="milliseconds")
    if path[0] == "tool":
        return f"9.{value}"
    if path[-1] == "of":
        return "rows" if value == "file" else "file"
    if isinstance(value, dict | list):
        return type(value)([("x", 1)] if isinstance(value, dict) else ["x"])
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "x"
    return (
        7 if value is None else value + (1 if isinstance(value, int) else abs(value) / 1000 + 0.001)
    )


def put(told, path, change):
    told = copy.deepcopy(told)
    inner = told
    for key in path[:-1]:
        inner = inner[key]
    change(inner, path[-1])
    return told


def found_out(target, told, **given):
    target.record.write_bytes(dumped(told))
    try:
        return not all(finding.holds for finding in check(target, **given))
    except mg.InvalidDataError:
        return True


def undetected(target, told, changes, **given):
    """Names of the changes that are not found out."""
    kept = [name for name, changed in changes.items() if not found_out(target, changed, **given)]
    assert not found_out(target, told, **given)
    return kept


def every_edit(told):
    def edit(inner, key):
        inner[key] = edited(path, inner[key])

    changes = {}
    for path, _ in leaves(told):
        changes[".".join(map(str, path))] = put(told, path, edit)
    assert len(changes) > 120
    return changes


TOOLS = [f"tool.{n}" for n in ("polars_microagg", "polars", "numpy", "pyarrow", "duckdb", "python")]
UNSEALED = [*TOOLS, "input.of", "input.hmac_sha256", "seal"]
"""What nothing but the seal proves."""

OF_ORIGINAL = ["pld", "mean_sd", "delta_r", "delta_w", "fpc_share", "delta_corr", "delta_corr_sd"]
"""Measures that no other measure is made of, and that are not of the release alone."""


def test_an_edit_of_any_leaf_is_found_out(tmp_path):
    source, target, told = publish(tmp_path)
    changes = every_edit(told)
    assert undetected(target, told, changes, original=source, hash_key=KEY) == []
    assert undetected(target, told, changes, hash_key=KEY) == []
    assert sorted(undetected(target, told, changes, original=source)) == sorted(UNSEALED)
    needs = [w for w in told["warnings"] if w.startswith(("The kept column 'net' rev", "In "))]
    assert len(needs) == 3
    warnings = [f"warnings.{told['warnings'].index(w)}" for w in needs]
    measures = [f"measures.{name}" for name in OF_ORIGINAL]
    expected = [*UNSEALED, *warnings, *measures, "roles.drop.0", "roles.drop.1"]
    assert sorted(undetected(target, told, changes)) == sorted(expected)


@pytest.mark.parametrize("name", ["out.csv", "out.duckdb::t", "out.arrows", "out.ndjson"])
def test_an_edit_is_found_out_in_other_formats(name, tmp_path):
    """Text does not keep types, so only the seal proves them there."""
    source, target, told = publish(tmp_path, name)
    changes = {n: c for n, c in every_edit(told).items() if n.startswith(("output", "rows", "k."))}
    typeless = name.endswith(("csv", "ndjson"))
    types = [f"output.columns.{n}" for n in told["output"]["columns"]] if typeless else []
    assert undetected(target, told, changes, original=source) == types
    assert undetected(target, told, changes, original=source, hash_key=KEY) == []


def without(inner, key):
    del inner[key]


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


def rehashed(told, **changes):
    told = copy.deepcopy(told)
    told["config"].update(changes)
    plain = json.dumps(told["config"], sort_keys=True, separators=(",", ":")).encode()
    told["config_sha256"] = hashlib.sha256(plain).hexdigest()
    return told


def later(told):
    told = copy.deepcopy(told)
    for name in ("started", "finished"):
        told["times"][name] = edited(("times", name), told["times"][name])
    return told


def test_what_is_changed_in_step_is_found_by_the_seal_alone(tmp_path):
    source, target, told = publish(tmp_path)
    assert rehashed(told) == told
    changes = {"gamma": rehashed(told, gamma=0.9), "times": later(told)}
    assert undetected(target, told, changes, original=source) == ["gamma", "times"]
    assert undetected(target, told, changes, hash_key=KEY) == []
    seal = {f.what: f for f in check(target, original=source)}["seal"]
    assert (seal.holds, seal.checked, seal.state) == (True, False, "not checked")
    for word in ("options", "seed", "versions", "times", "dropped columns"):
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
        {"require": ["k >= 5"]},
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


# --- Versions and form ----------------------------------------------------------------------------


def first_version(told):
    return {n: v for n, v in told.items() if n != "seal"} | {"schema_version": 1}


def test_a_manifest_of_version_1_is_read(tmp_path):
    source, target, told = publish(tmp_path)
    old = first_version(told)
    assert not found_out(target, old, original=source)
    assert found_out(target, old | {"seal": told["seal"]})
    assert found_out(target, old, hash_key=KEY)  # or an edit to version 1 would pass
    assert told["schema_version"] == VERSION == 2
    for version in (3, 0, "2", True, None):
        assert found_out(target, told | {"schema_version": version})


def test_a_table_of_version_1_is_read_by_its_own_hash(tmp_path):
    from polars_microagg.release.files import rows_digest

    _, target, told = publish(tmp_path, "out.duckdb::t")
    old = first_version(told)
    old["output"] = told["output"] | {"sha256": rows_digest(target.read(), settled=False)}
    assert old["output"]["sha256"] != told["output"]["sha256"]
    assert not found_out(target, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"seed": 0,', '"seed": 7, "seed": 0,'),
        ('"seed": 0,', '"seed": NaN,'),
        ('"seed": 0,', '"seed": 0.0,'),
        ('"seed": 0,', '"seed": false,'),
    ],
)
def test_json_that_others_may_read_otherwise_is_refused(old, new, tmp_path):
    _, target, _ = publish(tmp_path)
    text = target.record.read_text()
    assert old in text
    target.record.write_text(text.replace(old, new))
    try:
        holds = all(finding.holds for finding in check(target))
    except mg.InvalidDataError:
        holds = False
    assert not holds


# --- Sound releases of every kind hold ------------------------------------------------------------


def states(place, **given):
    return {finding.what: finding.state for finding in check(place, **given)}


def test_a_file_under_another_name_is_another_file(tmp_path):
    _, target, _ = publish(tmp_path)
    moved = target.path.rename(tmp_path / "moved.parquet")
    assert states(moved, record=target.record)["name"] == "WRONG"


@pytest.mark.parametrize("method", ["individual_ranking", "univariate"])
def test_a_requirement_on_whole_records_is_judged_on_them_again(method, tmp_path):
    options = {"method": method, "require": ["k>=1"], "manifest": tmp_path / "m.json"}
    mg.publish(PEOPLE.drop("name"), tmp_path / "o.csv", ["age", "income"], 5, **options)
    found = states(tmp_path / "o.csv", record=tmp_path / "m.json")
    assert found["requirements"] == found["k"] == found["configuration"] == "ok"


def test_a_bound_of_many_digits_is_written_whole(tmp_path):
    table = pl.DataFrame({"a": pl.int_range(0, 1_234_567, eager=True) // 7})
    told = mg.publish(table, tmp_path / "o.parquet", "a", 2, method=None, require="rows>=1234567")
    assert told["config"]["require"] == ["rows>=1234567"]
    assert "WRONG" not in states(tmp_path / "o.parquet").values()


def test_a_table_that_was_masked_elsewhere_is_warned_of_by_itself(tmp_path):
    masked = mg.mdav(PEOPLE, ["age", "income"], 5).with_columns(net=pl.col("income"))
    path = tmp_path / "o.parquet"
    told = mg.publish(masked, path, ["age", "income"], 5, method=None)
    assert not [w for w in told["warnings"] if "reveals" in w]  # there was no original
    assert "WRONG" not in states(path).values()
    told = mg.publish(masked, path, ["age", "income"], 5, method=None, original=PEOPLE)
    PEOPLE.write_parquet(tmp_path / "in.parquet")
    assert "WRONG" not in states(path, original=tmp_path / "in.parquet").values()


def test_columns_that_were_dropped_before_are_told_as_not_checked(tmp_path):
    PEOPLE.write_parquet(tmp_path / "in.parquet")
    given = {"seed": np.int64(3), "nulls": "pattern"}
    frame = PEOPLE.select("age", "income").lazy()
    told = mg.publish(frame, tmp_path / "o.parquet", ["age", "income"], 5, **given)
    assert told["config"]["seed"] == told["seed"] == 3
    found = states(tmp_path / "o.parquet", original=tmp_path / "in.parquet")
    assert found.pop("roles") == "not checked"
    assert set(found.values()) == {"ok", "not checked"}


def test_a_manifest_of_another_version_of_the_library_holds(tmp_path):
    """Its words, and options that came later, are no fault of it."""
    source, target, told = publish(tmp_path, key=None)
    other = copy.deepcopy(told)
    other["tool"]["polars_microagg"] = "0.0.9"
    other["attack"]["dld"] = "links each record"
    other["warnings"] = ["Take care."]
    del other["config"]["gamma"]
    assert not found_out(target, rehashed(other), original=source)
    other["attack"]["known"] = ["age"]
    assert found_out(target, rehashed(other), original=source)


def test_the_hash_of_rows_is_that_of_their_values():
    """Not of what lies under their nulls, nor of how their texts are stored."""
    import pyarrow as pa

    from polars_microagg.release.files import rows_digest

    bits, numbers = pa.py_buffer(bytes([0b1101])), pa.array([1, 99, 3, 4]).buffers()[1]
    hidden = pl.from_arrow(pa.Array.from_buffers(pa.int64(), 4, [bits, numbers]))
    text = [f"a text of more than twelve signs {i}" for i in range(4)]
    one = pl.DataFrame({"x": hidden, "^a$": text, "l": [[1, None], None, [], [2]]})
    parts = [{"x": [1, None], "^a$": text[:2]}, {"x": [3, 4], "^a$": text[2:]}]
    other = pl.concat(map(pl.DataFrame, parts)).with_columns(one["l"])
    assert one.equals(other)
    assert rows_digest(one) == rows_digest(other)
    assert rows_digest(one) != rows_digest(other.with_columns(x=pl.Series([1, 99, 3, 4])))
    assert rows_digest(one) != rows_digest(one.with_columns(x=pl.Series([1, 0, 3, 4])))
    assert rows_digest(one) != rows_digest(one.rename({"x": "y"}))
    assert rows_digest(one) != rows_digest(one.with_columns(l=pl.Series([[1, 0], None, [], [2]])))
