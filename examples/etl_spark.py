"""Mask a patient register on Spark: Parquet in, k-anonymous Parquet out, checked before use.

Usage: python examples/etl_spark.py [FOLDER] [--rows N] [--master URL]

Needs Java 17 and `pip install '.[spark]'`. Without a register in FOLDER
(examples/data by default) a synthetic one is written there first.
"""

import os
import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
import polars as pl

K = 5
MASKED = ["age", "income", "weight", "visits"]
DIRECT = ["patient_id"]  # names a person, so it is not released at all

# On one machine nothing has to be reached from outside.
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def release(spark, register: Path, target: Path) -> None:
    """Mask the register and put it at `target` once every record is shared by K or more."""
    from polars_microagg.spark import fit, protect, verify

    unchecked = target.with_name(target.name + "_unchecked")
    patients = spark.read.parquet(str(register)).drop(*DIRECT)
    leaves = fit(patients, MASKED, K)
    print(leaves)
    protect(patients, MASKED, K, leaves=leaves).write.mode("overwrite").parquet(str(unchecked))
    verify(spark.read.parquet(str(unchecked)), MASKED, K)
    shutil.rmtree(target, ignore_errors=True)
    unchecked.rename(target)


def write_register(path: Path, rows: int) -> None:
    """Write a synthetic register; every run writes the same patients."""
    rng = np.random.default_rng(2024)
    age = np.clip(100 * rng.beta(2.2, 1.8, rows), 0, 99)
    wage = rng.lognormal(10.2, 0.55, rows) * np.where(age < 18, 0.0, 1.0)
    pl.DataFrame(
        {
            "patient_id": np.arange(rows),
            "region": rng.choice(["Aller", "Brede", "Corve"], rows),
            "age": age.astype(np.int16),
            "income": wage.round(2),
            "weight": (np.minimum(3.5 + 4.2 * age, 75) * rng.lognormal(0, 0.15, rows)).round(1),
            "visits": rng.poisson(0.6 + age / 25),
        }
    ).write_parquet(path)


def main() -> None:
    """Run the pipeline."""
    from pyspark.sql import SparkSession

    here = Path(__file__).parent / "data"
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=here)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    register = given.folder / "patients.parquet"
    if not register.exists():
        write_register(register, given.rows)
    builder = SparkSession.builder.master(given.master).appName("microagg")
    builder = builder.config("spark.ui.enabled", "false")
    if given.master.startswith("local"):
        builder = builder.config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        target = given.folder / "patients_masked_spark"
        release(spark, register, target)
        print(f"{target.name}: {spark.read.parquet(str(target)).count()} patients, k={K}")
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
