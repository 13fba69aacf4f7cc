"""What the doors cost: the SQL macro, the Arrow path and the Polars door on the same table.

Usage: python benchmarks/doors.py [--rows 1000000]

A table of ROWS rows has 12 columns, of which 5 INTEGER and 5 DOUBLE are masked: (a) by a method
that does nothing but number consecutive blocks of 20, and (b) by `mdav` in strata of 20. Every
line is a process of its own. `MB` is the peak of the process beyond what it held before the call.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from argparse import ArgumentParser

K = 5
SIZE = 20
MASKED = [f"i{j}" for j in range(5)] + [f"d{j}" for j in range(5)]
DOORS = {
    "macro": "SQL macro, fetched as Arrow",
    "arrow": "duckdb.mask, a relation",
    "fetch": "duckdb.mask, fetched as Arrow",
    "polars": "Polars door, DataFrame to DataFrame",
    "around": "Polars door, from and to DuckDB",
}
CASES = {"blocks": "(a) no algorithm", "mdav": "(b) mdav in strata of 20"}


def table(con, rows):
    """Make the table of the benchmark."""
    whole = ", ".join(f"(hash(i + {j}) % 1000)::INTEGER AS i{j}" for j in range(5))
    real = ", ".join(f"hash(i * 7 + {j}) / 1e17 AS d{j}" for j in range(5))
    con.execute(
        f"CREATE TABLE t AS SELECT i::INTEGER AS id, (hash(i) % {max(1, rows // SIZE)})::INTEGER "
        f"AS region, {whole}, {real} FROM range({rows}) r(i)"
    )


def add_blocks():
    """Register a method without an algorithm."""
    import numpy as np

    from polars_microagg.core.partition import Partition
    from polars_microagg.core.registry import method

    @method(cite="none")
    def blocks(x, /, *, k: int) -> Partition:
        """Number consecutive blocks of k records."""
        n = len(x)
        labels = np.minimum(np.arange(n) // k, max(n // k - 1, 0))
        return Partition(labels, np.bincount(labels))


def run(door, case, rows):
    """Measure one door on one case."""
    add_blocks()

    import duckdb

    import polars_microagg as mg
    import polars_microagg.duckdb as mgd

    con = mgd.register(duckdb.connect())
    table(con, rows)
    options = {"method": case}
    k = SIZE if case == "blocks" else K
    if case == "mdav":
        # A hash leaves some strata short.
        options |= {"strata": ["region"], "small_strata": "null"}
    frame = con.table("t").pl() if door == "polars" else None
    written = ", ".join(f"{name} := {value!r}" for name, value in options.items())
    query = f"FROM microagg.mask('t', {MASKED}, {k}, {written})"
    calls = {
        "macro": lambda: con.sql(query).to_arrow_table(),
        "arrow": lambda: mgd.mask(con, "t", MASKED, k, **options),
        "fetch": lambda: mgd.mask(con, "t", MASKED, k, **options).to_arrow_table(),
        "polars": lambda: mg.mask(frame, MASKED, k, **options),
        "around": lambda: con.from_arrow(mg.mask(con.table("t").pl(), MASKED, k, **options)),
    }
    con.execute("CREATE TABLE little AS FROM t LIMIT 40")
    con.sql("FROM microagg.mask('little', 'd0', 20)").fetchall()  # loads what DuckDB loads once
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    result = calls[door]()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    del result
    con.close()
    return {"wall": wall, "cpu": cpu, "mb": (peak - before) // 1024}


def main():
    """Print a table of all doors and cases."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--one", nargs=2, metavar=("DOOR", "CASE"))
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run(*arguments.one, arguments.rows)))
        return
    print(
        f"{arguments.rows:,} rows, 10 of 12 columns masked; {platform.machine()}, {os.cpu_count()} cores"
    )
    print("| case | door | wall s | cpu s | MB |\n| --- | --- | ---: | ---: | ---: |")
    for case, what in CASES.items():
        for door, how in DOORS.items():
            command = [sys.executable, __file__, "--rows", str(arguments.rows), "--one", door, case]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found = json.loads(out.splitlines()[-1])
            print(f"| {what} | {how} | {found['wall']:.2f} | {found['cpu']:.2f} | {found['mb']} |")


if __name__ == "__main__":
    main()
