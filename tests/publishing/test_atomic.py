"""Files put in place: in which order things happen, and what is cleared away."""

from __future__ import annotations

import errno
import fcntl
import gc
import hashlib
import os
import stat
import subprocess
import sys

import pytest

import polars_microagg as mg
from polars_microagg import durable
from polars_microagg.publishing import atomic
from polars_microagg.publishing.atomic import Swap
from tests.publishing.disk import descriptors, is_locked, names, pair, record_of, traced, written

__all__ = ["pair"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks and modes of POSIX")


WAITS = """
import sys, pathlib
from polars_microagg.publishing.atomic import waiting

with waiting(pathlib.Path(sys.argv[1]), b"page"):
    print(flush=True)
    sys.stdin.readline()
"""


def test_a_file_that_waited_is_removed_by_the_next_writer_unless_it_still_waits(tmp_path):
    pipe = subprocess.PIPE
    runs = []
    for name in ("first", "second"):
        command = [sys.executable, "-c", WAITS, tmp_path / name]
        runs.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        runs[-1].stdout.readline()
    try:
        assert len(list(tmp_path.iterdir())) == 2
        runs[0].kill()
        runs[0].communicate()
        atomic.put(tmp_path / "third", b"page")
        assert len(names(tmp_path)) == 2
        runs[1].kill()
        runs[1].communicate()
        with Swap(tmp_path / "o.csv", tmp_path / "o.json"):
            assert len(names(tmp_path)) == 2
    finally:
        for run in runs:
            run.kill()
            run.communicate()
    assert names(tmp_path) == ["third"]


# --- Locks and disks --------------------------------------------------------------------------------


def test_folders_are_locked_once_each_and_let_go_of(tmp_path):
    one, other = tmp_path / "a", tmp_path / "b"
    one.mkdir()
    other.mkdir()
    before = descriptors()
    with atomic._locked(other, one, tmp_path / "b" / ".." / "b"):
        assert is_locked(one)
        assert is_locked(other)
        assert not is_locked(tmp_path)
        assert descriptors() == before + 2
    assert not is_locked(one)
    assert not is_locked(other)
    assert descriptors() == before
    with pytest.raises(KeyError), atomic._locked(one):
        raise KeyError
    assert not is_locked(one)
    assert descriptors() == before


def test_a_folder_is_let_go_of_once_and_before_it_is_closed(tmp_path, monkeypatch):
    calls = []
    flock, close = fcntl.flock, os.close
    monkeypatch.setattr(fcntl, "flock", lambda d, how: calls.append(how) or flock(d, how))
    monkeypatch.setattr(os, "close", lambda d: calls.append("close") or close(d))
    folder = atomic._Folder(tmp_path)
    folder.lock()
    folder.close()
    folder.close()
    assert calls == [fcntl.LOCK_EX, fcntl.LOCK_UN, "close"]
    monkeypatch.setattr(atomic._Folder, "_descriptor", 0)
    zero = object.__new__(atomic._Folder)
    monkeypatch.setattr(os, "close", lambda d: calls.append(d))
    zero.close()
    assert calls[-1] == 0


def test_a_folder_that_cannot_be_opened_closes_nothing(tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr(os, "close", closed.append)
    with pytest.raises(FileNotFoundError):
        atomic._Folder(tmp_path / "nowhere")
    gc.collect()
    assert closed == []


@pytest.mark.parametrize(
    ("number", "raised"),
    [(errno.EINVAL, False), (errno.EBADF, False), (errno.ENOTSUP, False), (errno.EIO, True)],
)
def test_a_folder_that_cannot_be_settled_is_an_error_where_it_could_be(
    number, raised, tmp_path, monkeypatch
):
    before, settled = descriptors(), []

    def fsync(descriptor):
        settled.append(os.fstat(descriptor).st_ino)
        raise OSError(number, "")

    monkeypatch.setattr(os, "fsync", fsync)
    if raised:
        with pytest.raises(OSError, match=str(number)):
            durable.settle(tmp_path)
    else:
        durable.settle(tmp_path)
    assert settled == [tmp_path.stat().st_ino]
    assert descriptors() == before


def test_a_folder_that_may_not_be_read_is_left_as_it_is(tmp_path, monkeypatch):
    def closed(*_):
        raise PermissionError(errno.EACCES, "")

    def gone(*_):
        raise FileNotFoundError(errno.ENOENT, "")

    monkeypatch.setattr(os, "open", closed)
    durable.settle(tmp_path)
    monkeypatch.setattr(os, "open", gone)
    with pytest.raises(FileNotFoundError):
        durable.settle(tmp_path)


def test_everything_is_on_disk_before_it_is_looked_at(tmp_path, monkeypatch):
    (tmp_path / "files").mkdir()
    (tmp_path / "records").mkdir()
    target, record = tmp_path / "files" / "out.bin", tmp_path / "records" / "out.json"
    written(target, record, b"old")
    steps = traced(monkeypatch)
    told = record_of(b"newer")
    written(target, record, b"newer", told)
    assert steps == [
        "sync part of 5",
        f"sync next of {len(told)}",
        "json to last",
        "settle records",
        "part to bin",
        "settle files",
        "next to json",
        "remove last",
        "settle records",
    ]
    assert (target.read_bytes(), record.read_bytes()) == (b"newer", told)
    assert names(tmp_path / "files") + names(tmp_path / "records") == ["out.bin", "out.json"]


def test_folders_are_locked_while_names_change(pair, monkeypatch):
    target, record = pair
    rename, locked = Swap._rename, []
    monkeypatch.setattr(
        Swap, "_rename", lambda self: locked.append(is_locked(target.parent)) or rename(self)
    )
    before = descriptors()
    written(target, record, b"new")
    assert locked == [True]
    assert not is_locked(target.parent)
    assert descriptors() == before


# --- What is left behind ------------------------------------------------------------------------------


def test_without_a_commit_nothing_remains(pair):
    target, record = pair
    before = record.read_bytes()
    with Swap(target, record) as waits:
        waits.file.write(b"new")
        assert is_locked(waits.path)
        assert len(names(target.parent)) == 3
    assert waits.file.closed
    assert names(target.parent) == ["out.bin", "out.json"]
    assert (target.read_bytes(), record.read_bytes()) == (b"old", before)


def test_a_new_file_has_the_mode_of_new_files_or_that_of_the_old_one(pair):
    target, record = pair
    (target.parent / "other").touch()
    assert target.stat().st_mode == (target.parent / "other").stat().st_mode
    target.chmod(0o4750)
    written(target, record, b"new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o4750


def test_a_temporary_file_is_never_one_that_is_there(pair, monkeypatch):
    target, record = pair
    monkeypatch.setattr(atomic.secrets, "token_hex", lambda n: "0" * (2 * n))
    with Swap(target, record) as waits:
        waits.file.write(b"mine")
        with pytest.raises(mg.OutputError, match="File exists."), Swap(target, record):
            pass
        waits.commit(record_of(b"mine"))
    assert target.read_bytes() == b"mine"


def test_temporary_files_of_dead_writers_are_removed_and_no_others(pair):
    target, record = pair
    with Swap(target, record) as waits:
        stem = waits._stem
        dead = [f"{stem}-1234.part", f"{stem}-.part"]
        others = [f"{stem}-1234.txt", f"{stem}.part", ".microagg-x.part", "1234.part"]
        for name in (*dead, *others):
            (target.parent / name).touch()
        with Swap(target, record) as second:
            there = names(target.parent)
            assert waits.path.name in there
            assert second.path.name in there
            assert set(others) <= set(there)
            assert not set(dead) & set(there)
    assert set(names(target.parent)) == {*others, "out.bin", "out.json"}


@pytest.mark.parametrize("aside", ["next", "last", "both", "none fits", "cut"])
def test_the_record_that_fits_is_put_back(aside, pair):
    target, record = pair
    fits, other = record.read_bytes(), record_of(b"another")
    waits = Swap(target, record)
    record.unlink()
    left = {
        "next": {waits._next: fits, waits._last: other},
        "last": {waits._next: other, waits._last: fits},
        "both": {waits._next: fits, waits._last: fits},
        "none fits": {waits._next: other, waits._last: other},
        "cut": {waits._last: fits[:-3]},
    }[aside]
    for path, content in left.items():
        path.write_bytes(content)
    waits.recover(lambda: atomic.sha256_of(target))
    back = aside not in ("none fits", "cut")
    assert names(target.parent) == ["out.bin", *(["out.json"] if back else [])]
    assert not back or record.read_bytes() == fits


def test_a_record_in_place_stays(pair, monkeypatch):
    target, record = pair
    before = record.read_bytes()
    waits = Swap(target, record)
    steps = traced(monkeypatch)
    waits.recover(lambda: pytest.fail("nothing was set aside"))
    assert steps == []
    waits._next.write_bytes(record_of(b"old") + b" ")
    waits.recover(lambda: pytest.fail("the record is there"))
    assert steps == ["remove next", f"settle {target.parent.name}"]
    assert record.read_bytes() == before


def test_records_without_a_target_are_cleared_away(pair):
    target, record = pair
    waits = Swap(target, record)
    record.replace(waits._last)
    target.unlink()
    waits.recover(lambda: atomic.sha256_of(target))
    assert names(target.parent) == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"output": 3}', b'{"output": {}}', b"\xff"]
)
def test_a_record_that_tells_no_hash_tells_none(content, tmp_path):
    (tmp_path / "r").write_bytes(content)
    assert atomic._recorded(tmp_path / "r") is None
    (tmp_path / "r").write_bytes(record_of(b"x"))
    assert atomic._recorded(tmp_path / "r") == hashlib.sha256(b"x").hexdigest()


def test_what_fails_on_the_way_is_an_error_and_leaves_the_pair(pair, monkeypatch):
    target, record = pair
    before = record.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "x")

    for step in ("fsync", "replace"):
        with Swap(target, record) as waits, monkeypatch.context() as broken:
            waits.file.write(b"new")
            broken.setattr(*((os, "fsync") if step == "fsync" else (Swap, "_rename")), full)
            with pytest.raises(mg.OutputError, match="No space left on device."):
                waits.commit(b"{}")
        assert names(target.parent) == ["out.bin", "out.json"]
        assert (target.read_bytes(), record.read_bytes()) == (b"old", before)
    monkeypatch.setattr(os, "open", full)
    with pytest.raises(mg.OutputError, match="No space left on device."), Swap(target, record):
        pass


def test_an_interrupt_while_it_is_made_leaves_no_temporary_file(pair, monkeypatch):
    target, record = pair

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fdopen", stopped)
    with pytest.raises(KeyboardInterrupt), Swap(target, record):
        pass
    assert names(target.parent) == ["out.bin", "out.json"]


# --- One file alone -------------------------------------------------------------------------------------


def test_one_file_takes_its_place_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    atomic.put(path, b"old")
    steps = traced(monkeypatch)
    with atomic.waiting(path, b"newer") as finish:
        assert path.read_bytes() == b"old"
        assert steps == ["sync part of 5"]
        finish()
        assert path.read_bytes() == b"newer"
    assert steps == ["sync part of 5", "part to html", f"settle {tmp_path.name}"]
    with atomic.waiting(path, b"never"):
        pass
    assert (path.read_bytes(), names(tmp_path)) == (b"newer", ["page.html"])
    with pytest.raises(mg.OutputError, match="it is a folder"):
        atomic.put(tmp_path, b"x")
    with pytest.raises(mg.OutputError, match="No space"), atomic.waiting(path, b"x"):
        raise OSError(errno.ENOSPC, "x")
    assert (path.read_bytes(), names(tmp_path)) == (b"newer", ["page.html"])
