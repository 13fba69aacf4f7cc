"""Compare MDAV with that of the R package sdcMicro: time, memory, loss and the smallest class.

    python benchmarks/sdcmicro.py --data DIR              # census, eia and generated tables
    python benchmarks/sdcmicro.py --rows 10000            # generated tables of this size only

Each table is measured in a process of its own, with one thread. CPU seconds are those of the call, the least
of up to three. MB is the peak above the memory before the call, on Linux. Loss is 100 SSE / SST on
standardized columns. `benchmarks/sdcmicro.R` measures sdcMicro on the same files. Without Rscript and
sdcMicro only the rows of polars_microagg are printed. See `docs/comparison.md`.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[variable] = "1"

import argparse
import gc
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from floors import files
from machine import machine

import polars_microagg as mg

SCRIPT = Path(__file__).with_suffix(".R")
SHAPES = [("gaussian", 10), ("lognormal", 10), ("gaussian", 3), ("lognormal", 3)]
"""Kinds of generated tables, and their numbers of columns."""


def generated(kind: str, n: int, d: int) -> pl.DataFrame:
    """Return correlated normal columns, or their exponentials."""
    rng = np.random.default_rng(n + d)
    x = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.random((d, d)))
    return pl.DataFrame(x if kind == "gaussian" else np.exp(x), schema=[f"x{j}" for j in range(d)])


def memory(name: str) -> float | None:
    """Return a figure of this process in MB, or None on a system without /proc."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def row(file: Path, k: int) -> str:
    """Mask the table of a file, and return the row of the table."""
    original = pl.read_csv(file)
    mg.mdav(original.head(100), pl.all(), k)  # loads what a first call loads
    gc.collect()
    if before := memory("VmRSS"):
        # Linux then counts the peak (VmHWM) from the present memory on.
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    seconds: list[float] = []
    more = ""
    while len(seconds) < 3 and sum(seconds) < 10:
        start = time.process_time()
        released = mg.mdav(original, pl.all(), k, dtype="float")
        seconds.append(time.process_time() - start)
        if before and not more:
            more = f"{(memory('VmHWM') or 0) - before:.0f}"
    cells = [file.stem, *original.shape, k, "polars_microagg", f"{min(seconds):.4f}", more]
    cells += [f"{mg.loss(original, released):.4f}"]
    cells += [mg.anonymity(released, pl.all())["k_min"].item()]
    return f"| {' | '.join(map(str, cells))} |"


def last_line(*command: object, errors: int | None = None) -> str:
    """Return the last line that a program prints."""
    done = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


def sdcmicro() -> str:
    """Return the versions of sdcMicro and R, or nothing without them."""
    code = 'cat(sprintf("sdcMicro %s, %s", packageVersion("sdcMicro"), R.version.string))'
    try:
        return last_line("Rscript", "-e", code, errors=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MICROAGG_DATA"))
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 30_000, 100_000])
    parser.add_argument("--one", nargs=2, metavar=("FILE", "K"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(row(Path(chosen.one[0]), int(chosen.one[1])))
        return
    versions = sdcmicro()
    print(f"{machine()} {versions or 'Without sdcMicro'}.\n")
    print("| table | records | columns | k | program | CPU s | MB | loss | smallest class |")
    print("| --- " * 9 + "|", flush=True)
    tables = (
        [(*table, 3) for table in files(Path(chosen.data), ["census", "eia"])]
        if chosen.data
        else []
    )
    tables += [
        (f"{kind}_{n}x{d}", generated(kind, n, d), 5) for n in chosen.rows for kind, d in SHAPES
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, table, k in tables:
            file = Path(folder) / f"{name}.csv"
            table.write_csv(file)
            if versions:
                print(last_line("Rscript", SCRIPT, k, file), flush=True)
            print(last_line(sys.executable, __file__, "--one", file, k), flush=True)


if __name__ == "__main__":
    main()
