"""Strata that are too small are refused before anything is masked, as they are when all is masked."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.errors import MicroaggError
from polars_microagg.out_of_core import passes
from tests.loop import rounds

N = 600


def table(**rows):
    """Three large strata of many persons and values, and small ones of so many rows."""
    draw = np.random.default_rng(0)
    city = ["A", "B", "C"] * (N // 3) + [name for name, count in rows.items() for _ in range(count)]
    n = len(city)
    small = pl.Series(city).is_in(["A", "B", "C"]).not_()
    frame = pl.DataFrame({"city": city, "age": draw.integers(0, 90, n), "pay": draw.normal(size=n)})
    return frame.with_columns(
        # Those of small strata are two persons with one diagnosis.
        who=pl.when(small).then(pl.int_range(n) % 2).otherwise(pl.int_range(n) + 2),
        dx=pl.when(small)
        .then(pl.lit("a"))
        .otherwise(pl.lit("b") + (pl.int_range(n) % 5).cast(str)),
    )


ROWS = {"entity": "who", "entity_mode": "rows"}
EARLY = {
    "records": (table(Y=3, Z=7), {}, r"1 of 5 strata have fewer than k=5 records \(the smallest has 3\)"),
    "records in one of several leaves": (
        table(**{f"S{i}": 30 for i in range(10)}, Y=3),
        {},
        r"1 of 14 strata have fewer than k=5 records \(the smallest has 3\)",
    ),
    "persons": (table(Y=3, Z=9), ROWS, r"2 of 5 strata have fewer than k=5 entities \(the smallest has 2\)"),
    "persons of a large stratum": (table(Z=300), ROWS, r"1 of 4 .*entities \(the smallest has 2\)"),
    "values": (
        table(Z=40),
        {"confidential": "dx", "l": 2},
        "l=2 cannot be reached: in a stratum of 40 records, the number of distinct values of 'dx' is 1",
    ),
    "emptied": (table(Y=2, Z=1), {"small_strata": "null"}, r"would empty 3 record\(s\)"),
    "emptied persons": (table(Z=9), {**ROWS, "small_strata": "null"}, "would empty 2 entities"),
    "emptied values": (
        table(Z=40),
        {"confidential": "dx", "l": 2, "small_strata": "null"},
        r"l=2 cannot be reached: small_strata='null' would empty 40 record\(s\)",
    ),
    "patterns": (
        table(Z=9).with_columns(pay=pl.when(pl.int_range(pl.len()) >= 4).then("pay")),
        {"strata": None, "nulls": "pattern"},
        r"1 of 2 strata have fewer than k=5 records \(the smallest has 4\); with nulls='pattern'",
    ),
}  # fmt: skip


def protected(frame, folder, **options):
    """Mask a file in leaves of about fifty records."""
    frame.write_parquet(folder / "in.parquet")
    call = {"strata": "city", "size": 50, "workers": 1, **options}
    mg.protect_parquet(folder / "in.parquet", folder / "o.parquet", ["age", "pay"], 5, **call)
    return pl.read_parquet(folder / "o.parquet")


@pytest.mark.parametrize("case", EARLY)
def test_small_strata_are_refused_before_anything_is_masked(case, tmp_path, monkeypatch):
    def masked(*_):
        raise AssertionError

    monkeypatch.setattr(passes, "mask_parts", masked)
    frame, options, text = EARLY[case]
    with pytest.raises(mg.InvalidDataError, match=text) as raised:
        protected(frame, tmp_path, **options)
    # Leaves refuse to drop rows beside confidential columns.
    way = "small_strata='drop' needs the whole table in memory"
    assert (way in str(raised.value)) == ("confidential" in options)


@pytest.mark.parametrize("seed", range(rounds(40)))
def test_they_are_refused_where_they_are_once_all_is_masked(seed, tmp_path, monkeypatch):
    draw = np.random.default_rng(seed)
    small = {name: int(draw.integers(1, 12)) for name in "VWXYZ"[: draw.integers(0, 5)]}
    frame, options = table(**small), {"small_strata": ["raise", "null"][draw.integers(2)]}
    monkeypatch.setattr(passes, "PART", int(draw.choice([60, 200, 10**6])))
    if draw.random() < 0.5:
        options |= ROWS
    if draw.random() < 0.4:
        options |= {"confidential": "dx", "l": 2}
    if draw.random() < 0.3:
        holes = pl.Series(draw.random(frame.height) < draw.choice([0.01, 0.3]))
        frame = frame.with_columns(pay=pl.when(~holes).then("pay"))
        options["nulls"] = ["pattern", "impute"][draw.integers(2)]

    def outcome():
        try:
            return protected(frame, tmp_path, **options)
        except MicroaggError as error:
            return f"{type(error).__name__}: {error}"

    early = outcome()
    monkeypatch.setattr(passes.MaskingRun, "refuse_small", lambda _: None)
    late = outcome()
    assert type(early) is type(late)
    assert early.equals(late) if isinstance(early, pl.DataFrame) else early == late
