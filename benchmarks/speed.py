"""Time exact MDAV against a plain vectorised numpy version, in one run; print the table.

    python benchmarks/speed.py           # n = 1e4 and 1e5, about four minutes
    python benchmarks/speed.py --quick   # n = 1e4 only
    python benchmarks/speed.py --beside FOLDER           # beside another version, turn by turn
    python benchmarks/speed.py --beside FOLDER --large   # and 1e6 records

CPU seconds of the process, one BLAS thread, the median of three runs of what takes less than
ten seconds. The last lines compare the LazyFrame door with the kernel alone. Beside another version,
each in a process of its own, the least of the turns counts.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import argparse
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import polars as pl
from machine import machine

import polars_microagg
from polars_microagg.core.partition import Partition
from polars_microagg.kernels.scale import scaled
from polars_microagg.methods.mdav import mdav


def plain_mdav(x, k):
    """MDAV as one writes it down: whole-array numpy, no tricks."""
    rows, labels, groups = np.arange(len(x)), np.empty(len(x), dtype=np.intp), 0

    def take(seed):
        nonlocal rows, groups
        near = ((x[rows] - x[seed]) ** 2).sum(axis=1).argsort(kind="stable")[:k]
        labels[rows[near]] = groups
        groups += 1
        rows = np.delete(rows, near)

    def farthest(point):
        return rows[((x[rows] - point) ** 2).sum(axis=1).argmax()]

    while len(rows) >= 3 * k:
        r = farthest(x[rows].mean(axis=0))
        s = farthest(x[r])
        take(r)
        take(s)
    if len(rows) >= 2 * k:
        take(farthest(x[rows].mean(axis=0)))
    labels[rows] = groups
    return Partition.from_labels(labels).labels


def cpu(function, *args, **options):
    """The result and the CPU seconds, median of three where that is quick."""
    seconds = []
    while len(seconds) < 3:
        start = time.process_time()
        result = function(*args, **options)
        seconds.append(time.process_time() - start)
        if seconds[0] > 10:
            break
    return result, float(np.median(seconds))


def data(kind, n, d):
    rng = np.random.default_rng(n + d)
    x = rng.normal(size=(n, d)) if kind == "gaussian" else rng.lognormal(size=(n, d))
    return np.asfortranarray(x)


def compare(kind, n, d, k):
    x = data(kind, n, d)
    ours, fast = cpu(lambda: mdav(x, k=k).labels)
    theirs, slow = cpu(plain_mdav, np.ascontiguousarray(x), k)
    same = "identical" if np.array_equal(ours, theirs) else "DIFFERENT"
    row(kind, n, d, k, f"{slow:9.3f}", f"{fast:8.3f}", f"{slow / fast:6.1f} x", same)


def alone(kind, n, d, k):
    x = data(kind, n, d)
    row(kind, n, d, k, " " * 9, f"{cpu(lambda: mdav(x, k=k))[1]:8.3f}", " " * 8, "")


def row(kind, n, d, k, *cells):
    print(f"{kind:10} {n:>7} {d:>3} {k:>3} ", *cells, flush=True)


def door(n, d, k):
    """The LazyFrame door against the kernel on the same scaled matrix, turn by turn."""
    frame = pl.DataFrame(data("gaussian", n, d), schema=[f"x{j}" for j in range(d)])
    x = scaled(frame.to_numpy(order="fortran"), "zscore", np.ones(d), np.array([n]))
    kernel, through = [], []
    for _ in range(5):
        kernel.append(cpu_once(lambda: mdav(x, k=k)))
        through.append(cpu_once(lambda: frame.lazy().microagg.mdav(frame.columns, k).collect()))
    more = 100 * (min(through) / min(kernel) - 1)
    print(
        f"LazyFrame door, {n} x {d}: {min(through):.3f} s, kernel {min(kernel):.3f} s, {more:+.1f} %"
    )


def cpu_once(function):
    start = time.process_time()
    function()
    return time.process_time() - start


BESIDE = [
    *(("gaussian", n, 4, 7) for n in (2500, 5000)),
    *((kind, n, 10, 3) for kind in ("gaussian", "lognormal") for n in (10_000, 30_000)),
    *((kind, 100_000, d, 2) for kind in ("gaussian", "lognormal") for d in (3, 10)),
]
"""Kind, records, columns and turns."""


def serve():
    """Answer each line of input, a table, with the CPU seconds of MDAV and a checksum of its labels."""
    for line in sys.stdin:
        kind, n, d = line.split()
        x = data(kind, int(n), int(d))
        x = np.asfortranarray((x - x.mean(axis=0)) / x.std(axis=0))
        start = time.process_time()
        labels = mdav(x, k=5).labels
        print(time.process_time() - start, zlib.crc32(labels.tobytes()), flush=True)


def beside(folder, large):
    """This version and another one, turn by turn, each in a process of its own."""
    there = Path(folder).resolve()
    here = Path(polars_microagg.__file__).parents[1]
    versions = [
        subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            env=os.environ | {"PYTHONPATH": str(path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for path in (there, here)
    ]
    print(f"{'data':10} {'n':>7} {'d':>3} {'k':>3}     beside     ours    ratio   groups")
    for kind, n, d, turns in [*BESIDE, *([("gaussian", 10**6, 5, 1)] if large else [])]:
        seconds, sums = ([], []), set()
        for _ in range(turns):
            for version, took in zip(versions, seconds, strict=True):
                version.stdin.write(f"{kind} {n} {d}\n")
                version.stdin.flush()
                spent, labels = version.stdout.readline().split()
                took.append(float(spent))
                sums.add(labels)
        slow, fast = map(min, seconds)
        same = "identical" if len(sums) == 1 else "DIFFERENT"
        row(kind, n, d, 5, f"{slow:9.4f}", f"{fast:8.4f}", f"{slow / fast:6.2f} x", same)
    for version in versions:
        version.stdin.close()
        version.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n = 1e4 only")
    parser.add_argument("--beside", metavar="FOLDER", help="a clone of another version")
    parser.add_argument("--large", action="store_true", help="with --beside: 1e6 records, too")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    quick = given.quick
    if given.serve:
        serve()
        return
    print(f"{machine()}\n")
    if given.beside:
        beside(given.beside, given.large)
        return
    print(f"{'data':10} {'n':>7} {'d':>3} {'k':>3}      plain     ours    ratio   groups")
    for kind in ("gaussian", "lognormal"):
        for d in (2, 5, 10):
            compare(kind, 10_000, d, 5)
    if not quick:
        compare("gaussian", 100_000, 5, 5)
        for kind, d in (("lognormal", 5), ("gaussian", 10), ("lognormal", 10)):
            alone(kind, 100_000, d, 5)
    print()
    for n, d in (
        ((10_000, 5), (10_000, 10)) if quick else ((10_000, 5), (100_000, 5), (100_000, 10))
    ):
        door(n, d, 5)


if __name__ == "__main__":
    main()
