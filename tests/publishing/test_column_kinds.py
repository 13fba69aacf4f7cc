"""Categories in a release: what is recorded of them, and how it is found again."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.last_line import last_line
from polars_microagg.publishing import memory
from polars_microagg.publishing.column_kinds import rare_shares, read_as_text
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.manifest.record import config_hash
from polars_microagg.report.categories import lost
from tests.loop import share

N, K = 1200, 5
RNG = np.random.default_rng(3)
RARE = ["rarest", "rarer"]
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "zip": [f"{number:05d}" for number in RNG.integers(1000, 1040, N)],
        "job": [*RARE, *RARE[1:] * 3, *RNG.choice(["clerk", "cook", "smith"], N - 5)],
        "ill": RNG.choice([True, False], N),
        "grade": pl.Series(
            RNG.choice(["low", "mid", "top"], N), dtype=pl.Enum(["low", "mid", "top"])
        ),
        "code": RNG.integers(1, 9, N),
        "sex": RNG.choice(["f", "m"], N),
        "who": np.arange(N) // 2,
    }
)
MASK = ["age", "zip", "job", "ill", "grade", "code"]
ZIPS = mg.Taxonomy.prefix(5, [3, 2])
CALLS = {
    "by type": ({"strata": "sex"}, {"zip": "nominal", "job": "nominal", "ill": "nominal", "grade": "ordinal"}),
    "by name": (
        {"keep": "sex", "taxonomy": {"zip": ZIPS}, "nominal": "code", "column_weights": {"zip": 2}, "dtype": "float"},
        {"zip": "taxonomy", "job": "nominal", "ill": "nominal", "grade": "ordinal", "code": "nominal"},
    ),
}  # fmt: skip


def published(folder, name="out.parquet", **options):
    return mg.publish(TABLE, f"{folder}/{name}", MASK, K, **({"drop": "who"} | options))


def wrong(found):
    return [finding.what for finding in found if not finding.holds]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "name", share(["out.csv", "out.parquet", "out.duckdb::t", "out.ndjson", "out.arrow"], 2)
)
def test_kinds_are_recorded_and_found_again_in_every_format(name, call, tmp_path):
    options, kinds = CALLS[call]
    TABLE.write_parquet(tmp_path / "in.parquet")
    told = published(tmp_path, name, **options)
    assert {row["column"]: row["kind"] for row in told["categories"]} == kinds
    for original in (None, tmp_path / "in.parquet"):
        found = check(f"{tmp_path}/{name}", original=original)
        assert wrong(found) == []
        (own,) = (finding for finding in found if finding.what == "categories")
        assert own.checked == (original is not None)


def test_what_is_recorded_is_the_call_and_no_category_of_a_record(tmp_path):
    told = published(tmp_path, **CALLS["by name"][0])
    assert told["config"]["taxonomy"] == {"zip": ZIPS.to_dict()}
    assert (told["config"]["nominal"], told["config"]["column_weights"]) == ("code", {"zip": 2})
    rare = {row["column"]: row["rare"] for row in told["categories"]}
    assert rare["job"] == round(100 * 5 / N, 1)
    assert rare["ill"] == rare["grade"] == 0
    assert rare["zip"] is None
    text = (tmp_path / "out.parquet.manifest.json").read_text()
    assert not any(word in text for word in (*RARE, "clerk", "low", "01000"))
    assert not set(RARE) & set(pl.read_parquet(tmp_path / "out.parquet")["job"].unique())


def test_of_few_records_it_is_not_told(tmp_path):
    few = TABLE.head(600)
    told = mg.publish(few, tmp_path / "out.parquet", MASK, K, keep="sex", drop="who")
    assert {row["rare"] for row in told["categories"]} == {None}
    few.write_parquet(tmp_path / "in.parquet")
    assert wrong(check(tmp_path / "out.parquet", original=tmp_path / "in.parquet")) == []


def test_entities_are_counted_and_not_their_rows():
    before = pl.DataFrame({"job": ["a", "a", "a", "b", "b", "b"], "who": [1, 1, 1, 2, 3, 4]})
    after = before.with_columns(job=pl.lit("b"))
    assert rare_shares(before, after, ["job"], (["job"], [], ["who"]), 3) == {"job": (50.0, 6)}
    assert rare_shares(before, after, ["job"], (["job"], [], []), 3) == {"job": (0.0, 6)}
    emptied = before.with_columns(job=pl.when(pl.col("job") == "b").then("job"))
    assert rare_shares(before, emptied, ["job"], (["job"], [], ["who"]), 3) == {"job": (0.0, 3)}


def test_strata_are_counted_each():
    before = pl.DataFrame({"job": ["a", "a", "b", "a", "b", "b"], "s": [1, 1, 1, 2, 2, 2]})
    after = before.with_columns(job=pl.Series(["a", "a", "a", "b", "b", "b"]))
    share, cells = rare_shares(before, after, ["job"], (["job"], ["s"], []), 2)["job"]
    assert (share, cells) == (pytest.approx(100 / 3), 6)


@pytest.mark.parametrize("large", [False, True])
def test_what_a_tree_generalizes_as_requested_is_no_lost_rare_category(
    tmp_path, monkeypatch, large
):
    # Every postal code is of one record alone, and comes out as the class that holds ten or more.
    table = pl.DataFrame({"age": [i % 71 for i in range(1200)]}).with_columns(
        postcode=pl.format("{}", 10000 + pl.int_range(1200)), job=pl.lit("cook")
    )
    table.write_parquet(tmp_path / "in.parquet")
    if large:
        monkeypatch.setattr(memory, "BASE", 10**15)
    out, tree = tmp_path / "out.parquet", {"postcode": mg.Taxonomy.prefix(5, [4, 3, 2])}
    where = {"memory": "2GB"} if large else {}
    mask = ["age", "postcode", "job"]
    told = mg.publish(tmp_path / "in.parquet", out, mask, 5, taxonomy=tree, **where)
    assert told["how"]["engine"] == ("leaves" if large else "whole")
    assert pl.read_parquet(out)["postcode"].null_count() == 0
    assert [row["rare"] for row in told["categories"]] == [None, 0.0]
    assert "lost a rare category" not in last_line(told, Location.of(out), None)
    assert lost(told) == [["postcode", "taxonomy", "generalized"], ["job", "nominal", "0 %"]]
    assert wrong(check(out, original=tmp_path / "in.parquet")) == []
    edited = json.loads(Path(f"{out}.manifest.json").read_text())
    edited["categories"][0]["rare"] = 100.0
    Path(f"{out}.manifest.json").write_text(json.dumps(edited))
    assert "categories" in wrong(check(out, original=tmp_path / "in.parquet"))


@pytest.mark.parametrize("large", [False, True])
def test_the_share_is_told_where_no_value_is_left(tmp_path, monkeypatch, large):
    # Every job has 60 records, of which each stratum has one.
    table = pl.DataFrame(
        {"age": [i % 71 for i in range(1200)], "town": [i // 20 for i in range(1200)]}
    ).with_columns(job=pl.format("job {}", pl.int_range(1200) % 20))
    table.write_parquet(tmp_path / "in.parquet")
    if large:
        monkeypatch.setattr(memory, "BASE", 10**15)
    where = {"memory": "2GB"} if large else {}
    out = tmp_path / "out.parquet"
    told = mg.publish(tmp_path / "in.parquet", out, ["age", "job"], 5, strata="town", **where)
    assert told["how"]["engine"] == ("leaves" if large else "whole")
    assert pl.read_parquet(out)["job"].null_count() == 1200
    assert (told["digits"], told["measures"].get("loss")) == (0, None)
    assert told["categories"] == [{"column": "job", "kind": "nominal", "rare": 100.0}]
    line = last_line(told, Location.of(out), None)
    assert "100 % of 'job' lost a rare category" in line
    assert "no loss told, as fewer than 100 records have values to compare" in line
    assert wrong(check(out, original=tmp_path / "in.parquet")) == []
    assert wrong(check(out)) == []


def edited(folder, change):
    """Change the manifest as somebody would who can write it, with its plain hash."""
    path = folder / "out.parquet.manifest.json"
    told = json.loads(path.read_text())
    change(told)
    told["config_sha256"] = config_hash(told["config"])
    path.write_text(json.dumps(told))


def unnamed(told):
    del told["categories"]


def other_tree(told):
    told["config"]["taxonomy"]["zip"]["kept"] = [4, 1]


EDITS = {
    "another share": (lambda told: told["categories"][1].update(rare=9.9), "categories"),
    "a share that none can be": (lambda told: told["categories"][1].update(rare=101.0), "categories"),
    "another kind": (lambda told: told["categories"][1].update(kind="ordinal"), "categories"),
    "none": (unnamed, "categories"),
    "another tree": (other_tree, "measures"),
    "no tree": (lambda told: told["config"]["taxonomy"].update(zip={"version": 1}), "configuration"),
    "another column": (lambda told: told["config"].update(nominal=["age"]), "categories"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_a_manifest_that_says_otherwise_does_not_hold(edit, tmp_path):
    change, what = EDITS[edit]
    published(tmp_path, **CALLS["by name"][0])
    TABLE.write_parquet(tmp_path / "in.parquet")
    edited(tmp_path, change)
    assert what in wrong(check(tmp_path / "out.parquet", original=tmp_path / "in.parquet"))


def test_another_original_is_found_by_its_categories(tmp_path):
    published(tmp_path, **CALLS["by name"][0])
    other = TABLE.with_columns(job=pl.lit("smith"))
    other.write_parquet(tmp_path / "in.parquet")
    assert "measures" in wrong(check(tmp_path / "out.parquet", original=tmp_path / "in.parquet"))


def test_an_original_that_lost_the_order_of_its_categories_is_named(tmp_path):
    published(tmp_path, "out.csv", keep="sex")
    TABLE.write_csv(tmp_path / "in.csv")
    found = check(tmp_path / "out.csv", original=tmp_path / "in.csv")
    assert any("'grade' of the original are of other types" in finding.says for finding in found)


def test_a_table_that_was_masked_elsewhere_is_measured_by_its_kinds(tmp_path):
    masked = mg.mdav(TABLE, MASK, K, taxonomy={"zip": ZIPS})
    options = {"original": TABLE, "method": None, "keep": "sex", "drop": "who"}
    told = mg.publish(masked, tmp_path / "o.parquet", MASK, K, taxonomy={"zip": ZIPS}, **options)
    own = mg.assess(TABLE, masked, MASK, metrics="loss", taxonomy={"zip": ZIPS}).item()
    assert told["measures"]["loss"] == round(own, 1)
    TABLE.write_parquet(tmp_path / "in.parquet")
    assert wrong(check(tmp_path / "o.parquet", original=tmp_path / "in.parquet")) == []
    with pytest.raises(mg.InvalidParameterError, match="nominal names 'sex'"):
        mg.publish(masked, tmp_path / "p.parquet", MASK, K, nominal="sex", **options)


def test_only_categories_without_an_order_stay_text():
    kinds = {"nominal": ("a",), "ordinal": ("b",), "taxonomy": {"c": ZIPS}, "circular": ("d",)}
    assert read_as_text("abcde", kinds) == ["a", "c"]


def test_a_column_that_goes_with_categories_reveals_them(tmp_path):
    town = TABLE["job"].replace_strict({"clerk": 1, "cook": 2, "smith": 3}, default=4).alias("town")
    table = TABLE.select("age", "job").with_columns(town, town.reverse().alias("other"))
    told = mg.publish(table, tmp_path / "o.parquet", ["age", "job"], K, keep=["town", "other"])
    # One town has both of the rare jobs.
    assert not any("reveals" in warning for warning in told["warnings"])
    # A town that is missing tells nothing; the others do.
    table = table.with_columns(town=pl.when(pl.col("town") < 4).then("town"))
    told = mg.publish(table, tmp_path / "o.parquet", ["age", "job"], K, keep=["town", "other"])
    reveals = [warning.partition(":")[0] for warning in told["warnings"] if "reveals" in warning]
    assert reveals == ["The kept column 'town' reveals the masked column 'job'"]
