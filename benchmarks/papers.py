"""Run the papers' experiments again: what they print beside what comes out, cell by cell.

    python benchmarks/papers.py --data DIR                        # all five, in minutes
    python benchmarks/papers.py --data DIR --paper 003 004        # these
    python benchmarks/papers.py --data DIR --paper 003 --write    # and keep what came out

DIR holds census.csv, tarragona.csv and eia.csv. The cells are those of tests/papers.csv; --write
puts what comes out into its column `computed` and writes docs/papers.md. CPU seconds of a table are
those of the process, one BLAS thread; what an earlier table has masked is not masked again.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import sys
import time
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Before this folder: docs/generate.py imports the docs/papers.py beside it.
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import generate

from tests import papers

FILES = ("census", "tarragona", "eia")


def run(cell: papers.Cell) -> str:
    """Compute one cell, keep what comes out, and say what it is beside the printed."""
    if cell["verdict"] == "absent":
        return "not tried"
    before, cell["computed"] = cell["computed"], papers.again(cell)
    changed = f", before: {before}" if before not in ("", cell["computed"]) else ""
    if cell["verdict"] == "here":
        return f"not printed{changed}"
    same = papers.agrees(cell, papers.of(cell))
    if same == (cell["verdict"] == "differs"):
        changed += f", but the verdict is {cell['verdict']!r}"
    return ("same" if same else "differs") + changed


def table(title: str, cells: list[papers.Cell]) -> None:
    """Print one table with its CPU seconds."""
    print(f"\n{title}")
    start = time.process_time()
    for cell in cells:
        said = run(cell)
        names = f"  {cell['row']:<41} {cell['k'] or '-':>4}  {cell['measure']:<19}"
        print(f"{names} {cell['published']:>14} {cell['computed']:>14}  {said}", flush=True)
    print(f"  {len(cells)} cells, {time.process_time() - start:.1f} CPU seconds", flush=True)


def main() -> None:
    """Run the chosen papers."""
    every = sorted({cell["paper"] for cell in papers.CELLS})
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference files")
    parser.add_argument("--paper", choices=every, nargs="+", default=every)
    parser.add_argument("--write", action="store_true", help="keep the values, write the page")
    arguments = parser.parse_args()
    if missing := [n for n in FILES if not (arguments.data / f"{n}.csv").is_file()]:
        names = ", ".join(f"{name}.csv" for name in missing)
        parser.error(f"{arguments.data} lacks {names}; give the folder of the reference files.")
    os.environ["MICROAGG_DATA"] = str(arguments.data)

    chosen = [cell for cell in papers.CELLS if cell["paper"] in arguments.paper]
    print(f"  {'system':<41} {'k':>4}  {'measure':<19} {'printed':>14} {'computed':>14}")
    for (paper, number), cells in groupby(chosen, key=lambda cell: (cell["paper"], cell["table"])):
        for data, some in groupby(cells, key=lambda cell: cell["data"]):
            table(f"{paper}, table {number}: {data}", list(some))
    if arguments.write:
        papers.write(papers.CELLS)
        generate.main([])


if __name__ == "__main__":
    main()
