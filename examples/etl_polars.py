"""Mask a patient register: Parquet in, k-anonymous Parquet out, checked before it is released.

Usage: python examples/etl_polars.py [FOLDER] [--rows N]

Without a register in FOLDER (examples/data by default) a synthetic one is written there first.
"""

from argparse import ArgumentParser
from datetime import date
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl

import polars_microagg as mg

K = 5
MASKED = ["age", "income", "weight", "visits", "admitted"]
KEPT = ["region", "sex"]  # released as they are, so no group may mix them
DIRECT = ["patient_id"]  # names a person, so it is not released at all


def release(register: Path, target: Path) -> None:
    """Mask the register and put it at `target` once every record is shared by K or more."""
    unchecked = target.with_suffix(".unchecked")
    (
        pl.scan_parquet(register)
        .drop(DIRECT)
        .microagg.mdav(MASKED, k=K, strata=KEPT)
        .sink_parquet(unchecked)
    )
    mg.verify(pl.scan_parquet(unchecked), MASKED, k=K, strata=KEPT)
    unchecked.replace(target)


def report(register: Path, target: Path) -> None:
    """Print both tables and what the release costs and gives."""
    original, masked = pl.read_parquet(register), pl.read_parquet(target)
    metrics = ["loss", "k_min", "k_prime"]
    known = mg.assess(original, masked, MASKED, metrics=metrics, known=MASKED + KEPT)
    measured = known.row(0, named=True)
    with pl.Config(tbl_hide_dataframe_shape=True):
        print("Before:", original.head(6), sep="\n")
        print("After:", masked.head(6), sep="\n")
    print(
        f"Information loss {measured['loss']:.2f} % (0 keeps everything, 100 leaves only means).\n"
        f"Each record is shared by at least {measured['k_min']} patients, "
        f"k' = {measured['k_prime']:.2f} on average."
    )


def write_register(path: Path, rows: int) -> None:
    """Write a synthetic register; every run writes the same patients."""
    rng = np.random.default_rng(2024)
    regions = ["Aller", "Brede", "Corve", "Dinkel", "Emmer", "Fulda", "Gande", "Hase"]
    shares = np.array([22, 18, 15, 13, 11, 9, 7, 5]) / 100
    woman = rng.random(rows) < 0.54
    age = np.clip(100 * rng.beta(2.2, 1.8, rows), 0, 99)
    wage = rng.lognormal(10.2, 0.55, rows) * np.where(age < 18, 0.0, 1.0)
    income = wage + (rng.random(rows) < 0.02) * 40_000 * rng.pareto(1.8, rows)  # a heavy tail
    weight = np.minimum(3.5 + 4.2 * age, np.where(woman, 67, 81)) * rng.lognormal(0, 0.15, rows)
    day = (date(2024, 1, 1) - date(1970, 1, 1)).days + rng.integers(0, 366, rows)
    unchecked = path.with_suffix(".unchecked")
    pl.DataFrame(
        {
            "patient_id": rng.permutation(rows) + 1_000_000,
            "region": pl.Series(regions).gather(rng.choice(8, rows, p=shares)),
            "sex": pl.Series(["M", "F"]).gather(woman.astype(np.uint32)),
            "age": pl.Series(age).cast(pl.Int16),
            "income": pl.Series(income.round(-1)).cast(pl.Int64),
            "weight": pl.Series(weight.round(1)).cast(pl.Decimal(5, 1)),
            "visits": pl.Series(rng.negative_binomial(1.5, 40 / (60 + age))).cast(pl.Int16),
            "admitted": pl.Series(day).cast(pl.Int32).cast(pl.Date),
        }
    ).write_parquet(unchecked)
    unchecked.replace(path)


def main() -> None:
    """Write the register if there is none, release it, and say what was done."""
    parser = ArgumentParser(description="Mask a patient register from Parquet to Parquet.")
    here = Path(__file__).parent / "data"
    parser.add_argument("folder", nargs="?", type=Path, default=here, help="default: %(default)s")
    parser.add_argument("--rows", type=int, default=200_000, help="size of a new register")
    arguments = parser.parse_args()

    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    register, target = folder / "patients.parquet", folder / "patients_masked.parquet"
    if not register.exists():
        write_register(register, arguments.rows)
        print(f"Wrote a synthetic register of {arguments.rows:,} patients to {register}")

    started = perf_counter()
    release(register, target)
    seconds = perf_counter() - started
    report(register, target)
    print(
        f"Masked {', '.join(MASKED)} with k={K} within each {' and '.join(KEPT)}, left out "
        f"{', '.join(DIRECT)}, and verified the file as written, in {seconds:.1f} s.\n"
        f"The release is {target}"
    )


if __name__ == "__main__":
    main()
