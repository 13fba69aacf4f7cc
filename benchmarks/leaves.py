"""Print what leaves cost: loss against MDAV of the whole table, by size of leaf and kind of cut.

    python benchmarks/leaves.py --data DIR       # tarragona, census and eia, and generated records
    python benchmarks/leaves.py --scale          # CPU seconds, time and memory, n = 1e4 .. 1e7
    python benchmarks/leaves.py --beside DIR     # loss and CPU seconds beside another checkout

Numbers are the loss divided by that of MDAV on the whole table. A star marks the cut that was
chosen by its loss on the sample. DIR holds the three reference files; without it the environment
variable MICROAGG_DATA is looked at, and without that only generated records are cut.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
from loss import EIA
from out_of_core import row

import polars_microagg as mg
from polars_microagg.leaves.cuts import CUTS

ONE = """
import resource, sys, time, numpy as np, polars as pl, polars_microagg as mg
n, d, rng = int(sys.argv[1]), int(sys.argv[2]), np.random.default_rng(int(sys.argv[1]))
draw = rng.normal if sys.argv[3] == "gaussian" else rng.lognormal
frame = pl.DataFrame({f"x{j}": draw(size=n) for j in range(d)})
wall, cpu = time.perf_counter(), time.process_time()
masked = mg.fit_leaves(frame, frame.columns, 5).mask(frame)
seconds = time.perf_counter() - wall, time.process_time() - cpu
print(*seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
mg.verify(masked, frame.columns, 5)
"""

BESIDE = """
import sys, time, numpy as np, polars as pl, polars_microagg as mg
kind, n, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(n + d)
if kind == "gaussian":
    x = rng.normal(size=(n, d))
elif kind == "lognormal":
    x = rng.lognormal(size=(n, d))
elif kind == "uniform":
    x = rng.uniform(size=(n, d))
elif kind == "correlated":
    x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.3 * rng.normal(size=(n, d))
else:
    tops = [100, 40, 20, 1000] * d
    x = np.column_stack([rng.poisson(20, n), *(rng.integers(0, top, n) for top in tops[: d - 1])])
frame = pl.DataFrame(x, schema=[f"x{j}" for j in range(d)])
start = time.process_time()
if sys.argv[4] == "whole":
    fitted, masked = start, mg.mdav(frame, frame.columns, 5)
else:
    leaves = mg.fit_leaves(frame, frame.columns, 5)
    fitted = time.process_time()
    masked = leaves.mask(frame)
end = time.process_time()
mg.verify(masked, frame.columns, 5)
before, after = frame.to_numpy().astype(float), masked.to_numpy().astype(float)
scale = before.std(axis=0)
total = np.square((before - before.mean(axis=0)) / scale).sum()
print(100 * np.square((before - after) / scale).sum() / total, fitted - start, end - fitted)
"""
"""Loss in per cent, CPU seconds of fitting and of masking."""

KINDS = [("gaussian", 2), ("gaussian", 5), ("gaussian", 10), ("lognormal", 4), ("uniform", 4)]
KINDS += [("correlated", 6), ("integers", 4)]


def generated():
    """Records that were not looked at when the kinds of cut were chosen: other seeds and laws."""
    rng = np.random.default_rng(20_240)
    n = 20_000
    yield "gaussian", rng.normal(size=(n, 5))
    yield "lognormal", np.exp(rng.normal(size=(n, 4)) * [0.5, 1, 1.5, 2])
    yield "pareto", np.column_stack([rng.pareto(a, n) for a in (1.2, 1.5, 2.0, 3.0)])
    yield "student", rng.standard_t(2.5, size=(n, 6))
    centres = 4 * rng.normal(size=(60, 5))
    yield (
        "clusters",
        centres[rng.integers(0, 60, n)] + rng.normal(size=(n, 5)) * rng.gamma(1, 0.5, (n, 1)),
    )


def tables(folder):
    for name in ("tarragona", "census", "eia") if folder else ():
        frame = pl.read_csv(folder / f"{name}.csv")
        yield name, frame.select(EIA if name == "eia" else pl.all()).cast(pl.Float64)
    for name, x in generated():
        yield name, pl.DataFrame(x, schema=[f"x{j}" for j in range(x.shape[1])])


def masked_by(leaves, frame):
    numbered = frame.with_columns(leaves.assign(frame)).with_row_index("at")
    parts = numbered.partition_by("leaf")
    masked = [leaves.protect(part.drop("leaf", "at")).with_columns(part["at"]) for part in parts]
    return pl.concat(masked).sort("at").drop("at")


def losses(folder, ks):
    row("table", "records", "k", "whole", "size", *CUTS)
    row(*["---"] * (5 + len(CUTS)))
    for name, frame in tables(folder):
        columns = frame.columns
        sizes = (
            (100, 300)
            if frame.height < 2000
            else (300, 1000)
            if frame.height < 5000
            else (300, 1000, 5000)
        )
        for k in ks:
            whole = mg.loss(frame, mg.mdav(frame, columns, k), columns)
            for size in sizes:
                best = mg.fit_leaves(frame, columns, k, size=size)
                cells = []
                for cut in CUTS:
                    leaves = mg.fit_leaves(frame, columns, k, size=size, cut=cut)
                    share = mg.loss(frame, masked_by(leaves, frame), columns) / whole
                    cells.append(f"{share:.3f}{'*' if cut == best.cut else ''}")
                row(name, frame.height, k, f"{whole:.4f}", size, *cells)


def scale(top):
    row("records", "n", "d", "seconds", "CPU seconds", "peak memory", "exponent")
    row(*["---"] * 7)
    for kind in ("gaussian", "lognormal"):
        last = None
        for power in range(4, top + 1):
            n, command = 10**power, [sys.executable, "-c", ONE, str(10**power), "5", kind]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            wall, cpu, memory = map(float, done.stdout.split())
            exponent = f"{np.log10(cpu / last):.2f}" if last else ""
            row(kind, n, 5, f"{wall:.1f}", f"{cpu:.1f}", f"{memory:.2f} GB", exponent)
            last = cpu


def beside(other, top):
    """Compare leaves here, leaves of another checkout, and the whole table, each in turn."""
    row("records", "n", "d", "whole", "other", "here", "fit: other", "here", "mask: other", "here")
    row(*["---"] * 10)
    own = Path(__file__).parents[1]
    for n in (10**power for power in range(4, top + 1)):
        for kind, d in KINDS:
            if n > 10**5 and d > 6:
                continue
            whole, old, new = (
                run(folder, kind, n, d, how)
                for folder, how in ((own, "whole"), (other, "leaves"), (own, "leaves"))
            )
            losses = f"{whole[0]:.4f}", f"{old[0] / whole[0]:.3f}", f"{new[0] / whole[0]:.3f}"
            row(kind, n, d, *losses, *(f"{s:.2f}" for j in (1, 2) for s in (old[j], new[j])))


def run(folder, *arguments):
    command = [sys.executable, "-c", BESIDE, *map(str, arguments)]
    own = {"env": os.environ | {"POLARS_MAX_THREADS": "1"}, "cwd": folder}
    done = subprocess.run(command, capture_output=True, text=True, check=True, **own)
    return [float(number) for number in done.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MICROAGG_DATA"))
    parser.add_argument("--ks", type=int, nargs="*", default=[3, 5, 10])
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--beside", type=Path, metavar="DIR", help="another checkout")
    parser.add_argument("--top", type=int, default=7, help="up to 10 to this power")
    given = parser.parse_args()
    print(f"numpy {np.__version__}, python {platform.python_version()}, {platform.machine()}\n")
    if given.beside:
        beside(given.beside, given.top)
    elif given.scale:
        scale(given.top)
    else:
        losses(given.data and Path(given.data), given.ks)


if __name__ == "__main__":
    main()
