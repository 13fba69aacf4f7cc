"""Small hostile tables at the door of Spark: what came out counted by SQL, and beside one machine.

Usage: python -m tests.models.spark_hostile [--tables 300] [--seed 0] [--only l,t] [--engine connect]

It draws tables for each model and each pair that Spark takes, in turns, in one session, and ends
with their counts. Beside what SQL finds, other bits or another error than on one machine are violations.
"""

import argparse
import sys
import time
import warnings
from collections import Counter

import numpy as np
import polars as pl

import polars_microagg as mg
from polars_microagg import spark as door
from tests.models import hostile
from tests.spark_sessions import started

__all__ = ["ASKED", "SETTINGS", "run", "trial"]

ASKED = [asked for asked in hostile.ASKED if not {"mean", "alike"} & set(asked)]
"""Every model that Spark takes, and every two that go together."""

KEPT = {
    *("method", "seed", "refine", "center", "dtype", "scale"),
    *("entity", "entity_mode", "confidential", "l", "max_share", "t", "t_scale"),
    *(option for options in hostile.CHEAP.values() for option in options),
}
"""Options that leaves have, of those that are drawn."""

SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}
"""As few tasks as there are cores: the tables are small."""


def draw_call(rng, asked):
    """A call of one block, with leaves of a few records, on a table that may have holes."""
    frame = hostile.draw(rng, rows=int(rng.choice([60, 150])))
    enums = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Enum)]
    # Spark has no such type.
    frame = frame.with_columns(pl.col(enums).cast(pl.String)).with_row_index("id")
    frame = frame.with_columns(pl.col("id").cast(pl.Int64))
    if rng.random() < 0.06:
        holes = str(rng.choice(["a", "person", "number"]))
        frame = frame.with_columns(hostile.holed(rng, frame[holes], 0.1).alias(holes))
    drawn = hostile.draw_call(rng, asked, frame)
    options = {name: value for name, value in drawn.options.items() if name in KEPT}
    call = hostile.Call(frame, drawn.blocks[:1], drawn.k, options)
    if rng.random() < 0.8:
        options["size"] = int(rng.integers(2 * call.k, 2 * call.k + 12))
    return call


def on_spark(session, rng, call, part):
    """What comes out of Spark, in the order of the table; of a part of it by the leaves of the whole."""
    mixed = call.frame.sample(fraction=1, shuffle=True, seed=int(rng.integers(0, 99)))
    df = session.createDataFrame(mixed.to_arrow()).repartition(int(rng.integers(1, 4)))
    if part is None:
        masked = door.protect(df, call.blocks[0], call.k, **call.options)
    else:
        leaves = mg.Leaves.from_json(door.fit(df, call.blocks[0], call.k, **call.options).to_json())
        few = session.createDataFrame(part.to_arrow())
        masked = door.protect(few, call.blocks[0], call.k, leaves=leaves)
    return pl.DataFrame(masked.toArrow()).sort("id")


def on_one_machine(call, part):
    """What comes out of the same call there."""
    leaves = mg.fit_leaves(call.frame, call.blocks[0], call.k, **call.options)
    return leaves.mask(call.frame if part is None else part)


def outcome(run):
    """What comes out, or the error of a table that is refused; any other error is one of the door."""
    try:
        return run(), None
    except mg.InvalidDataError as error:
        return None, f"{type(error).__name__}: {error}"


def trial(session, rng, asked):
    """A call, what came out of it or None, and how that differs from one machine."""
    call = draw_call(rng, asked)
    part = call.frame.filter(rng.random(call.frame.height) < 0.7) if rng.random() < 0.2 else None
    out, refused = outcome(lambda: on_spark(session, rng, call, part))
    there, refused_there = outcome(lambda: on_one_machine(call, part))
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
        if out is not None:
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
