"""The map of a report: its marks keep what the release keeps, and its own mark is the release."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.report_map import release_map
from polars_microagg.report import report_html

RNG = np.random.default_rng(6)
PEOPLE = pl.DataFrame(
    {
        "who": np.repeat(np.arange(40), 3),
        "a": np.repeat(RNG.normal(size=40), 3) + RNG.normal(size=120) / 50,
        "b": np.repeat(RNG.integers(0, 300, 40), 3),
        "c": RNG.choice(["x", "y", "z"], 120).tolist(),
        "town": np.repeat(RNG.choice(["n", "s"], 40), 3).tolist(),
        "pay": np.repeat(RNG.integers(0, 9, 40), 3),
    }
)
MASKED = ["a", "b", "c"]
PLAIN = {"strata": "town", "ordinal": "c", "column_weights": {"c": 0.1}, "center": "median"}
PROMISES = {"entity": "who", "confidential": "pay", "l": 3}


DEEP = [pytest.param(each, marks=pytest.mark.deep) for each in (PLAIN, PROMISES | {"refine": True})]


@pytest.mark.parametrize("options", [PLAIN | PROMISES, *DEEP])
def test_the_mark_of_the_method_and_k_of_a_release_is_the_release(options, tmp_path):
    """Each line is masked, and measured, under the guarantees of the release."""
    out = tmp_path / "out.parquet"
    roles = options if "entity" in options else options | {"keep": ["who", "pay"]}
    if "strata" not in options:
        roles = roles | {"keep": "town"}
    told = mg.publish(PEOPLE, out, MASKED, 5, method="fixed_size", **roles)
    found = release_map(PEOPLE, told, 30)
    release = pl.read_parquet(out)
    (own,) = found.filter(method="fixed_size", k=5).to_dicts()
    known = {"strata": options.get("strata"), "ordinal": options.get("ordinal")}
    names = ["loss", "dld", "pld", "dr", "k_min"]
    expected = mg.assess(PEOPLE, release, MASKED, metrics=names, **known).row(0, named=True)
    assert {name: own[name] for name in names} == pytest.approx(expected)


@pytest.mark.deep
def test_text_is_read_as_it_was_when_it_was_released(tmp_path):
    """The distance of a class to the table, t, is one of numbers also where the file is text."""
    PEOPLE.write_csv(tmp_path / "in.csv")
    roles = {"strata": "town", "entity": "who", "confidential": "pay", "t": 0.35}
    roles |= {"drop": "c", "method": "fixed_size"}
    told = mg.publish(str(tmp_path / "in.csv"), tmp_path / "out.csv", ["a", "b"], 5, **roles)
    text = pl.read_csv(tmp_path / "in.csv", infer_schema=False)
    before = text.with_columns(pl.col("a", "b").cast(pl.Float64))
    found = release_map(before, told, 30).filter(method="fixed_size", k=5)
    assert round(found["loss"].item()) == told["measures"]["loss"]


def test_without_a_column_that_the_guarantees_need_there_is_a_sentence_and_no_map(tmp_path, capsys):
    told = mg.publish(PEOPLE, tmp_path / "out.csv", MASKED, 5, keep="town", **PROMISES)
    assert release_map(PEOPLE.drop("pay"), told, 3) is None
    said = "The report has no map: 'pay' is needed for the guarantees of this release"
    assert said in capsys.readouterr().err
    told["config"]["l"] = 99
    assert release_map(PEOPLE, told, 3) is None
    assert "The report has no map: " in capsys.readouterr().err


def test_a_report_draws_as_many_marks_as_disclose_little_or_says_why_none():
    original = pl.DataFrame({"a": np.arange(2_000) % 97, "b": np.arange(2_000) % 89})
    compared = mg.compare(
        original, ["a", "b"], methods=["fixed_size", "pcp", "zscores", "mdav"], ks=[3, 5, 10]
    )
    masked = mg.mdav(original, ["a", "b"], 5)

    def page(lines):
        return report_html(original, masked, ["a", "b"], k=5, compared=lines)

    drawn = page(compared)
    assert f">{compared.filter('pareto').sort('loss')['method'][0]}<" in drawn
    marks = sum(drawn.count(f">{name}<") for name in compared["method"].unique())
    assert 0 < marks < len(compared)
    late = compared.with_columns(pl.lit(None, pl.Float64).alias(name) for name in ("loss", "dr"))
    assert "There is no map of other methods. No method could be measured in the time" in page(late)
