"""What the measures of risk cost: CPU seconds and peak memory, each in a process of its own.

Usage: python benchmarks/risk.py [--only CASE]

Gaussian records are masked by `mdav` with k=5, in cells of three
quantiles of each of five columns. `peak GB` is that of the whole process with its tables.
"""

import json
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["POLARS_MAX_THREADS"] = "1"

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from machine import machine

import polars_microagg as mg
from polars_microagg.kernels.risk.record_linkage import attributes, expected_hits

LARGE, WIDE, SMALL = (1_000_000, 5), (65_536, 10), (10_000, 5)


def centroids_and_rows(before, after):
    """The same search over the distinct centroids, and over all masked rows."""
    names = before.columns
    known = attributes(before[names].to_numpy(), after[names].to_numpy())
    seconds, found = [], []
    for merge in (True, False):
        start = time.process_time()
        found.append(expected_hits(known.before, known.after, merge=merge))
        seconds.append(time.process_time() - start)
    same = bool(np.allclose(*found))
    times = f"rows {seconds[1]:.2f} s, centroids {seconds[0]:.2f} s"
    return f"{times}: {seconds[1] / seconds[0]:.1f}x, same: {same}"


def leaves_and_tree(before, _):
    """dld of a table masked by leaves, and scipy's tree of the distinct centroids, by turns."""
    from scipy.spatial import cKDTree

    after = mg.fit_leaves(before, before.columns, 5).mask(before, workers=1)
    known = attributes(before.to_numpy(), after.to_numpy())
    records, centroids = np.ascontiguousarray(known.before), np.unique(known.after, axis=0)
    ways = {"dld": lambda: mg.dld(before, after), "tree": lambda: cKDTree(centroids).query(records)}
    seconds = {name: [] for name in ways}
    for _ in range(3):
        for name, way in ways.items():
            start = time.process_time()
            way()
            seconds[name].append(time.process_time() - start)
    ours, tree = (min(taken) for taken in seconds.values())
    return f"dld {ours:.2f} s, tree {tree:.2f} s: the tree takes {tree / ours:.2f} times as long"


CASES = {
    "dld": (LARGE, mg.dld, "under 15 s, 1 GB"),
    "dld and a tree": (LARGE, leaves_and_tree, "at least 1"),
    "interval_disclosure": (LARGE, mg.interval_disclosure, "under 1 s"),
    "k_prime": (LARGE, mg.k_prime, "under 0.5 s"),
    "anonymity": (LARGE, lambda _, after: mg.anonymity(after, after.columns).row(0), "under 0.5 s"),
    "dld wide": (WIDE, mg.dld, "under 1 s"),
    "all rows": ((200_000, 5), centroids_and_rows, "at least 3x"),
    "pld": (SMALL, mg.pld, "seconds"),
    "pld of distinct rows": (SMALL, lambda before, _: mg.pld(before, before), "seconds"),
    "dld of 255 sets": ((5_000, 8), lambda b, a: mg.dld(b, a, known="subsets"), ""),
}


def table(n, p):
    """Records and their release."""
    x = np.random.default_rng(0).standard_normal((n, p))
    before = pl.DataFrame({f"c{j}": x[:, j] for j in range(p)})
    names = before.columns
    # Three quantiles of each of five columns: cells of a few thousand records, no thin slices.
    thirds = [f"c{j} third" for j in range(5)]
    parts = (
        (pl.col(name).rank("ordinal") * 3 // (n + 1)).alias(part)
        for name, part in zip(names, thirds, strict=False)
    )
    masked = before.with_columns(parts).pipe(mg.mdav, names, 5, strata=thirds, small_strata="null")
    keep = masked["c0"].is_not_null()
    return before.filter(keep), masked.filter(keep).select(names)


def written(folder, n, p):
    """Paths of a table and its release, made in a process of its own."""
    paths = [Path(folder) / f"{what}_{n}_{p}.arrow" for what in ("before", "after")]
    if not paths[1].exists():
        subprocess.run([sys.executable, __file__, "--table", folder, str(n), str(p)], check=True)
    return paths


def run(case, folder):
    (n, p), function, _ = CASES[case]
    before, after = (pl.read_ipc(path) for path in written(folder, n, p))
    little = before.head(100)
    function(little, little)
    cpu, wall = time.process_time(), time.perf_counter()
    value = function(before, after)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    value = round(value, 4) if isinstance(value, float) else str(value)
    return {"cpu": cpu, "wall": wall, "peak": peak, "value": value, "rows": before.height}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--table", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.table:
        folder, n, p = arguments.table
        for frame, what in zip(table(int(n), int(p)), ("before", "after"), strict=True):
            frame.write_ipc(Path(folder) / f"{what}_{n}_{p}.arrow")
    elif arguments.one:
        print(json.dumps(run(*arguments.one)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            report([arguments.only] if arguments.only else CASES, folder)


def report(cases, folder):
    print(f"{machine()}\n", flush=True)
    print("| case | records | columns | CPU s | peak GB | demanded | result |")
    print("| --- | ---: | ---: | ---: | ---: | --- | --- |")
    for case in cases:
        command = [sys.executable, __file__, "--one", case, folder]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        f = json.loads(out.splitlines()[-1])
        (_, p), _, demanded = CASES[case]
        cells = (case, f"{f['rows']:,}", p, f"{f['cpu']:.2f}", f"{f['peak']:.2f}", demanded)
        print(f"| {' | '.join(map(str, cells))} | {f['value']} |", flush=True)


if __name__ == "__main__":
    main()
