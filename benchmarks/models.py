"""Print what the privacy models cost in loss and in time, beside published algorithms written plainly.

    python benchmarks/models.py --data DIR                  # everything, some minutes
    python benchmarks/models.py --only visits               # persons with several rows
    python benchmarks/models.py --data DIR --only census    # t-closeness
    python benchmarks/models.py --data DIR --only secrets   # l-diversity and the largest share
    python benchmarks/models.py --only cost --rows 1000000  # time beside k in rows

Loss is 100 SSE / SST on standardised columns; CPU seconds of the process stand in brackets. One run,
one seed, one BLAS thread. Every grouping is checked as it is made. A1, A2 and A3 are the algorithms of
J. Soria-Comas, J. Domingo-Ferrer, D. Sanchez and S. Martinez (2015), t-closeness through
microaggregation: strict privacy with enhanced utility preservation, IEEE TKDE 27(11), 3098-3110.
DIR holds census.csv; without it the environment variable MICROAGG_DATA is looked at.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import math
import resource
import time
from pathlib import Path

import numpy as np
import polars as pl

import polars_microagg as mg

SECTIONS = ["visits", "census", "secrets", "cost"]
KEYS = ["taxinc", "pothval"]
LINES = [
    *[("fedtax", k, t) for k, t in ((5, 0.25), (10, 0.25), (5, 0.13), (10, 0.13), (5, 0.05))],
    *[("fica", k, t) for k, t in ((5, 0.25), (10, 0.25), (5, 0.13), (10, 0.13), (5, 0.05))],
]
OURS = [("mdav", {}), ("mdav", {"refine": True}), ("lowloss", {})]


def standardised(table, columns):
    x = table.select(columns).to_numpy().astype(float)
    return (x - x.mean(axis=0)) / x.std(axis=0)


def loss(x, labels):
    within = 0.0
    for column in x.T:
        means = np.bincount(labels, column) / np.maximum(np.bincount(labels), 1)
        within += np.square(column - means[labels]).sum()
    return 100 * within / np.square(x).sum()


def timed(function, *args, **options):
    start = time.process_time()
    result = function(*args, **options)
    return result, time.process_time() - start


def groups(table, columns, k, **options):
    return mg.groups(table, columns, k, **options)["microagg_group"].to_numpy().astype(np.intp)


def line(*cells):
    print(" | ".join(str(cell) for cell in cells), flush=True)


def shown(value, seconds):
    return f"{value:.2f} ({seconds:.2f})"


# Persons with several rows.


def visits():
    rng = np.random.default_rng(3)
    persons = 1500
    profile = rng.normal(size=(persons, 3))
    person = np.repeat(np.arange(persons), 1 + rng.poisson(2, persons))
    values = profile[person] + 0.1 * rng.normal(size=(len(person), 3))
    table = pl.DataFrame(values, schema=["a", "b", "c"]).with_columns(person=pl.Series(person))
    columns, k = ["a", "b", "c"], 5
    x = standardised(table, columns)
    print(f"visits: {len(table)} rows of {persons} persons, k={k}")
    line("entity_mode", "method", "loss", "classes of < k persons %", "persons unlike others %")
    for mode in (None, "rows", "mean", "alike"):
        for method, own in OURS:
            options = {"method": method, **own}
            if mode:
                options |= {"entity": "person", "entity_mode": mode}
            if mode == "alike":
                options["small_strata"] = "drop"
            numbered = table.with_row_index("row")
            masked, seconds = timed(mg.mask, numbered, columns, k, **options)
            kept = masked["row"].to_numpy()
            z = (masked.select(columns).to_numpy() - values.mean(axis=0)) / values.std(axis=0)
            lost = 100 * np.square(z - x[kept]).sum() / np.square(x[kept]).sum()
            few = masked.group_by(columns).agg(pl.col("person").n_unique())["person"] < k
            sets = masked.group_by("person").agg(
                pl.struct(columns).hash().sort().cast(pl.String).str.join(" ").alias("rows")
            )
            alone = sets.select(pl.len().over("rows") == 1).to_series().mean()
            name = method + (" refine" if own else "")
            figures = f"{100 * few.mean():.1f}", f"{100 * alone:.1f}"
            line(mode or "none: k in rows", name, shown(lost, seconds), *figures)


# t-closeness, with distances along ranks of the records.


def ranks(values):
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def distance(members, n):
    """The earth mover's distance of some ranks from all of 0 to n - 1."""
    share = np.zeros(n)
    share[members] = 1 / len(members)
    return np.abs(np.cumsum(share) - np.arange(1, n + 1) / n)[:-1].sum() / (n - 1)


def merge(x, labels, rank, t):
    """A1: join the cluster with the greatest distance to the one with the nearest centroid."""
    labels, n = labels.copy(), len(x)
    far = {g: distance(rank[labels == g], n) for g in np.unique(labels)}
    centre = {g: x[labels == g].mean(axis=0) for g in far}
    while max(far.values()) > t:
        worst = max(far, key=far.get)
        rest = [g for g in far if g != worst]
        near = rest[np.square([centre[g] - centre[worst] for g in rest]).sum(axis=1).argmin()]
        labels[labels == worst] = near
        del far[worst], centre[worst]
        far[near] = distance(rank[labels == near], n)
        centre[near] = x[labels == near].mean(axis=0)
    return labels


def around(x, k, take):
    """The loop of MDAV: clusters round the farthest record and the one farthest from it."""
    labels, number = np.full(len(x), -1), 0
    while len(left := np.flatnonzero(labels < 0)) >= 2 * k:
        first = left[np.square(x[left] - x[left].mean(axis=0)).sum(axis=1).argmax()]
        second = left[np.square(x[left] - x[first]).sum(axis=1).argmax()]
        for seed in (first, second):
            left = np.flatnonzero(labels < 0)
            if len(left) >= 2 * k and labels[seed] < 0:
                labels[take(seed, left)] = number
                number += 1
    labels[labels < 0] = number
    return labels


def k_first(x, rank, k, t):
    """A2: a cluster exchanges its records for the next nearest ones until it is close enough."""
    n = len(x)

    def take(seed, left):
        near = left[np.square(x[left] - x[seed]).sum(axis=1).argsort(kind="stable")]
        members, rest = list(near[:k]), list(near[k:])
        now = distance(rank[members], n)
        while now > t and rest:
            other = rest.pop(0)
            tried = [[*members[:i], *members[i + 1 :], other] for i in range(1, k)]
            distances = [distance(rank[m], n) for m in tried]
            best = int(np.argmin(distances))
            if distances[best] < now:
                members, now = tried[best], distances[best]
        return members

    return merge(x, around(x, k, take), rank, t)


def t_first(x, rank, k, t):
    """A3: each cluster takes the nearest record of each of k' subsets of equal ranks."""
    n = len(x)
    size = max(k, math.ceil(n / (2 * (n - 1) * t + 1)))
    if n % size >= n // size:
        size += (n % size) // (n // size)
    each, rest = divmod(n, size)
    counts = np.full(size, each)
    counts[(size - 1) // 2] += rest
    subset = np.repeat(np.arange(size), counts)[rank]

    def take(seed, left):
        members = []
        room = len(left) // size
        for number in range(size):
            there = left[subset[left] == number]
            near = there[np.square(x[there] - x[seed]).sum(axis=1).argsort(kind="stable")]
            members += list(near[: 2 if len(there) > room else 1])
        return members

    return merge(x, around(x, size, take), rank, t)


def census(folder):
    table = pl.read_csv(folder / "census.csv")
    table = table.rename({name: name.lower() for name in table.columns})
    x, n = standardised(table, KEYS), len(table)
    print(f"census: keys {KEYS}, {n} records, t along ranks")
    line("confidential", "k", "t", "A1 merge", "A2 k first", "A3 t first", *map(named, OURS), "t")
    for name, k, t in LINES:
        rank = ranks(table[name].to_numpy())
        plain = groups(table, KEYS, k)
        made = [timed(merge, x, plain, rank, t), timed(k_first, x, rank, k, t)]
        made.append(timed(t_first, x, rank, k, t))
        options = {"confidential": name, "t": t, "t_scale": "ranks"}
        ours = [
            timed(groups, table, KEYS, k, method=method, **own, **options) for method, own in OURS
        ]
        # Equal values have equal places here, and one after the other in the plain algorithms.
        reached = max(distance(rank[ours[0][0] == g], n) for g in np.unique(ours[0][0]))
        cells = [shown(loss(x, labels), seconds) for labels, seconds in (*made, *ours)]
        line(name, k, t, *cells, f"{reached:.4f}")


def named(entry):
    method, own = entry
    return method + (" refine" if own else "")


def secrets(folder):
    table = pl.read_csv(folder / "census.csv")
    table = table.rename({name: name.lower() for name in table.columns})
    x, n = standardised(table, KEYS), len(table)
    print(f"census: keys {KEYS}, six classes of a confidential column, k=5")
    line("confidential", "bound", "groups that break it %", "merge", *map(named, OURS))
    bounds = [("l", 2), ("l", 3), ("l", 4), ("max_share", 0.6), ("max_share", 0.4)]
    bounds.append(("max_share", 0.25))
    for name in ("fedtax", "fica"):
        six = table.with_columns(six=(pl.Series(ranks(table[name].to_numpy())) * 6 // n))
        six = six.with_columns(pl.col("six").cast(pl.String))
        plain = groups(table, KEYS, 5)
        for bound, limit in bounds:
            broken = breaks(six["six"], plain, bound, limit)
            joined = merge_until(x, plain, lambda m: breaks(six["six"][m], None, bound, limit))  # noqa: B023
            options = {"confidential": "six", bound: limit}
            ours = [
                timed(groups, six, KEYS, 5, method=method, **own, **options) for method, own in OURS
            ]
            assert not any(breaks(six["six"], labels, bound, limit).any() for labels, _ in ours)
            cells = [shown(loss(x, labels), seconds) for labels, seconds in ours]
            figures = f"{100 * broken.mean():.0f}", f"{loss(x, joined):.2f}"
            line(name, f"{bound}={limit}", *figures, *cells)


def breaks(values, labels, bound, limit):
    """Whether groups of values break a bound; one group without labels."""
    frame = pl.DataFrame(
        {"g": labels if labels is not None else np.zeros(len(values)), "v": values}
    )
    counts = frame.group_by("g", "v").len().group_by("g", maintain_order=True)
    if bound == "l":
        found = counts.agg(pl.len())["len"] < limit
    else:
        found = counts.agg(pl.col("len").max() / pl.col("len").sum())["len"] > limit
    return found if labels is not None else bool(found[0])


def merge_until(x, labels, broken):
    """Join each group that breaks a bound with the one it costs least, one after the other."""
    members = {g: list(np.flatnonzero(labels == g)) for g in np.unique(labels)}
    wrong = [g for g in members if broken(members[g])]
    while wrong:
        one = wrong.pop()
        if one not in members or not broken(members[one]):
            continue
        rest = [g for g in members if g != one]
        sizes = np.array([len(members[g]) for g in rest])
        centres = np.array([x[members[g]].mean(axis=0) for g in rest])
        cost = np.square(centres - x[members[one]].mean(axis=0)).sum(axis=1)
        cost *= sizes * len(members[one]) / (sizes + len(members[one]))
        other = rest[int(cost.argmin())]
        members[other] += members.pop(one)
        if broken(members[other]):
            wrong.append(other)
    labels = labels.copy()
    for g, rows in members.items():
        labels[rows] = g
    return labels


def cost(rows):
    rng = np.random.default_rng(0)
    columns = list("abcde")
    person = rng.integers(0, rows // 3, rows)
    values = rng.normal(size=(rows // 3, 5))[person] + 0.3 * rng.normal(size=(rows, 5))
    table = pl.DataFrame(values, schema=columns).with_columns(
        person=pl.Series(person),
        wage=pl.Series((values[:, 0] + rng.normal(size=rows)).round(1)),
        sick=pl.Series(rng.choice(8, rows, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])),
    )
    asked = {
        "k in rows": {},
        "entity": {"entity": "person"},
        "t=0.2": {"confidential": "wage", "t": 0.2},
        "l=3": {"confidential": "sick", "l": 3},
        "max_share=0.4": {"confidential": "sick", "max_share": 0.4},
    }
    x = standardised(table, columns)
    print(f"cost: {rows} rows x 5, mdav, k=5")
    line("asked", "loss (CPU s)", "times k in rows", "process GiB")
    first = None
    for name, options in asked.items():
        labels, seconds = timed(groups, table, columns, 5, **options)
        first = first or seconds
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        line(name, shown(loss(x, labels), seconds), f"{seconds / first:.2f}", f"{peak:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default=os.environ.get("MICROAGG_DATA"))
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--rows", type=int, default=100_000)
    arguments = parser.parse_args()
    if "visits" in arguments.only:
        visits()
    for name, section in (("census", census), ("secrets", secrets)):
        if name not in arguments.only:
            continue
        if arguments.data is None:
            print(f"{name}: skipped, as no folder of data is given")
        else:
            section(Path(arguments.data))
    if "cost" in arguments.only:
        cost(arguments.rows)


if __name__ == "__main__":
    main()
