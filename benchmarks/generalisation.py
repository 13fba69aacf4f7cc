"""Other algorithms for tables of categories, written plainly: Mondrian, full-domain, nearest neighbours.

Used by kinds.py. Mondrian: K. LeFevre, D. J. DeWitt and R. Ramakrishnan (2006), Mondrian multidimensional
k-anonymity, ICDE; the widest column is cut first, numbers at their median and categories by the children
of their class, or by the order of the leaves of the tree. Full-domain: every column is widened to one level
of its taxonomy; of all combinations that are k-anonymous that of the lowest loss. Nearest neighbours:
each record gets the mean of the numbers and the commonest categories of its own k nearest records by Gower's
distance, as `microaggrGower` of the R package sdcMicro does; that is no grouping.

A class of records gets the lowest common class of its categories and the mean of its ages.
"""

import itertools

import numpy as np
import polars as pl

import polars_microagg as mg

KEYS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
TREES = [name for name in KEYS if name != "age"]


class Adult:
    """The table, the paths of its categories from the root down, and their codes."""

    def __init__(self, folder):
        self.table = pl.read_csv(folder / "adult.csv", separator=";")
        self.files = {name: folder / f"adult_hierarchy_{name}.csv" for name in KEYS}
        self.trees = {name: mg.Taxonomy.read(self.files[name]) for name in TREES}
        self.codes, self.names, self.paths = {}, {}, {}
        for name in TREES:
            self.names[name] = sorted(self.table[name].unique())
            number = {value: i for i, value in enumerate(self.names[name])}
            self.codes[name] = np.array([number[value] for value in self.table[name]])
            self.paths[name] = [self.trees[name].path(v)[::-1] for v in self.names[name]]
        self.age = self.table["age"].to_numpy()
        self.leaves = {
            name: {
                node: sum(node in path for path in self.paths[name])
                for path in self.paths[name]
                for node in path
            }
            for name in TREES
        }

    def common(self, name, codes):
        """The lowest class above these codes."""
        paths = [self.paths[name][code] for code in np.unique(codes)]
        shared = itertools.takewhile(lambda nodes: len(set(nodes)) == 1, zip(*paths, strict=False))
        return list(shared)[-1][0]

    def released(self, classes):
        """The release of a partition: lowest common classes and mean ages."""
        columns = {name: np.empty(self.table.height, dtype=object) for name in TREES}
        age = np.empty(self.table.height)
        for rows in classes:
            age[rows] = self.age[rows].mean()
            for name in TREES:
                columns[name][rows] = self.common(name, self.codes[name][rows])
        masked = {name: columns[name].tolist() for name in TREES}
        return self.table.with_columns(
            **{name: pl.Series(name, masked[name], dtype=pl.String) for name in TREES}, age=age
        )


def mondrian(adult, k, *, by_order):
    """Rows of the parts that cannot be cut any further."""
    rank = {}
    for name in TREES:
        order = sorted(range(len(adult.names[name])), key=lambda i, n=name: adult.paths[n][i])
        rank[name] = np.argsort(order)[adult.codes[name]]
    done, todo = [], [np.arange(adult.table.height)]
    while todo:
        rows = todo.pop()
        widths = {"age": np.ptp(adult.age[rows]) / np.ptp(adult.age)}
        for name in TREES:
            present = len(np.unique(adult.codes[name][rows]))
            widths[name] = (present - 1) / max(1, len(adult.names[name]) - 1)
        for name in sorted(widths, key=widths.__getitem__, reverse=True):
            if widths[name] == 0:
                continue
            if name == "age" or by_order:
                values = (adult.age if name == "age" else rank[name])[rows]
                middle = np.median(values)
                left = values <= middle if (values > middle).any() else values < middle
                parts = [rows[left], rows[~left]]
            else:
                node = adult.common(name, adult.codes[name][rows])
                child = [
                    path[path.index(node) + 1] if node in path[:-1] else ""
                    for path in adult.paths[name]
                ]
                below = np.array(child)[adult.codes[name][rows]]
                parts = [rows[below == c] for c in np.unique(below)]
            if len(parts) > 1 and min(map(len, parts)) >= k:
                todo += parts
                break
        else:
            done.append(rows)
    return done


def full_domain(adult, k):
    """Rows of the classes of the best combination of levels."""
    levels = {}
    for name in TREES:
        depth = max(map(len, adult.paths[name]))
        levels[name] = []
        for height in range(depth):
            node = [p[: max(1, len(p) - height)][-1] for p in adult.paths[name]]
            levels[name].append(np.unique(node, return_inverse=True)[1][adult.codes[name]])
    rows = [row.split(";") for row in adult.files["age"].read_text().split("\n") if row]
    path = {int(row[0]): row for row in rows}
    levels["age"] = [
        np.unique([path[a][height] for a in adult.age], return_inverse=True)[1]
        for height in range(len(rows[0]))
    ]
    trees = {name: adult.trees[name] for name in TREES}
    best = (np.inf, None)
    # The loss of a column depends on its own level, but for the mean ages of classes, so that the
    # combinations are tried from the least sum of them.
    alone = {}
    for name, columns in levels.items():
        for height, column in enumerate(columns):
            classes = [np.flatnonzero(column == c) for c in np.unique(column)]
            masked = adult.released(classes)
            alone[name, height] = mg.assess(
                adult.table,
                masked,
                [name],
                metrics="loss",
                taxonomy={name: trees[name]} if name in trees else None,
            ).item()
    choices = itertools.product(*[range(len(levels[name])) for name in KEYS])
    for heights in sorted(
        choices, key=lambda h: sum(alone[n, i] for n, i in zip(KEYS, h, strict=True))
    ):
        total = sum(alone[n, i] for n, i in zip(KEYS, heights, strict=True))
        if total >= best[0]:
            break
        code = np.zeros(adult.table.height, dtype=np.int64)
        for name, height in zip(KEYS, heights, strict=True):
            column = levels[name][height]
            code = code * (column.max() + 1) + column
        _, number, counts = np.unique(code, return_inverse=True, return_counts=True)
        if counts.min() >= k:
            best = (total, number)
    order = np.argsort(best[1], kind="stable")
    return np.split(order, np.cumsum(np.bincount(best[1]))[:-1])


def nearest(adult, k):
    """A release in which each record stands for its own k nearest ones."""
    n = adult.table.height
    codes = np.column_stack([adult.codes[name] for name in TREES]).astype(np.int16)
    age = (adult.age / np.ptp(adult.age)).astype(np.float32)
    distinct, of = np.unique(np.column_stack([codes, adult.age]), axis=0, return_inverse=True)
    of = of.reshape(-1)
    first = np.unique(of, return_index=True)[1]
    new = {name: np.empty(len(distinct), dtype=np.int64) for name in TREES}
    new_age = np.empty(len(distinct))
    for i, row in enumerate(first):
        distance = np.abs(age - age[row])
        for j in range(len(TREES)):
            distance += codes[:, j] != codes[row, j]
        near = np.argpartition(distance, k - 1)[:k]
        new_age[i] = adult.age[near].mean()
        for name in TREES:
            counts = np.bincount(adult.codes[name][near])
            new[name][i] = counts.argmax()
    columns = {n_: [adult.names[n_][c] for c in new[n_][of]] for n_ in TREES}
    assert n == len(of)
    return adult.table.with_columns(**{n_: pl.Series(columns[n_]) for n_ in TREES}, age=new_age[of])
