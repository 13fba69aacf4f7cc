"""A release with every kind of entry that a manifest has, and edits of its manifest."""

import copy
import datetime as dt
import hashlib
import json

import numpy as np
import polars as pl

import polars_microagg as mg
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.manifest.record import dumped, read_manifest
from polars_microagg.publishing.release import release
from polars_microagg.publishing.request import ReleaseRequest

KEY = b"a key of more than 16 bytes"
N = 1_200
"""Records: enough for every measure to be published."""
RNG = np.random.default_rng(17)
INCOME = RNG.lognormal(10, 0.7, N).round(2)
PEOPLE = pl.DataFrame(
    {
        "name": [f"p{i}" for i in range(N)],
        "phone": [f"{i:05d}" for i in range(N)],
        "age": RNG.integers(18, 90, N),
        "income": INCOME,
        "net": (INCOME * 0.9).round(2),  # reveals the income
        "region": ["A"] * 3
        + ["D"] * 4
        + ["B"] * 8
        + ["C"] * (N - 15),  # emptied, rare, and neither
    }
)
REQUIRED = ["k>=5", "rows>=60", "dld<=90", "score<=99"]


def publish(folder, name="out.parquet", key=KEY, **options):
    """Publish as the command line does, with every kind of entry that a manifest has."""
    PEOPLE.write_parquet(folder / "in.parquet")
    source, target = Location.of(folder / "in.parquet"), Location.of(f"{folder}/{name}")
    options = {"strata": ["region"], "small_strata": "null", "center": "median", **options}
    job = ReleaseRequest.of(
        ["age", "income"],
        5,
        "vmdav",
        options,
        require=REQUIRED,
        hash_key=key,
    )
    roles = ColumnRoles([["age", "income"]], ["region"], ["net"], ["name", "phone"])
    release(job, roles, PEOPLE, target, source=source, overwrite=True)
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
    return 7 if value is None else value + (1 if isinstance(value, int) else abs(value) / 10 + 0.3)


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


def states(place, **given):
    return {finding.what: finding.state for finding in check(place, **given)}
