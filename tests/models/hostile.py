"""Small hostile tables, calls of every kind on them, and what came out counted by SQL.

Usage: python -m tests.models.hostile [--tables 10000] [--seed 0] [--only rows,l]

It draws as many tables for each model and for each pair of models, and ends with their counts.
"""

import argparse
import contextlib
import datetime
import itertools
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import duckdb
import numpy as np
import polars as pl

import polars_microagg as mg

__all__ = ["ASKED", "METHODS", "Call", "broken", "counted", "draw", "draw_call", "released"]

METHODS = sorted(mg.methods().filter(unit="record")["method"])

CHEAP = {"lowloss": {"effort": 0.002}, "genetic": {"generations": 5}, "fuzzy": {"iterations": 3}}
"""Options of methods that take their time."""

SINGLE = ("rows", "mean", "alike", "max_entity_share", "l", "max_share", "t")
MODES = SINGLE[:3]

ASKED = [
    (name,) for name in SINGLE
] + [
    pair for pair in itertools.combinations(SINGLE, 2) if not set(pair) <= set(MODES)
]  # fmt: skip
"""Every model, and every two that go together."""


@dataclass
class Call:
    """A table and a call on it."""

    frame: pl.DataFrame
    blocks: list[list[str]]
    k: int
    options: dict = field(default_factory=dict)

    def __call__(self, **changed):
        return mg.mask(self.frame, self.blocks, self.k, **(self.options | changed))

    @property
    def strata(self):
        return self.options.get("strata", [])


def values(rng, n, kind):
    """A column of n values of a kind that has given trouble."""
    if kind == "constant":
        return pl.Series([int(rng.integers(-2, 3))] * n)
    if kind == "few":
        return pl.Series(rng.integers(0, 3, n))
    if kind == "wide":
        return pl.Series(rng.integers(-3, 4, n) + int(rng.choice([2**60, -(2**62), 0])))
    if kind == "byte":
        return pl.Series(rng.integers(-128, 128, n), dtype=pl.Int8)
    if kind == "zeros":
        return pl.Series(rng.choice([0.0, -0.0, 1e-300, 1.0], n))
    if kind == "far":
        return pl.Series(rng.normal(size=n) + np.where(rng.random(n) < 0.1, 1e9, 0.0))
    if kind == "single":
        return pl.Series(rng.normal(size=n), dtype=pl.Float32)
    if kind == "date":
        first = datetime.date(2024, 2, 25)
        return pl.Series([first + datetime.timedelta(int(i)) for i in rng.integers(0, 9, n)])
    return pl.Series(rng.normal(size=n).round(int(rng.integers(0, 4))))


KINDS = ("constant", "few", "wide", "byte", "zeros", "far", "single", "date", "real", "real", "few")

SECRETS = ("number", "real", "text", "enum", "date", "boolean", "one")


def secret(rng, n, kind):
    """A confidential column of n values, the first of them the commonest."""
    many = int(rng.integers(2, 7))
    share = rng.dirichlet(np.full(many, 2.0))
    codes = rng.choice(many, n, p=share)
    words = ["flu", "gout", "ague", "", "Flu", "null"]
    column = {
        "number": lambda: pl.Series(codes * 10 - 20),
        "real": lambda: pl.Series(np.array([0.0, -0.0, 0.5, -1.5, 1e300, 2.0])[codes]),
        "text": lambda: pl.Series([words[code] for code in codes], dtype=pl.String),
        "enum": lambda: pl.Series([words[code] for code in codes], dtype=pl.Enum(words[::-1])),
        "date": lambda: pl.Series([datetime.date(2024, 1, 1 + int(code)) for code in codes]),
        "boolean": lambda: pl.Series(codes % 2 == 0),
        "one": lambda: pl.Series(["flu"] * n),
    }[kind]()
    return holed(rng, column, 0.15) if rng.random() < 0.3 else column


def holed(rng, column, share):
    """The column with some values null."""
    there = pl.Series(rng.random(len(column)) >= share)
    return column.to_frame("v").select(pl.when(there).then("v"))["v"]


def draw(rng, rows=60):
    """A table of at most so many rows: what is masked, strata, persons and confidential columns."""
    persons = int(rng.integers(4, max(6, rows // 2)))
    visits = 1 + rng.poisson(rng.choice([0.0, 0.4, 1.5]), persons)
    person = rng.permutation(np.repeat(np.arange(persons), visits))[:rows]
    n = len(person)
    columns = {name: values(rng, n, rng.choice(KINDS)) for name in "abc"}
    columns["s"] = pl.Series(rng.integers(0, 2, n))
    columns["r"] = holed(rng, pl.Series(rng.choice(["x", "y"], n)), 0.1)
    # A person is told apart by two columns, of which one is not enough.
    columns["land"] = pl.Series([("A", "B")[i % 2] for i in person])
    columns["number"] = pl.Series(person // 2)
    columns["person"] = pl.Series([f"p{i}" for i in person])
    for name in ("sick", "wage"):
        columns[name] = secret(rng, n, rng.choice(SECRETS))
    return pl.DataFrame(columns)


def draw_call(rng, asked, frame=None, **fixed):
    """A call that asks for these models on a table."""
    frame = draw(rng) if frame is None else frame
    blocks = [["a", "b"], ["a", "b", "c"], ["a"], ["a"], ["a", "b"]][rng.integers(0, 5)]
    blocks = [blocks, ["c"]] if "c" not in blocks and rng.random() < 0.2 else [blocks]
    method = str(rng.choice(METHODS))
    options = {"method": method, "seed": int(rng.integers(0, 9)), **CHEAP.get(method, {})}
    if rng.random() < 0.35:
        share = rng.choice([0.05, 0.3])
        masked = [name for block in blocks for name in block]
        frame = frame.with_columns(holed(rng, frame[name], share).alias(name) for name in masked)
        options["nulls"] = str(rng.choice(["impute", "pattern"]))
    for name, value, often in (
        ("refine", True, 0.4),
        ("center", "median", 0.3),
        ("dtype", "float", 0.2),
        ("scale", str(rng.choice(["none", "robust"])), 0.2),
        ("strata", [["s"], ["r"], ["s", "r"]][rng.integers(0, 3)], 0.4),
        ("order_by", ["wage", "number"], 0.1),
        ("small_strata", str(rng.choice(["drop", "null"])), 0.5),
    ):
        if rng.random() < often:
            options[name] = value
    modes = set(asked) & set(MODES)
    if "max_entity_share" in asked:
        options["max_entity_share"] = float(rng.choice([0.3, 0.5, 2 / 3]))
        modes = modes or {"rows"}
    for mode in modes:
        options |= {"entity": [["person"], ["land", "number"]][rng.integers(0, 2)]}
        options["entity_mode"] = mode
        if mode == "alike":
            if options.get("small_strata") == "null":
                options["small_strata"] = "drop"
            if rng.random() < 0.3:
                options["max_rows_per_entity"] = int(rng.integers(1, 4))
    if "l" in asked:
        options["l"] = int(rng.integers(2, 4))
    if "max_share" in asked:
        options["max_share"] = float(rng.choice([0.5, 2 / 3, 0.8]))
    if "t" in asked:
        options["t"] = float(rng.choice([0.2, 0.35, 0.6]))
        options["t_scale"] = str(rng.choice(["values", "ranks"]))
    if set(asked) - {*MODES, "max_entity_share"}:
        options["confidential"] = [["sick"], ["wage"], ["sick", "wage"]][rng.integers(0, 3)]
    return Call(frame, blocks, int(rng.integers(2, 5)), options | fixed)


def released(call, **changed):
    """What comes out of the call, or None where it is refused."""
    with contextlib.suppress(mg.InvalidDataError):
        return call(**changed)
    return None


def numbered(rows, order=None):
    """Number equal values, from 0, in order; null first, and the only negative one."""
    distinct = {value for value in rows if value is not None}
    number = {value: i for i, value in enumerate(sorted(distinct, key=order))}
    return [-1 if value is None else number[value] for value in rows]


def ordered(dtype):
    """Whether t sees an order in values of a type."""
    return dtype not in (pl.String, pl.Boolean)


def counted(call, out):
    """Rows for SQL: of each block and confidential column the class, entity and value of each row."""
    n = out.height
    names = call.options.get("confidential", [])
    persons = list(zip(*(out[name] for name in call.options.get("entity", [])), strict=True))
    entity = numbered(persons) if persons else list(range(n))
    secrets = []
    for name in names:
        dtype = out.schema[name]
        rank = list(dtype.categories).index if isinstance(dtype, pl.Enum) else None
        secrets.append((numbered(out[name], rank), ordered(dtype)))
    rows = []
    for b, block in enumerate(call.blocks):
        records = list(zip(*(out[name] for name in block + call.strata), strict=True))
        # Equal as a reader sees it: 0.0 is -0.0, and null is null.
        first = {}
        classes = [first.setdefault(record, len(first)) for record in records]
        for c, (value, order) in enumerate(secrets or [([-1] * n, False)]):
            rows += [(b, c, order, *row) for row in zip(classes, entity, value, strict=True)]
    return rows


QUERY = """
WITH r AS (SELECT * FROM rows),
totals AS (SELECT run, b, c, v, count(*) AS n FROM r GROUP BY ALL),
line AS (
    SELECT *, sum(n) OVER w AS upto, sum(n) OVER (PARTITION BY run, b, c) AS everybody,
        row_number() OVER w - 1 AS step
    FROM totals WINDOW w AS (PARTITION BY run, b, c ORDER BY v)
),
places AS (
    SELECT *, CASE WHEN ranks THEN upto - n / 2.0 ELSE step END AS place
    FROM line JOIN asked USING (run)
),
classes AS (
    SELECT run, b, c, g, any_value(o) AS o, count(*) AS size, count(DISTINCT e) AS persons,
        greatest(1, count(DISTINCT v) FILTER (v >= 0)) AS l, count(*) FILTER (v >= 0) AS known
    FROM r GROUP BY ALL
),
own AS (SELECT run, b, c, g, v, count(*) AS m FROM r GROUP BY ALL),
grid AS (
    SELECT k.run, k.b, k.c, k.g, k.o, p.v, p.place, p.n / p.everybody AS share,
        coalesce(own.m, 0) / k.size AS mine
    FROM classes k JOIN places p USING (run, b, c)
    LEFT JOIN own ON (own.run, own.b, own.c, own.g, own.v) = (k.run, k.b, k.c, k.g, p.v)
),
walked AS (
    SELECT *, sum(mine - share) OVER w AS gap,
        lead(place) OVER w - place AS stride,
        max(place) OVER all_ - min(place) OVER all_ AS width
    FROM grid
    WINDOW w AS (PARTITION BY run, b, c, g ORDER BY v), all_ AS (PARTITION BY run, b, c, g)
),
far AS (
    SELECT run, b, c, g, CASE WHEN any_value(o) THEN coalesce(sum(abs(gap) * stride / width), 0)
        ELSE sum(abs(mine - share)) / 2 END AS t
    FROM walked GROUP BY ALL
),
most AS (SELECT run, b, c, g, max(m) FILTER (v >= 0) AS most FROM own GROUP BY ALL),
visits AS (SELECT run, b, c, g, e, count(*) AS m FROM r GROUP BY ALL),
frequent AS (SELECT run, b, c, g, max(m) AS visits FROM visits GROUP BY ALL),
profile AS (
    SELECT run, b, e, list(g ORDER BY g) AS seen FROM r WHERE c = 0 GROUP BY ALL
),
alike AS (
    SELECT run, min(n) AS n FROM (SELECT run, b, seen, count(*) AS n FROM profile GROUP BY ALL)
    GROUP BY run
)
SELECT run, min(persons) AS k, min(l) AS l, max(coalesce(most / known, 0)) AS max_share,
    max(t) AS t, any_value(alike.n) AS alike, max(visits / size) AS max_entity_share
FROM classes JOIN far USING (run, b, c, g) JOIN most USING (run, b, c, g)
JOIN frequent USING (run, b, c, g) JOIN alike USING (run)
GROUP BY run ORDER BY run
"""


def broken(done):
    """What each of several calls promised and did not keep: (number of the call, what, found)."""
    rows = [
        (run, *row) for run, (call, out) in enumerate(done) for row in counted(call, out)
    ]  # fmt: skip
    if not rows:
        return []
    con = duckdb.connect()
    con.register(
        "rows", pl.DataFrame(rows, schema=["run", "b", "c", "o", "g", "e", "v"], orient="row")
    )
    ranks = [call.options.get("t_scale") == "ranks" for call, _ in done]
    con.register("asked", pl.DataFrame({"run": range(len(done)), "ranks": ranks}))
    con.execute("SET threads = 1")
    bad = []
    for run, k, distinct, share, t, alike, own in con.execute(QUERY).fetchall():
        call = done[run][0]
        asked = call.options
        found = {"k": k < call.k, "l": distinct < asked.get("l", 1)}
        found["max_share"] = share > asked.get("max_share", 1)
        found["max_entity_share"] = own > asked.get("max_entity_share", 1)
        found["t"] = t > asked.get("t", 1) + 1e-12
        found["alike"] = asked.get("entity_mode") == "alike" and alike < call.k
        numbers = {"k": k, "l": distinct, "max_share": share, "t": t, "alike": alike}
        numbers["max_entity_share"] = own
        bad += [(run, name, numbers[name]) for name, wrong in found.items() if wrong]
    return bad


def main(arguments):
    """Draw tables for every model and pair, in turns, and count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--minutes", type=float, default=1e9)
    given = parser.parse_args(arguments)
    counts, end, bad = Counter(), time.monotonic() + 60 * given.minutes, 0
    kinds = [asked for asked in ASKED if given.only in ("", ",".join(asked))]
    for part in range(0, given.tables, 100):
        for asked in kinds:
            done, drawn = [], []
            for i in range(part, min(part + 100, given.tables)):
                draws = np.random.default_rng([given.seed, ASKED.index(asked), i])
                call = draw_call(draws, asked)
                try:
                    out = released(call)
                except mg.MicroaggError as error:
                    bad += 1
                    sys.stdout.write(f"{asked} table {i}: {type(error).__name__}: {error}\n")
                    continue
                counts[
                    asked, "refused" if out is None else "released" if out.height else "empty"
                ] += 1
                if out is not None and out.height:
                    done.append((call, out))
                    drawn.append(i)
            for run, what, found in broken(done):
                bad += 1
                sys.stdout.write(f"{asked} table {drawn[run]}: {what} is {found}\n")
            if time.monotonic() > end:
                kinds = []
                break
        sys.stdout.write(f"{part + 100} of each, {counts.total()} tables, {bad} violations\n")
        sys.stdout.flush()
        if not kinds:
            break
    for asked in ASKED:
        line = [f"{counts[asked, what]} {what}" for what in ("released", "refused", "empty")]
        sys.stdout.write(f"{' and '.join(asked)}: {', '.join(line)}\n")
    sys.stdout.write(f"{counts.total()} tables, {bad} violations\n")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
