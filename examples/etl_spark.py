"""Mask a patient register on Spark: Parquet in, k-anonymous Parquet out, checked before use.

Usage: python examples/etl_spark.py [FOLDER] [--rows N] [--master URL | --remote [URL]]

Needs `pip install '.[spark]'` and Java 17. Without Java, or with --remote, it runs on Spark Connect:
on the server of a URL such as sc://host:15002, or on one that it starts, which needs
`pip install pysail 'pyspark[connect]==4.1.*'`. Without a register in FOLDER (examples/data by
default) a synthetic one is written there first.
"""

import os
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

K = 5
MASKED = ["age", "income", "weight", "visits"]
DIRECT = ["patient_id"]  # names a person, so it is not released at all
REGION = "region.code"
RULES = {"strata": REGION, "small_strata": "null", "nulls": "impute"}

# On one machine nothing has to be reached from outside.
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def release(spark, register: Path, target: Path) -> None:
    """Mask the register and put it at `target` once every record is shared by K or more."""
    from polars_microagg.spark import fit, protect, verify

    unchecked = target.with_name(target.name + "_unchecked")
    patients = spark.read.parquet(str(register))
    leaves = fit(patients, MASKED, K, **RULES)
    print(leaves)
    masked = protect(patients, MASKED, K, leaves=leaves, drop=DIRECT)
    masked.write.mode("overwrite").parquet(str(unchecked))
    verify(spark.read.parquet(str(unchecked)), MASKED, K, strata=REGION)
    shutil.rmtree(target, ignore_errors=True)
    unchecked.rename(target)


def write_register(path: Path, rows: int) -> None:
    """Write a synthetic register; every run writes the same patients."""
    rng = np.random.default_rng(2024)
    age = np.clip(100 * rng.beta(2.2, 1.8, rows), 0, 99)
    wage = rng.lognormal(10.2, 0.55, rows) * np.where(age < 18, 0.0, 1.0)
    regions = rng.choice(["Aller", "Brede", "Corve"], rows).astype(object)
    regions[:7] = "Dorn"
    regions[7:10] = "Ellen"  # fewer than K patients, of another region than any other
    regions[10:13] = "Furt"
    patients = pl.DataFrame(
        {
            "patient_id": np.arange(rows),
            REGION: pl.Series(regions, dtype=pl.String),
            "age": age.astype(np.int16),
            "income": wage.round(2),
            "weight": (np.minimum(3.5 + 4.2 * age, 75) * rng.lognormal(0, 0.15, rows)).round(1),
            "visits": rng.poisson(0.6 + age / 25),
        }
    )
    known = pl.Series(rng.random(rows) > 0.02)
    patients.with_columns(weight=pl.when(known).then("weight")).write_parquet(path)


@contextmanager
def session(master: str, remote: str | None) -> Iterator:
    """Open a session of Spark, or of Spark Connect where that is asked for or there is no Java."""
    from pyspark.sql import SparkSession

    server = None
    if remote is None and (shutil.which("java") or "JAVA_HOME" in os.environ):
        builder = SparkSession.builder.master(master).appName("microagg")
        builder = builder.config("spark.ui.enabled", "false")
        if master.startswith("local"):
            builder = builder.config("spark.driver.host", "127.0.0.1")
            builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
    else:
        if not remote:
            from pysail.spark import SparkConnectServer

            server = SparkConnectServer(ip="127.0.0.1", port=0)
            server.start(background=True)
            remote = f"sc://127.0.0.1:{server.listening_address[1]}"
        spark = SparkSession.builder.remote(remote).create()
    try:
        yield spark
    finally:
        spark.stop()
        if server is not None:
            server.stop()


def main() -> None:
    """Run the pipeline."""
    here = Path(__file__).parent / "data"
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=here)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--remote", nargs="?", const="", help="run on Spark Connect")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    register = given.folder / "patients_spark.parquet"
    if not register.exists():
        write_register(register, given.rows)
    with session(given.master, given.remote) as spark:
        target = given.folder / "patients_spark_masked"
        release(spark, register, target)
        print(f"{target.name}: {spark.read.parquet(str(target)).count()} patients, k={K}")


if __name__ == "__main__":
    main()
