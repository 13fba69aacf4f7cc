"""Mask generated Parquet files within an amount of memory; print time, peak memory and k.

    python benchmarks/out_of_core.py                             # 5e6 rows within 300 MB
    python benchmarks/out_of_core.py --rows 1e8 --memory 8GB     # 3 GB on disk, three times that beside it
    python benchmarks/out_of_core.py --engines                   # the same split by Polars and by DuckDB

Memory is the resident set of the process and of all it starts, looked at twenty times a second;
pages that processes share count for each. Files go to --folder and are removed in the end.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = ["age", "income", "tax", "wealth"]
STEP = 1 << 18

PROTECT = """
import sys, polars_microagg as mg
source, target, memory, workers = sys.argv[1:5]
print(mg.protect_parquet(source, target, {columns}, 5, memory=memory, workers=int(workers) or None))
"""
POLARS = """
import sys, polars as pl
source, target = sys.argv[1:3]
pl.scan_parquet(source).sink_parquet(pl.PartitionBy(target, key="part"), mkdir=True, engine="streaming")
"""
DUCKDB = """
import sys, duckdb
source, target, memory = sys.argv[1:4]
con = duckdb.connect()
con.execute("SET enable_progress_bar = false")
con.execute(f"SET memory_limit = '{memory}'; SET preserve_insertion_order = false")
con.execute(f"SET temp_directory = '{target}-spill'")
con.execute(f"COPY (FROM read_parquet('{source}')) TO '{target}' (FORMAT parquet, PARTITION_BY (part))")
"""


def generate(path, rows, parts=0):
    """Ages, incomes that are lognormal, taxes that follow them, and wealth of a Pareto law."""
    rng = np.random.default_rng(rows)
    writer = None
    for start in range(0, rows, STEP):
        n = min(STEP, rows - start)
        income = rng.lognormal(10, 1, n)
        columns = {
            "id": np.arange(start, start + n),
            "age": rng.normal(45, 15, n),
            "income": income,
            "tax": 0.3 * income * rng.lognormal(0, 0.3, n),
            "wealth": 1000 * rng.pareto(1.5, n),
        }
        if parts:
            columns["part"] = rng.integers(0, parts, n)
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()


def resident(pid):
    """Bytes in memory of a process and of those it started."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = {c for t in threads for c in (t / "children").read_text().split()}
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(resident, children))


def watched(code, *arguments):
    """Seconds by the clock, CPU seconds and peak memory of a Python process."""
    before = os.times()
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)])
    peak = 0
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.05)
    after = os.times()
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return process.returncode, time.perf_counter() - start, cpu, peak / 1e6


def smallest(path):
    """Fewest records that share a masked record; leaves the file's process when done."""
    frame = (
        pl.scan_parquet(path)
        .group_by(COLUMNS)
        .len()
        .select(pl.col("len").min(), pl.len().alias("n"))
    )
    return frame.collect(engine="streaming").row(0)


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def protect(folder, rows, memory, workers, count):
    generate(folder / "in.parquet", rows)
    size = (folder / "in.parquet").stat().st_size / 1e6
    code, wall, cpu, peak = watched(
        PROTECT.format(columns=COLUMNS),
        folder / "in.parquet",
        folder / "out.parquet",
        memory,
        workers,
    )
    k = smallest(folder / "out.parquet")[0] if count and not code else "-"
    k = f"failed ({code})" if code else k
    row(f"{rows:.0e}", f"{size:.0f} MB", memory, f"{wall:.0f}", f"{cpu:.0f}", f"{peak:.0f} MB", k)
    for name in ("in.parquet", "out.parquet"):
        (folder / name).unlink(missing_ok=True)


def engines(folder, rows, memory, parts):
    print(f"\nSplitting {rows:.0e} rows into {parts} files, memory {memory}\n")
    row("engine", "seconds", "CPU seconds", "peak memory")
    row(*["---"] * 4)
    generate(folder / "in.parquet", rows, parts)
    for name, code in (("Polars streaming", POLARS), ("DuckDB", DUCKDB)):
        done, wall, cpu, peak = watched(code, folder / "in.parquet", folder / "parts", memory)
        row(
            name,
            f"{wall:.0f}",
            f"{cpu:.0f}",
            f"{peak:.0f} MB" if not done else f"failed at {peak:.0f} MB",
        )
        shutil.rmtree(folder / "parts", ignore_errors=True)
    (folder / "in.parquet").unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6, 5e6])
    parser.add_argument("--memory", default="300MB")
    parser.add_argument("--workers", type=int, default=0, help="0 for the default")
    parser.add_argument("--engines", action="store_true", help="split by other engines instead")
    parser.add_argument("--parts", type=int, default=64)
    parser.add_argument("--count", action="store_true", help="count classes once more, by Polars")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    print(f"polars {pl.__version__}, python {platform.python_version()}, {os.cpu_count()} cores\n")
    folder = Path(tempfile.mkdtemp(dir=given.folder))
    try:
        if given.engines:
            for rows in given.rows:
                engines(folder, int(rows), given.memory, given.parts)
            return
        row("rows", "file", "memory", "seconds", "CPU seconds", "peak memory", "smallest class")
        row(*["---"] * 7)
        for rows in given.rows:
            protect(folder, int(rows), given.memory, given.workers, given.count)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
