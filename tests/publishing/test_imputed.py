"""Cells that had no value and were filled: counted by column in a manifest and a report, at every size."""

import json
import logging
import re

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.main import main
from polars_microagg.publishing import memory
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.manifest.imputed import recorded_imputed

COLUMNS = ["age", "pay", "sex"]


def people(rows, gaps=(0.2, 0.0, 0.1), seed=0):
    """Records of which some have no value in a column; cities Z and Y are too small to be released."""
    draw = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "age": draw.integers(18, 90, rows),
            "pay": draw.lognormal(3, 1, rows).round(2),
            "sex": draw.choice(["f", "m"], rows),
            "city": ["Z", "Y"] * 3 + draw.choice(["A", "B"], rows - 6).tolist(),
        }
    )
    kept = {n: draw.random(rows) >= gap for n, gap in zip(COLUMNS, gaps, strict=True)}
    return table.with_columns(
        pl.when(pl.Series(chosen)).then(pl.col(name)).alias(name) for name, chosen in kept.items()
    )


def publish(frame, path, **options):
    asked = {"nulls": "impute", "strata": "city", "small_strata": "drop", **options}
    return mg.publish(frame, path, COLUMNS, 5, **asked)


def counted(before, after):
    """The cells that were filled, column by column, with nothing but `is_null`."""
    return {n: int((before[n].is_null() & after[n].is_not_null()).sum()) for n in COLUMNS}


@pytest.mark.parametrize("policy", ["drop", "null"])
@pytest.mark.parametrize("name", ["o.parquet", "o.csv"])
def test_a_manifest_says_how_many_cells_of_which_column(name, policy, tmp_path):
    before, path = people(1006), tmp_path / name
    told = publish(before, path, small_strata=policy)
    dropped = 6 * (policy == "drop")
    # 6 of 1,000 are a whole per cent, where two columns have some 800 records in common.
    assert (told["rows"]["dropped"], told["rows"]["emptied"]) == (10 * (dropped > 0), 6 - dropped)
    after = pl.read_parquet(path) if name == "o.parquet" else pl.read_csv(path)
    filled = counted(before[dropped:], after)
    # Cells that were emptied are not filled; of 1,000 cells a step is one cell.
    assert filled["age"] == before["age"][6:].null_count() > 100
    shares = {row["column"]: row["share"] for row in told["imputed"]}
    assert shares["age"] == pytest.approx(100 * filled["age"] / len(after), abs=0.051)
    assert shares["pay"] == 0
    assert [row["column"] for row in told["imputed"]] == COLUMNS
    for row in told["imputed"]:
        assert abs(row["cells"] - filled[row["column"]]) <= 1


def test_few_filled_cells_are_never_told_as_none():
    # 1 of 9,000 is 0.01 per cent, and the last digit is 0.1.
    (row,) = recorded_imputed({"a": 1}, 9_000, 3)
    assert row == {"column": "a", "cells": 9, "share": 0.1}
    assert recorded_imputed({"a": 0}, 9_000, 3)[0]["share"] == 0
    whole = recorded_imputed({"a": 9_000}, 9_000, 3)
    assert whole == [{"column": "a", "cells": 9_000, "share": 100}]


def test_of_few_records_it_is_told_to_the_owner_alone(tmp_path, caplog):
    before = people(306)
    with caplog.at_level(logging.WARNING, logger="polars_microagg"):
        told = publish(before, tmp_path / "o.parquet")
    filled = counted(before[6:], pl.read_parquet(tmp_path / "o.parquet"))
    assert [row["cells"] for row in told["imputed"]] == [None] * 3
    assert [row["share"] for row in told["imputed"]] == [None] * 3
    (said,) = [text for text in caplog.messages if "had no value" in text]
    assert f"Of 300 cells of each column these had no value: 'age' {filled['age']}, 'sex'" in said
    assert "'pay'" not in said
    assert "had no value" not in json.dumps(told)


@pytest.mark.parametrize("large", [False, True])
def test_where_no_measure_is_told_no_filled_cell_is(large, tmp_path, caplog, monkeypatch):
    # Of 1,200 records 60 have both values in the original: no measure is told, in whatever digits.
    monkeypatch.setattr(memory, "BASE", 10**15 if large else memory.BASE)
    frame = people(1200, (0, 0, 0)).with_row_index("i")
    before = frame.with_columns(
        age=pl.when(pl.col("i") < 630).then("age"), pay=pl.when(pl.col("i") >= 570).then("pay")
    )
    before.write_parquet(tmp_path / "in.parquet")
    asked = {"nulls": "impute", "keep": [], "drop": ["i", "sex", "city"]}
    with caplog.at_level(logging.WARNING, logger="polars_microagg"):
        path, more = tmp_path / "o.parquet", {"memory": "2GB"} if large else {}
        told = mg.publish(tmp_path / "in.parquet", path, ["age", "pay"], 5, **asked, **more)
    assert (told["digits"], told["how"]["engine"]) == (0, "leaves" if large else "whole")
    empty = {"cells": None, "share": None}
    assert told["imputed"] == [{"column": name, **empty} for name in ("age", "pay")]
    (said,) = [text for text in caplog.messages if "had no value" in text]
    assert "Of 1200 cells of each column these had no value: 'age' 570, 'pay' 570" in said
    assert said.endswith("The manifest does not say it, as few records have values to compare.")
    for original in (None, tmp_path / "in.parquet"):
        found = check(path, original=original)
        assert [(f.what, f.says) for f in found if not f.holds] == []
        assert next(f for f in found if f.what == "imputed").checked


def test_two_originals_of_one_small_release_have_one_manifest(tmp_path):
    # Whether a value was there or is the mean of the others is nowhere to be seen.
    told = []
    for age in ([30, 40, 35], [30, 40, None]):
        frame = pl.DataFrame({"age": age}).cast(pl.Float64)
        one = mg.publish(frame, tmp_path / "o.parquet", "age", 3, nulls="impute", overwrite=True)
        told.append({n: v for n, v in one.items() if n != "times"})
    assert told[0] == told[1]


@pytest.mark.parametrize("nulls", ["raise", "pattern"])
def test_where_nothing_is_filled_nothing_is_said(nulls, tmp_path):
    before = people(1206, (0, 0, 0) if nulls == "raise" else (0.2, 0, 0.1))
    assert "imputed" not in publish(before, tmp_path / "o.parquet", nulls=nulls)


def test_a_table_that_was_masked_elsewhere_is_compared_with_its_original(tmp_path):
    before = people(1506)[6:]
    masked = mg.mdav(before, COLUMNS, 5, nulls="impute")
    asked = {"method": None, "keep": "city"}
    told = mg.publish(masked, tmp_path / "o.parquet", COLUMNS, 5, **asked, original=before)
    assert told["imputed"] == recorded_imputed(counted(before, masked), 1500, 3)
    assert "imputed" not in mg.publish(masked, tmp_path / "p.parquet", COLUMNS, 5, **asked)
    before.write_parquet(tmp_path / "in.parquet")
    found = check(tmp_path / "o.parquet", original=tmp_path / "in.parquet")
    assert [(f.what, f.says) for f in found if not f.holds] == []


@pytest.mark.parametrize("rows", [306, 1206])
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_out_of_core_the_same_cells_are_counted(rows, form, tmp_path, monkeypatch):
    before, source = people(rows, seed=1), tmp_path / f"in.{form}"
    getattr(before, f"write_{form}")(source)
    whole = publish(source, tmp_path / "w.parquet", small_strata="null")
    monkeypatch.setattr(memory, "BASE", 10**15)
    large = publish(source, tmp_path / "o.parquet", small_strata="null", memory="2GB")
    assert large["how"]["engine"] == "leaves"
    assert large["imputed"] == whole["imputed"]
    dropping = publish(source, tmp_path / "d.parquet", memory="2GB")
    monkeypatch.undo()
    assert dropping["imputed"] == publish(source, tmp_path / "d2.parquet")["imputed"]
    for place in ("w", "o"):
        for limit in (None, "300MB"):
            for original in (None, source):
                path = tmp_path / f"{place}.parquet"
                found = check(path, original=original, memory=limit)
                assert [(f.what, f.says) for f in found if not f.holds] == []
                state = next(f for f in found if f.what == "imputed")
                assert state.checked == (original is not None or rows < 1000)


def missing(manifest):
    del manifest["imputed"]


def fewer(manifest):
    row = manifest["imputed"][0]
    row["share"] = round(row["share"] - 1, 1)
    row["cells"] = round(row["share"] * manifest["rows"]["out"] / 100)


def count_alone(manifest):
    manifest["imputed"][0]["cells"] -= 1


def exchanged(manifest):
    manifest["imputed"][0]["column"] = "pay"


def untold(manifest):
    manifest["imputed"][0] |= {"cells": None, "share": None}


@pytest.mark.parametrize("edit", [missing, fewer, count_alone, exchanged, untold])
def test_other_counts_are_missed(edit, tmp_path):
    before, path = people(1206), tmp_path / "o.parquet"
    before.write_parquet(tmp_path / "in.parquet")
    publish(before, path)
    record = tmp_path / "o.parquet.manifest.json"
    wrong = json.loads(record.read_text())
    edit(wrong)
    record.write_text(json.dumps(wrong))
    found = {f.what: f for f in check(path, original=tmp_path / "in.parquet")}
    assert not found["imputed"].holds
    alone = {f.what: f for f in check(path)}["imputed"]
    assert alone.holds == (edit is fewer)


@pytest.mark.parametrize("rows", [306, 2006])
@pytest.mark.parametrize("large", [False, True])
def test_a_report_says_it(rows, large, tmp_path, monkeypatch, capsys):
    pytest.importorskip("jinja2", reason="needs jinja2: pip install '.[test]'")
    monkeypatch.setattr(memory, "BASE", 10**15 if large else memory.BASE)
    monkeypatch.chdir(tmp_path)
    people(rows).write_parquet("in.parquet")
    call = "protect in.parquet -o o.parquet --columns age,pay,sex --k 5 --nulls impute --drop city \
        --report r.html"
    assert main([*call.split(), *(["--memory", "2GB"] if large else [])]) == 0
    page = (tmp_path / "r.html").read_text()
    section = page[page.index("Cells that were filled") :].partition("</section>")[0]
    text = " ".join(re.sub("<[^>]*>", " ", section).split())
    told = json.loads((tmp_path / "o.parquet.manifest.json").read_text())["imputed"]
    said = capsys.readouterr().err
    if rows < 1000:
        # Which columns had such cells is for the owner alone: it is said once, of the table.
        assert "in which columns, is not told of so few records" in text
        assert not re.search(r"\b(age|pay|sex)\b", text)
        assert "these had no value: 'age'" in said
        return
    by_name = {row["column"]: row for row in told}
    assert f"age {by_name['age']['cells']} {by_name['age']['share']:.1f} %" in text
    assert "pay 0" not in text
    assert f"{by_name['age']['share']:g} % of 'age' had no value and is filled" in said
