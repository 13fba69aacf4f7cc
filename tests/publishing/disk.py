"""What the tests of files that are put in place look at: locks, descriptors, steps on the disk."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from pathlib import Path

import pytest

from polars_microagg import durable
from polars_microagg.publishing import atomic
from polars_microagg.publishing.atomic import Swap


def record_of(content):
    return json.dumps({"output": {"sha256": hashlib.sha256(content).hexdigest()}}).encode()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def is_locked(path):
    opened = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(opened)
    return False


def written(target, record, content, told=None):
    with Swap(target, record) as waits:
        waits.file.write(content)
        waits.commit(record_of(content) if told is None else told)


@pytest.fixture
def pair(tmp_path):
    """A file and its record."""
    target, record = tmp_path / "out.bin", tmp_path / "out.json"
    written(target, record, b"old")
    return target, record


def traced(monkeypatch):
    """The steps that reach the disk, in order."""
    steps = []
    fsync, replace, unlink, settle = os.fsync, Path.replace, Path.unlink, durable.settle

    def name(path):
        return "part" if path.name.endswith(".part") else path.name.rpartition(".")[2]

    def synced(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if not path.is_dir():
            steps.append(f"sync {name(path)} of {path.stat().st_size}")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    for module in (atomic, durable):
        monkeypatch.setattr(
            module, "settle", lambda f: steps.append(f"settle {f.name}") or settle(f)
        )

    def moved(path, target):
        found = replace(path, target)
        steps.append(f"{name(path)} to {name(Path(target))}")
        return found

    def removed(path, missing_ok=False):
        there = path.exists()
        unlink(path, missing_ok=missing_ok)
        if there:
            steps.append(f"remove {name(path)}")

    monkeypatch.setattr(Path, "replace", moved)
    monkeypatch.setattr(Path, "unlink", removed)
    return steps
