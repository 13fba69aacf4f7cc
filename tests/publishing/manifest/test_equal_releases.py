"""Equal releases have equal manifests: of few records a manifest is a function of release and request."""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.errors import MicroaggError
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.manifest.precision import coarse_count, digits_of
from tests.loop import rounds

METHODS = ("mdav", "vmdav", "pcp", "lowloss", "individual_ranking")


def drawn(rng):
    """A table of few records: persons, strata of which some are small, gaps, and kept columns."""
    n = int(rng.integers(6, 60))
    table = pl.DataFrame(
        {
            "who": rng.integers(0, max(2, n // int(rng.integers(1, 4))), n),
            "age": rng.integers(0, int(rng.integers(2, 12)), n) * 2.0,
            "pay": rng.integers(0, int(rng.integers(2, 9)), n) * 4,
            "sex": rng.choice(["f", "m", "x"], n, p=[0.5, 0.4, 0.1]),
            "city": rng.choice(["A", "B", "C"], n, p=[0.6, 0.3, 0.1]),
            "ill": rng.choice(["a", "b", "c"], n),
        }
    )
    gaps = {name: rng.random(n) < rng.choice([0.0, 0.2]) for name in ("age", "pay", "sex")}
    return table.with_columns(
        pl.when(~pl.Series(gap)).then(pl.col(name)).alias(name) for name, gap in gaps.items()
    )


def request(rng):
    """Any request, with what makes a release lose something of its original more often than not."""

    def one(*values):
        return values[int(rng.integers(len(values)))]

    columns = one(["age", "pay"], ["age", "pay", "sex"], [["age"], ["pay"]], ["age"])
    asked = {
        "k": int(rng.integers(2, 5)),
        "method": one(*METHODS),
        "nulls": one("impute", "impute", "pattern"),
    }
    asked |= {"small_strata": one("drop", "drop", "null"), "seed": int(rng.integers(3))}
    asked |= one({"strata": "city"}, {"strata": "city"}, {})
    asked |= one(
        {"entity": "who"},
        {"entity": "who", "max_rows_per_entity": 2},
        {"entity": "who", "entity_mode": "mean"},
        {},
        {},
    )
    asked |= one({"confidential": ["ill"]}, {"confidential": ["ill"], "l": 2}, {})
    asked |= {
        "center": one("mean", "mean", "median"),
        "require": one("suppressed<=99", "rows>=2", "dld<=100"),
    }
    if asked["method"] == "lowloss":
        asked["effort"] = 0
    names = columns if isinstance(columns[0], str) else [n for block in columns for n in block]
    roles = {asked.get("strata"), asked.get("entity"), *asked.get("confidential", [])}
    others = [n for n in ("who", "age", "pay", "sex", "city", "ill") if n not in {*names, *roles}]
    keep = [n for n in others if n != "who" and rng.random() < 0.3]
    return columns, asked | {"keep": keep, "drop": [n for n in others if n not in keep]}


def variants(rng, table, released):
    """Tables that may have the same release: with other gaps, values, rows that are dropped, and persons."""
    yield table
    same = table.height == released.height
    for name in ("age", "pay", "sex"):
        if same and name in released.columns:
            there = released[name].cast(table.schema[name], strict=False)
            yield table.with_columns(table[name].fill_null(there))
            gone = (table[name] == there).fill_null(False) & pl.Series(
                rng.random(table.height) < 0.5
            )
            yield table.with_columns(pl.when(~gone).then(pl.col(name)).alias(name))
    if same and "age" in released.columns:
        # Another spread about the same centre.
        far = pl.col("age") - pl.Series(released["age"].cast(pl.Float64))
        yield table.with_columns(age=pl.col("age") - 2 * far)
    more = table.head(1).with_columns(city=pl.lit("Z"), who=pl.lit(10**6, pl.Int64))
    yield pl.concat([table, more])
    yield pl.concat([table, more, more.with_columns(city=pl.lit("Y"))])
    yield table.filter(pl.len().over("city") > 4)
    yield pl.concat([table, table.filter(pl.len().over("who") > 2).tail(1)])
    yield table.with_columns(who=pl.int_range(pl.len(), dtype=pl.Int64))
    yield table.with_columns(who=pl.col("who") // 2)
    yield table.with_columns(pl.col("age", "pay").fill_null(strategy="mean"))


def published(table, columns, asked, folder):
    """A release as bytes and its manifest, without times; None if there is none."""
    path = folder / "o.parquet"
    try:
        told = mg.publish(table, path, columns, **asked)
    except MicroaggError:
        return None
    return path.read_bytes(), {key: told[key] for key in told if key != "times"}


def test_originals_of_one_release_have_one_manifest(tmp_path):
    tables = releases = shared = originals = 0
    for seed in range(rounds(200)):
        rng = np.random.default_rng(seed)
        table = drawn(rng)
        columns, asked = request(rng)
        first = published(table, columns, asked, tmp_path)
        if first is None:
            continue
        tables += 1
        same = defaultdict(list)
        for one in variants(rng, table, pl.read_parquet(tmp_path / "o.parquet")):
            found = published(one.cast(table.schema), columns, asked, tmp_path)
            if found and all(not one.equals(other) for other, _ in same[found[0]]):
                same[found[0]].append((one, found[1]))
        for group in same.values():
            releases += 1
            shared += len(group) > 1
            originals += len(group) * (len(group) > 1)
            for _, manifest in group[1:]:
                assert manifest == group[0][1], (seed, json.dumps([m for _, m in group]))
    counts = (
        f"{tables} tables, {releases} releases, {shared} of several originals, {originals} of these"
    )
    logging.getLogger(__name__).warning(counts)
    assert shared > tables / 2


def test_no_difference_of_published_counts_is_exact(tmp_path):
    # Of 20,000 rows a step is 0.01 %, which are 2 rows, or 2 cells of a column.
    rng, made = np.random.default_rng(1), []
    table = pl.DataFrame(
        {"age": rng.normal(size=20_000), "who": np.arange(20_000) // 2, "city": "A"},
    )
    for gaps, rare in ((3_015, 301), (3_016, 302)):
        one = table.with_columns(
            age=pl.when(pl.int_range(pl.len()) >= gaps).then("age"),
            city=pl.when(pl.int_range(pl.len()) >= 20_000 - rare)
            .then(pl.col("who").cast(pl.String))
            .otherwise("city"),
        )
        asked = {"strata": "city", "small_strata": "drop", "nulls": "impute", "drop": "who"}
        made.append(mg.publish(one, tmp_path / "o.parquet", "age", 3, **asked))
        (filled,), rows, cells = (made[-1][key] for key in ("imputed", "rows", "cells"))
        assert 0 < abs(filled["cells"] - gaps) + abs(rows["dropped"] - rare) <= 4
        # Whatever is subtracted, what is left follows from the release and the two rounded counts.
        assert rows["out"] == 20_000 - rare
        assert rows["in"] == rows["out"] + rows["dropped"]
        assert cells == {"all": rows["in"], "compared": rows["out"] - filled["cells"]}
        one.write_parquet(tmp_path / "in.parquet")
        for original in (None, tmp_path / "in.parquet"):
            found = check(tmp_path / "o.parquet", original=original)
            assert [(f.what, f.says) for f in found if not f.holds] == []


def test_warnings_count_the_original_as_coarsely(tmp_path, caplog):
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"age": rng.random(6_000), "pay": rng.lognormal(0, 2, 6_000)})
    told = mg.publish(table, tmp_path / "o.parquet", ["age", "pay"], 3)
    (exact,) = [text for text in caplog.messages if "total of 'pay'" in text]
    (coarse,) = [text for text in told["warnings"] if "total of 'pay'" in text]
    count, groups = (int(text) for text in re.match(r"In (\d+) of (\d+) ", exact).groups())
    about = coarse_count(count, groups, digits_of(groups))[0]
    assert coarse == exact.replace(f"In {count} of", f"In about {about} of")
    assert about != count
    few = mg.publish(table.head(150), tmp_path / "o.parquet", ["age", "pay"], 3)
    assert few["warnings"][0].startswith("In some of ")


def test_the_owner_reads_how_many_rows_were_dropped(tmp_path, caplog):
    table = pl.DataFrame({"age": range(20), "city": ["A"] * 18 + ["Z"] * 2})
    asked = {"strata": "city", "small_strata": "drop", "require": "suppressed<=10"}
    told = mg.publish(table, tmp_path / "o.parquet", "age", 3, **asked)
    assert told["rows"] == {
        "in": None,
        "out": 18,
        "emptied": 0,
        "dropped": None,
        "suppressed": None,
    }
    assert told["verdict"]["requirements"][0] == {
        "requirement": "suppressed<=10",
        "found": None,
        "met": True,
    }
    assert "2 of 20 rows were dropped." in caplog.text
    words = "found is not published of so few records"
    with pytest.raises(mg.RequirementError, match=words + r"\)") as raised:
        mg.publish(table, tmp_path / "o.parquet", "age", 3, **asked | {"require": "suppressed<=9"})
    assert "10" not in str(raised.value)
    table.write_parquet(tmp_path / "in.parquet")
    for original in (None, tmp_path / "in.parquet"):
        found = check(tmp_path / "o.parquet", original=original)
        assert [(f.what, f.says) for f in found if not f.holds] == []
    assert not all(f.holds for f in check(tmp_path / "o.parquet", original=_other(table, tmp_path)))


def _other(table, folder):
    """An original of which more rows were dropped than the requirement allows."""
    more = pl.concat([table, table.tail(1).with_columns(city=pl.lit("Y"))])
    more.write_parquet(folder / "other.parquet")
    return folder / "other.parquet"
