"""The census income file of adult/, and Mondrian written plainly, for `bench.py kinds`.

Mondrian: K. LeFevre, D. J. DeWitt and R. Ramakrishnan (2006), Mondrian multidimensional k-anonymity, ICDE;
the widest column is cut first, numbers at their median and categories by the children of their class, or
by the order of the leaves of the tree. A class of records gets the lowest common class of its categories and
the mean of its ages.
"""

import itertools

import numpy as np
import polars as pl

import polars_microagg as mg

TARGET = "salary-class"
KEYS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
TREES = [name for name in KEYS if name != "age"]


class Adult:
    """The table, the paths of its categories from the root down, and their codes."""

    def __init__(self, folder, rows):
        self.table = pl.read_csv(folder / "adult.csv", separator=";").head(rows)
        files = {name: folder / f"adult_hierarchy_{name}.csv" for name in TREES}
        self.trees = {name: mg.Taxonomy.read(path) for name, path in files.items()}
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

    def measured(self, masked, k):
        """What a release loses and keeps: loss (100 SSE/SST of the coordinates of all columns), cells of
        categories that are as they were in per cent, certainty penalty (mean over cells of the leaves
        under a class, or of the range of the ages, over all, in per cent), records that nobody shares,
        and the smallest class."""
        found = mg.assess(self.table, masked, KEYS, metrics="loss", taxonomy=self.trees)
        changed = mg.assess(self.table, masked, TREES, metrics="changed", taxonomy=self.trees)
        width = pl.col("true").max() - pl.col("true").min()
        classes = masked.with_columns(true=self.age).group_by(KEYS)
        classes = classes.agg(pl.len().alias("size"), width.alias("range"))
        size = classes["size"].to_numpy()
        wide = classes["range"].to_numpy() / np.ptp(self.age)
        for name in TREES:
            under = np.array([self.leaves[name].get(v, 1) for v in classes[name]])
            wide = wide + np.where(under > 1, under / len(self.names[name]), 0.0)
        certainty = 100 * (wide * size).sum() / size.sum() / len(KEYS)
        figures = (
            f"loss {found.item():.2f}, kept {100 - changed.item():.2f}, certainty {certainty:.2f}"
        )
        return f"{figures}, alone {size[size == 1].sum()}, smallest class {size.min()}, k={k}"

    def encoded(self, table):
        """The age, and one column for each node of the taxonomies: whether a value is under it."""
        columns = [table["age"].cast(pl.Float64).to_numpy()]
        for name in TREES:
            nodes = sorted(self.leaves[name])
            place = {node: i for i, node in enumerate(nodes)}
            values = sorted(table[name].unique())
            under = np.zeros((len(values), len(nodes)))
            for i, value in enumerate(values):
                path = self.trees[name].path(value)
                under[i, [place[node] for node in path if node in place]] = 1.0
            columns.append(under[np.searchsorted(np.array(values), table[name].to_numpy())])
        return np.column_stack(columns)

    def accuracy(self, masked):
        """Mean accuracy over five folds, by logistic regression and by boosted trees."""
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedKFold
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        truth = (self.table[TARGET] == self.table[TARGET].unique().sort()[1]).to_numpy()
        x, plain = self.encoded(masked), self.encoded(self.table)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        scores = []
        for train, test in folds.split(plain, truth):
            logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
            boosted = HistGradientBoostingClassifier(random_state=0)
            fitted = [model.fit(x[train], truth[train]) for model in (logistic, boosted)]
            scores.append([model.score(plain[test], truth[test]) for model in fitted])
        return "logistic {:.2f}, boosted trees {:.2f}".format(*100 * np.mean(scores, axis=0))


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
