"""`microagg demo`: made-up patients, masked and published."""

from __future__ import annotations

import io
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.cli import protect
from polars_microagg.cli.output import sent, show, table, tell
from polars_microagg.cli.parser import Parser, example
from polars_microagg.errors import OutputError
from polars_microagg.publishing.atomic import checked, free, put
from polars_microagg.publishing.formats.files import Location
from polars_microagg.report.environment import MISSING, installed

__all__ = ["EXAMPLES", "add", "patients", "run"]

EXAMPLES = example("microagg demo", "microagg demo folder --overwrite")

ROWS = 620


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.add_argument("folder", nargs="?", default="microagg-demo", metavar="FOLDER")
    parser.add_argument("--overwrite", action="store_true", help="replace the files of a demo")


def patients() -> pl.DataFrame:
    """Make the same invented patients every time."""
    rng = np.random.default_rng(7)
    age = np.clip(rng.normal(48, 19, ROWS), 0, 95).round()
    income = rng.lognormal(10.2, 0.5, ROWS).round(-2) * (age >= 16)
    weight = np.minimum(3.5 + 4.2 * age, 74) * rng.lognormal(0, 0.15, ROWS)
    return pl.DataFrame(
        {
            "patient": [f"P{number:04d}" for number in rng.permutation(ROWS)],
            "region": pl.Series(["North", "South"]).gather(rng.integers(0, 2, ROWS)),
            "age": pl.Series(age).cast(pl.Int64),
            "income": pl.Series(income).cast(pl.Int64),
            "weight": pl.Series(weight.round(1)),
        }
    )


def run(arguments: Namespace) -> int:
    """Write a table, protect it, and show both."""
    folder = Path(arguments.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError):
        raise OutputError.of(folder, "the folder cannot be made. Name another.") from None
    before, after = folder / "patients.csv", folder / "patients_masked.csv"
    page = folder / "report.html"
    for path in (before, after, page):
        free(arguments.overwrite, path)
        checked(path)
    buffer = io.BytesIO()
    patients().write_csv(buffer)
    put(before, buffer.getvalue())
    words = [str(before), "-o", str(after), "--columns", "age,income,weight", "--k", "5"]
    words += ["--strata", "region", "--drop", "patient", "--require", "dld<=20"]
    if installed():
        words += ["--report", str(page)]
    else:
        tell(MISSING)
    shown = " ".join(f"'{word}'" if set(word) & set("<> ") else word for word in words)
    show(f"$ microagg protect {shown}\n")
    parser = Parser(prog="microagg protect")
    protect.add(parser)
    manifest = protect.protect(parser.parse_args([*words, "--overwrite"]))
    try:
        _shown(folder, before, after, manifest["measures"])
        sent()
    except OutputError:
        raise OutputError.demo_unshown(folder) from None
    return 0


def _shown(folder: Path, before: Path, after: Path, measures: dict[str, Any]) -> None:
    """Show both tables, and the main measures."""
    for what, path in (("Before", before), ("After", after)):
        frame = Location.of(path).read().head(6)
        show(f"{what}:\n{table(frame.rows(), head=frame.columns)}\n")
    show(
        f"Every record is shared by at least {measures['k_min']} patients of its region. "
        f"{measures['loss']:g} % of the information\nis lost, and an attacker who knows the region, age, "
        f"income and weight re-identifies {measures['dld']:g} % of\nthe patients."
    )
    show(f"\nIn {folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
    show(f"Check the release: microagg verify {after}")
