"""The papers' tables again: what they print beside what comes out here, as docs/papers_tables.md.

Usage: python benchmarks/papers.py --data DIR [--paper 003] [--quick]

DIR holds census.csv, tarragona.csv and eia.csv. Without --paper all four are run, which takes some
minutes, and the page is written; with it the tables are only printed. --quick leaves out the
longest.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import itertools
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import papers_notes as notes
import papers_published as published
import polars as pl

import polars_microagg as mg

PAGE = Path(__file__).resolve().parents[1] / "docs" / "papers_tables.md"
IMPACT = ["mean_sd", "delta_r", "delta_w", "fpc_share", "delta_corr", "delta_corr_sd"]

Table = tuple[str, list[str], list[list[str]]]


def number(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def beside(printed, value, digits=2):
    """Both numbers, and whether they are equal as printed."""
    text = number(value, digits)
    same = text and abs(float(text) - float(printed)) < 1e-9
    printed = printed if isinstance(printed, str) else f"{printed:.{digits}f}"
    return f"{printed} {'=' if same else '≠'} {text or 'none'}"


def both(printed, values):
    """A printed range or choice of losses, and the least and greatest that come out."""
    ends = [f"{end:.2f}" for end in (min(values), max(values))]
    shown = {f"{float(end):.2f}" for end in re.split(" - | or ", printed)}
    here = ends[0] if ends[0] == ends[1] else " - ".join(ends)
    return f"{printed} {'=' if shown == set(ends) else '≠'} {here}"


# --- 003, Tarragona ---------------------------------------------------------------------------


def variants(name, columns):
    """Calls behind a row of the comparative study."""
    family, sort = name.split("_")
    if name == "MFS_MD":
        return [("md", {"grow": "centroid"})]
    method = "fixed_size" if family == "UFS" else "k_ward"
    own = [{"projected": family == "UDO"}]
    if family == "UFS":
        own = [{"descending": False}, {"descending": True}]
    keys = columns if sort == "PV" else [sort.lower()]
    return [(method, {"sort": key} | options) for key in keys for options in own]


def comparative_study(data, quick) -> Iterator[Table]:
    frame = pl.read_csv(data / "tarragona.csv")
    names = frame.columns
    losses, impacts = [], []
    for row, printed in published.TARRAGONA.items():
        if quick and row == "MDO_PV":
            continue
        for at, k in enumerate((3, 4, 5)):
            calls = variants(row, names)
            masked = [mg.mask(frame, names, k, method=m, dtype="float", **o) for m, o in calls]
            found = [mg.loss(frame, m) for m in masked]
            losses.append([row, str(k), both(printed["loss"][at], found)])
            best = masked[int(np.argmin(found))]
            values = mg.assess(frame, best, metrics=IMPACT).row(0)
            digits = (2, 1, 1, 1, 2, 2)
            impacts.append([row, str(k), *map(beside, printed["impact"][at], values, digits)])
    yield "Table 1, Tarragona: 100 L", ["method", "k", "100 L"], losses
    head = ["method", "k", "mean sd", "delta R", "delta W", "% FPC", "delta r", "sd of it"]
    yield "Tables 2 to 4, Tarragona: the variant that loses least", head, impacts


# --- 000, Census ------------------------------------------------------------------------------


def one_dimension(data, quick) -> Iterator[Table]:
    names = published.CENSUS_NINE
    frame = pl.read_csv(data / "census.csv").select(names)
    anonymous, scored = [], []
    for kind, (blocks, sets) in published.CENSUS_BLOCKS.items():
        split = [[names[a - 1] for a in block] for block in blocks]
        known = [[[names[a - 1] for a in triple] for triple in chosen] for chosen in sets]
        for (method, k, of), (sse, *primes) in published.MIC1D_ANONYMITY.items():
            if of != kind:
                continue
            # Values of all columns are one vector; its last block is the smaller one, as in the paper.
            own = ([names], {"tail": "keep"}) if method == "mic1d" else (split, {})
            masked = mg.mask(frame, own[0], k, method=method, dtype="float", **own[1])
            found = [mg.k_prime(frame, masked, known=triples) for triples in known]
            row = [method, str(k), kind]
            loss = beside(sse, mg.sse(frame, masked))
            anonymous.append([*row, loss, *map(beside, primes, found)])
            if not quick:
                metrics = ["il", "dld", "interval_disclosure", "score"]
                found = mg.assess(frame, masked, metrics=metrics, known="subsets").row(0)
                scored.append([*row, *map(beside, published.MIC1D_SCORES[method, k, kind], found)])
    head = ["method", "k", "blocks", "SSE", "k' 1G", "k' 2G", "k' 3G"]
    yield "Table 4, Census: SSE and k'", head, anonymous
    water = [
        [method, str(k), kind, *(f"{value:.2f}" for value in values)]
        for (method, k, kind), values in published.WATER.items()
    ]
    yield "Table 5, Water treatment, as printed: the file is not at hand", head, water
    if scored:
        head = ["method", "k", "blocks", "IL", "DLD", "ID", "score"]
        yield "Table 6, Census: an intruder knows any of 511 sets", head, scored


# --- 001, EIA and Census ----------------------------------------------------------------------


def sugeno(data, quick) -> Iterator[Table]:
    rows = []
    for file, chosen in published.SUGENO_FILES.items():
        frame = pl.read_csv(data / f"{file}.csv")
        frame = frame.select(chosen or frame.columns)
        names = frame.columns
        for (method, width, k), printed in published.SUGENO[file].items():
            if quick and k != 5:
                continue
            blocks = [names[at : at + width] for at in range(0, len(names), width)]
            masked = mg.mask(frame, blocks, k, method=method, dtype="float")
            sizes = range(2, len(blocks) + 1)
            unions = [u for size in sizes for u in itertools.combinations(blocks, size)]
            known = [[name for block in union for name in block] for union in unions[:20]]
            values = {
                "il": mg.il(frame, masked),
                "dld": mg.dld(frame, masked, known=known),
                "pld": mg.pld(frame, masked, known=known[-1:]),
                "interval_disclosure": mg.interval_disclosure(frame, masked),
            }
            # Weights of the preset "sugeno", on linkage as above.
            shares = {"il": 0.5, "dld": 0.125, "pld": 0.125, "interval_disclosure": 0.25}
            found = [*values.values(), sum(shares[part] * value for part, value in values.items())]
            rows.append([file, method, str(width), str(k), *map(beside, printed, found)])
    head = ["file", "method", "v", "k", "IL", "DLD", "PLD", "ID", "score"]
    yield "Table 1", head, rows


# --- 004 --------------------------------------------------------------------------------------


def synthetic(kind):
    """Records as the paper describes them: 1000 in a square, or shifted in groups of 3 to 5."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-10_000, 10_000, (1000, 2))
    if kind == "clustered":
        sizes = rng.integers(3, 6, 400)
        labels = np.repeat(np.arange(400), sizes)[:1000]
        # A group is brought together, and then shifted by a random amount.
        x = x / 100 + rng.uniform(-10_000, 10_000, (400, 2))[labels]
    return pl.DataFrame({"x": x[:, 0], "y": x[:, 1]})


def genetic(data, quick) -> Iterator[Table]:
    rows = []
    for file, printed in published.GENETIC.items():
        if file in ("scattered", "clustered"):
            frame = synthetic(file)
        else:
            frame = pl.read_csv(data / f"{file}.csv")
            frame = frame.select(published.EIA_ELEVEN) if file == "eia" else frame
        plain = mg.sse(frame, mg.mdav(frame, frame.columns, 3, dtype="float"))
        for macro, (mdav, one, two) in printed.items():
            options = {"macro": macro, "dtype": "float", "generations": 500 if quick else 10_000}
            found = [
                mg.sse(frame, mg.genetic(frame, frame.columns, 3, steps=steps, **options))
                for steps in (1, 2)
            ]
            # Some are printed as whole numbers.
            digits = (0 if value == int(value) else 2 for value in (mdav, one, two))
            cells = map(beside, (mdav, one, two), (plain, *found), digits)
            rows.append([file, str(macro), *cells])
    yield (
        "Table 2, k = 3: SSE",
        ["file", "K", "MDAV", "one step", "two steps"],
        rows,
    )


PAPERS = {
    "000": (one_dimension, "Nin, Herranz and Torra: one dimension microaggregation"),
    "001": (sugeno, "Projection by the Sugeno integral"),
    "003": (comparative_study, "Mateo-Sanz and Domingo-Ferrer: a comparative study"),
    "004": (genetic, "Martinez-Balleste and others: a genetic approach"),
}


def written(paper, data, quick) -> str:
    """Markdown of one paper."""
    experiment, title = PAPERS[paper]
    parts = [f"## {paper}: {title}\n", f"{notes.NOTES[paper]}\n"]
    for name, head, rows in experiment(data, quick):
        lines = [head, ["---"] * len(head), *rows]
        parts += [f"### {name}\n", "".join(f"| {' | '.join(line)} |\n" for line in lines)]
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--paper", choices=PAPERS, action="append")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true", help="write the page with the papers given")
    arguments = parser.parse_args()
    pages = []
    for paper in arguments.paper or PAPERS:
        start = time.process_time()
        pages.append(written(paper, arguments.data, arguments.quick))
        print(pages[-1], f"\n{paper}: {time.process_time() - start:.0f} CPU seconds\n", flush=True)
    if arguments.write or not (arguments.paper or arguments.quick):
        PAGE.write_text("\n".join([notes.HEAD, *pages]), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
