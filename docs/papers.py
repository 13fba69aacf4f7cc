"""Write the page of the papers' tables from the cells in tests/papers.csv."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

CELLS = Path(__file__).resolve().parents[1] / "tests" / "papers.csv"

Cell = dict[str, str]

HEAD = """# The papers' tables again

<!-- Written by docs/generate.py from tests/papers.csv; do not edit. -->

Every system that the five papers compare: what they print, what this package gives on the same
file, and whether that is the same. `tests/test_papers.py` computes the cells again where the
reference files are at hand; `python benchmarks/papers.py --data DIR` prints them beside the printed
ones, and with `--write` writes this page anew.

| in a cell | meaning |
| --- | --- |
| 15.60 ✓ | what is printed comes out, to half a unit of its last digit |
| 23.87 ✗ 23.89 | printed, and what comes out instead; a sentence below the table says why |
| 16.01 - 16.75 ∋ 16.08 | the range that is printed holds what comes out |
| 28.18 ∅ | printed, and cannot be tried here; a sentence says why |
| (17.14) | not printed: computed here for comparison |

Losses are 100 SSE / SST of standardised columns unless said otherwise. Percentages that the papers
compute from their own cells, as the improvement in paper 004, are left out.

MDAV and MDAV-1 differ only where records are left over. With n divisible by k they make the same
groups: of census, n = 1,080, at k = 3, 4, 5 and 10. The rows of MDAV-1 are then those of `mdav`. None
of the five papers prints a loss of V-MDAV, so there is no row to compare `vmdav` with.
"""

TITLES = {
    "000": "J. Nin, One dimension microaggregation",
    "001": "J. Nin and V. Torra (2008), Modeling projections in microaggregation",
    "002": "A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), New multi-dimensional sorting based "
    "k-anonymity microaggregation",
    "003": "J. M. Mateo-Sanz and J. Domingo-Ferrer (1998), A comparative study of microaggregation "
    "methods",
    "004": "A. Martinez-Balleste, A. Solanas, J. Domingo-Ferrer and J. M. Mateo-Sanz (2007), A genetic "
    "approach to multivariate microaggregation",
}

MEASURES = {
    "sse": "SSE",
    "raw loss": "loss",
    "lower_bound": "loss",
    "k_prime 1G": "k' 1G",
    "k_prime 2G": "k' 2G",
    "k_prime 3G": "k' 3G",
    "il": "IL",
    "dld": "DLD",
    "pld": "PLD",
    "interval_disclosure": "ID",
    "score000": "score",
    "score001": "score",
    "mean_sd": "mean sd",
    "delta_r": "ΔR",
    "delta_w": "ΔW",
    "fpc_share": "% FPC",
    "delta_corr": "Δr",
    "delta_corr_sd": "sd of Δr",
}

DSORT = """### What was found about Multi-DSort

The printed losses of Multi-DSort come from data that are **not standardised**, while those of all
systems beside it, in the same tables, come from standardised data. With the records sorted once, not
again after every two groups as the text says, the method gives {same} of the {all} printed cells to
the last digit on the raw files; of EIA with year and month as further columns. Five of the other six
come out only with a last group of **fewer than k** records, or with the records that are **left over
left out** of the sum, as the sentences above say for each; groups of k or more lose a little more. The
last one, of EIA at k = 4, does not come out.

On the standardised files the printed losses are impossible in {below} cells: they lie **below the floor**
under which no grouping at all can go, which `lower_bound` proves in seconds. There the method loses more
than MDAV. So the ranking of the paper does not hold.

"""


CORRELATED = """### What was found about the file of paper 000

The paper says that its attributes a1, a2 and a3 of Census are highly correlated, as are a4, a5 and a6,
and that those of different blocks are not. On this file the correlation of AGI and INTVAL (a1, a3) is
0.20, while that of AGI and TAXINC (a1, a5) is 0.98 and that of FICA and WSALVAL (a2, a6) 0.91. So the
names, the blocks or the file must have been others, and few cells can be reproduced.
"""


def shown(cell: Cell) -> str:
    """Write what is printed, and what comes out."""
    printed, here = cell["published"], cell["computed"]
    return {
        "reproduced": f"{printed} ✓",
        "differs": f"{printed} ✗ {here}",
        "within": f"{printed} ∋ {here}",
        "absent": f"{printed} ∅",
        "here": f"({here})",
    }[cell["verdict"]]


def lines(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table."""
    head = tuple(head)
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *rows])


def grouped(cells: Iterable[Cell], key: Callable[[Cell], str]) -> dict[str, list[Cell]]:
    """Collect cells by a key, in the order of the table."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(key(cell), []).append(cell)
    return found


def verdict(cells: Iterable[Cell]) -> str:
    """Count what is printed by what became of it."""
    count = Counter(cell["verdict"] for cell in cells if cell["published"])
    words = {"reproduced": "the same", "within": "in the range", "differs": "differ"}
    words["absent"] = "not tried"
    return ", ".join(f"{count[v]} {word}" for v, word in words.items() if count[v])


def part(cells: list[Cell]) -> str:
    """Write one table: a column for each k, or if there are several measures for each of these."""
    names = [MEASURES.get(c["measure"], c["measure"]) for c in cells]
    by_k = len(set(names)) == 1
    heads = [f"k = {c['k']}" for c in cells] if by_k else names
    columns = list(dict.fromkeys(heads))
    if by_k:
        columns.sort(key=lambda head: int(head[4:]))
    rows: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell, head in zip(cells, heads, strict=True):
        rows.setdefault((cell["row"], "" if by_k else cell["k"]), {})[head] = cell
    body = []
    for (row, k), found in rows.items():
        texts = [shown(found[head]) if head in found else "" for head in columns]
        body.append([row, *([] if by_k else [k]), *texts, verdict(found.values())])
    return lines(["system", *([] if by_k else ["k"]), *columns, "verdict"], body)


def sentences(cells: list[Cell]) -> str:
    """List the notes, each with the cells it is about."""
    notes = grouped((cell for cell in cells if cell["note"]), lambda cell: cell["note"])
    text = []
    for note, about in notes.items():
        rows = grouped(about, lambda cell: cell["row"])
        words = []
        for row, some in rows.items():
            ks = ", ".join(dict.fromkeys(c["k"] for c in some))
            words.append(f"{row} (k = {ks})" if len(rows) <= 3 else row)
        names = dict.fromkeys(MEASURES.get(c["measure"], c["measure"]) for c in about)
        text.append(f"- {', '.join(names)} of {', '.join(words)}: {note}\n")
    return "".join(text)


def titled(data: str) -> str:
    """Name a file, its columns and its blocks."""
    name, *kind = data.split(" ")
    words = {"correlated": "correlated blocks", "non-correlated": "non-correlated blocks"}
    words |= {f"{width}s": f"blocks of {width}" for width in "234"}
    words |= {"in": "", "sales": "without utilityid"}
    return ", ".join([name, *(word for part in kind if (word := words[part]))])


def dsort(cells: list[Cell]) -> str:
    """Return what was found about Multi-DSort, with the cells that show it."""
    own = [cell for cell in cells if cell["row"] == "Multi-DSort"]
    given = {(c["row"], c["table"], c["k"]): c["computed"] for c in cells}
    rows, below = [], 0
    for cell in own:
        at = cell["table"], cell["k"]
        floor = given["floor of any grouping", *at]
        if under := float(cell["published"]) < float(floor):
            below += 1
        name = cell["data"].split(" ")[0]
        others = ("Multi-DSort, standardised", "MDAV-1", "floor of any grouping")
        texts = [f"{float(given[other, *at]):.4f}" for other in others]
        texts = [name, cell["k"], cell["published"], cell["computed"], *texts]
        rows.append([*texts, "below it" if under else ""])
    same = sum(cell["verdict"] == "reproduced" for cell in own)
    head = ("file", "k", "printed", "raw data", "standardised", "MDAV-1", "floor", "the printed is")
    return DSORT.format(same=same, all=len(own), below=below) + lines(head, rows)


def papers_page() -> str:
    """Write the page."""
    with CELLS.open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    papers = grouped(cells, lambda cell: cell["paper"])
    tables = grouped(cells, lambda cell: f"{cell['paper']}, table {cell['table']}")
    parts = [HEAD, lines(("paper", "verdict"), ((n, verdict(c)) for n, c in tables.items()))]
    for paper, all_of_it in papers.items():
        parts.append(f"## {paper}: {TITLES[paper]}\n")
        for table, some in grouped(all_of_it, lambda cell: cell["table"]).items():
            for data, here in grouped(some, lambda cell: cell["data"].split(" 13")[0]).items():
                parts += [f"### Table {table}: {titled(data)}\n", part(here), sentences(here)]
        if paper == "000":
            parts.append(CORRELATED)
        if paper == "002":
            parts.append(dsort(all_of_it))
    return "\n".join(text for text in parts if text)
