"""Print how little is lost: MDAV, refined, and lowloss at two efforts, with CPU seconds.

    python benchmarks/loss.py --data DIR     # tarragona, census and eia, about ten minutes
    python benchmarks/loss.py --rows 1e5     # generated records: 1e5 x 5, 8 and 10
    python benchmarks/loss.py --rows 1e6     # 1e6 x 5, with exact MDAV for comparison

Loss is 100 SSE / SST on standardised columns. One run, one seed, one BLAS thread; CPU seconds of
the process stand in brackets. DIR holds the three reference files; without it the environment
variable MICROAGG_DATA is looked at.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import platform
import resource
import time
from pathlib import Path

import numpy as np
import polars as pl

from polars_microagg.kernels.blocks import equal_blocks, mdav_in_blocks
from polars_microagg.kernels.bound import lagrangian_bound, neighbour_bound
from polars_microagg.kernels.lowest import block_start
from polars_microagg.kernels.refine import refined, squares_within
from polars_microagg.methods.lowloss import lowloss
from polars_microagg.methods.mdav import mdav

SEED = 0
EIA = ["utilityid"]
EIA += [
    f"{who}{what}" for who in ("res", "com", "ind", "oth", "tot") for what in ("revenue", "sales")
]
EIA[EIA.index("othsales")] = "othrsales"


def standardised(x):
    x = x - x.mean(axis=0)
    return np.asfortranarray(x / x.std(axis=0))


def loss(x, labels):
    return 100 * squares_within(x, labels).sum() / np.square(x).sum()


def timed(function, *args, **options):
    start = time.process_time()
    result = function(*args, **options)
    return result, time.process_time() - start


def shown(value, seconds):
    return f"{value:9.4f} ({seconds:6.2f})"


def references(folder, efforts):
    print("\n| file | k | MDAV | refine | " + " | ".join(f"effort {e:g}" for e in efforts), end="")
    print(" | floor | tighter floor |\n" + "| --- " * (6 + len(efforts)) + "|")
    for name in ("tarragona", "census", "eia"):
        frame = pl.read_csv(folder / f"{name}.csv")
        x = standardised(frame.select(EIA if name == "eia" else pl.all()).to_numpy().astype(float))
        for k in (3, 4, 5, 10):
            reference(name, x, k, efforts)


def reference(name, x, k, efforts):
    labels, seconds = timed(lambda: mdav(x, k=k).labels)
    cells = [shown(loss(x, labels), seconds)]
    (better, _), more = timed(refined, x, labels, np.array([len(x)]), k)
    cells.append(shown(loss(x, better), seconds + more))
    for effort in efforts:
        found, seconds = timed(lowloss, x, k=k, effort=effort, seed=SEED)
        cells.append(shown(loss(x, found.labels), seconds))
    total = np.square(x).sum() / 100
    plain = np.ascontiguousarray(x)
    floor, seconds = timed(neighbour_bound, plain, k)
    cells.append(shown(floor / total, seconds))
    target = squares_within(x, better).sum()
    floor, seconds = timed(lagrangian_bound, plain, k, target, 200)
    cells.append(shown(floor / total, seconds))
    print(f"| {name} | {k} | " + " | ".join(cells) + " |", flush=True)


def generated(kind, n, d):
    rng = np.random.default_rng(n + d)
    if kind == "clustered":
        centres = 3 * rng.normal(size=(max(4, n // 100), d))
        spread = 0.5 * rng.gamma(1, 1, size=(n, 1))
        x = centres[rng.integers(0, len(centres), n)] + rng.normal(size=(n, d)) * spread
    else:
        x = rng.normal(size=(n, d))
    if kind == "lognormal":
        x = np.exp(0.6 * x @ (np.eye(d) + 0.3 * rng.random((d, d))))
    return standardised(x)


def in_blocks(x, k, size=1560):
    """MDAV in equal blocks, the tail not set apart; the last records make up the count."""
    count = 1 << max(0, round(np.log2(len(x) / size)))
    n = len(x) // count * count
    return mdav_in_blocks(x[:n], equal_blocks(x[:n], count), k), x[:n]


def many(n, exact):
    print(
        "\n| kind | n | d | k | MDAV in blocks | with tail first | lowloss | exact MDAV | lowloss"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    shapes = [("lognormal", 8, 3)] if n <= 200_000 else []
    columns = (5, 10) if n <= 200_000 else (5,)
    shapes += [(kind, d, 5) for d in columns for kind in ("gaussian", "lognormal", "clustered")]
    for kind, d, k in shapes:
        x = generated(kind, n, d)
        plain = np.ascontiguousarray(x)
        (labels, part), seconds = timed(in_blocks, plain, k)
        cells = [shown(loss(part, labels), seconds)]
        labels, seconds = timed(block_start, plain, k, lambda t, k=k: mdav(t, k=k).labels)
        cells.append(shown(loss(x, labels), seconds))
        found, seconds = timed(lowloss, x, k=k, seed=SEED)
        least = loss(x, found.labels)
        cells.append(shown(least, seconds))
        if exact:
            found, seconds = timed(mdav, x, k=k)
            cells.append(shown(loss(x, found.labels), seconds))
            cells.append(f"{100 * least / loss(x, found.labels) - 100:+.1f} %")
        print(f"| {kind} | {n} | {d} | {k} | " + " | ".join(cells) + " |", flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nGreatest memory of the process: {memory:.2f} GiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MICROAGG_DATA"))
    parser.add_argument("--efforts", type=float, nargs="*", default=[1, 10])
    parser.add_argument("--rows", type=float, help="generated records instead of the files")
    parser.add_argument("--no-exact", action="store_true", help="leave out exact MDAV")
    given = parser.parse_args()
    print(f"numpy {np.__version__}, python {platform.python_version()}, {platform.machine()}")
    if given.rows:
        many(int(given.rows), not given.no_exact)
    elif given.data:
        references(Path(given.data), given.efforts)
    else:
        parser.error("give --data, --rows, or set MICROAGG_DATA")


if __name__ == "__main__":
    main()
