"""The same job at every size: time, peak memory and the smallest class of releases.

    python benchmarks/scale.py                   # everything, about an hour and a quarter on two cores
    python benchmarks/scale.py --only job        # 5e6 x 20 with strata and nulls by the command line
    python benchmarks/scale.py --only rows       # 1e6, 1e7 and 1e8 x 4, the cost of a row
    python benchmarks/scale.py --only search     # 1e7 x 3 by lowloss
    python benchmarks/scale.py --only workers    # one process against two
    python benchmarks/scale.py --only tables     # a table of DuckDB to another one, 5e7 rows

Memory is the resident set of the process and of all it starts, looked at twenty times a second; pages that
processes share count for each. CPU seconds are of all of them. The smallest class is counted again by
DuckDB on the file that came out. Files go to --folder and are removed in the end.
"""

import argparse
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from out_of_core import COLUMNS, generate, row, watched

STEP = 1 << 18
PLACES = np.array(["north", "south", "east", "west", "centre", "coast", "hills", "lake", "isle"])
SHARES = np.array([0.3, 0.2, 0.15, 0.12, 0.1, 0.08, 0.04, 0.009999, 0.000001])
MASKED = ["age", "income", "tax", "wealth", "children", "since"]
KEPT = [
    "job",
    "plan",
    "visits",
    "cost",
    "bonus",
    "score",
    "active",
    "updated",
    "rate",
    "notes",
    "zip2",
]

COMMAND = "import sys; from polars_microagg.cli.main import run; sys.exit(run())"
LOWLOSS = """
import sys, polars_microagg as mg
source, target, workers = sys.argv[1:4]
columns = ["age", "income", "wealth"]
# Leaves have half of this or more, and above 5000 records a search starts from MDAV alone. Little effort,
# as a table of this size is given by itself.
how = {"method": "lowloss", "effort": 0.01, "size": 16000}
mg.protect_parquet(source, target, columns, 5, memory="4GB", workers=int(workers), **how)
"""
PROTECT = """
import sys, polars_microagg as mg
source, target, memory, workers = sys.argv[1:5]
mg.protect_parquet(source, target, {columns}, 5, memory=memory, workers=int(workers) or None)
"""


def register(path, rows):
    """Twenty columns of all kinds: six to mask, two of them with gaps, strata of which one is tiny."""
    rng = np.random.default_rng(rows)
    writer = None
    for start in range(0, rows, STEP):
        n = min(STEP, rows - start)
        income = rng.lognormal(10, 1, n)
        table = pa.table(
            {
                "id": np.arange(start, start + n),
                "name": pa.array(rng.integers(0, 10**9, n)).cast(pa.string()),
                "region": pa.array(PLACES[rng.choice(len(PLACES), n, p=SHARES / SHARES.sum())]),
                "age": rng.integers(18, 95, n).astype(np.int16),
                "income": pa.array(income, mask=rng.random(n) < 0.03),
                "tax": 0.3 * income * rng.lognormal(0, 0.3, n),
                "wealth": pa.array(1000 * rng.pareto(1.5, n), mask=rng.random(n) < 0.02),
                "children": rng.poisson(1.4, n).astype(np.int32),
                "since": pa.array(rng.integers(0, 12000, n).astype(np.int32)).cast(pa.date32()),
                "job": pa.array(rng.integers(0, 300, n)).cast(pa.string()),
                "plan": pa.array(np.array(["a", "b", "c"])[rng.integers(0, 3, n)]),
                "visits": rng.poisson(4, n),
                "cost": rng.lognormal(5, 1, n),
                "bonus": rng.normal(0, 1, n).astype(np.float32),
                "score": rng.integers(0, 100, n).astype(np.int8),
                "active": rng.random(n) < 0.7,
                "updated": pa.array(rng.integers(0, 10**15, n)).cast(pa.timestamp("us")),
                "rate": rng.random(n),
                "notes": pa.array(rng.integers(0, 10**6, n)).cast(pa.string()),
                "zip2": pa.array(rng.integers(10, 99, n)).cast(pa.string()),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()


def smallest(relation, columns):
    """Fewest records that share a masked record, counted by DuckDB."""
    with duckdb.connect() as con:
        con.execute("SET memory_limit = '4GB'")
        names = ", ".join(f'"{name}"' for name in columns)
        query = f"SELECT min(n) FROM (SELECT count(*) AS n FROM {relation} GROUP BY {names})"
        return con.execute(query).fetchone()[0]


def measured(code, *arguments):
    """Seconds, CPU seconds and peak memory, all as text; stops where the run failed."""
    done, wall, cpu, peak = watched(code, *arguments)
    if done:
        sys.exit(f"the run failed with {done} at {peak:.0f} MB")
    return wall, cpu, peak


def job(folder, rows):
    print(f"\nThe command line on {rows:.0e} x 20, strata and nulls, memory 2GB\n")
    register(folder / "in.parquet", rows)
    roles = ["--columns", ",".join(MASKED), "--strata", "region", "--drop", "id,name"]
    roles += ["--keep", ",".join(KEPT), "--k", "5", "--nulls", "impute", "--small-strata", "null"]
    call = ["protect", folder / "in.parquet", "-o", folder / "out.parquet", *roles]
    row("", "seconds", "CPU seconds", "peak memory", "smallest class")
    row(*["---"] * 5)
    for memory in ("2GB", "16GB"):
        more = ["--memory", memory, "--overwrite"]
        wall, cpu, peak = measured(COMMAND, *call, *more)
        k = smallest(f"read_parquet('{folder / 'out.parquet'}')", [*MASKED, "region"])
        row(memory, f"{wall:.0f}", f"{cpu:.1f}", f"{peak:.0f} MB", k)


def cost_of_a_row(folder, sizes, memory):
    print(f"\nFour columns of five, k=5, within {memory}\n")
    row("rows", "file", "seconds", "CPU seconds", "us a row", "peak memory", "smallest class")
    row(*["---"] * 7)
    for rows in sizes:
        generate(folder / "in.parquet", rows)
        size = (folder / "in.parquet").stat().st_size / 1e6
        code = PROTECT.format(columns=COLUMNS)
        wall, cpu, peak = measured(code, folder / "in.parquet", folder / "out.parquet", memory, 0)
        k = smallest(f"read_parquet('{folder / 'out.parquet'}')", COLUMNS)
        each = f"{cpu / rows * 1e6:.2f}"
        row(f"{rows:.0e}", f"{size:.0f} MB", f"{wall:.0f}", f"{cpu:.0f}", each, f"{peak:.0f} MB", k)


def search(folder, rows):
    print(f"\nlowloss on {rows:.0e} x 3 through leaves, two workers\n")
    generate(folder / "in.parquet", rows)
    wall, cpu, peak = measured(LOWLOSS, folder / "in.parquet", folder / "out.parquet", 2)
    names = ["age", "income", "wealth"]
    k = smallest(f"read_parquet('{folder / 'out.parquet'}')", names)
    before, after = (pl.scan_parquet(folder / f"{which}.parquet") for which in ("in", "out"))
    deviations = before.select(pl.col(names).std(ddof=0)).collect(engine="streaming").row(0)
    beside = pl.concat(
        [before.select(names), after.select(pl.col(names).name.suffix("_m"))], how="horizontal"
    )
    squares = [
        ((pl.col(n) - pl.col(f"{n}_m")) ** 2).mean().alias(n) / s**2
        for n, s in zip(names, deviations, strict=True)
    ]
    loss = 100 * np.mean(beside.select(squares).collect(engine="streaming").row(0))
    row("seconds", "CPU seconds", "peak memory", "smallest class", "loss %")
    row(*["---"] * 5)
    row(f"{wall:.0f}", f"{cpu:.0f}", f"{peak:.0f} MB", k, f"{loss:.6f}")


def workers(folder, rows):
    print(f"\nOne process against two, {rows:.0e} x 4\n")
    generate(folder / "in.parquet", rows)
    row("workers", "seconds", "CPU seconds")
    row(*["---"] * 3)
    took = []
    for count in (1, 2):
        code = PROTECT.format(columns=COLUMNS)
        wall, cpu, _ = measured(code, folder / "in.parquet", folder / "out.parquet", "4GB", count)
        took.append(wall)
        row(count, f"{wall:.1f}", f"{cpu:.1f}")
    print(f"\n{took[0] / took[1]:.2f} times as fast")


def tables(folder, rows):
    print(f"\nA table of DuckDB to another, {rows:.0e} rows, memory 2GB\n")
    generate(folder / "in.parquet", rows)
    with duckdb.connect(str(folder / "register.duckdb")) as con:
        con.execute("SET memory_limit = '2GB'; SET preserve_insertion_order = true")
        con.execute(f"CREATE TABLE visits AS FROM read_parquet('{folder / 'in.parquet'}')")
    (folder / "in.parquet").unlink()
    call = ["protect", f"{folder / 'register.duckdb'}::visits", "-o"]
    call += [f"{folder / 'release.duckdb'}::visits", "--columns", ",".join(COLUMNS)]
    call += ["--drop", "id", "--k", "5", "--memory", "2GB"]
    wall, cpu, peak = measured(COMMAND, *call)
    with duckdb.connect(str(folder / "release.duckdb"), read_only=True) as con:
        names = ", ".join(COLUMNS)
        query = f"SELECT min(n) FROM (SELECT count(*) AS n FROM visits GROUP BY {names})"
        k = con.execute(query).fetchone()[0]
    row("seconds", "CPU seconds", "peak memory", "smallest class")
    row(*["---"] * 4)
    row(f"{wall:.0f}", f"{cpu:.0f}", f"{peak:.0f} MB", k)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=["job", "rows", "search", "workers", "tables"])
    parser.add_argument("--rows", type=float, nargs="*", help="other numbers of rows")
    parser.add_argument("--memory", default="8GB", help="of the runs by rows")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    versions = f"polars {pl.__version__}, duckdb {duckdb.__version__}, python"
    print(f"{versions} {platform.python_version()}, {os.cpu_count()} cores")
    runs = {
        "job": (lambda folder, rows: [job(folder, n) for n in rows], [5e6]),
        "rows": (lambda folder, rows: cost_of_a_row(folder, rows, given.memory), [1e6, 1e7, 1e8]),
        "search": (lambda folder, rows: [search(folder, n) for n in rows], [1e7]),
        "workers": (lambda folder, rows: [workers(folder, n) for n in rows], [1e7]),
        "tables": (lambda folder, rows: [tables(folder, n) for n in rows], [5e7]),
    }
    for name, (run, rows) in runs.items():
        if given.only in (None, name):
            folder = Path(tempfile.mkdtemp(dir=given.folder))
            try:
                run(folder, [int(n) for n in given.rows or rows])
            finally:
                shutil.rmtree(folder)


if __name__ == "__main__":
    main()
