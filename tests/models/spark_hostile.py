"""Small hostile tables at the door of Spark: what came out counted by SQL, and beside one machine.

Usage: python -m tests.models.spark_hostile [--tables 300] [--seed 0] [--only l,t] [--engine connect]

It draws tables for each model and each pair that Spark takes, in turns, in one session, and ends
with their counts. Beside what SQL finds, other bits or another error than on one machine are violations.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl

import polars_microagg as mg
from polars_microagg import spark as door
from tests.models import hostile
from tests.spark_sessions import started

__all__ = ["ASKED", "SETTINGS", "run", "trial"]

ASKED = [(), *(asked for asked in hostile.ASKED if not {"mean", "alike"} & set(asked))]
"""No model, every model that Spark takes, and every two that go together."""

KEPT = {
    *("method", "seed", "refine", "center", "dtype", "scale"),
    *("strata", "small_strata", "nulls", "order_by"),
    *("entity", "entity_mode", "confidential", "l", "max_share", "t", "t_scale"),
    *(option for options in hostile.CHEAP.values() for option in options),
}
"""Options that leaves have, of those that are drawn."""

WORDS = ["b", "a", "", "b.c", "B"]

SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}
"""As few tasks as there are cores: the tables are small."""


def draw_call(rng, asked):
    """A call, with leaves of a few records, on a table that may have holes and categories."""
    frame = hostile.draw(rng, rows=int(rng.choice([60, 150])))
    enums = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Enum)]
    # Spark has no such type.
    frame = frame.with_columns(pl.col(enums).cast(pl.String)).with_row_index("id")
    frame = frame.with_columns(pl.col("id").cast(pl.Int64))
    if rng.random() < 0.25:
        words = pl.Series("b", [WORDS[v] for v in rng.integers(0, len(WORDS), frame.height)])
        frame = frame.with_columns(words if rng.random() < 0.7 else words == "a")
    if rng.random() < 0.1:
        frame = frame.with_columns(s=pl.Series(rng.choice([0.0, -0.0, 1.0], frame.height)))
    if rng.random() < 0.06:
        holes = str(rng.choice(["a", "person", "number"]))
        frame = frame.with_columns(hostile.holed(rng, frame[holes], 0.1).alias(holes))
    drawn = hostile.draw_call(rng, asked, frame)
    options = {name: value for name, value in drawn.options.items() if name in KEPT}
    blocks = drawn.blocks
    if options.get("order_by"):
        options["order_by"] = [["wage", "number"], ["a"], ["id"]][rng.integers(0, 3)]
    if not asked and rng.random() < 0.2:
        # Values are grouped column by column.
        others = {"method": str(rng.choice(["univariate", "individual_ranking"]))}
        options = {n: v for n, v in options.items() if n not in ("effort", "refine")} | others
        blocks = [[name] for block in blocks for name in block]
    elif frame.schema["b"] in (pl.String, pl.Boolean) and "b" in blocks[0]:
        if rng.random() < 0.5:
            options["ordinal" if rng.random() < 0.5 else "nominal"] = ["b"]
        if rng.random() < 0.5:
            options["column_weights"] = {"b": 2.0}
    call = hostile.Call(drawn.frame, blocks, drawn.k, options)
    if rng.random() < 0.8:
        options["size"] = int(rng.integers(2 * call.k, 2 * call.k + 12))
    return call


def on_spark(session, rng, call, part):
    """What comes out of Spark, in the order of the table; of a part of it by the leaves of the whole."""
    mixed = call.frame.sample(fraction=1, shuffle=True, seed=int(rng.integers(0, 99)))
    df = session.createDataFrame(mixed.to_arrow()).repartition(int(rng.integers(1, 4)))
    if part is None:
        masked = door.protect(df, call.blocks, call.k, **call.options)
    else:
        leaves = door.fit(df, call.blocks, call.k, **call.options)
        several = [leaves] if isinstance(leaves, mg.Leaves) else leaves
        read = [mg.Leaves.from_json(one.to_json()) for one in several]
        few = session.createDataFrame(part.to_arrow())
        masked = door.protect(few, call.blocks, call.k, leaves=read)
    return pl.DataFrame(masked.toArrow()).sort("id")


def on_one_machine(folder, call, part):
    """What comes out of the same call there."""
    table, out = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
    if part is None:
        call.frame.write_parquet(table)
        mg.protect_parquet(table, out, call.blocks, call.k, **call.options)
    else:
        leaves = mg.fit_leaves(call.frame, call.blocks[0], call.k, **call.options)
        part.write_parquet(table)
        mg.protect_parquet(table, out, call.blocks, call.k, leaves=leaves)
    return pl.read_parquet(out)


def outcome(run):
    """What comes out, or the error of a table or call that is refused; any other is one of the door."""
    try:
        return run(), None
    except (mg.InvalidDataError, mg.InvalidParameterError) as error:
        return None, f"{type(error).__name__}: {error}"


def trial(session, rng, asked):
    """A call, what came out of it or None, and how that differs from one machine."""
    call, part = draw_call(rng, asked), None
    # Of two things that are wrong, fitting tells another first than masking.
    holes = any(call.frame[name].null_count() for name in call.blocks[0])
    simple = len(call.blocks) == 1 and (not holes or "nulls" in call.options)
    if simple and rng.random() < 0.2:
        part = call.frame.filter(rng.random(call.frame.height) < 0.7)
    with tempfile.TemporaryDirectory() as folder:
        there, refused_there = outcome(lambda: on_one_machine(folder, call, part))
    out, refused = outcome(lambda: on_spark(session, rng, call, part))
    if refused != refused_there:
        return call, out, [f"Spark: {refused}. One machine: {refused_there}"]
    # As Python objects, in which -0.0 is not 0.0.
    if out is not None and (out.schema, repr(out.rows())) != (there.schema, repr(there.rows())):
        return call, out, ["other bits than on one machine"]
    return call, out, []


def run(session, tables, seed=0, asked=ASKED, say=lambda line: None):
    """Try tables in turns; return the counts, of violations among them, which `say` is told."""
    counts, done, numbers = Counter(), [], []
    for i in range(tables):
        models = asked[i % len(asked)]
        rng = np.random.default_rng([seed, ASKED.index(models), i])
        try:
            call, out, found = trial(session, rng, models)
            counts["refused" if out is None else "released"] += 1
        except Exception as error:
            out, found = None, [f"{type(error).__name__}: {str(error)[:300]}"]
        found = [f"table {i}, {what}" for what in found]
        if out is not None and out.height:
            done.append((call, out))
            numbers.append(i)
        if i + 1 == tables or i % 50 == 49:
            found += [f"table {numbers[at]}, {what} is {v}" for at, what, v in hostile.broken(done)]
            done, numbers = [], []
        for what in found:
            say(what)
        counts["violations"] += len(found)
        if i % 50 == 49:
            say(f"{i + 1} tables, {dict(counts)}")
    return counts


def main(arguments):
    """Draw tables for every model and pair, in turns, and count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--engine", choices=["classic", "connect"], default="classic")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    asked = [models for models in ASKED if given.only in ("", ",".join(models))]

    def say(line):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    with started(given.engine, **SETTINGS) as session:
        began = time.monotonic()
        counts = run(session, given.tables, given.seed, asked, say)
        took = time.monotonic() - began
    ends = ", ".join(f"{counts[what]} {what}" for what in ("released", "refused", "violations"))
    say(f"{given.tables} tables, {ends}, {took:.0f} s")
    return bool(counts["violations"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
