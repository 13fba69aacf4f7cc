"""How many originals are left to who has a release and what is published of it.

Run: python -m benchmarks.candidates [--tables 40] [--seed 0]

Every table on a small grid whose groups have the released centres is counted: tables of one and two
columns, 6 to 12 rows, k from 2 to 5, whole numbers, halves and days, by several methods. A line has
the least number of candidates over its tables: left by the release alone; by five measures with four
digits, as they were once published; by `loss` alone in steps of 0.01, 1 and 10 per cent; by one bound
on it; and by what is published now. For the last, candidates are drawn and published, and their
manifest, report and last line are compared with those of the true table.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.candidates import (
    KINDS,
    METHODS,
    Candidates,
    documents,
    four,
    released,
    table,
    whole_per_cent,
)

MEASURES = ("z", "il1", "il2", "il4", "mean_sd")
MOST = 4_000_000
"""Candidates of distinct measures above which a table is passed over."""
HEAD = ("release", "4 digits", "0.01 %", "1 %", "10 %", "a bound", "now")


def below(bound):
    """Whether the loss is below a bound, as a requirement tells."""
    return lambda _, values: np.nan_to_num(np.asarray(values), nan=-1.0) <= bound + 1e-9


def counts(found):
    """Candidates left by each way of telling."""
    own = found.measures(found.true)["z"]
    bound = np.nan_to_num(np.ceil(own[0] * 10) / 10, nan=-1.0)
    steps = [found.left(whole_per_cent(step), ["z"]) for step in (0.01, 1, 10)]
    return [found.count, found.left(four, MEASURES), *steps, found.left(below(bound), ["z"])]


def main():
    """Print one line for each number of rows, columns and k."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--published", type=int, default=1, help="tables of a line to publish")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng, began, whole, differ = np.random.default_rng(given.seed), time.process_time(), [], 0
    print("rows columns k tables " + " ".join(f"{name:>10}" for name in HEAD))
    with tempfile.TemporaryDirectory() as folder:
        for columns in (1, 2):
            for rows in (6, 8, 10, 12):
                for k in (2, 3, 4, 5):
                    if 2 * k > rows:
                        continue
                    lines = []
                    for number in range(given.tables):
                        wide = 10 if columns == 1 else 5
                        kind = str(rng.choice(KINDS))
                        original = table(rng, rows, columns, wide, kind)
                        masked = released(original, str(rng.choice(METHODS)), k)
                        grid = np.arange(1.0, wide + 1) / (2 if kind == "half" else 1)
                        found = Candidates(original, masked, grid)
                        if np.prod([len(c["times"]) for c, _ in found.columns]) > MOST:
                            continue
                        line = counts(found)
                        left = line[0]
                        if number < given.published:
                            own = documents(original, masked, k, Path(folder))
                            other = found.draw(rng, original)
                            if documents(other, masked, k, Path(folder)) != own:
                                differ, left = differ + 1, 0
                        lines.append([*line, left])
                    least = np.min(lines, axis=0)
                    print(f"{rows:4} {columns:7} {k} {len(lines):6} ", end="")
                    print(" ".join(f"{value:10,}" for value in least), flush=True)
                    whole += lines
    shares = np.array(whole) / np.array(whole)[:, :1]
    print(
        f"{len(whole):,} tables; least share of the candidates of the release, and tables left with one:"
    )
    for i, name in enumerate(HEAD):
        ones = sum(line[i] == 1 < line[0] for line in whole)
        print(f"  {name:>10} {shares[:, i].min():10.2e} {ones:6,}")
    print(f"{differ} of the tables that were published told one candidate from another")
    print(f"{time.process_time() - began:.0f} CPU seconds")


if __name__ == "__main__":
    main()
