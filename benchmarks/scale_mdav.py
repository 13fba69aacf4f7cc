"""Print CPU and wall seconds and memory of exact MDAV and of MDAV in blocks as n grows.

    python benchmarks/scale_mdav.py             # n = 1e4 .. 1e6 exact, 1e5 .. 1e7 in blocks
    python benchmarks/scale_mdav.py --quick     # up to 1e5, about a minute
    python benchmarks/scale_mdav.py --same      # the groups of all searches compared at 1e5
    python benchmarks/scale_mdav.py --threads   # what threads and processes gain and lose
    python benchmarks/scale_mdav.py --strata    # many strata, each alone and side by side

k = 5, standardised data, one BLAS thread, one run each in a process of its own. Memory is the
peak beyond the data. The exponent is that of n since the line before. The first line is the
calibration: the search of all records at 1e5 x 5, which takes 0.86 CPU s on a quiet machine;
divide the other lines by as much as it takes longer.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import math
import multiprocessing
import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
from machine import machine

from polars_microagg.kernels.local.annealing_search import block_start
from polars_microagg.kernels.mdav.frontier import Frontier
from polars_microagg.kernels.mdav.full_scan import FullScan
from polars_microagg.kernels.mdav.many_strata import mdav_of_strata
from polars_microagg.kernels.mdav.rounds import mdav_groups
from polars_microagg.kernels.neighbour_blocks import equal_blocks, mdav_in_blocks
from polars_microagg.methods.mdav import mdav

K = 5
QUIET = 0.86
"""CPU seconds of the calibration on a quiet machine."""

DATA = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "integers": lambda rng, shape: rng.integers(0, 30, shape).astype(float),
    "equal": lambda _, shape: np.ones(shape),
}
WAYS = {
    "mdav": lambda x: mdav(x, k=K),
    "whole": lambda x: np.concatenate(list(mdav_groups(x, K, search=FullScan))),
    "front": lambda x: np.concatenate(list(mdav_groups(x, K, search=Frontier))),
    "blocks": lambda x: block_start(x, K, lambda tail: mdav(tail, k=K).labels),
}
EXACT = [
    *(("gaussian", 2, n) for n in (10**4, 10**5, 10**6)),
    *(("gaussian", 5, n) for n in (10**4, 10**5, 10**6)),
    *(("lognormal", 5, n) for n in (10**4, 10**5, 10**6)),
    *(("gaussian", 10, n) for n in (10**4, 10**5)),
    *(("lognormal", 10, n) for n in (10**4, 10**5)),
    *(("integers", 2, n) for n in (10**4, 10**5, 10**6)),
    *(("equal", 5, n) for n in (10**4, 10**5)),
]
BLOCKS = [("gaussian", 5, n) for n in (10**5, 10**6, 10**7)]
BLOCKS += [("lognormal", 5, n) for n in (10**5, 10**6)]


def data(kind, n, d):
    x = DATA[kind](np.random.default_rng(n + d), (n, d))
    x -= x.mean(axis=0)
    x /= np.maximum(x.std(axis=0), 1e-12)
    return x


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(way, kind, d, n):
    """Time one call in this process."""
    x = data(kind, n, d)
    before, start, wall = peak(), time.process_time(), time.perf_counter()
    WAYS[way](x)
    print(time.process_time() - start, time.perf_counter() - wall, peak() - before)


def measured(way, kind, d, n):
    call = [sys.executable, __file__, "--alone", way, kind, str(d), str(n)]
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    return [float(value) for value in done.stdout.split()]


def table(way, cases, load):
    print(
        f"\n{way:8} {'data':10} {'d':>3} {'n':>9} {'CPU s':>9} {'/load':>8} {'wall s':>9}", end=""
    )
    print(f" {'MB':>7} {'exponent':>9}")
    last = None
    for kind, d, n in cases:
        cpu, wall, memory = measured(way, kind, d, n)
        grown = ""
        if last and last[:2] == (kind, d):
            grown = f"{math.log(cpu / last[3]) / math.log(n / last[2]):9.2f}"
        last = kind, d, n, cpu
        row = f"{way:8} {kind:10} {d:3} {n:9,} {cpu:9.3f} {cpu / load:8.3f} {wall:9.3f}"
        print(f"{row} {memory:7.0f} {grown}", flush=True)


def same():
    print("\nGroups at 1e5, k = 5, of the search of all records, at the front, and as chosen")
    for kind, d in (("gaussian", 2), ("gaussian", 5), ("lognormal", 5), ("integers", 2)):
        x = data(kind, 10**5, d)
        expected = WAYS["whole"](x)
        front = np.array_equal(WAYS["front"](x), expected)
        chosen = np.array_equal(np.concatenate(list(mdav_groups(x, K))), expected)
        print(f"{kind:10} x {d}", "identical" if front and chosen else "DIFFERENT", flush=True)


def chunk(part):
    """Group one chunk of 4096 records, the same ones in every process."""
    x = data("gaussian", 16 * 4096, 5)[4096 * part : 4096 * (part + 1)]
    return float(mdav(x, k=K).labels.sum())


def half(part):
    x = data("gaussian", 1 << 19, 5)[part << 18 : (part + 1) << 18]
    return float(mdav_in_blocks(x, equal_blocks(x, 512), K).sum())


def spent(function):
    def cpu():
        own, others = (resource.getrusage(who) for who in (0, resource.RUSAGE_CHILDREN))
        return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime

    start, wall = cpu(), time.perf_counter()
    function()
    return f"{cpu() - start:8.2f} CPU s {time.perf_counter() - wall:8.2f} s wall"


def threads():
    print("\nTwo threads or processes, two CPUs; starting processes is not counted")
    for name, work, parts in (("MDAV on 16 x 4096", chunk, 16), ("MDAV in 1024 blocks", half, 2)):
        print(
            f"{name}, one after the other: {spent(lambda w=work, p=parts: list(map(w, range(p))))}"
        )
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(abs, range(2)))
            print(
                f"{name}, two threads: {spent(lambda w=work, p=parts: list(pool.map(w, range(p))))}"
            )
        context = multiprocessing.get_context("spawn")
        wall = time.perf_counter()
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            list(pool.map(work, [0, 1]))
            wall = time.perf_counter()
            list(pool.map(work, range(parts)))
            print(f"{name}, two processes: {time.perf_counter() - wall:25.2f} s wall", flush=True)
    for count in ("1", "2"):
        os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = count
        for d, n in ((5, 10**5), (10, 10**5)):
            cpu, wall, _ = measured("whole", "gaussian", d, n)
            print(
                f"search of all of 1e5 x {d}, {count} BLAS thread(s): {cpu:8.2f} CPU s {wall:8.2f} s wall"
            )


def strata():
    print("\nMany strata, lognormal, each alone and side by side, CPU us a record\n")
    rows = [("records of each", "columns", "strata", "alone", "side by side"), ("---",) * 5]
    for d in (4, 8):
        for n in (300, 1000, 3000, 5000, 8000):
            count = max(12, 400_000 // n)
            x, sizes = data("lognormal", n * count, d), np.full(count, n)
            parts = np.split(x, count)
            took = []
            for work in (
                lambda p=parts: [mdav(part, k=K) for part in p],
                lambda x=x, s=sizes: mdav_of_strata(x, s, k=K),
            ):
                start = time.process_time()
                work()
                took.append(f"{(time.process_time() - start) / len(x) * 1e6:.2f}")
            rows.append((n, d, count, *took))
    print("\n".join(f"| {' | '.join(map(str, row))} |" for row in rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="up to 1e5 records")
    parser.add_argument("--same", action="store_true", help="only compare groups at 1e5")
    parser.add_argument("--threads", action="store_true", help="only measure threads")
    parser.add_argument("--strata", action="store_true", help="only measure many strata")
    parser.add_argument("--alone", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.alone:
        way, kind, d, n = arguments.alone
        alone(way, kind, int(d), int(n))
        return
    print(f"{machine()}\nload {os.getloadavg()[0]:.1f}")
    for way in (same, threads, strata):
        if getattr(arguments, way.__name__):
            way()
            return
    cpu = measured("whole", "gaussian", 5, 10**5)[0]
    load = cpu / QUIET
    print(f"calibration {cpu:.3f} CPU s, {load:.2f} times those of a quiet machine")
    most = 10**5 if arguments.quick else 10**7
    table("mdav", [case for case in EXACT if case[2] <= most], load)
    table("whole", [("gaussian", 5, n) for n in (10**4, 10**5)], load)
    table("blocks", [case for case in BLOCKS if case[2] <= most], load)


if __name__ == "__main__":
    main()
