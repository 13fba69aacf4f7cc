"""Compare the optimal univariate partition with microagg1d: sums of squares, time, memory.

    python benchmarks/univariate.py           # about two minutes of CPU
    python benchmarks/univariate.py --quick   # without the 10 million values

CPU seconds of the process, one thread, least of three; sorting and labels are included. The
method "wilber" of microagg1d is the oracle: its default is not optimal, and "simple" with stable=0
loses more on whole numbers than on others. "door" is the same on a frame, with the masked values.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["NUMBA_NUM_THREADS"] = "1"
os.environ["POLARS_MAX_THREADS"] = "1"

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
import polars as pl
from machine import machine

import polars_microagg as mg
from polars_microagg.methods.univariate import univariate

try:
    from microagg1d import univariate_microaggregation
except ImportError:
    univariate_microaggregation = None

DATA = {
    "gaussian": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "rounded lognormal": lambda rng, n: rng.lognormal(10, 1, n).round(2),
    "integers to 100": lambda rng, n: rng.integers(0, 100, n).astype(float),
    "integers to 1e6": lambda rng, n: rng.integers(0, 10**6, n).astype(float),
    "constant": lambda _, n: np.full(n, 0.1),
    "equally spaced": lambda _, n: np.arange(n, dtype=float),
    "shuffled ranks": lambda rng, n: rng.permutation(n).astype(float),
}

OURS = {
    "ours": lambda x, k: univariate(x[:, None], k=k).labels,
    "door": lambda x, k: mg.univariate(pl.DataFrame({"x": x}), ["x"], k),
}
THEIRS = {
    "wilber": lambda x, k: univariate_microaggregation(x, k, method="wilber"),
    "default": lambda x, k: univariate_microaggregation(x, k),
    "stable=0": lambda x, k: univariate_microaggregation(x, k, method="simple", stable=0),
}
ALL = OURS | (THEIRS if univariate_microaggregation else {})


def data(name, n):
    return DATA[name](np.random.default_rng(1), n)


def sse(x, labels):
    """Sum of squares about the means, each run about its first value to keep the digits."""
    order = np.lexsort((x, labels))
    y, runs = x[order], labels[order]
    starts = np.flatnonzero(np.r_[True, runs[1:] != runs[:-1]])
    lengths = np.diff(np.r_[starts, len(x)])
    y = y - np.repeat(y[starts], lengths)
    return float(((y - np.repeat(np.add.reduceat(y, starts) / lengths, lengths)) ** 2).sum())


def cpu(function, repeats=3):
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


def compare_losses(n, ks):
    print(f"\nSum of squares, n = {n:,}: relative excess over microagg1d's wilber")
    print(f"{'':18}" + "".join(f"{f'k={k}':>11}" for k in ks) + "    default of microagg1d, worst")
    worst = 0.0
    for name in DATA:
        x = data(name, n)
        cells, defaults = [], []
        for k in ks:
            least = sse(x, THEIRS["wilber"](x, k))
            scale = least or 1.0
            cells.append((sse(x, OURS["ours"](x, k)) - least) / scale)
            defaults.append((sse(x, THEIRS["default"](x, k)) - least) / scale)
        worst = max(worst, *cells)
        print(f"{name:18}" + "".join(f"{c:11.1e}" for c in cells) + f"{max(defaults):14.1e}")
    print(f"{'equal to 1e-9' if worst <= 1e-9 else 'NOT EQUAL'}: worst {worst:.1e}")


def compare_times(n, ks):
    print(f"\nCPU seconds, n = {n:,}, sort and labels included")
    print(f"{'':18}{'k':>4}" + "".join(f"{name:>10}" for name in ALL))
    for name in DATA:
        x = data(name, n)
        for k in ks:
            times = [cpu(lambda way=way, k=k, x=x: way(x, k)) for way in ALL.values()]
            print(f"{name:18}{k:4}" + "".join(f"{t:10.3f}" for t in times), flush=True)


def measure_alone(way, name, n, k):
    """Run one call in a process of its own, for its memory."""
    x = data(name, n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if way in THEIRS:
        ALL[way](x[:100], k)
    seconds = cpu(lambda: ALL[way](x, k), repeats=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{seconds:10.2f}{peak / 2**20:10.2f}{(peak - before) / 2**20:12.2f}")


def compare_memory(n, k):
    print(f"\nn = {n:,}, k = {k}, each in a process of its own")
    print(f"{'':30}{'CPU s':>8}{'peak GB':>10}{'above data':>12}")
    for name in ("gaussian", "integers to 100", "equally spaced"):
        for way in ALL:
            call = [sys.executable, __file__, "--alone", way, name, str(n), str(k)]
            found = subprocess.run(call, capture_output=True, text=True, check=True).stdout
            print(f"{name:18}{way:10}{found.rstrip()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave out the 10 million values")
    parser.add_argument("--alone", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.alone:
        way, name, n, k = arguments.alone
        measure_alone(way, name, int(n), int(k))
        return
    print(machine())
    if univariate_microaggregation:
        compare_losses(100_000, (2, 3, 5, 10, 20, 50))
    else:
        print("microagg1d is not installed (pip install microagg1d): nothing to compare with.")
    compare_times(1_000_000, (3, 5, 10))
    if not arguments.quick:
        compare_memory(10_000_000, 5)


if __name__ == "__main__":
    main()
