"""Try what should break a release, at random, for as long as told; 0 violations are expected.

Usage: python benchmarks/hostile.py --minutes N [--seed S] [--only KIND] [--trials N]

Pipelines: random lazy plans around a mask on both engines, against the collected table. Groupings:
random tables, types and options at three doors. Strings: hostile names and values at five doors.
Kills: SIGKILL at random instants of `microagg protect` to Parquet and DuckDB. Disks: full ones,
where a file system can be mounted. A violation is told with the call that shows it again.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]

from tests.hostile import doors, ends, pipelines, strings

KINDS = {
    "pipelines": (pipelines.trial, 0.35),
    "groupings": (doors.trial, 0.25),
    "strings": (strings.trial, 0.15),
    "kills": (ends.kill, 0.15),
    "disks": (ends.full_disk, 0.1),
}
"""What a trial of each kind does, and its share of the time."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--trials", type=int, help="end after so many trials of each kind")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("polars_microagg").setLevel(logging.ERROR)
    left = {kind: share for kind, (_, share) in KINDS.items() if given.only in (None, kind)}
    spent, counts, violations = dict.fromkeys(left, 0.0), Counter(dict.fromkeys(KINDS, 0)), 0
    until = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory() as folder:
        while left and (given.trials or time.monotonic() < until):
            kind = min(left, key=lambda name: spent[name] / left[name])
            seed = given.seed + counts[kind]
            began = time.monotonic()
            try:
                found = KINDS[kind][0](seed, Path(folder))
            except Exception as error:
                found = [f"the trial fails with {type(error).__name__}: {str(error)[:300]}"]
            spent[kind] += time.monotonic() - began
            if found is None:  # no disk can be mounted
                del left[kind]
                continue
            counts[kind] += 1
            for text in found:
                violations += 1
                print(
                    f"python benchmarks/hostile.py --only {kind} --seed {seed} --trials 1\n  {text}"
                )
            if counts[kind] == given.trials:
                del left[kind]
    print(*(f"{kind} {counts[kind]}" for kind in KINDS), f"violations {violations}", sep=", ")
    return int(violations > 0)


if __name__ == "__main__":
    sys.exit(main())
