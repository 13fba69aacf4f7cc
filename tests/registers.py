"""What is at the doors of a package to which a file was added; `test_registers.py` runs it there.

One function a register: it goes to every door and returns what it found, in a process of its own.
Usage: python -m tests.registers methods
"""

import contextlib
import io
import json
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.cli.main import main
from polars_microagg.report.facts import Facts
from polars_microagg.report.page import report_html

FEW = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]})
OPTIONS = {"k": 3, "backwards": True}


def microagg(*arguments):
    """Exit code and output of the command line."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue()


def methods():
    """The doors of a method that groups records as they come."""
    con = mgd.register(duckdb.connect())
    con.register("few", FEW)
    FEW.write_parquet("few.parquet")
    protected = microagg(
        *("protect", "few.parquet", "-o", "out.parquet", "--columns", "x", "--k", 3),
        *("--method", "as_they_come", "--backwards"),
    )
    published = mg.publish(FEW, "published.parquet", "x", method="as_they_come", **OPTIONS)
    mg.protect_parquet("few.parquet", "leaves.parquet", ["x"], method="as_they_come", **OPTIONS)
    compared = mg.compare(FEW, "x", methods="as_they_come", ks=3)
    masked = {
        "function": mg.as_they_come(FEW, "x", **OPTIONS),
        "mask": mg.mask(FEW, "x", method="as_they_come", **OPTIONS),
        "DataFrame": FEW.microagg.as_they_come("x", **OPTIONS),
        "LazyFrame": FEW.lazy().microagg.as_they_come("x", **OPTIONS).collect(),
        "expression": FEW.select(pl.struct("x").microagg.as_they_come(**OPTIONS)).unnest("x"),
        "SQL": con.sql("FROM microagg.as_they_come('few', 'x', 3, backwards := true)").pl(),
        "SQL mask": con.sql(
            "FROM microagg.mask('few', 'x', 3, method := 'as_they_come', "
            "options := {'backwards': true})"
        ).pl(),
        "Arrow": mgd.mask(con, FEW, "x", method="as_they_come", **OPTIONS).pl(),
        "publish": pl.read_parquet("published.parquet"),
        "protect": pl.read_parquet("out.parquet") if not protected[0] else protected[1],
        "protect_parquet": pl.read_parquet("leaves.parquet"),
    }
    return {
        "masked": {door: frame["x"].to_list() for door, frame in masked.items()},
        "groups": mg.groups(FEW, "x", 3, method="as_they_come")["microagg_group"].to_list(),
        "manifest": published["config"]["backwards"],
        "listed": mg.methods().filter(method="as_they_come")["summary"].to_list(),
        "listed in SQL": con.sql(
            "SELECT summary FROM microagg.methods() WHERE method = 'as_they_come'"
        ).fetchall(),
        "microagg methods": microagg("methods", "as_they_come"),
        "compare": compared["note"].to_list(),
        "microagg compare": microagg(
            *("compare", "few.parquet", "--columns", "x", "--methods", "as_they_come"),
            *("--ks", 3, "--require", "k>=3"),
        ),
        "signature": "backwards" in mg.as_they_come.__doc__,
    }


def metrics():
    """The doors of two metrics: one of `assess`, and one on demand."""
    rng = np.random.default_rng(0)
    before = pl.DataFrame({"x": rng.integers(0, 50, 1_200), "y": rng.normal(0, 9, 1_200)})
    after = mg.mdav(before, ["x", "y"], 5)
    before.write_parquet("before.parquet")
    con = mgd.register(duckdb.connect())
    con.register("before", before)
    con.register("after", after)
    sql = "FROM microagg.assess('before', 'after'{})"
    release = ("risk", "out.parquet", "--original", "before.parquet", "--json")
    protect = ("protect", "before.parquet", "--columns", "x,y", "--k", 5)
    done = microagg(*protect, "-o", "out.parquet", "--require", "furthest<=1e9")
    failed = microagg(*protect, "-o", "none.parquet", "--require", "furthest<=0")
    manifest = mg.publish(before, "published.parquet", ["x", "y"], 5, require="furthest<1e9")
    facts = Facts.of(before, after, ["x", "y"], 5, None)
    compared = mg.compare(before, ["x", "y"], methods="mdav", ks=5, metrics="furthest")
    plain, demanded = con.sql(sql.format("")), con.sql(sql.format(", metrics := ['furthest']"))
    risk, asked = microagg(*release), microagg(*release, "--metrics", "furthest")
    return {
        "expected": {
            "moved": int((before["x"] != after["x"]).sum() + (before["y"] != after["y"]).sum()),
            "furthest": float(max((before[name] - after[name]).abs().max() for name in ("x", "y"))),
        },
        "moved": {
            "function": mg.moved(before, after),
            "assess": mg.assess(before, after)["moved"].item(),
            "DataFrame": before.microagg.assess(after)["moved"].item(),
            "SQL": plain.pl()["moved"].item(),
            "Arrow": mgd.assess(con, "before", "after").pl()["moved"].item(),
            "risk": json.loads(risk[1])["moved"],
        },
        "furthest": {
            "function": mg.furthest(before, after),
            "assess": mg.assess(before, after, metrics="furthest").item(),
            "SQL": demanded.pl()["furthest"].item(),
            "Arrow": mgd.assess(con, "before", "after", metrics="furthest").pl().item(),
            "risk": json.loads(asked[1])["furthest"],
            "compare": compared["furthest"].item(),
        },
        "columns": mg.assess(before, after).columns,
        "columns in SQL": [plain.columns, plain.types[-1].id],
        "columns in SQL on demand": [demanded.columns[-1], demanded.types[-1].id],
        "risk on demand": list(json.loads(asked[1])),
        "protect": done,
        "refused": [*failed, Path("none.parquet").exists()],
        "verify": microagg("verify", "out.parquet", "--original", "before.parquet"),
        "manifest": manifest["measures"],
        "sources": manifest["attack"]["sources"]["moved"],
        "verdict": manifest["verdict"]["requirements"],
        "facts": list(facts.measures),
        "page": report_html(before, after, ["x", "y"], k=5),
        "recommend": mg.recommend(compared, require="furthest<1e9")["reason"].item(),
        "microagg compare": microagg(
            *("compare", "before.parquet", "--columns", "x,y", "--methods", "mdav"),
            *("--ks", 5, "--require", "furthest<1e9", "--json"),
        ),
    }


SIZES = pl.DataFrame({"x": ["S", "M", "M", "L", "XL", "XL"]})
NUMBERS = pl.DataFrame({"z": [36, 38, 38, 40, 44, 44]})
ANSWERS = pl.DataFrame({"y": [False, False, True, False, False, True]})


def kinds():
    """The doors of a kind of column: here, text, yes or no, and numbers that a parameter names."""
    con = mgd.register(duckdb.connect())
    con.register("few", SIZES)
    con.register("masked", mg.mdav(SIZES, "x", 3))
    SIZES.write_parquet("few.parquet")
    call = "microagg.{}('few', 'x', 3{})"
    protected = microagg("protect", "few.parquet", "-o", "out.parquet", "--columns", "x", "--k", 3)
    published = mg.publish(SIZES, "published.parquet", "x", 3)
    mg.protect_parquet("few.parquet", "leaves.parquet", ["x"], k=3)
    masked = {
        "function": mg.mdav(SIZES, "x", 3),
        "mask": mg.mask(SIZES, "x", 3),
        "by type": mg.mask(SIZES, pl.selectors.string(), 3),
        "DataFrame": SIZES.microagg.mdav("x", 3),
        "LazyFrame": SIZES.lazy().microagg.mdav("x", 3).collect(),
        "streaming": SIZES.lazy().microagg.mdav("x", 3).collect(engine="streaming"),
        "expression": SIZES.select(pl.struct("x").microagg.mdav(3)).unnest("x"),
        "SQL": con.sql("FROM " + call.format("mdav", "")).pl(),
        "SQL mask": con.sql("FROM " + call.format("mask", ", method := 'mdav'")).pl(),
        "Arrow": mgd.mask(con, "few", "x", 3).pl(),
        "publish": pl.read_parquet("published.parquet"),
        "protect": pl.read_parquet("out.parquet") if not protected[0] else protected[1],
        "protect_parquet": pl.read_parquet("leaves.parquet"),
    }
    con.register("answers", ANSWERS)
    answers = {
        "function": mg.mdav(ANSWERS, "y", 3),
        "SQL": con.sql("FROM microagg.mdav('answers', 'y', 3)").pl(),
        "Arrow": mgd.mask(con, "answers", "y", 3).pl(),
    }
    con.register("numbers", NUMBERS)
    named = {
        "function": mg.mdav(NUMBERS, "z", 3, sizes="z"),
        "LazyFrame": NUMBERS.lazy().microagg.mdav("z", 3, sizes="z").collect(),
        "SQL": con.sql("FROM microagg.mdav('numbers', 'z', 3, sizes := 'Z')").pl(),
        "SQL mask": con.sql("FROM microagg.mask('numbers', 'z', 3, sizes := ['z'])").pl(),
        "Arrow": mgd.mask(con, "numbers", "z", 3, sizes="Z").pl(),
    }
    con.register("named", named["function"])
    of_numbers = "FROM microagg.assess('numbers', 'named', metrics := ['loss'], sizes := 'z')"
    sql = "FROM microagg.assess('few', 'masked', ['x'], metrics := ['loss'])"
    risk = microagg("risk", "out.parquet", "--original", "few.parquet", "--json")
    return {
        "masked": {door: frame["x"].to_list() for door, frame in masked.items()},
        "answers": {door: frame["y"].to_list() for door, frame in answers.items()},
        "named": {door: frame["z"].to_list() for door, frame in named.items()},
        "loss of named": {
            "function": mg.loss(NUMBERS, named["function"], sizes="z"),
            "SQL": con.sql(of_numbers).pl()["loss"].item(),
            "Arrow": mgd.assess(con, "numbers", "named", metrics="loss", sizes="Z")
            .pl()["loss"]
            .item(),
            "compare": mgd.compare(con, "numbers", "z", methods="mdav", ks=3, sizes="z")
            .pl()["loss"]
            .item(),
        },
        "groups": {
            "function": mg.groups(SIZES, "x", 3)["microagg_group"].to_list(),
            "SQL": con.sql("FROM " + call.format("groups", "")).pl()["microagg_group"].to_list(),
        },
        "loss": {
            "function": mg.loss(SIZES, mg.mdav(SIZES, "x", 3), "x"),
            "SQL": con.sql(sql).pl()["loss"].item(),
            "Arrow": mgd.assess(con, "few", "masked", "x", metrics="loss").pl()["loss"].item(),
            "compare": mg.compare(SIZES, "x", methods="mdav", ks=3)["loss"].item(),
            "risk": json.loads(risk[1])["loss"],
        },
        "manifest": published["measures"],
        "verify": microagg("verify", "out.parquet", "--original", "few.parquet"),
        "page": report_html(SIZES, mg.mdav(SIZES, "x", 3), "x", k=3),
        "leaves": mg.fit_leaves(SIZES, "x", k=3).protect(SIZES)["x"].to_list(),
        "refused": refusals(),
    }


def said_by(call):
    """What an error says, or the result."""
    try:
        return str(call())
    except Exception as error:
        return str(error)


def without():
    """What each door says of a column of a type that is of no kind."""
    return refusals(b"tall")


def refusals(value="tall"):
    """What each door says of a value that is not of the kind, or of a type that is of none."""
    frame = SIZES.with_columns(x=pl.lit(value))
    con = mgd.register(duckdb.connect())
    con.register("unknown", frame)
    frame.write_parquet("unknown.parquet")
    calls = {
        "function": lambda: mg.mdav(frame, "x", 3),
        "SQL": lambda: con.sql("FROM microagg.mdav('unknown', 'x', 3)").fetchall(),
        "Arrow": lambda: mgd.mask(con, "unknown", "x", 3),
        "leaves": lambda: mg.fit_leaves(frame, "x", k=3),
        "protect_parquet": lambda: mg.protect_parquet("unknown.parquet", "n.parquet", ["x"], k=3),
    }
    said = {door: said_by(call) for door, call in calls.items()}
    call = ("protect", "unknown.parquet", "-o", "n.parquet", "--columns", "x", "--k", 3)
    return said | {"protect": microagg(*call)[1]}


def without_the_kind():
    """What each door says of the parameter of a kind that is not there."""
    con = mgd.register(duckdb.connect())
    con.register("few", SIZES.with_columns(x=pl.lit("tall")))
    calls = {
        "function": lambda: mg.mdav(SIZES, "x", 3, sizes="x"),
        "LazyFrame": lambda: SIZES.lazy().microagg.mdav("x", 3, sizes="x"),
        "SQL": lambda: con.sql("FROM microagg.mdav('few', 'x', 3, sizes := 'x')").fetchall(),
        "Arrow": lambda: mgd.mask(con, "few", "x", 3, sizes="x"),
        "assess": lambda: mgd.assess(con, "few", "few", "x", sizes="x"),
    }
    return {door: said_by(call) for door, call in calls.items()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(globals()[sys.argv[1]]()))
