"""Compare releases of a table of categories: ours, Mondrian, full-domain and nearest neighbours.

    python benchmarks/kinds.py --data DIR                    # everything, some minutes
    python benchmarks/kinds.py --data DIR --only loss        # loss and time
    python benchmarks/kinds.py --data DIR --only classifier  # needs scikit-learn
    python benchmarks/kinds.py --only many                   # 40, 900 and 8,000 categories

DIR holds adult/, the 30,162 complete records of the census income file with the taxonomies of its
columns; without it the environment variable MICROAGG_DATA is looked at. One run, one BLAS thread,
CPU seconds.

The others are written plainly in generalisation.py. loss: 100
SSE/SST of the coordinates of all seven columns. kept: per cent of cells whose category is as it was.
discernibility: sum of the squares of class sizes, per record. average: size of classes over k.
certainty: normalised certainty penalty, mean over cells of the leaves under a class (the range of the
ages) over all, per cent. single: records whose masked record nobody shares; k: the smallest class.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import polars as pl
from generalisation import KEYS, TREES, Adult, full_domain, mondrian, nearest

import polars_microagg as mg

SECTIONS = ["loss", "classifier", "many"]
TARGET = "salary-class"


def line(*cells):
    print(" | ".join(str(cell) for cell in cells), flush=True)


def measured(adult, masked, k):
    """What a release loses and keeps."""
    trees = {name: adult.trees[name] for name in TREES}
    found = mg.assess(adult.table, masked, KEYS, metrics="loss", taxonomy=trees)
    kept = mg.assess(adult.table, masked, TREES, metrics="changed", taxonomy=trees)
    classes = (
        masked.with_columns(true=adult.age)
        .group_by(KEYS)
        .agg(pl.len().alias("size"), (pl.col("true").max() - pl.col("true").min()).alias("range"))
    )
    size = classes["size"].to_numpy()
    wide = classes["range"].to_numpy() / np.ptp(adult.age)
    for name in TREES:
        all_leaves = len(adult.names[name])
        under = np.array([adult.leaves[name].get(v, 1) for v in classes[name]])
        wide = wide + np.where(under > 1, under / all_leaves, 0.0)
    return {
        "loss": found.item(),
        "kept": 100 - kept.item(),
        "discernibility": float((size**2).sum() / size.sum()),
        "average": float(size.mean() / k),
        "certainty": float(100 * (wide * size).sum() / size.sum() / len(KEYS)),
        "single": int(size[size == 1].sum()),
        "k": int(size.min()),
    }


def ours(adult, k, method, center):
    return mg.mask(
        adult.table, KEYS, k, method=method, taxonomy=adult.trees, center=center, dtype="float"
    )


RELEASES = {
    "mdav": lambda a, k: ours(a, k, "mdav", "mean"),
    "mdav, median": lambda a, k: ours(a, k, "mdav", "median"),
    "lowloss": lambda a, k: ours(a, k, "lowloss", "mean"),
    "lowloss, median": lambda a, k: ours(a, k, "lowloss", "median"),
    "Mondrian": lambda a, k: a.released(mondrian(a, k, by_order=False)),
    "Mondrian, by order": lambda a, k: a.released(mondrian(a, k, by_order=True)),
    "full-domain": lambda a, k: a.released(full_domain(a, k)),
    "nearest neighbours": nearest,
}


def loss(adult, ks):
    line(
        "release",
        "k asked",
        "CPU s",
        "loss",
        "kept",
        "discernibility",
        "average",
        "certainty",
        "single",
        "k",
    )
    for k in ks:
        for name, release in RELEASES.items():
            start = time.process_time()
            masked = release(adult, k)
            spent = time.process_time() - start
            found = measured(adult, masked, k)
            shown = [f"{v:.2f}" if isinstance(v, float) else v for v in found.values()]
            line(name, k, f"{spent:.2f}", *shown)


def by_column(adult, k):
    masked = RELEASES["lowloss"](adult, k)
    print(
        mg.assess(
            adult.table,
            masked,
            KEYS,
            metrics=["loss", "changed"],
            taxonomy=adult.trees,
            by_column=True,
        )
    )


def encoded(adult, table):
    """The age, and one column for each node of the taxonomies: whether a value is under it."""
    columns = [table["age"].cast(pl.Float64).to_numpy()]
    for name in TREES:
        nodes = sorted(adult.leaves[name])
        place = {node: i for i, node in enumerate(nodes)}
        values = sorted(table[name].unique())
        under = np.zeros((len(values), len(nodes)))
        for i, value in enumerate(values):
            under[i, [place[node] for node in adult.trees[name].path(value) if node in place]] = 1.0
        columns.append(under[np.searchsorted(np.array(values), table[name].to_numpy())])
    return np.column_stack(columns)


def classifier(adult, ks):
    """Accuracy of a classifier trained on a release and tested on originals of other records."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    models = {
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        "boosted trees": lambda: HistGradientBoostingClassifier(random_state=0),
    }
    truth = (adult.table[TARGET] == adult.table[TARGET].unique().sort()[1]).to_numpy()
    plain = encoded(adult, adult.table)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(plain, truth))

    def accuracy(x, model):
        scores = [
            models[model]().fit(x[train], truth[train]).score(plain[test], truth[test])
            for train, test in folds
        ]
        return f"{100 * np.mean(scores):.2f}"

    most = max(truth.mean(), 1 - truth.mean())
    line("trained on", "k", *models)
    line("the commonest class", "", *[f"{100 * most:.2f}"] * len(models))
    line("original", "", *[accuracy(plain, model) for model in models])
    for k in ks:
        for name in ("mdav", "lowloss", "lowloss, median", "Mondrian", "Mondrian, by order"):
            x = encoded(adult, RELEASES[name](adult, k))
            line(name, k, *[accuracy(x, model) for model in models])


def many(rows):
    """Seconds and memory with many categories."""
    line("categories", "records", "masking, CPU s", "loss, CPU s", "loss", "GiB")
    rng = np.random.default_rng(0)
    for n in rows:
        zips = np.unique(rng.integers(0, 100_000, 8000))
        columns = {
            "40 countries": ([f"c{i}" for i in rng.zipf(1.3, n) % 40], {"nominal": ["x"]}),
            "900 diagnoses": ([f"d{i:03}" for i in rng.zipf(1.2, n) % 900], {"nominal": ["x"]}),
            "8000 zips": (
                [f"{zips[i]:05}" for i in rng.integers(0, len(zips), n)],
                {"taxonomy": {"x": mg.Taxonomy.prefix(5, [3, 2])}},
            ),
        }
        for name, (values, options) in columns.items():
            table = pl.DataFrame(
                {"age": rng.integers(18, 90, n), "sex": rng.choice(["f", "m"], n), "x": values}
            )
            start = time.process_time()
            masked = mg.mdav(table, ["age", "sex", "x"], 5, **options)
            middle = time.process_time()
            found = mg.assess(table, masked, ["age", "sex", "x"], metrics="loss", **options).item()
            end = time.process_time()
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            line(
                name,
                n,
                f"{middle - start:.2f}",
                f"{end - middle:.2f}",
                f"{found:.2f}",
                f"{memory:.2f}",
            )


def main():
    parser = argparse.ArgumentParser(description="Compare releases of a table of categories.")
    parser.add_argument("--data", default=os.environ.get("MICROAGG_DATA"), type=Path)
    parser.add_argument("--only", choices=SECTIONS, action="append")
    parser.add_argument("--ks", type=int, nargs="+")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    arguments = parser.parse_args()
    sections = arguments.only or SECTIONS
    if {"loss", "classifier"} & set(sections):
        if arguments.data is None:
            parser.error("--data names the folder that holds adult/")
        adult = Adult(arguments.data / "adult")
    if "loss" in sections:
        loss(adult, arguments.ks or [3, 5, 10])
        by_column(adult, 5)
    if "classifier" in sections:
        classifier(adult, arguments.ks or [5, 10, 50])
    if "many" in sections:
        many(arguments.rows)


if __name__ == "__main__":
    main()
