"""What is written for POSIX has another path: a system without it is simulated here.

As on Windows, nothing that is open or mapped is renamed or removed, no folder is opened, and there are
no locks of files, no /proc, no SIGHUP and no count of the processors of a process.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg import durable
from polars_microagg.cli import main as cli
from polars_microagg.out_of_core import workspace
from polars_microagg.processes import crew, worker
from polars_microagg.publishing import atomic, memory
from polars_microagg.publishing.atomic import Swap, waiting
from polars_microagg.publishing.formats import standard_output

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="open files are read from /proc")

PEOPLE = pl.DataFrame({"age": [23, 25, 47, 51] * 100, "pay": range(400), "city": ["A", "B"] * 200})
GONE = ("statvfs", "sched_getaffinity", "sysconf", "geteuid", "getuid", "fork")
OPEN, LISTED = os.open, os.listdir


def in_use(path):
    """Tell whether this process has a file open, or mapped into its memory."""
    path = os.path.realpath(path)
    for number in LISTED("/proc/self/fd"):
        try:
            if Path("/proc/self/fd", number).readlink() == Path(path):
                return True
        except OSError:
            continue
    return f"{path}\n" in Path("/proc/self/maps").read_text()


@pytest.fixture
def windows(tmp_path, monkeypatch):
    """Take from this process what Windows has not."""

    def closed(function):
        def call(*places, **options):
            if not options:  # a folder removes its files by their bare names
                for place in places:
                    if Path(place).is_file() and in_use(place):
                        raise PermissionError(13, "it is open in a process", str(place))
            return function(*places, **options)

        return call

    def opened(path, *rest, **options):
        if not options and Path(path).is_dir():
            raise PermissionError(13, "it is a folder", str(path))
        return OPEN(path, *rest, **options)

    monkeypatch.setattr(durable, "WINDOWS", True)
    monkeypatch.setattr(atomic, "_fcntl", None)
    for name in ("fcntl", "termios"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("replace", "rename", "unlink", "remove"):
        monkeypatch.setattr(os, name, closed(getattr(os, name)))
    monkeypatch.setattr(os, "open", opened)
    for name in GONE:
        monkeypatch.delattr(os, name)
    # Windows has another function for this.
    room = SimpleNamespace(total=10**15, used=0, free=10**15)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: room)
    monkeypatch.setattr(memory._available, "__defaults__", (Path("no/meminfo"),))
    monkeypatch.setattr(memory._left_in_groups, "__defaults__", (Path("no/group"), Path("no/root")))
    monkeypatch.delattr(signal, "SIGHUP")
    monkeypatch.delattr(standard_output.select, "poll")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_simulation_bites(windows, tmp_path):
    (tmp_path / "a").touch()
    with (tmp_path / "a").open():
        for change in (Path.unlink, lambda path: path.replace(tmp_path / "b")):
            with pytest.raises(PermissionError):
                change(tmp_path / "a")
    with pytest.raises(PermissionError):
        os.open(tmp_path, os.O_RDONLY)
    (tmp_path / "a").unlink()


def test_a_file_and_its_record_are_replaced(windows, tmp_path):
    target, record = tmp_path / "o.csv", tmp_path / "o.json"
    for content in (b"old", b"new"):
        with Swap(target, record) as swap:
            swap.file.write(content)
            swap.commit(b"{}")
        assert target.read_bytes() == content
        assert names(tmp_path) == ["o.csv", "o.json"]


def test_what_a_killed_writer_left_goes_and_what_one_has_open_stays(windows, tmp_path):
    target, record = tmp_path / "o.csv", tmp_path / "o.json"
    with Swap(target, record) as living:
        left = living.path.with_name(f"{living._stem}-0123.part")
        left.touch()
        with Swap(target, record) as second:
            assert not left.exists()
            assert living.path.exists()
            second.commit(b"{}")
        living.file.write(b"last")
        living.commit(b"{}")
    assert target.read_bytes() == b"last"
    assert names(tmp_path) == ["o.csv", "o.json"]


def test_a_file_that_was_made_elsewhere_is_adopted(windows, tmp_path):
    made = tmp_path / "made"
    made.write_bytes(b"made")
    with Swap(tmp_path / "o.csv", tmp_path / "o.json") as swap:
        swap.adopt(made)
        swap.commit(b"{}")
    assert (tmp_path / "o.csv").read_bytes() == b"made"
    assert names(tmp_path) == ["o.csv", "o.json"]


def test_one_file_is_replaced(windows, tmp_path):
    for content in (b"old", b"new"):
        with waiting(tmp_path / "o.json", content) as finish:
            finish()
        assert (tmp_path / "o.json").read_bytes() == content
    assert names(tmp_path) == ["o.json"]


def test_a_working_folder_goes_with_its_run(windows, tmp_path):
    with workspace.working_folder(tmp_path / "o") as living:
        left = living.with_name(".o.01234567.microagg")
        left.mkdir()
        for name in (workspace.LOCK, "rows"):
            (left / name).touch()
        with workspace.working_folder(tmp_path / "o"):
            assert not left.exists()
            assert names(living) == [workspace.LOCK]
    assert not names(tmp_path)


@pytest.mark.parametrize("name", ["o.parquet", "o.csv", "o.arrow", "o.ndjson", "o.duckdb::t"])
@pytest.mark.parametrize("size", ["whole", "large"])
def test_a_release_takes_the_place_of_another(windows, tmp_path, monkeypatch, name, size):
    if size == "large":
        monkeypatch.setattr(memory, "BASE", 10**15)
    PEOPLE.write_parquet(tmp_path / "in.parquet")
    source = PEOPLE if size == "whole" else tmp_path / "in.parquet"
    target = tmp_path / name
    for overwrite in (False, True):
        mg.publish(source, target, ["age", "pay"], 5, keep=["city"], overwrite=overwrite)
    left = [one for one in names(tmp_path) if not one.startswith(("o.", "in."))]
    assert not left


def test_files_larger_than_memory_are_masked(windows, tmp_path):
    PEOPLE.write_parquet(tmp_path / "in.parquet")
    for _ in range(2):
        mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "o.parquet", ["age", "pay"], 5)
    assert names(tmp_path) == ["in.parquet", "o.parquet"]
    mg.verify(tmp_path / "o.parquet", ["age", "pay"], 5, memory="1GB")


def test_memory_and_processors_are_guessed(windows):
    assert memory.free_bytes() == memory.UNKNOWN
    assert crew.cores() == os.cpu_count()


def test_a_place_that_cannot_be_written_is_told(windows, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(mg.OutputError, match="Permission denied"):
        atomic.writable(tmp_path / "o.csv")


def test_a_process_is_kept_from_the_interrupts_of_the_terminal(monkeypatch):
    def started(command, **how):
        asked.update(how)
        raise InterruptedError

    asked = {}
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 512, raising=False)
    monkeypatch.setattr(subprocess, "Popen", started)
    with pytest.raises(InterruptedError):
        worker.Worker(1, None)
    assert asked["creationflags"] == 512
    assert "start_new_session" not in asked


def test_the_program_runs_without_the_signal_of_a_lost_terminal(windows, monkeypatch):
    def left(code):
        raise SystemExit(code)

    heard = []
    monkeypatch.setattr(signal, "signal", lambda number, _: heard.append(number))
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setattr(cli, "prepare", lambda: None)
    monkeypatch.setattr(cli, "main", lambda: 3)
    monkeypatch.setattr(os, "_exit", left)
    with pytest.raises(SystemExit, match="3"):
        cli.run()
    assert heard == [signal.SIGTERM]


def test_a_pipe_is_not_waited_for(windows, monkeypatch):
    reader, writer = os.pipe()
    monkeypatch.setattr(sys, "stdout", os.fdopen(writer, "w"))
    assert standard_output._taken()
    assert standard_output._unread(writer) == 0
    sys.stdout.close()
    os.close(reader)
