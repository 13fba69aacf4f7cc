"""Time every method, with the loss beside it, and the figures that single methods must meet.

    python benchmarks/methods.py --data DIR           # about half an hour, most of it genetic, fuzzy
    python benchmarks/methods.py --only pcp k_ward    # these methods; without DIR no reference files
    python benchmarks/methods.py --quick              # without those two, some minutes
    python benchmarks/methods.py --generations 100    # genetic for a moment

CPU seconds of the process, one run, one BLAS thread, through the door `mg.mask` with the defaults
of each method and k = 5. Loss is 100 SSE / SST on standardised columns. DIR holds the three
reference files; without it the environment variable MICROAGG_DATA is looked at.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import argparse
import time
from pathlib import Path

import numpy as np
import polars as pl
from machine import machine

import polars_microagg as mg
from polars_microagg.core.registry import methods

K = 5
LARGE = ("n", "n log n", "n^2/k")
"""How the time may grow of methods that are tried with 1e5 records."""


def generated(n, d):
    """Correlated, skewed columns."""
    rng = np.random.default_rng(n + d)
    x = np.exp(0.6 * rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.random((d, d))))
    return pl.DataFrame(x, schema=[f"x{j}" for j in range(d)])


def reference(folder, name):
    frame = pl.read_csv(folder / f"{name}.csv")
    chosen = pl.all()
    if name == "eia":
        chosen = pl.col("utilityid", r"^(res|com|ind|oth|othr|tot)(revenue|sales)$")
    return frame.select(chosen)


def tried(frame, method, k=K, **options):
    """CPU seconds and loss; empty if there are too many records for the method."""
    entry = methods()[method]
    if entry.limit is not None and frame.height > entry.limit:
        return f"{'over its limit':>20}"
    start = time.process_time()
    masked = mg.mask(frame, frame.columns, k, method=method, dtype="float", **options)
    seconds = time.process_time() - start
    return f"{seconds:9.3f} s {mg.loss(frame, masked):8.4f}"


def every(names, folder, options):
    frames = {"1,000 x 5": generated(1000, 5)}
    if folder:
        frames["eia, 4,092 x 11"] = reference(folder, "eia")
    frames["20,000 x 5"] = generated(20_000, 5)
    heads = [f"{head:>20}" for head in frames]
    print(f"\n| {'method':18} | {'time grows':22} | {' | '.join(heads)} |")
    print("| --- | --- " + "| --- " * len(frames) + "|")
    for name in names:
        own = options if name == "genetic" else {}
        cells = [tried(frame, name, **own) for frame in frames.values()]
        print(f"| {name:18} | {methods()[name].cost:22} | {' | '.join(cells)} |", flush=True)


def large(names):
    frame = generated(100_000, 10)
    print(f"\n| {'method':18} | {'100,000 x 10':>20} |\n| --- | --- |")
    for name in names:
        if methods()[name].cost in LARGE:
            print(f"| {name:18} | {tried(frame, name)} |", flush=True)


def ward(folder):
    print("\n| k_ward | " + " | ".join(f"{f'k = {k}':>20}" for k in (3, 10)) + " |")
    print("| --- | --- | --- |")
    for name in ("tarragona", "census", "eia"):
        frame = reference(folder, name)
        cells = [tried(frame, "k_ward", k) for k in (3, 10)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def evolution(folder, options):
    """One macrogroup as the paper timed it, and all of a file side by side."""
    print(f"\n| genetic, k = 3, K = 27 | {'':>20} |\n| --- | --- |")
    census = reference(folder, "census")
    for rows in (27, census.height):
        cell = tried(census[:rows], "genetic", 3, macro=27, **options)
        print(f"| {rows} records of census | {cell} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MICROAGG_DATA"))
    parser.add_argument("--only", nargs="*", choices=list(methods()), default=list(methods()))
    parser.add_argument("--generations", type=int, default=10_000)
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    given = parser.parse_args()
    if given.quick:
        given.only = [n for n in given.only if (methods()[n].seconds or (0, 0))[0] < 1e-3]
    folder = Path(given.data) if given.data else None
    options = {"generations": given.generations}
    print(machine())
    every(given.only, folder, options)
    large(given.only)
    if folder and "k_ward" in given.only:
        ward(folder)
    if folder and "genetic" in given.only:
        evolution(folder, options)


if __name__ == "__main__":
    main()
