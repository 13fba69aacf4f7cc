"""Strata of floats: what is counted as one is released as one."""

from __future__ import annotations

import struct

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

NAN = float("nan")
OTHER_NAN = struct.unpack("d", struct.pack("Q", 0xFFF8_0000_0000_0001))[0]
N = 12
KEYS = [-0.0, 0.0, NAN, OTHER_NAN, 2.5, None] * 2
ODD = pl.Struct({"^a$": pl.Float64, "*": pl.List(pl.Float32), "n": pl.Int8})
NESTED = {
    "f64": pl.Series(KEYS),
    "f32": pl.Series(KEYS, dtype=pl.Float32),
    "f16": pl.Series(KEYS).cast(pl.Float16),
    "list": pl.Series([None if v is None else [v, None] for v in KEYS], dtype=pl.List(pl.Float64)),
    "lists": pl.Series(
        [None if v is None else [[v], []] for v in KEYS], dtype=pl.List(pl.List(pl.Float64))
    ),
    "array": pl.Series([[v, v] for v in KEYS], dtype=pl.Array(pl.Float32, 2)),
    "struct": pl.Series([{"^a$": v, "*": [v], "n": 1} for v in KEYS], dtype=ODD),
    "structs": pl.Series([[{"x": v}] for v in KEYS], dtype=pl.List(pl.Struct({"x": pl.Float64}))),
}
PLAIN = {
    "text": pl.Series(["x", "y"] * (N // 2)),
    "list": pl.Series([[i % 2] for i in range(N)]),
    "decimal": pl.Series([i % 2 for i in range(N)]).cast(pl.Decimal(5, 2)),
}
DOORS = ["DataFrame", "in-memory", "streaming"]
every_door = pytest.mark.parametrize("door", DOORS)


def leaves_of(value):
    """Doubles inside a value, as they are printed; NaN with its bits."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves_of(item)]
    if not isinstance(value, float):
        return [repr(value)]
    return [struct.pack("d", value).hex()]


def masked(frame, door, strata="s", k=2, **options):
    if door == "DataFrame":
        return mg.mdav(frame, ["a"], k, strata=strata, **options)
    return mg.mdav(frame.lazy(), ["a"], k, strata=strata, **options).collect(engine=door)


@every_door
@pytest.mark.parametrize("small", ["raise", "null", "drop"])
@pytest.mark.parametrize("keys", NESTED)
def test_a_stratum_of_floats_is_released_with_one_zero_and_one_nan(keys, small, door):
    frame = pl.DataFrame({"id": range(N), "a": np.arange(N) * 1.0, "s": NESTED[keys]})
    release = masked(frame, door, small_strata=small)
    assert release.schema == frame.schema
    assert release["s"].eq_missing(frame["s"]).all()
    told = {}
    for row in release.rows():
        told.setdefault(tuple(leaves_of(row[2])), []).append(row[1])
    sizes = sorted(map(len, told.values()))
    assert len(sizes) == frame["s"].n_unique()
    assert sizes[0] >= 2
    assert not any("0000000000000080" in key for key in told)


@every_door
@pytest.mark.parametrize("keys", PLAIN)
def test_other_strata_are_untouched(keys, door):
    frame = pl.DataFrame({"a": np.arange(N) * 1.0, "s": PLAIN[keys]})
    assert masked(frame, door)["s"].equals(frame["s"])
    plan = mg.mdav(frame.lazy(), ["a"], 2, strata="s").explain()
    assert "when" not in plan.lower()


@every_door
def test_kept_columns_and_nulls_of_keys_keep_their_bits(door):
    odd = [-0.0, OTHER_NAN, 0.0, NAN] * 3
    frame = pl.DataFrame({"a": np.arange(N) * 1.0, "s": KEYS, "kept": odd})
    release = masked(frame, door)
    assert release["kept"].to_numpy().tobytes() == frame["kept"].to_numpy().tobytes()
    assert release["s"].is_null().equals(frame["s"].is_null())


@every_door
def test_emptied_records_lose_their_keys_whatever_their_sign(door):
    frame = pl.DataFrame({"a": [1.0, 2, 3, 4, 5, 6], "s": [-0.0, 0.0, 0.0, 1, 2, 3]})
    release = masked(frame, door, k=3, small_strata="null")
    assert [repr(v) for v in release["s"].to_list()] == ["0.0"] * 3 + ["None"] * 3
    assert masked(frame, door, k=3, small_strata="drop").height == 3


def test_the_kernel_does_not_run_where_only_strata_are_selected(monkeypatch):
    from polars_microagg.frames import batch

    def forbidden(*_):
        raise AssertionError

    monkeypatch.setattr(batch.BatchMasker, "mask", forbidden)
    frame = pl.LazyFrame({"a": [1.0, 2], "s": [-0.0, 0.0]})
    assert mg.mdav(frame, "a", 2, strata="s").select("s").collect()["s"].to_list() == [0.0, 0.0]


def test_a_published_table_has_one_zero(tmp_path):
    frame = pl.DataFrame({"a": [1.0, 2, 3, 4], "s": [-0.0, 0.0, -0.0, 0.0]})
    target = tmp_path / "release.csv"
    mg.publish(frame, target, ["a"], 2, method="mdav", strata="s", keep=[])
    assert "-0.0" not in target.read_text()


@pytest.mark.parametrize("dtype", [pl.Float16, pl.Float32, pl.Float64])
def test_zeros_that_a_reader_can_tell_apart_are_counted_apart(dtype):
    foreign = pl.DataFrame({"a": pl.Series([0.0, 0.0, -0.0, 5e-324]).cast(dtype)})
    if dtype != pl.Float64:
        foreign = foreign.head(3)
    with pytest.raises(mg.NotAnonymousError):
        mg.verify(foreign, "a", 2)
    assert mg.anonymity(foreign, "a")["k_min"].item() == 1
    keys = pl.DataFrame({"a": [1, 1], "s": pl.Series([0.0, -0.0]).cast(dtype)})
    with pytest.raises(mg.NotAnonymousError):
        mg.verify(keys.lazy(), "a", 2, strata="s")
