"""Mask the same generated records on one machine and on Spark, and compare every bit.

    python benchmarks/spark.py                 # 1e6 rows, both modes, as they are and shuffled
    python benchmarks/spark.py --rows 1e5

Needs Java 17 and pyspark. Shuffled records are in other files and row groups, come in other
batches and go through another number of partitions; in the last run an executor is killed while
it writes. Files go to --folder and are removed in the end.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
from out_of_core import COLUMNS, generate, row

import polars_microagg as mg

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "2g",
    "spark.executor.memory": "1g",
    "spark.executor.cores": "1",
}
OTHER = {
    "spark.sql.shuffle.partitions": "5",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "3333",
}
PLAIN = {"spark.sql.shuffle.partitions": "8"}

JOB = """
import json, os, signal, sys, threading, time
from pathlib import Path
from pyspark.sql import SparkSession
from polars_microagg.spark import protect

source, out, master, settings, columns, killing = sys.argv[1:7]
builder = SparkSession.builder.master(master)
for name, value in json.loads(settings).items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
ours = spark.sparkContext.applicationId.encode()

def executors():
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().split(bytes(1))
        except OSError:
            continue
        if ours in command and any(c.endswith(b"ExecutorBackend") for c in command):
            yield int(entry.name)

def kill():
    while not any(Path(out).glob("_temporary/0/_temporary/*/*.parquet")):
        time.sleep(0.01)
    os.kill(next(executors()), signal.SIGKILL)
    print("an executor was killed")

start = time.perf_counter()
masked = protect(spark.read.parquet(source), json.loads(columns), 5)
if killing == "yes":
    threading.Thread(target=kill, daemon=True).start()
masked.write.parquet(out)
print(time.perf_counter() - start)
spark.stop()
"""


def on_spark(folder, source, master, settings, killing, expected):
    out = folder / "out"
    arguments = [source, out, master, json.dumps(SETTINGS | settings), json.dumps(COLUMNS), killing]
    done = subprocess.run(
        [sys.executable, "-c", JOB, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
    )
    *said, seconds = done.stdout.split("\n")[:-1]
    masked = pl.read_parquet(f"{out}/*.parquet").sort("id")
    same = "same bits" if masked.equals(expected) else "DIFFERENT"
    row(
        master,
        "shuffled" if source.is_dir() else "as is",
        f"{float(seconds):.0f}",
        ", ".join([same, *said]),
    )
    shutil.rmtree(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    print(f"polars {pl.__version__}, python {platform.python_version()}, {given.rows:.0e} rows\n")
    folder = Path(tempfile.mkdtemp(dir=given.folder))
    try:
        generate(folder / "in.parquet", int(given.rows))
        mixed = pl.read_parquet(folder / "in.parquet").sample(fraction=1, shuffle=True, seed=1)
        (folder / "mixed").mkdir()
        for number, part in enumerate(mixed.iter_slices(mixed.height // 3 + 1)):
            part.write_parquet(folder / "mixed" / f"{number}.parquet", row_group_size=7777)
        row("engine", "records", "seconds", "result")
        row(*["---"] * 4)
        start = time.perf_counter()
        mg.protect_parquet(folder / "in.parquet", folder / "one.parquet", COLUMNS, 5, workers=1)
        row("one process", "as is", f"{time.perf_counter() - start:.0f}", "")
        expected = pl.read_parquet(folder / "one.parquet").sort("id")
        mg.verify(expected, COLUMNS, 5)
        one, many = folder / "in.parquet", folder / "mixed"
        on_spark(folder, one, "local[2]", PLAIN, "no", expected)
        on_spark(folder, many, "local[2]", OTHER, "no", expected)
        on_spark(folder, one, "local-cluster[2,1,2048]", PLAIN, "no", expected)
        on_spark(folder, many, "local-cluster[2,1,2048]", OTHER, "yes", expected)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
