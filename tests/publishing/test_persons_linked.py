"""The share of persons that are linked, in a manifest, in requirements and in the report of a release."""

import json
import re

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.main import main
from polars_microagg.publishing import memory
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.manifest.precision import coarse

MASKED = ["age", "pay"]


def visits(rows, seed=0):
    """About three visits of each patient."""
    draw = np.random.default_rng(seed)
    who = draw.integers(0, rows // 3, rows)
    return pl.DataFrame(
        {
            "patient": [f"p{i}" for i in who],
            "age": who % 60 + draw.integers(18, 30, rows),
            "pay": draw.lognormal(6, 1, rows).round(2),
            "city": ["Z"] * 3 + draw.choice(["A", "B"], rows - 3).tolist(),
        }
    )


def publish(frame, path, **options):
    given = {"entity": "patient", "drop": "city", **options}
    return mg.publish(frame, path, MASKED, 4, **given)


@pytest.mark.parametrize(("rows", "digits"), [(99, 0), (100, 2), (1000, 3)])
def test_a_manifest_tells_it_as_precisely_as_dld(rows, digits, tmp_path):
    before, path = visits(rows), tmp_path / "o.parquet"
    told = publish(before, path, require="dld_entity<=99")
    exact = mg.dld_entity(before, pl.read_parquet(path), MASKED, entity="patient")
    assert exact > told["measures"].get("dld", 0)
    (rule,) = told["verdict"]["requirements"]
    assert rule["met"]
    if not digits:
        assert "dld_entity" not in told["measures"]
        assert rule["found"] is None
        return
    assert told["measures"]["dld_entity"] == rule["found"] == coarse("dld", exact, digits)
    assert told["attack"]["dld_entity"].startswith("the share of persons")
    assert "dld_entity" in told["attack"]["sources"]


def test_without_an_entity_it_is_nowhere(tmp_path):
    told = mg.publish(visits(300), tmp_path / "o.parquet", MASKED, 4, drop=["patient", "city"])
    assert "dld_entity" not in json.dumps(told)
    with pytest.raises(mg.InvalidParameterError, match="was given without entity"):
        mg.publish(
            visits(300),
            tmp_path / "n.parquet",
            MASKED,
            4,
            drop=["patient", "city"],
            require="dld_entity<=5",
        )


def test_a_requirement_on_persons_is_another_than_on_records(tmp_path):
    before = visits(300)
    told = publish(before, tmp_path / "o.parquet", require="dld<=25")
    assert told["measures"]["dld"] < 25 < told["measures"]["dld_entity"]
    with pytest.raises(mg.RequirementError, match=r"dld_entity<=25 \(found about \d+\)"):
        publish(before, tmp_path / "n.parquet", require="dld_entity<=25")
    assert not (tmp_path / "n.parquet").exists()


@pytest.mark.parametrize("name", ["o.csv", "o.parquet"])
@pytest.mark.parametrize("options", [{}, {"strata": "city", "small_strata": "drop", "drop": None}])
def test_a_manifest_is_checked_by_persons(name, options, tmp_path):
    before, path = visits(600), tmp_path / name
    before.write_parquet(tmp_path / "in.parquet")
    told = publish(before, path, require="dld_entity<=99", **options)
    assert (told["rows"]["dropped"] > 0) == bool(options)
    for limit in [None] if options else [None, "300MB"]:
        found = check(path, original=tmp_path / "in.parquet", memory=limit)
        assert [f.what for f in found if not f.holds] == []
    record = tmp_path / f"{name}.manifest.json"
    wrong = json.loads(record.read_text())
    wrong["measures"]["dld_entity"] -= 2
    record.write_text(json.dumps(wrong))
    found = {f.what: f for f in check(path, original=tmp_path / "in.parquet")}
    assert not found["measures"].holds
    assert "'dld_entity'" in found["measures"].says


def test_persons_of_a_table_that_was_masked_elsewhere(tmp_path):
    before = visits(600)
    masked = mg.mdav(before, MASKED, 4, entity="patient", entity_mode="rows")
    asked = {"method": None, "entity": "patient", "drop": "city"}
    told = mg.publish(masked, tmp_path / "o.parquet", MASKED, 4, **asked, original=before)
    exact = mg.dld_entity(before, masked, MASKED, entity="patient")
    assert told["measures"]["dld_entity"] == coarse("dld", exact, 2)
    # Whose the rows are is known from the masked table, if the original does not say it.
    other = mg.publish(
        masked, tmp_path / "o.parquet", MASKED, 4, **asked, original=before.drop("patient")
    )
    assert other["measures"] == told["measures"]


@pytest.mark.parametrize("rows", [1500, 2100])
def test_out_of_core_it_is_told_where_all_records_are_linked(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "BASE", 10**15)
    before, path = visits(rows), tmp_path / "o.parquet"
    before.write_parquet(tmp_path / "in.parquet")
    told = publish(tmp_path / "in.parquet", path, memory="2GB")
    assert told["how"]["engine"] == "leaves"
    exact = mg.dld_entity(before, pl.read_parquet(path), MASKED, entity="patient")
    expected = coarse("dld", exact, 3) if rows <= 2000 else None
    assert told["measures"]["dld_entity"] == expected
    for limit in (None, "300MB"):
        found = check(path, original=tmp_path / "in.parquet", memory=limit)
        assert [f.what for f in found if not f.holds] == []
    asked = {"memory": "2GB", "require": "dld_entity<=99"}
    if expected is not None:
        assert publish(tmp_path / "in.parquet", path, **asked)["verdict"]["released"]
        return
    with pytest.raises(mg.InvalidParameterError, match="has not all of any person"):
        publish(tmp_path / "in.parquet", tmp_path / "n.parquet", **asked)
    assert not (tmp_path / "n.parquet").exists()


def words(page):
    """The text of the tiles of a report."""
    tiles = page[page.index('<dl class="tiles') : page.index("</dl>")]
    return " ".join(re.sub("<[^>]*>", " ", tiles).split())


@pytest.mark.parametrize("rows", [99, 600, 2100])
@pytest.mark.parametrize("large", [False, True])
def test_a_report_shows_it_beside_the_records(rows, large, tmp_path, monkeypatch, capsys):
    pytest.importorskip("jinja2", reason="needs jinja2: pip install '.[test]'")
    monkeypatch.setattr(memory, "BASE", 10**15 if large else memory.BASE)
    visits(rows).write_parquet(tmp_path / "in.parquet")
    call = f"protect in.parquet -o o.parquet --columns age,pay --k 4 --entity patient --drop city \
        --report r.html {'--memory 2GB' if large else ''}"
    monkeypatch.chdir(tmp_path)
    assert main(call.split()) == 0
    measures = json.loads((tmp_path / "o.parquet.manifest.json").read_text())["measures"]
    said = words((tmp_path / "r.html").read_text())
    assert ("of persons linked rightly" in said) == (rows >= 100)
    if rows < 100:
        return
    shown = measures["dld_entity"]
    assert (shown is None) == (large and rows > 2000)
    value = "\u2013" if shown is None else f"{shown:.1f} %"
    assert f"of persons linked rightly by a record {value} " in said
    assert ("not known, as the sample of records" in said) == (shown is None)
    assert ("dld_entity" in capsys.readouterr().err) == (shown is not None)


def test_the_command_line_measures_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = visits(300)
    before.write_parquet("in.parquet")
    publish(before, "o.parquet")
    exact = mg.dld_entity(before, pl.read_parquet("o.parquet"), MASKED, entity="patient")
    risk = "risk o.parquet --original in.parquet --json"
    for more in ("", "--memory 300MB", "--columns age,pay --entity patient"):
        assert main([*risk.split(), *more.split()]) == 0
        assert json.loads(capsys.readouterr().out)["dld_entity"] == pytest.approx(exact)
    assert main([*risk.split(), "--columns", "age,pay"]) == 0
    assert "dld_entity" not in json.loads(capsys.readouterr().out)
    compare = "compare in.parquet --columns age,pay --drop city --methods mdav --ks 4 --json"
    persons = [*compare.split(), "--entity", "patient", "--require", "dld_entity<=100"]
    assert main(persons) == 0
    assert json.loads(capsys.readouterr().out)["recommended"]["dld_entity"] == pytest.approx(exact)
    assert main([*compare.split(), "--drop", "patient", "--require", "dld_entity<=9"]) != 0
    assert "was given without --entity" in capsys.readouterr().err
