"""Print how little is lost: MDAV, refined, and lowloss at two efforts, with CPU seconds.

    python benchmarks/loss.py --data DIR                  # everything, about half an hour
    python benchmarks/loss.py --data DIR --only files     # tarragona, census and eia
    python benchmarks/loss.py --only many                 # generated records: 1e5 x 5, 8 and 10
    python benchmarks/loss.py --only exact                # 2e5 x 5, where exact MDAV ends soon
    python benchmarks/loss.py --only start million        # 1e6 x 5

Loss is 100 SSE / SST on standardised columns. One run, one seed, one BLAS thread; CPU seconds of
the process stand in brackets. DIR holds the three reference files; without it the environment
variable MICROAGG_DATA is looked at.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import polars as pl
from machine import machine

from polars_microagg.kernels.local.annealing_search import block_start
from polars_microagg.kernels.local.local_search import refined, squares_within
from polars_microagg.kernels.neighbour_blocks import equal_blocks, mdav_in_blocks
from polars_microagg.kernels.risk.lower_bound import lagrangian_bound, neighbour_bound
from polars_microagg.methods.lowloss import lowloss
from polars_microagg.methods.mdav import mdav

SEED = 0
SECTIONS = ["files", "many", "exact", "start", "million"]
KINDS = ("gaussian", "lognormal", "clustered")
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


def shapes(section):
    if section == "many":
        yield "lognormal", 100_000, 8, 3
        for d in (5, 10):
            for kind in KINDS:
                yield kind, 100_000, d, 5
    else:
        for kind in KINDS if section == "exact" else KINDS[:2]:
            yield kind, 200_000 if section == "exact" else 1_000_000, 5, 5


def generations(section):
    print("\n| kind | n | d | k | MDAV in blocks | tail first | lowloss", end="")
    print(" | under blocks | exact MDAV | under it |\n" + "| --- " * 10 + "|")
    for kind, n, d, k in shapes(section):
        x = generated(kind, n, d)
        plain = np.ascontiguousarray(x)
        (labels, part), seconds = timed(in_blocks, plain, k)
        blocks = loss(part, labels)
        cells = [shown(blocks, seconds)]
        labels, seconds = timed(block_start, plain, k, lambda t, k=k: mdav(t, k=k).labels)
        cells.append(shown(loss(x, labels), seconds))
        found, seconds = timed(lowloss, x, k=k, seed=SEED)
        least = loss(x, found.labels)
        cells += [shown(least, seconds), f"{100 - 100 * least / blocks:.1f} %"]
        found, seconds = timed(mdav, x, k=k)
        exact = loss(x, found.labels)
        cells += [shown(exact, seconds), f"{100 - 100 * least / exact:.1f} %"]
        print(f"| {kind} | {n} | {d} | {k} | " + " | ".join(cells) + " |", flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nGreatest memory of the process so far: {memory:.2f} GiB")


def start():
    print("\n| kind | n | d | k | equal blocks | MDAV in them |\n" + "| --- " * 6 + "|")
    for kind in KINDS[:2]:
        x = np.ascontiguousarray(generated(kind, 1 << 20, 5))
        blocks, first = timed(equal_blocks, x, 1 << 11)
        labels, second = timed(mdav_in_blocks, x, blocks, 5)
        cells = f"({first:.2f}) | {shown(loss(x, labels), second)}"
        print(f"| {kind} | {1 << 20} | 5 | 5 | {cells} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MICROAGG_DATA"))
    parser.add_argument("--efforts", type=float, nargs="*", default=[1, 10])
    parser.add_argument("--only", nargs="*", choices=SECTIONS, default=SECTIONS)
    given = parser.parse_args()
    print(machine())
    for section in given.only:
        if section == "start":
            start()
        elif section != "files":
            generations(section)
        elif given.data:
            references(Path(given.data), given.efforts)
        else:
            parser.error("give --data, set MICROAGG_DATA, or leave out files by --only")


if __name__ == "__main__":
    main()
