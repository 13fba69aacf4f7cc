"""Places that a file can be put in: what is refused, and in which words."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import polars_microagg as mg
from polars_microagg.publishing import atomic
from polars_microagg.publishing.atomic import Swap
from tests.publishing.disk import record_of, written

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks and modes of POSIX")


@pytest.mark.parametrize(
    ("error", "number", "words"),
    [
        (OSError(errno.ENOSPC, "x"), errno.ENOSPC, "No space left on device."),
        (ValueError("lost (os error 13)"), errno.EACCES, "Permission denied."),
        (OSError("lost (os error 2)"), errno.ENOENT, "No such file or directory."),
        (ValueError("embedded null byte"), None, "it is not a valid path or file."),
    ],
)
def test_an_error_is_said_without_its_path(error, number, words):
    assert atomic.of_system(error) == number
    assert atomic.system_message(error) == words


def test_devices_and_pipes_are_special_and_files_and_folders_are_not(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    special = ["/dev/null", "/dev/stdout", "/dev/new", "/proc/self/fd/1", "/proc/new"]
    assert all(atomic.is_special(Path(path)) for path in [*special, tmp_path / "pipe"])
    plain = [
        tmp_path,
        tmp_path / "file",
        tmp_path / "new",
        tmp_path / ("x" * 300),
        Path("/dev/shm"),
    ]
    assert [atomic.is_special(path) for path in plain] == [False] * 4 + [True]
    assert not atomic.is_special(Path("/dev/shm/new"))


def test_what_no_file_can_take_the_place_of_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for name in ("file", "folder", "pipe", "nothing"):
        (tmp_path / f"to {name}").symlink_to(tmp_path / name)
    for fine in ("file", "new", "to file", "to nothing"):
        atomic.checked(tmp_path / fine)
        atomic.writable(tmp_path / fine)
    wrong = {
        "it is a folder. Name": ["folder", "to folder"],
        "it is a device or a pipe": ["pipe", "to pipe"],
        "its folder does not exist": ["new/out"],
        "it is not a valid path": ["nul\0"],
        "File name too long.": ["x" * 300],
        "Not a directory.": ["file/out"],
    }
    for words, paths in wrong.items():
        for path in paths:
            for refuse in (atomic.checked, atomic.writable):
                with pytest.raises(mg.OutputError, match=words):
                    refuse(tmp_path / path)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(os, "access", lambda path, mode: asked.append((path, mode)))
    with pytest.raises(mg.OutputError, match="Permission denied."):
        atomic.writable(tmp_path / "out")
    assert asked == [(tmp_path, os.W_OK | os.X_OK)]
    flags = os.statvfs(tmp_path)

    class Fixed:
        f_flag = flags.f_flag | os.ST_RDONLY

    monkeypatch.setattr(os, "statvfs", lambda path: Fixed)
    with pytest.raises(mg.OutputError, match="Read-only file system."):
        atomic.writable(tmp_path / "out")


def test_what_is_there_is_replaced_only_where_that_is_allowed(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    atomic.free(False, None, tmp_path / "new")
    for name in ("file", "link"):
        atomic.free(True, tmp_path / name)
        with pytest.raises(mg.TargetExistsError):
            atomic.free(False, None, tmp_path / "new", tmp_path / name)


def test_neither_a_target_nor_a_record_is_a_folder(tmp_path):
    for pair in ((tmp_path, tmp_path / "r"), (tmp_path / "t", tmp_path)):
        with pytest.raises(mg.OutputError, match="it is a folder"), Swap(*pair):
            pass
    assert list(tmp_path.iterdir()) == []


def test_the_next_writer_puts_back_what_was_set_aside_and_of_two_that_fit_the_newer(tmp_path):
    target, record = tmp_path / "out.bin", tmp_path / "out.json"
    written(target, record, b"old")
    swap = Swap(target, record)
    newer = record_of(b"old") + b" "
    record.replace(swap._last)
    swap._next.write_bytes(newer)
    with Swap(target, record):
        assert record.read_bytes() == newer
        assert not swap._last.exists()
        assert not swap._next.exists()
