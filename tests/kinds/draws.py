"""Random mixtures of kinds of columns, and calls on them."""

import datetime
from dataclasses import dataclass, field

import numpy as np
import polars as pl

import polars_microagg as mg
from tests.models.hostile import CHEAP, METHODS, Call, holed, secret

__all__ = ["NUMBERS", "Mixture", "draw", "draw_call", "tree", "upwards"]

WORDS = ("", "a", "A", "null", "é", "a b", "'", "zz")

DRAWN = (
    *("text", "category", "enum", "truth", "code", "day", "ordinal", "letters", "clock"),
    *("tree", "prefix", "interval", "number", "real", "date", "moment", "tree", "text", "real"),
)
"""Columns that are drawn, some of them more often."""

NUMBERS = ("number", "real", "date", "moment")


@dataclass
class Mixture(Call):
    """A table with categories and a call on it.

    `kind` says of each masked column what it was drawn as, `paths` of those with a tree the names
    above each value, itself and the root among them.
    """

    kind: dict = field(default_factory=dict)
    paths: dict = field(default_factory=dict)

    @property
    def names(self):
        return [name for block in self.blocks for name in block]


def tree(rng):
    """A random tree as a dictionary of parents, and lengths of some of its edges."""
    names = [f"n{i}" for i in range(int(rng.integers(2, 12)))]
    if rng.random() < 0.3:
        # A chain.
        parents = {names[i]: names[i - 1] for i in range(1, len(names))}
    else:
        parents = {names[i]: names[int(rng.integers(0, i))] for i in range(1, len(names))}
    lengths = {}
    if rng.random() < 0.5:
        lengths = {name: float(rng.choice([0.01, 0.5, 2.0, 1000.0])) for name in parents}
    return parents, lengths


def upwards(parents, name):
    """The names from one up to the root."""
    path = [name]
    while path[-1] in parents:
        path.append(parents[path[-1]])
    return path


def values(rng, n, kind):
    """A column of n values, the options that it needs, and the paths of its values."""
    many = int(rng.integers(1, 9))
    share = rng.dirichlet(np.full(many, rng.choice([0.3, 1.0, 5.0])))
    codes = rng.choice(many, n, p=share)
    words = list(WORDS[:many])
    if kind in ("text", "letters", "category"):
        column = pl.Series([words[code] for code in codes], dtype=pl.String)
        if kind == "category":
            column = column.cast(pl.Categorical)
        return column, ("ordinal" if kind == "letters" else None), None
    if kind == "enum":
        dtype = pl.Enum([*words[::-1], "never"])
        return pl.Series([words[code] for code in codes], dtype=dtype), None, None
    if kind == "truth":
        return pl.Series(codes % 2 == 0), None, None
    if kind == "code":
        return pl.Series(codes * 7 - 3, dtype=pl.Int16), "nominal", None
    if kind == "ordinal":
        return pl.Series(codes * 5 + 2**60), "ordinal", None
    if kind == "day":
        days = [datetime.date(2024, 2, 27 + int(code) % 3) for code in codes]
        return pl.Series(days), str(rng.choice(["nominal", "ordinal"])), None
    if kind == "clock":
        near = rng.choice([0, 12 * 3600, 23 * 3600], n) + rng.integers(0, 3600, n)
        column = pl.Series((near * 10**9 + rng.integers(0, 3, n)).astype(np.int64)).cast(pl.Time)
        return column, "circular", None
    if kind == "tree":
        parents, lengths = tree(rng)
        # Any name is a value: those of classes, and that of the root.
        names = ["n0", *parents]
        chosen = [names[code % len(names)] for code in rng.permutation(len(names))[:many]]
        column = pl.Series([chosen[code % len(chosen)] for code in codes], dtype=pl.String)
        if rng.random() < 0.3:
            column = column.cast(pl.Categorical)
        paths = {name: upwards(parents, name) for name in names}
        return column, mg.Taxonomy(parents, lengths=lengths), paths
    if kind == "prefix":
        zips = [f"{int(i):03d}" for i in rng.integers(0, [1000, 30][rng.integers(0, 2)], n)]
        paths = {zip_: [zip_, f"{zip_[:2]}*", f"{zip_[:1]}**", "*"] for zip_ in zips}
        return pl.Series(zips), mg.Taxonomy.prefix(3, [2, 1]), paths
    if kind == "interval":
        ages = [str(int(i)) for i in rng.integers(0, 40, n)]
        paths = {
            age: [age] + [f"{int(age) // w * w}-{int(age) // w * w + w - 1}" for w in (5, 10)] + ["*"]
            for age in ages
        }  # fmt: skip
        return pl.Series(ages), mg.Taxonomy.intervals([5, 10]), paths
    if kind == "date":
        return pl.Series([datetime.date(2024, 2, 25 + int(i)) for i in codes % 5]), None, None
    if kind == "moment":
        base = datetime.datetime(2024, 1, 1)
        return pl.Series([base + datetime.timedelta(hours=int(i)) for i in codes]), None, None
    if kind == "number":
        return pl.Series(rng.integers(0, 5, n) + int(rng.choice([0, 2**60]))), None, None
    return pl.Series(rng.normal(size=n).round(int(rng.integers(0, 4)))), None, None


def draw(rng, rows=50, kinds=None):
    """A table of at most so many rows, the kinds of its columns, options and paths."""
    persons = int(rng.integers(3, max(5, rows // 2)))
    visits = 1 + rng.poisson(rng.choice([0.0, 0.5, 1.5]), persons)
    person = rng.permutation(np.repeat(np.arange(persons), visits))[:rows]
    n = len(person)
    kinds = kinds or [str(rng.choice(DRAWN)) for _ in range(int(rng.integers(1, 5)))]
    columns, kind, paths, options = {}, {}, {}, {}
    for name, drawn in zip("abcd", kinds, strict=False):
        columns[name], asked, path = values(rng, n, drawn)
        kind[name] = drawn
        if isinstance(asked, mg.Taxonomy):
            options.setdefault("taxonomy", {})[name] = asked
            paths[name] = path
        elif asked:
            options.setdefault(asked, []).append(name)
    columns["id"] = pl.Series(range(n))
    columns["s"] = pl.Series(rng.integers(0, 2, n))
    columns["r"] = holed(rng, pl.Series(rng.choice(["x", "y"], n)), 0.1)
    columns["person"] = pl.Series([f"p{i}" for i in person])
    columns["sick"] = secret(rng, n, "text")
    return pl.DataFrame(columns), kind, options, paths


def draw_call(rng, frame=None, kinds=None, **fixed):
    """A mixture and a call on it."""
    frame, kind, options, paths = draw(rng, kinds=kinds) if frame is None else frame
    names = list(kind)
    blocks = [names]
    if len(names) > 1 and rng.random() < 0.2:
        cut = int(rng.integers(1, len(names)))
        blocks = [names[:cut], names[cut:]]
    method = str(rng.choice(METHODS))
    options = options | {"method": method, "seed": int(rng.integers(0, 9)), **CHEAP.get(method, {})}
    if rng.random() < 0.4:
        share = rng.choice([0.05, 0.3, 0.9])
        frame = frame.with_columns(holed(rng, frame[name], share).alias(name) for name in names)
        options["nulls"] = str(rng.choice(["impute", "pattern"]))
    for name, value, often in (
        ("refine", True, 0.3),
        ("center", "median", 0.3),
        ("dtype", "float", 0.2),
        ("scale", str(rng.choice(["none", "robust", "minmax"])), 0.3),
        ("strata", [["s"], ["r"], ["s", "r"]][rng.integers(0, 3)], 0.4),
        ("small_strata", str(rng.choice(["drop", "null"])), 0.6),
        ("column_weights", {names[0]: float(rng.choice([1e-3, 0.5, 2.0, 1e3]))}, 0.2),
    ):
        if rng.random() < often:
            options[name] = value
    if rng.random() < 0.4:
        options["entity"] = ["person"]
        options["entity_mode"] = str(rng.choice(["rows", "mean", "alike"]))
        if options["entity_mode"] == "alike":
            if options.get("small_strata") == "null":
                options["small_strata"] = "drop"
            if rng.random() < 0.3:
                options["max_rows_per_entity"] = int(rng.integers(1, 4))
    if rng.random() < 0.25:
        options["confidential"] = ["sick"]
        bound, limit = [("l", 2), ("max_share", 0.7), ("t", 0.4)][rng.integers(0, 3)]
        options[bound] = limit
    return Mixture(frame, blocks, int(rng.integers(2, 5)), options | fixed, kind, paths)
