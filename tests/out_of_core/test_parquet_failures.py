"""Parquet files masked within memory: whatever may go wrong."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core import registry
from polars_microagg.core.partition import Partition
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core import output
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.processes import crew, worker
from tests.leaves.people import COLUMNS, by_hand, people


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
    with pytest.raises(mg.GuaranteeError, match="class of 2 .* Nothing was released"):
        protect(released, method="md")


def test_what_was_written_is_counted_again(released, small_parts, monkeypatch):
    people(1000).write_parquet(released / "in.parquet")
    plain = output.arrow_of

    def spoilt(column, field):
        return plain(column.set(pl.int_range(len(column), eager=True) == 7, 17), field)

    monkeypatch.setattr(output, "arrow_of", spoilt)
    with pytest.raises(mg.GuaranteeError, match="where k=5 was promised"):
        protect(released, ["age"], size=100)


def test_rows_in_another_order_are_noticed(released, small_parts, monkeypatch):
    people(1000).write_parquet(released / "in.parquet")
    plain = output.Ranges.frame
    monkeypatch.setattr(output.Ranges, "frame", lambda self, number: plain(self, number)[::-1])
    with pytest.raises(mg.GuaranteeError, match="Nothing was released"):
        protect(released)


def test_a_callback_that_raises_stops_the_work(released, small_parts):
    people(1000).write_parquet(released / "in.parquet")

    def stop(done, total, what):
        if done > 3500:
            raise KeyboardInterrupt

    with mg.progress(stop), pytest.raises(KeyboardInterrupt):
        protect(released, size=100)


CHANGED = "it changed while it was read"


def by_rename(path, other):
    other.write_parquet(path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def in_place(path, other):
    # A writer of Parquet may replace the file; other bytes in the same file do not.
    other.write_parquet(path.with_suffix(".new"))
    path.write_bytes(path.with_suffix(".new").read_bytes())


def gone(path, other):
    path.unlink()


@pytest.mark.parametrize("form", ["file", "folder"])
@pytest.mark.parametrize("change", [by_rename, in_place, gone])
@pytest.mark.parametrize("after", [1, 1100, 2100, 2999])
def test_a_source_that_changes_during_the_run_releases_nothing(
    released, small_parts, form, change, after
):
    frame = people(1000)
    parts = [frame] if form == "file" else [frame[:600], frame[600:]]
    source = released / "source"
    source.mkdir()
    for number, part in enumerate(parts):
        part.write_parquet(source / f"{number}.parquet", row_group_size=90)
    place = source if form == "folder" else source / "0.parquet"
    # Other persons in the same rows: the same columns, types and numbers of rows.
    number, done_before = len(parts) - 1, []

    def replaced(done, total, what):
        if done >= after and not done_before:
            done_before.append(done)
            change(source / f"{number}.parquet", parts[number][::-1])

    with mg.progress(replaced), pytest.raises(mg.InvalidDataError, match=CHANGED) as error:
        mg.protect_parquet(place, released / "out.parquet", COLUMNS, 5, size=100)
    assert str(source / f"{number}.parquet") in str(error.value)
    assert done_before


def test_every_pass_over_files_reads_the_same_files(tmp_path):
    frame = people(1000)
    frame.write_parquet(tmp_path / "in.parquet")
    source = ParquetSource.of(tmp_path / "in.parquet")
    assert sum(table.num_rows for table in source.batches(300)) == 1000
    batches = source.batches(300)
    next(batches)
    by_rename(tmp_path / "in.parquet", frame[::-1])
    with pytest.raises(mg.InvalidDataError, match=CHANGED):
        list(batches)
    with pytest.raises(mg.InvalidDataError, match=CHANGED):
        next(source.batches(300))


def test_equal_records_that_do_not_fit_are_refused(released, monkeypatch):
    monkeypatch.setattr(
        MemoryBudget, "of", classmethod(lambda cls, *args: MemoryBudget(10**9, 1, 100, 100, 450))
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
        ({"entity": "id", "entity_mode": "alike"}, "cannot honour entity_mode='alike'"),
        ({"columns": ["incom"]}, "Did you mean 'income'"),
        ({"columns": ["tags"]}, "'tags' is of type"),
        ({"columns": [["age"], ["age"]]}, "'age'"),
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
    said = r"more.parquet' cannot be read: it has other columns or types than in.parquet"
    with pytest.raises(mg.InvalidDataError, match=said):
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
from polars_microagg.leaves.memory_budget import MemoryBudget

MemoryBudget.of = classmethod(lambda cls, *args: MemoryBudget(10**9, 1, 700, 100, 450))

def kill(done, total, what):
    if done >= float(sys.argv[3]) * total:
        os.kill(os.getpid(), signal.SIGKILL)

with mg.progress(kill):
    mg.protect_parquet(sys.argv[1], sys.argv[2], ["age", "income"], 5, size=200)
"""


@pytest.mark.deep
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
    assert len(left) == 1
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
        MemoryBudget, "of", classmethod(lambda cls, *args: MemoryBudget(10**9, 2, 300, 100, 450))
    )

    class Dying(worker.Worker):
        def __init__(self, *given):
            super().__init__(*given)
            self.kill()

    monkeypatch.setattr(crew, "Worker", Dying)
    with pytest.raises(mg.WorkerError, match="ended before it was done. Nothing was released"):
        protect(released, size=100)
