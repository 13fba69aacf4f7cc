"""Tables of columns of every kind, drawn at random, and what leaves must do with them."""

import numpy as np
import polars as pl

import polars_microagg as mg
from polars_microagg.core.kind import kind_of

__all__ = ["PREFIXES", "drawn", "emitted_rarely", "table"]

PREFIXES = mg.Taxonomy.prefix(4, [2, 1])
LEVELS = ["none", "school", "college", "degree", "doctorate"]
NAMES = ["sex", "job", "kind", "level", "rich", "code", "day", "zip", "hour", "income", "age"]


def table(rng, n):
    """Records of every type of category, some rare, with ties and numbers beside them."""

    def some(values):
        shares = rng.dirichlet(np.full(len(values), 0.4))
        return rng.choice(np.array(values), n, p=shares)

    jobs = [f"job {i}" for i in range(int(rng.integers(2, 30)))]
    zips = [f"{v:04d}" for v in rng.choice(9999, int(rng.integers(2, 60)), replace=False)]
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "sex": some(["f", "m"]),
            "job": pl.Series(some(jobs)),
            "kind": pl.Series(some(jobs)).cast(pl.Categorical),
            "level": pl.Series(some(LEVELS), dtype=pl.Enum(LEVELS)),
            "rich": some([True, False]),
            "code": pl.Series(some([1, 20, 3, 400]), dtype=pl.Int16),
            "day": pl.Series(some(range(40)), dtype=pl.Int32).cast(pl.Date),
            "zip": some(zips),
            "hour": pl.Series(rng.integers(0, 86400, n) * 10**9).cast(pl.Time),
            "income": rng.lognormal(9, 1.2, n),
            "age": pl.Series(rng.integers(18, 95, n), dtype=pl.Int16),
            "who": rng.integers(0, max(3, n // 3), n),
        }
    )


def drawn(rng):
    """Columns of a call, and its options: kinds that types do not tell, weights, methods."""
    columns = rng.permutation(NAMES)[: rng.integers(1, 6)].tolist()
    options = {}
    if rng.random() < 0.6:
        options["nominal"] = ["code", "day"][: rng.integers(1, 3)]
        options["ordinal"] = ["job", "rich"][: rng.integers(1, 3)]
    else:
        options["ordinal"] = ["code", "day", "sex"][: rng.integers(1, 4)]
        options["nominal"] = ["level"]
    options["taxonomy"] = {"zip": PREFIXES}
    if rng.random() < 0.5:
        options["circular"] = "hour"
    options = {
        name: {c: v for c, v in value.items() if c in columns}
        if isinstance(value, dict)
        else [c for c in ([value] if isinstance(value, str) else value) if c in columns]
        for name, value in options.items()
    }
    options = {name: value for name, value in options.items() if value}
    if rng.random() < 0.4:
        options["column_weights"] = {columns[0]: float(rng.uniform(0.2, 5))}
    options["scale"] = ["zscore", "minmax", "robust", "none"][rng.integers(4)]
    options["center"] = ["mean", "median"][rng.integers(2)]
    options["method"] = ["mdav", "mdav", "vmdav", "md"][rng.integers(4)]
    if rng.random() < 0.3:
        options |= {"entity": "who", "entity_mode": "rows"}
    return columns, options


def emitted_rarely(before, after, columns, k, options):
    """Columns with a category that is emitted, and true of fewer than k records or entities."""
    asked = {name: options.get(name, {}) for name in ("nominal", "ordinal", "taxonomy", "circular")}
    found = []
    for name in columns:
        if kind_of(before.schema[name], name, asked).numeric:
            continue
        values = before.select(pl.col(name).cast(pl.String), who=options.get("entity", "id"))
        for category in after[name].drop_nulls().unique().cast(pl.String).to_list():
            under = pl.col(name) == category
            if name in asked["taxonomy"]:
                under = pl.col(name).str.starts_with(category.rstrip("*"))
            if values.filter(under)["who"].n_unique() < k:
                found.append(name)
    return found
