"""Parquet files masked within memory: what comes out is what the leaves say by hand."""

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import polars_microagg as mg
from polars_microagg.leaves import masking
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core import parquet, passes
from polars_microagg.out_of_core.spill import Spill
from polars_microagg.out_of_core.workers import LeafJob, mask_parts
from tests.leaves.people import COLUMNS, by_hand, people


def test_many_files_come_out_as_one_and_as_the_leaves_say(tmp_path, small_parts):
    frame = people(5000)
    for number, part in enumerate(frame.iter_slices(1234)):
        part.write_parquet(tmp_path / f"in-{number}.parquet", row_group_size=500)
    leaves = mg.protect_parquet(tmp_path, tmp_path / "out.parquet", COLUMNS, 5, size=200)
    masked = pl.read_parquet(tmp_path / "out.parquet")
    mg.verify(masked, COLUMNS, k=5)
    assert masked.equals(by_hand(leaves, frame))
    assert masked.schema == frame.schema
    assert masked.drop(COLUMNS).equals(frame.drop(COLUMNS))
    assert leaves.to_json() == mg.fit_leaves(frame, COLUMNS, 5, size=200).to_json()
    before, after = (pq.read_schema(tmp_path / name) for name in ("in-0.parquet", "out.parquet"))
    assert after.equals(before, check_metadata=True)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("how", ["list", "pattern", "folder", "file"])
def test_a_source_is_given_in_many_ways(tmp_path, how):
    frame = people(900)
    folder = tmp_path / "in"
    (folder / "_temporary").mkdir(parents=True)
    frame.write_parquet(folder / "_temporary" / "unfinished.parquet")
    names = ["b.parquet", "a.parquet"] if how == "list" else ["a.parquet", "b.parquet"]
    for name, part in zip(names, frame.iter_slices(450), strict=True):
        part.write_parquet(folder / name)
    frame.write_parquet(tmp_path / "one.parquet")
    source = {
        "list": [str(folder / name) for name in names],
        "pattern": str(folder / "*.parquet"),
        "folder": folder,
        "file": tmp_path / "one.parquet",
    }[how]
    leaves = mg.protect_parquet(source, tmp_path / "out.parquet", ["age", "income"], 4, size=100)
    assert pl.read_parquet(tmp_path / "out.parquet").equals(by_hand(leaves, frame))


def test_processes_give_the_same_bits(tmp_path, small_parts, monkeypatch):
    frame = people(3000)
    frame.write_parquet(tmp_path / "in.parquet")
    mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "one.parquet", COLUMNS, 5, size=200)
    two = MemoryBudget(10**9, 2, 700, 100, 450)
    monkeypatch.setattr(MemoryBudget, "of", classmethod(lambda cls, *args: two))
    mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "two.parquet", COLUMNS, 5, size=200)
    one, other = (pl.read_parquet(tmp_path / name) for name in ("one.parquet", "two.parquet"))
    assert one.equals(other)


@pytest.mark.deep
def test_an_error_of_another_process_is_the_same_error(tmp_path):
    leaves = mg.fit_leaves(people(100), ["age"], 5)
    parts = {}
    for part, n in (("0", 50), ("1", 3)):
        records = {
            "row": np.arange(n),
            "leaf": np.zeros(n, np.uint32),
            "ties": np.zeros(n, np.uint64),
        }
        spill = Spill(tmp_path, part, 1)
        spill.write(pl.DataFrame(records | {"0": np.arange(n)}), np.zeros(n, dtype=np.intp))
        spill.close()
        parts[part] = [spill.path(0).name]
    with pytest.raises(mg.TooFewRecordsError, match="k=5 needs at least 5 records, got 3"):
        list(mask_parts(LeafJob(str(tmp_path), parts, 100, 1), leaves, 2))


def test_shuffled_rows_have_the_same_values(tmp_path, small_parts):
    frame = people(2000).with_columns(
        age=pl.col("age") // 20, income=(pl.col("income") / 1e4).round()
    )
    mixed = frame.sample(fraction=1, shuffle=True, seed=1)
    for name, rows in (("a", frame), ("b", mixed)):
        rows.write_parquet(tmp_path / f"{name}.parquet", row_group_size=77 if name == "b" else None)
        mg.protect_parquet(
            tmp_path / f"{name}.parquet",
            tmp_path / f"{name}2.parquet",
            ["age", "income"],
            3,
            size=50,
        )
    one, other = (pl.read_parquet(tmp_path / f"{name}2.parquet").sort("id") for name in "ab")
    assert one.equals(other)


def test_strange_names(tmp_path):
    names = ["a.b", "row", " ", "*", "ties", 'q"', "^x$"]
    frame = pl.DataFrame(np.random.default_rng(0).normal(size=(300, 7)), schema=names)
    frame.write_parquet(tmp_path / "in.parquet")
    leaves = mg.protect_parquet(
        tmp_path / "in.parquet", tmp_path / "out.parquet", names[:6], 3, size=40
    )
    masked = pl.read_parquet(tmp_path / "out.parquet")
    mg.verify(masked, names[:6], k=3)
    assert masked.equals(by_hand(leaves, frame))


def test_other_tables_by_the_same_leaves(tmp_path, small_parts):
    """A small leaf here may be a large one there, and its neighbour in another part."""
    frame = people(4000)
    leaves = mg.fit_leaves(frame, ["age", "income"], 5, size=100)
    few = frame.filter(pl.col("income") < 6000).head(200)
    sizes = np.bincount(leaves.assign(few), minlength=len(leaves.tree))
    assert (sizes[sizes > 0] < 5).any()
    few.write_parquet(tmp_path / "few.parquet")
    merged = mg.protect_parquet(
        tmp_path / "few.parquet", tmp_path / "out.parquet", ["age", "income"], 5, leaves=leaves
    )
    assert pl.read_parquet(tmp_path / "out.parquet").equals(by_hand(merged, few))
    assert len(merged) < len(leaves)
    frame.write_parquet(tmp_path / "all.parquet")
    again = mg.protect_parquet(
        tmp_path / "all.parquet", tmp_path / "out.parquet", ["age", "income"], 5, leaves=merged
    )
    assert pl.read_parquet(tmp_path / "out.parquet").equals(by_hand(again, frame))
    assert again.merged == merged.merged


@pytest.mark.parametrize(
    ("options", "workers"),
    [
        ({"method": "lowloss"}, 1),
        ({"method": "lowloss", "strata": "half"}, 1),
        ({"method": "lowloss", "strata": "few"}, 1),
        ({"confidential": "sick", "l": 2}, 1),
        ({"confidential": "sick", "l": 2}, 2),
    ],
)
def test_slow_work_is_told_of_leaf_by_leaf(options, workers, tmp_path, monkeypatch):
    monkeypatch.setattr(masking, "seconds_of", lambda method, size, k, options: 2.0 * size)
    monkeypatch.setattr(passes, "PART", 300 if workers > 1 else 10**6)
    row = pl.int_range(pl.len())
    frame = people(1000).with_columns(sick=row % 3, half=row % 7 // 4, few=row % 40)
    frame.write_parquet(tmp_path / "in.parquet")
    told = []
    with mg.progress(lambda *args: told.append(args)):
        leaves = mg.protect_parquet(
            tmp_path / "in.parquet",
            tmp_path / "out.parquet",
            ["age", "income"],
            5,
            size=50,
            workers=workers,
            **options,
        )
    assert told[-1][:2] == (told[-1][1],) * 2
    done = [done for done, _, _ in told]
    assert done == sorted(set(done))
    total = told[-1][1]
    weight = total // 1000 - 4 - ("confidential" in options)
    assert weight > 50 / workers
    # The passes before take about as long as what they are told to.
    before = 1000 * (2 + ("confidential" in options))
    during = [one for one in done if before < one < before + 1000 * weight]
    pieces = 40 if "few" in options.values() else len(leaves)
    assert len(during) >= 0.8 * pieces


def test_floats_if_asked_for(tmp_path):
    people(500).write_parquet(tmp_path / "in.parquet")
    mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", COLUMNS, 5, dtype="float")
    schema = pl.read_parquet_schema(tmp_path / "out.parquet")
    assert {schema[name] for name in COLUMNS} == {pl.Float64}


def test_progress_is_told_to_the_end(tmp_path, small_parts):
    people(1000).write_parquet(tmp_path / "in.parquet")
    told = []
    with mg.progress(lambda *args: told.append(args)):
        mg.protect_parquet(
            tmp_path / "in.parquet", tmp_path / "out.parquet", COLUMNS, 5, size=100, workers=1
        )
    # To mask a record takes about three times what one of the four other passes does.
    assert told[-1] == (7000, 7000, "protect_parquet")
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
    assert len(told) > 20


def test_defaults_that_leaves_replace_are_those_of_the_call():
    assert parquet.FITTING.items() <= mg.protect_parquet.__kwdefaults__.items()
