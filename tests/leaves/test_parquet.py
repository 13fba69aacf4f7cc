"""Parquet files masked within memory: the leaves by hand, and whatever may go wrong."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import polars_microagg as mg
from polars_microagg import registry
from polars_microagg.leaves import budget, run, work
from polars_microagg.leaves.budget import Budget, bytes_of, parts_of
from polars_microagg.leaves.spill import Spill
from polars_microagg.leaves.work import Job, mask_parts
from polars_microagg.partition import Partition

COLUMNS = ["age", "income", "born", "debt"]


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "note": pl.Series([f"note {v}" for v in rng.integers(0, 9, n)], dtype=pl.Categorical),
            "age": pl.Series(rng.integers(18, 95, n), dtype=pl.Int16),
            "income": np.round(rng.lognormal(9, 1.2, n), 2),
            "born": [date(1950, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 900, n)],
            "debt": pl.Series(
                [Decimal(int(v)) / 100 for v in rng.integers(0, 999, n)], dtype=pl.Decimal(9, 2)
            ),
            "tags": [[int(v), None] for v in rng.integers(0, 9, n)],
        }
    )


def by_hand(leaves, frame):
    """Each leaf masked on its own, and all in the order in which they came."""
    numbered = frame.with_columns(leaves.assign(frame)).with_row_index("at")
    parts = numbered.partition_by("leaf")
    masked = [leaves.protect(part.drop("leaf", "at")).with_columns(part["at"]) for part in parts]
    return pl.concat(masked).sort("at").drop("at")


@pytest.fixture
def small_parts(monkeypatch):
    """Let a few hundred records be as many as fit into memory."""
    small = Budget(10**9, 1, 700, 100, 450)
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, *args: small))
    return small


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
    two = Budget(10**9, 2, 700, 100, 450)
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, *args: two))
    mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "two.parquet", COLUMNS, 5, size=200)
    one, other = (pl.read_parquet(tmp_path / name) for name in ("one.parquet", "two.parquet"))
    assert one.equals(other)


def test_an_error_of_another_process_is_the_same_error(tmp_path):
    leaves = mg.fit_leaves(people(100), ["age"], 5)
    parts = {}
    for part, n in (("0", 50), ("1", 3)):
        records = {
            "row": np.arange(n),
            "leaf": np.zeros(n, np.uint32),
            "ties": np.zeros(n, np.uint64),
        }
        with Spill(tmp_path, part, 1) as spill:
            spill.write(pl.DataFrame(records | {"0": np.arange(n)}), np.zeros(n, dtype=np.intp))
        parts[part] = [spill.path(0).name]
    with pytest.raises(mg.TooFewRecordsError, match="k=5 needs at least 5 records, got 3"):
        list(mask_parts(Job(str(tmp_path), parts, 100, 1), leaves, 2))


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


def test_floats_if_asked_for(tmp_path):
    people(500).write_parquet(tmp_path / "in.parquet")
    mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", COLUMNS, 5, dtype="float")
    schema = pl.read_parquet_schema(tmp_path / "out.parquet")
    assert {schema[name] for name in COLUMNS} == {pl.Float64}


def test_progress_is_told_to_the_end(tmp_path, small_parts):
    people(1000).write_parquet(tmp_path / "in.parquet")
    told = []
    with mg.progress(lambda *args: told.append(args)):
        mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", COLUMNS, 5, size=100)
    assert told[-1] == (5000, 5000, "protect_parquet")
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
    assert len(told) > 20


# --- What goes wrong --------------------------------------------------------------------------


@pytest.fixture
def released(tmp_path):
    """An older release where the new one is to be."""
    people(300, seed=9).write_parquet(tmp_path / "out.parquet")
    content = (tmp_path / "out.parquet").read_bytes()
    yield tmp_path
    assert (tmp_path / "out.parquet").read_bytes() == content
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def protect(folder, columns=COLUMNS, k=5, **options):
    return mg.protect_parquet(folder / "in.parquet", folder / "out.parquet", columns, k, **options)


def test_nulls_are_counted_over_all_batches(released, small_parts):
    frame = people(1000).with_columns(age=pl.when(pl.col("id") % 100 > 0).then("age"))
    frame.write_parquet(released / "in.parquet")
    with pytest.raises(mg.MissingValuesError, match="'age' has 10 null"):
        protect(released)
    frame = people(1000).with_columns(
        income=pl.when(pl.col("id") % 100 > 0).then("income").otherwise(float("nan"))
    )
    frame.write_parquet(released / "in.parquet")
    with pytest.raises(mg.MissingValuesError, match="'income' has 10 NaN"):
        protect(released)
    with pytest.raises(mg.MissingValuesError, match="'income' has 10 NaN"):
        protect(released, leaves=mg.fit_leaves(people(1000), COLUMNS, 5))


def test_a_method_that_breaks_its_promise_releases_nothing(released, monkeypatch):
    people(300).write_parquet(released / "in.parquet")
    pairs = lambda x, /, *, k: Partition.from_labels(np.arange(len(x)) // 2)  # noqa: E731
    entry = replace(registry.methods()["md"], function=pairs)
    monkeypatch.setitem(registry._METHODS, "md", entry)
    with pytest.raises(mg.BrokenPromiseError, match="class of 2 .* Nothing was released"):
        protect(released, method="md")


def test_what_was_written_is_counted_again(released, small_parts, monkeypatch):
    people(1000).write_parquet(released / "in.parquet")
    plain = run.arrow_of

    def spoilt(column, field, dtype):
        return plain(column.set(pl.int_range(len(column), eager=True) == 7, 17), field, dtype)

    monkeypatch.setattr(run, "arrow_of", spoilt)
    with pytest.raises(mg.BrokenPromiseError, match="where k=5 was promised"):
        protect(released, ["age"], size=100)


def test_rows_in_another_order_are_noticed(released, small_parts, monkeypatch):
    people(1000).write_parquet(released / "in.parquet")
    plain = run.Ranges.frame
    monkeypatch.setattr(run.Ranges, "frame", lambda self, number: plain(self, number)[::-1])
    with pytest.raises(mg.BrokenPromiseError, match="Nothing was released"):
        protect(released)


def test_a_callback_that_raises_stops_the_work(released, small_parts):
    people(1000).write_parquet(released / "in.parquet")

    def stop(done, total, what):
        if done > 3500:
            raise KeyboardInterrupt

    with mg.progress(stop), pytest.raises(KeyboardInterrupt):
        protect(released, size=100)


def test_equal_records_that_do_not_fit_are_refused(released, monkeypatch):
    monkeypatch.setattr(
        Budget, "of", classmethod(lambda cls, *args: Budget(10**9, 1, 100, 100, 450))
    )
    people(1000).with_columns(age=pl.lit(40), income=1.0).write_parquet(released / "in.parquet")
    with pytest.raises(mg.InvalidParameterError, match="1000 records have so few different values"):
        protect(released, ["age", "income"], size=50)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"memory": "20MB"}, "at least '250MB'"),
        ({"memory": "lots"}, "memory='lots'"),
        ({"memory": True}, "memory=True"),
        ({"workers": 0}, "workers=0"),
        ({"nulls": "pattern"}, "cannot honour nulls='pattern'"),
        ({"columns": ["incom"]}, "Did you mean 'income'"),
        ({"columns": ["note"]}, "'note' is of type"),
        ({"columns": [["age"], ["income"]]}, "2 lists"),
        ({"k": 1}, "k=1 is not a group size"),
        ({"k": 301}, "k=301 needs at least 301 records, got 300"),
    ],
)
def test_calls_that_are_refused(released, options, text):
    people(300).write_parquet(released / "in.parquet")
    with pytest.raises(mg.MicroaggError, match=text):
        protect(released, **options)


def test_leaves_bring_their_own_options(released):
    frame = people(300)
    frame.write_parquet(released / "in.parquet")
    leaves = mg.fit_leaves(frame, COLUMNS, 5)
    with pytest.raises(mg.InvalidParameterError, match="method='vmdav' beside leaves=Leaves"):
        protect(released, leaves=leaves, method="vmdav")
    with pytest.raises(mg.InvalidParameterError, match=r"leaves of \['age'\] with k=5"):
        protect(released, ["age"], leaves=leaves)


def test_files_that_do_not_fit_together(released):
    people(300).write_parquet(released / "in.parquet")
    people(300).drop("note").write_parquet(released / "more.parquet")
    target = released / "out.parquet"
    with pytest.raises(mg.InvalidParameterError, match=r"more.parquet has another than in.parquet"):
        mg.protect_parquet([released / "in.parquet", released / "more.parquet"], target, ["age"], 5)
    with pytest.raises(mg.InvalidParameterError, match="it must be a Parquet file, a list of them"):
        mg.protect_parquet(released / "nothing*", target, ["age"], 5)
    with pytest.raises(mg.InvalidParameterError, match="another file than those of source"):
        mg.protect_parquet(released / "in.parquet", released / "in.parquet", ["age"], 5)
    with pytest.raises(mg.InvalidParameterError, match="in a folder that exists"):
        mg.protect_parquet(released / "in.parquet", released / "no" / "out.parquet", ["age"], 5)


KILLED = """
import os, signal, sys
import polars_microagg as mg
from polars_microagg.leaves.budget import Budget

Budget.of = classmethod(lambda cls, *args: Budget(10**9, 1, 700, 100, 450))

def kill(done, total, what):
    if done >= float(sys.argv[3]) * total:
        os.kill(os.getpid(), signal.SIGKILL)

with mg.progress(kill):
    mg.protect_parquet(sys.argv[1], sys.argv[2], ["age", "income"], 5, size=200)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL and folder locks are of POSIX")
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_killed_run_harms_nobody_and_the_next_one_cleans_up(tmp_path, share):
    frame = people(2000)
    frame.write_parquet(tmp_path / "in.parquet")
    target = tmp_path / "out.parquet"
    target.write_text("the last release")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "in.parquet", target, str(share)], check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert target.read_text() == "the last release"
    left = [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert len(left) == (share > 0.2)
    assert all(path.stat().st_mode & 0o77 == 0 for path in left)
    leaves = mg.protect_parquet(tmp_path / "in.parquet", target, ["age", "income"], 5, size=200)
    assert pl.read_parquet(target).equals(by_hand(leaves, frame))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_run_that_goes_on_is_let_alone(tmp_path):
    frame = people(2000)
    frame.write_parquet(tmp_path / "in.parquet")
    target = tmp_path / "out.parquet"
    inner = []

    def meanwhile(done, total, what):
        if not inner and done > 0.5 * total:
            inner.append(1)
            with mg.progress(None):
                protect(tmp_path, ["age"], size=300)

    with mg.progress(meanwhile):
        leaves = protect(tmp_path, ["age", "income"], size=200)
    assert inner
    assert pl.read_parquet(target).equals(by_hand(leaves, frame))


def test_a_worker_that_dies_is_an_error(released, monkeypatch):
    people(1000).write_parquet(released / "in.parquet")
    monkeypatch.setattr(
        Budget, "of", classmethod(lambda cls, *args: Budget(10**9, 2, 300, 100, 450))
    )
    start = work._start

    def dying(folder, workers):
        process = start(folder, workers)
        process.kill()
        process.wait()
        return process

    monkeypatch.setattr(work, "_start", dying)
    with pytest.raises(RuntimeError, match="ended before it was done. Nothing was released"):
        protect(released, size=100)


# --- The budget -------------------------------------------------------------------------------


def test_memory_is_read_as_people_write_it():
    assert bytes_of("2GB") == 2 * 10**9
    assert bytes_of("2 gib") == 2**31
    assert bytes_of("0.5g") == 5 * 10**8
    assert bytes_of(3 * 10**8) == bytes_of("300 MB") == 3 * 10**8


def test_parts_hold_what_they_may_and_leaves_stay_whole():
    frame = people(5000)
    tree = mg.fit_leaves(frame, ["age", "income"], 5, size=50).tree
    parts = parts_of(tree, 10**6, 40_000)
    assert (np.diff(parts) >= 0).all()
    share = np.bincount(parts, tree.expected) / 5000 * 10**6
    assert share.max() <= 40_000
    assert share.mean() > 10_000
    assert parts_of(tree, 10**6, 10**7).max() == 0


def test_less_memory_is_fewer_records_and_not_more_processes():
    budgets = [Budget.of(memory, None, 4, 40.0) for memory in (300 * 10**6, 10**9, 4 * 10**9)]
    assert [b.part for b in budgets] == sorted({b.part for b in budgets})
    assert budgets[0].workers == 1
    for b in budgets:
        assert b.workers * b.part * 8 * 7 * budget.COPIES <= b.memory
