"""Publish over a good file, interrupt at one line after another, and write what was left.

Usage: python tests/publishing/interrupted.py TARGET STEP [MODULE ...]
"""

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import polars as pl

import polars_microagg as mg
from polars_microagg.publishing.atomic import sha256_of
from polars_microagg.publishing.formats.files import Location, rows_digest
from polars_microagg.publishing.manifest.record import read_manifest

OLD = pl.DataFrame({"a": range(20)})
NEW = pl.DataFrame({"a": range(100, 125)})


def publish(target, table):
    mg.publish(table, target, "a", 5, method="fixed_size")


def interrupted(target, modules, at):
    """Publish with an interrupt at the line of that number; how it ended, and lines that ran."""
    seen = 0

    def line(_frame, event, _argument):
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGINT)
        return line

    sys.settrace(lambda f, *_: line if Path(f.f_code.co_filename).stem in modules else None)
    try:
        publish(target, NEW)
        return "done", seen
    except KeyboardInterrupt:
        return "interrupted", seen
    finally:
        sys.settrace(None)


def left(place):
    """The hash of what is there, and the one that its manifest tells."""
    found = rows_digest(place.read()) if place.table else sha256_of(place.path)
    told = read_manifest(place.record)["output"]["sha256"] if place.record.exists() else None
    return found, told


def others(place):
    names = {path.name for path in place.path.parent.iterdir()}
    return names - {place.path.name, place.record.name}


def sweep(target, step, modules):
    place, counts = Location.of(target), Counter()
    pairs = {}
    for name, table in (("new", NEW), ("old", OLD)):
        publish(target, table)
        pairs[left(place)] = name
    lines = interrupted(target, modules, 0)[1]
    for at in range(1, lines + 1, step):
        publish(target, OLD)  # with the lock and the folder that the interrupt before left
        assert pairs[left(place)] == "old"
        assert not others(place)
        ended, _ = interrupted(target, modules, at)
        counts[f"{ended}: {pairs.get(left(place), 'a pair that disagrees')}"] += 1
    publish(target, OLD)
    assert not others(place)
    return counts


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout.write(json.dumps(sweep(sys.argv[1], int(sys.argv[2]), sys.argv[3:])))
