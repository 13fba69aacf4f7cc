"""Print the proven floors of the loss, and how far above them `lowloss` is at most, with CPU seconds.

    python benchmarks/floors.py --data DIR                    # effort 0 and 1, about five minutes
    python benchmarks/floors.py --data DIR --efforts 0 1 4 --files tarragona census

Loss is 100 SSE / SST on standardised columns. One run, one BLAS thread; CPU seconds of the process stand
in brackets. Without DIR the tables are generated. See `docs/loss.md`.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import time
from pathlib import Path

import numpy as np
import polars as pl
from machine import machine

import polars_microagg as mg

EIA = ["utilityid"]
EIA += [
    f"{who}{what}" for who in ("res", "com", "ind", "oth", "tot") for what in ("revenue", "sales")
]
EIA[EIA.index("othsales")] = "othrsales"


def generated():
    for name, n, d, spread in (("gaussian", 400, 5, 0.0), ("lognormal", 400, 6, 1.2)):
        rng = np.random.default_rng(n + d)
        x = rng.normal(size=(n, d))
        if spread:
            x = np.exp(spread * x @ (np.eye(d) + 0.3 * rng.random((d, d))))
        yield name, pl.DataFrame(x)


def files(folder, names):
    for name in names:
        yield name, pl.read_csv(folder / f"{name}.csv").select(EIA if name == "eia" else pl.all())


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MICROAGG_DATA"))
    parser.add_argument("--files", nargs="*", default=["tarragona", "census", "eia"])
    parser.add_argument("--ks", type=int, nargs="*", default=[3, 4, 5, 10])
    parser.add_argument("--efforts", type=float, nargs="*", default=[0, 1])
    chosen = parser.parse_args()
    print(machine())
    heads = [f"effort {effort:g}" for effort in chosen.efforts]
    print("\n| file | k | lowloss | " + " | ".join(heads) + " | above it at most |")
    print("| --- " * (4 + len(heads)) + "|", flush=True)
    for name, frame in files(Path(chosen.data), chosen.files) if chosen.data else generated():
        for k in chosen.ks:
            loss = mg.loss(frame, mg.lowloss(frame, pl.all(), k))
            cells, floor = [f"{loss:.4f}"], 0.0
            for effort in chosen.efforts:
                start = time.process_time()
                floor = mg.lower_bound(frame, pl.all(), k, effort=effort)
                cells.append(f"{floor:.4f} ({time.process_time() - start:.1f})")
            above = f"{100 * (loss / floor - 1):.1f} %"
            print(f"| {name} | {k} | " + " | ".join(cells) + f" | {above} |", flush=True)


if __name__ == "__main__":
    main()
