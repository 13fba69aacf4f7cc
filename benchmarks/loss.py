"""Print how little is lost: MDAV, refined, and lowloss at two efforts, with CPU seconds.

    python benchmarks/loss.py --data DIR                  # everything, about half an hour
    python benchmarks/loss.py --data DIR --only files     # tarragona, census and eia
    python benchmarks/loss.py --only many                 # generated records: 1e5 x 5, 8 and 10
    python benchmarks/loss.py --only exact                # 2e5 x 5, where exact MDAV ends soon
    python benchmarks/loss.py --only start million        # 1e6 x 5
    python benchmarks/loss.py --data DIR --only heat      # where hot annealings begin, 26 tables

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

from polars_microagg.kernels.local import recombined_search
from polars_microagg.kernels.local.annealing_search import block_start
from polars_microagg.kernels.local.local_search import refined, squares_within
from polars_microagg.kernels.neighbour_blocks import equal_blocks, mdav_in_blocks
from polars_microagg.kernels.risk.lower_bound import lagrangian_bound, neighbour_bound
from polars_microagg.methods.lowloss import lowloss
from polars_microagg.methods.mdav import mdav

SEED = 0
SECTIONS = ["files", "many", "exact", "start", "million", "heat"]
KINDS = ("gaussian", "lognormal", "clustered")
EIA = ["utilityid"]
EIA += [
    f"{who}{what}" for who in ("res", "com", "ind", "oth", "tot") for what in ("revenue", "sales")
]
EIA[EIA.index("othsales")] = "othrsales"
HEATED = """
gaussian 1000 4, gaussian 1200 8, lognormal 800 3, clustered 1500 5, uniform 600 2, counts 900 4, t3 700 6,
correlated 900 10, gaussian 3000 3, uniform 400 6, clustered 350 3, lognormal 500 5 |
gaussian 700 6, lognormal 1000 8, clustered 2500 4, uniform 1000 3, counts 1500 3, t3 500 3, correlated 800 5,
gaussian 300 2, lognormal 1000 2, uniform 5000 2, adult 1000 4, census 0 0, tarragona 0 0, eia 0 0
"""
"""Kind, records and columns of the tables on which temperatures are compared; the second half chose none."""

HEATED_KS = (3, 5, 10, 20)
ADULT = ["age", "education", "occupation", "marital-status"]


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


def heat(folder, seeds):
    """Compare hot annealings that begin where the records melt with those at one temperature."""
    measured = recombined_search.ENOUGH
    print("\n| table | n | d | " + " | ".join(f"k={k}" for k in HEATED_KS) + " |")
    print("| --- " * (3 + len(HEATED_KS)) + "|")
    for half in HEATED.split("|"):
        changes = {k: [] for k in HEATED_KS}
        for kind, n, d in (table.split() for table in half.split(",")):
            cells = []
            for k in HEATED_KS:
                losses = {np.inf: [], measured: []}
                for seed in range(seeds):
                    x = small_table(folder, kind, int(n), int(d), seed)
                    x = np.ascontiguousarray(standardised(x))
                    for recombined_search.ENOUGH, own in losses.items():
                        own.append(loss(x, lowloss(x, k=k, seed=seed).labels))
                changes[k] += list(100 * np.log(np.divide(losses[measured], losses[np.inf])))
                change = np.mean(changes[k][-seeds:])
                cells.append(f"{np.mean(losses[measured]):.4f} ({change:+.2f} %)")
            print(
                f"| {kind} | {x.shape[0]} | {x.shape[1]} | " + " | ".join(cells) + " |", flush=True
            )
        cells = [
            f"{np.mean(own):+.2f} ± {np.std(own, ddof=1) / len(own) ** 0.5:.2f} %"
            for own in changes.values()
        ]
        print("| mean | | | " + " | ".join(cells) + " |", flush=True)


def small_table(folder, kind, n, d, seed):
    if kind in ("tarragona", "census", "eia"):
        frame = pl.read_csv(folder / f"{kind}.csv")
        return frame.select(EIA if kind == "eia" else pl.all()).to_numpy().astype(float)
    if kind == "adult":
        frame = pl.read_csv(folder / "adult" / "adult.csv", separator=";")
        frame = frame.sample(n, seed=seed, shuffle=True).select(ADULT[:d])
        ranks = frame.select(pl.col(pl.Int64), pl.col(pl.String).rank("dense")).select(ADULT[:d])
        return np.ascontiguousarray(ranks.to_numpy().astype(float))
    rng = np.random.default_rng([seed, n, d])
    if kind == "lognormal":
        x = np.exp(0.8 * rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.random((d, d))))
    elif kind == "clustered":
        centres = 3 * rng.normal(size=(max(4, n // 100), d))
        x = centres[rng.integers(0, len(centres), n)]
        x = x + rng.normal(size=(n, d)) * 0.5 * rng.gamma(1, 1, size=(n, 1))
    elif kind == "correlated":
        x = rng.normal(size=(n, d // 2)) @ rng.normal(size=(d // 2, d))
        x = x + 0.3 * rng.normal(size=(n, d))
    elif kind == "counts":
        x = rng.poisson(np.linspace(3, 12, d), size=(n, d)).astype(float)
    elif kind == "uniform":
        x = rng.random((n, d))
    else:
        x = rng.standard_t(3, size=(n, d)) if kind == "t3" else rng.normal(size=(n, d))
    return x


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
    parser.add_argument("--seeds", type=int, default=1, help="of heat")
    parser.add_argument("--only", nargs="*", choices=SECTIONS, default=SECTIONS)
    given = parser.parse_args()
    print(machine())
    for section in given.only:
        if section == "start":
            start()
        elif section not in ("files", "heat"):
            generations(section)
        elif not given.data:
            parser.error("give --data, set MICROAGG_DATA, or leave out files and heat by --only")
        elif section == "heat":
            heat(Path(given.data), given.seeds)
        else:
            references(Path(given.data), given.efforts)


if __name__ == "__main__":
    main()
