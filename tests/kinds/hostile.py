"""Small hostile mixtures of kinds of columns, calls on them, and what came out counted by SQL.

Usage: python -m tests.kinds.hostile [--tables 10000] [--seed 0] [--only 17] [--minutes 10]

It draws a table and a call for each number, and ends with counts.
"""

import argparse
import sys
import time
from collections import Counter

import duckdb
import numpy as np
import polars as pl

from tests.kinds.draws import NUMBERS, Mixture, draw_call
from tests.models.hostile import broken as broken_models
from tests.models.hostile import released

__all__ = ["alone", "broken", "same", "wrong"]

RARE = """
WITH held AS (
    SELECT run, c, s, node, count(DISTINCT e) AS holders
    FROM cell JOIN above USING (run, c, o) GROUP BY ALL
)
SELECT DISTINCT cell.run, 'rare' AS what, coalesce(holders, 0) AS found
FROM cell LEFT JOIN held ON (held.run, held.c, held.s, held.node) = (cell.run, cell.c, cell.s, cell.m)
JOIN asked ON asked.run = cell.run
WHERE cell.m IS NOT NULL AND NOT (cell.m IS NOT DISTINCT FROM cell.root) AND coalesce(holders, 0) < asked.k
UNION ALL
SELECT run, 'not above' AS what, count(*) AS found
FROM cell JOIN asked USING (run)
WHERE classes AND NOT asked.median AND o IS NOT NULL AND m IS NOT NULL
    AND NOT EXISTS (FROM above WHERE (above.run, above.c, above.o, above.node) = (cell.run, cell.c, cell.o, cell.m))
GROUP BY ALL
"""


def as_text(column):
    """Values as texts, so that all types can be counted side by side."""
    return column.cast(pl.String).to_list()


def broken(done):
    """What was promised of each of several calls and not kept: (number of the call, what, found)."""
    bad = broken_models(done)
    cells, above, asked = [], [], []
    for run, (call, out) in enumerate(done):
        asked.append((run, call.k, call.options.get("center") == "median"))
        before = call.frame[out["id"]]
        stratum = (
            before.select(pl.struct(call.strata).rank("dense")).to_series().to_list()
            if call.strata
            else [0] * out.height
        )
        entity = before["person" if call.options.get("entity") else "id"].cast(pl.String).to_list()
        for c, name in enumerate(call.names):
            if call.kind[name] in (*NUMBERS, "clock"):
                continue
            old, new = as_text(before[name]), as_text(out[name])
            path = call.paths.get(name) or {
                value: [value] for value in set(old) if value is not None
            }
            root = next(iter(path.values()))[-1] if name in call.paths else None
            cells += [
                (run, c, *row, root, name in call.paths)
                for row in zip(stratum, entity, old, new, strict=True)
            ]
            above += [(run, c, value, node) for value, nodes in path.items() for node in nodes]
    if not cells:
        return bad
    con = duckdb.connect()
    con.execute("SET threads = 1")
    text, number = pl.String, pl.Int64
    for name, rows, schema in (
        ("cell", cells, {"run": number, "c": number, "s": number, "e": text, "o": text, "m": text,
                         "root": text, "classes": pl.Boolean}),
        ("above", above, {"run": number, "c": number, "o": text, "node": text}),
        ("asked", asked, {"run": number, "k": number, "median": pl.Boolean}),
    ):  # fmt: skip
        con.register(name, pl.DataFrame(rows, schema=schema, orient="row"))
    return bad + con.execute(RARE).fetchall()


def same(one, other):
    """Whether two tables are equal, bit for bit; categories by their texts."""
    if one.schema != other.schema:
        return False
    return all(
        (one[name].to_physical() if one[name].dtype.is_float() else one[name].cast(pl.String))
        .eq_missing(
            other[name].to_physical() if one[name].dtype.is_float() else other[name].cast(pl.String)
        )
        .all()
        for name in one.columns
    )


def wrong(call, out, again=True):
    """What is wrong with the form of what came out: types, other columns, order, repetition."""
    found = []
    for name, dtype in call.frame.schema.items():
        number = name in call.kind and call.kind[name] in NUMBERS
        want = pl.Float64() if number and call.options.get("dtype") == "float" else dtype
        if out.schema[name] != want:
            found.append(f"type of {name}")
    if out.columns != call.frame.columns:
        return [*found, "columns"]
    # The strata of emptied rows are not told, either.
    hidden = call.strata if call.options.get("small_strata") == "null" else []
    others = [name for name in call.frame.columns if name not in (*call.kind, *hidden)]
    old, new = call.frame[out["id"]], out.select(others)
    if not out["id"].is_sorted() or not same(old.select(others), new):
        found.append("other columns or order")
    if call.options.get("small_strata") != "drop" and "max_rows_per_entity" not in call.options:
        found += ["rows"] * (out.height != call.frame.height)
    if not again:
        return found
    if not same(out, call()):
        found.append("repeated")
    column_weights = dict.fromkeys(call.names, 1) | call.options.get("column_weights", {})
    if not same(out, call(column_weights=column_weights)):
        found.append("column_weights of 1")
    return found + alone(call, out)


def alone(call, out):
    """What is wrong with a stratum that is masked alone, without the others."""
    asks = {"t", "max_rows_per_entity"} & set(call.options) or call.options.get(
        "entity_mode"
    ) == "alike"
    if not call.strata or asks:
        return []
    parts = call.frame.partition_by(call.strata, maintain_order=True)
    for part in parts:
        one = Mixture(part, call.blocks, call.k, call.options, call.kind, call.paths)
        options = {"strata": []}
        result = released(one, **options)
        if result is None:
            continue
        among = out.filter(pl.col("id").is_in(part["id"].implode()))
        # A stratum alone may be larger than k and among others be hidden with what is small.
        if among.height == result.height and not same(
            among.select(call.names), result.select(call.names)
        ):
            return ["stratum alone"]
    return []


def main(arguments):
    """Draw tables and calls, and count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, default=-1)
    parser.add_argument("--minutes", type=float, default=1e9)
    given = parser.parse_args(arguments)
    counts, kinds, end, bad = Counter(), Counter(), time.monotonic() + 60 * given.minutes, 0
    numbers = range(given.first, given.tables) if given.only < 0 else [given.only]
    for part in range(0, len(numbers), 100):
        done, drawn = [], []
        for i in numbers[part : part + 100]:
            call = draw_call(np.random.default_rng([given.seed, i]))
            try:
                out = released(call)
                what = "refused" if out is None else "released" if out.height else "empty"
                counts[what] += 1
                if what != "released":
                    continue
                kinds.update(call.kind.values())
                for found in wrong(call, out):
                    bad += 1
                    sys.stdout.write(f"table {i}: {found}\n")
            except Exception as error:
                bad += 1
                text = str(error).splitlines()[0] if str(error) else ""
                sys.stdout.write(f"table {i}: {type(error).__name__}: {text}\n")
                continue
            done.append((call, out))
            drawn.append(i)
        for run, what, found in broken(done):
            bad += 1
            sys.stdout.write(f"table {drawn[run]}: {what} is {found}\n")
        sys.stdout.flush()
        if time.monotonic() > end:
            break
    listed = ", ".join(f"{count} {name}" for name, count in sorted(kinds.items()))
    sys.stdout.write(f"columns of released tables: {listed}\n")
    line = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    sys.stdout.write(f"{counts.total()} tables: {line}; {bad} violations\n")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
