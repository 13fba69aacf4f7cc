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


if __name__ == "__main__":
    sys.stdout.write(json.dumps(globals()[sys.argv[1]]()))
