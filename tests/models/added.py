"""What is at the doors that mask, of a package to which a model was added.

`test_added.py` runs it there. Usage: python -m tests.models.added
"""

import inspect
import json
import sys

import duckdb
import polars as pl

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.publishing.judgement import release_requirements
from tests.registers import microagg, said_by

TABLE = pl.DataFrame(
    {"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "pay": [10, 10, 20, 20, 30, 30, 50, 10]}
)
L = {"confidential": "pay", "l": 1}
ASKED = {"confidential": "pay", "span": 2, "span_of": "steps"}


def sql(con, text):
    return con.sql(text).pl()


def masked():
    """The masked column by every door."""
    con = mgd.register(duckdb.connect())
    con.register("few", TABLE)
    TABLE.write_parquet("few.parquet")
    named = "confidential := 'pay', span := 2, span_of := 'steps'"
    roles = ("--columns", "x", "--k", 2, "--confidential", "pay", "--span", 2, "--span-of", "steps")
    protected = microagg("protect", "few.parquet", "-o", "out.parquet", *roles)
    published = mg.publish(TABLE, "published.parquet", "x", 2, **ASKED)
    column = pl.struct("x", "pay").microagg.mdav(k=2, **ASKED)
    doors = {
        "function": mg.mdav(TABLE, "x", 2, **ASKED),
        "mask": mg.mask(TABLE, "x", 2, **ASKED),
        "DataFrame": TABLE.microagg.mdav("x", 2, **ASKED),
        "LazyFrame": TABLE.lazy().microagg.mdav("x", 2, **ASKED).collect(),
        "lazy function": mg.mdav(TABLE.lazy(), "x", 2, **ASKED).collect(),
        "expression": TABLE.select(column.alias("m")).unnest("m"),
        "SQL": sql(con, f"FROM microagg.mdav('few', 'x', 2, {named})"),
        "SQL mask": sql(con, f"FROM microagg.mask('few', 'x', 2, {named})"),
        "Arrow": mgd.mask(con, "few", "x", 2, **ASKED).pl(),
        "publish": pl.read_parquet("published.parquet"),
    }
    found = {door: frame["x"].to_list() for door, frame in doors.items()}
    found["protect"] = (
        pl.read_parquet("out.parquet")["x"].to_list() if not protected[0] else protected[1]
    )
    groups = mg.groups(TABLE, "x", 2, **ASKED)["microagg_group"].to_list()
    return {
        "masked": found,
        "groups": groups,
        "config": published["config"],
        "verified": microagg("verify", "published.parquet"),
        "anonymity": mg.anonymity(doors["SQL"], "x", confidential="pay", span_of="steps")[
            "span"
        ].item(),
    }


def counted():
    """What is counted of the column of a table that was masked without the model."""
    plain, column = mg.mdav(TABLE, "x", 4), pl.struct("x").microagg

    def span(**options):
        asked = {"confidential": "pay"} | options
        return {
            "anonymity": mg.anonymity(plain, "x", **asked)["span"].item(),
            "LazyFrame": plain.lazy().microagg.anonymity("x", **asked)["span"].item(),
            "expression": plain.select(column.span("pay", **options)).item(),
        }

    compared = mg.compare(TABLE, "x", methods="mdav", ks=4, confidential="pay", span=0.1)
    return {
        "share": span(),
        "steps": span(span_of="steps"),
        "broken": said_by(lambda: mg.verify(plain, "x", 4, **ASKED)),
        "note": compared["note"].to_list(),
        "required": [str(bound) for bound in release_requirements("span>=2")],
        "lacking": said_by(
            lambda: mg.publish(TABLE[["x"]], "n.parquet", "x", 2, require="span>=2")
        ),
    }


def refused():
    """What each door says of a bound that cannot be reached."""
    con = mgd.register(duckdb.connect())
    con.register("few", TABLE)
    asked = ASKED | {"span": 9}
    TABLE.write_parquet("unreachable.parquet")
    call = ("protect", "unreachable.parquet", "-o", "none.parquet", "--columns", "x", "--k", 2)
    return {
        "function": said_by(lambda: mg.mdav(TABLE, "x", 2, **asked)),
        "LazyFrame": said_by(lambda: mg.mdav(TABLE.lazy(), "x", 2, **asked).collect()),
        "SQL": said_by(
            lambda: con.sql(
                "FROM microagg.mdav('few', 'x', 2, confidential := 'pay', span := 9)"
            ).pl()
        ),
        "publish": said_by(lambda: mg.publish(TABLE, "none.parquet", "x", 2, **asked)),
        "protect": microagg(*call, "--confidential", "pay", "--span", 9)[1],
    }


def described():
    """What is said of the model, and of wrong calls, before any table is read."""
    lazy = TABLE.lazy()
    return {
        "parameters": [
            name for name in inspect.signature(mg.mdav).parameters if name.startswith("span")
        ],
        "documented": "distance of the least and the greatest" in mg.mdav.__doc__,
        "no column": said_by(lambda: mg.mdav(lazy, "x", 2, span=2)),
        "no bound": said_by(lambda: mg.mdav(lazy, "x", 2, confidential="pay")),
        "no model": said_by(lambda: mg.mdav(lazy, "x", 2, span_of="steps", **L)),
        "too low": said_by(lambda: mg.mdav(lazy, "x", 2, confidential="pay", span=-1)),
        "choice": said_by(lambda: mg.mdav(lazy, "x", 2, **(ASKED | {"span_of": "leaps"}))),
        "help": "--span-of" in microagg("protect", "--help")[1],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps([masked(), refused(), described(), counted()]))
