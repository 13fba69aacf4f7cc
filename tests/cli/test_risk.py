"""Releases measured and checked beside an original that may be another, and by what an intruder knows."""

import json

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats.files import Location


@pytest.mark.parametrize("memory", [(), ("--memory", "2GB")])
@pytest.mark.parametrize("target", ["out.parquet", "out.csv", "out.duckdb::t"])
def test_risk_says_of_a_changed_release_that_it_is_not_the_one_of_its_manifest(
    target, memory, tmp_path, microagg
):
    rng = np.random.default_rng(3)
    before = pl.DataFrame({"x": rng.integers(0, 99, 200), "y": rng.normal(0, 9, 200)})
    original = tmp_path / "before.parquet"
    before.write_parquet(original)
    place = Location.of(f"{tmp_path}/{target}")
    roles = ["--columns", "x,y", "--k", 5]
    assert microagg("protect", original, "-o", place, *roles).code == 0
    asked = ["risk", place, "--original", original, *memory]
    assert microagg(*asked).code == 0
    if place.table:
        with duckdb.connect(str(place.path)) as con:
            con.execute("UPDATE t SET x = x + 1 WHERE rowid = 0")
    else:
        frame = place.read()
        changed = pl.col("x").cast(pl.Float64) + 1
        changed = pl.when(pl.int_range(pl.len()) == 0).then(changed).otherwise(pl.col("x"))
        frame = frame.with_columns(changed.cast(frame.schema["x"], strict=False))
        getattr(frame, f"write_{place.format}")(place.path)
    done = microagg(*asked)
    assert done.code == 3
    assert "The release is not the one of its manifest: The " in done.err
    assert "the hash of the manifest. Name the one that was released, or" in done.err
    assert "without its manifest, with --columns." in done.err
    assert microagg(*asked, "--columns", "x,y").code == 0


@pytest.mark.parametrize("memory", [(), ("--memory", "2GB")])
def test_verify_tells_of_an_original_of_other_rows_without_options_that_it_has_not(
    memory, tmp_path, microagg
):
    before = pl.DataFrame({"x": range(200), "y": [i * 7 % 31 for i in range(200)]})
    before.write_parquet(tmp_path / "before.parquet")
    before[:150].write_parquet(tmp_path / "less.parquet")
    target = tmp_path / "out.parquet"
    roles = ["--columns", "x,y", "--k", 5]
    assert microagg("protect", tmp_path / "before.parquet", "-o", target, *roles).code == 0
    done = microagg("verify", target, "--original", tmp_path / "less.parquet", *memory)
    assert done.code == 4
    assert "has 150 rows to compare and the release has 200; rows are matched by pos" in done.out
    assert "Name the table that was protected, its rows in the same order." in done.out
    assert "key=" not in done.out
    assert "--key" not in done.out


RNG = np.random.default_rng(5)
VISITS = pl.DataFrame(
    {
        "who": RNG.integers(0, 90, 300),
        "age": RNG.integers(18, 90, 300),
        "sex": RNG.choice(["m", "f"], 300).tolist(),
        "town": RNG.choice(["N", "S"], 300).tolist(),
        "days": RNG.integers(0, 40, 300),
    }
)
COUNTED = ("records", "classes", "k_min", "k_prime", "uniques")


def by_hand(frame, known):
    """The counts of classes of equal values."""
    sizes = [n for *_, n in frame.group_by(known).len().rows()]
    return len(frame), len(sizes), min(sizes), len(frame) / len(sizes), sizes.count(1)


@pytest.mark.parametrize("memory", [(), ("--memory", "2GB")])
@pytest.mark.parametrize("target", ["out.parquet", "out.csv"])
@pytest.mark.parametrize("known", [["age"], ["age", "sex", "days"], ["days"], ["age", "town"]])
def test_risk_counts_the_classes_of_what_an_intruder_knows(
    known, target, memory, tmp_path, microagg
):
    VISITS.write_parquet(tmp_path / "in.parquet")
    out = tmp_path / target
    roles = {"strata": "town", "keep": "days", "entity": "who"}
    mg.publish(VISITS, out, ["age", "sex"], 5, **roles)
    release = pl.read_csv(out) if target.endswith("csv") else pl.read_parquet(out)
    asked = ["risk", out, "--original", tmp_path / "in.parquet", *memory, "--known"]
    asked.append(",".join(known))
    done = microagg(*asked, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    # An attacker knows the strata, too.
    both = list(dict.fromkeys([*known, "town"]))
    expected = by_hand(release, both)
    assert [found[name] for name in COUNTED] == pytest.approx(expected)
    measured = mg.assess(VISITS, release, ["age", "sex"], known=known, strata="town")
    measured = measured.row(0, named=True)
    assert {name: found[name] for name in found.keys() & measured} == pytest.approx(
        {name: value for name, value in measured.items() if name in found}
    )
    assert {"k_min", "k_prime", "loss", "dld", "pld", "score"} <= {*found}
    whose = release.with_columns(VISITS["who"]).group_by(both).agg(pl.col("who").n_unique())
    assert found["k_entities"] == whose["who"].min()
    text = microagg(*asked).out
    assert f"k_min {expected[2]:,}".split() in [line.split()[:2] for line in text.splitlines()]
    less = VISITS.drop("days")
    less.write_csv(tmp_path / "less.csv")
    done = microagg(*asked[:3], tmp_path / "less.csv", *memory, "--known", "days")
    assert done.code == 3
    assert "'days'" in done.err
    assert "bug" not in done.err
    # The same without a manifest, if the strata are named.
    typed = ["--columns", "age,sex", "--strata", "town"]
    found = json.loads(microagg(*asked, *typed, "--json").out)
    assert [found[name] for name in COUNTED] == pytest.approx(expected)
    assert json.loads(microagg(*asked[:4], "--json").out)["k_min"] >= 5


@pytest.mark.parametrize("target", ["out.parquet", "out.csv"])
@pytest.mark.parametrize("how", [(), ("--memory", "2GB"), ("--key", "id")])
def test_persons_of_whom_only_the_original_tells_are_counted(how, target, tmp_path, microagg):
    visits = VISITS.with_row_index("id")
    visits.write_parquet(tmp_path / "in.parquet")
    out = tmp_path / target
    mg.publish(visits, out, ["age", "days"], 5, keep="id", drop=["who", "town", "sex"])
    release = pl.read_csv(out) if target.endswith("csv") else pl.read_parquet(out)
    # By a key rows are found wherever they are.
    turned = visits.reverse() if "--key" in how else visits
    turned.write_parquet(tmp_path / "in.parquet")
    call = ["risk", out, "--original", tmp_path / "in.parquet", "--entity", "who", *how, "--json"]
    done = microagg(*call, "--columns", "age,days")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    whose = (
        release.with_columns(visits["who"]).group_by("age", "days").agg(pl.col("who").n_unique())
    )
    assert found["k_entities"] == whose["who"].min()
    assert found["entities"] == visits["who"].n_unique()
    expected = mg.assess(visits, release, ["age", "days"], entity="who", metrics=["dld_entity"])
    assert found["dld_entity"] == pytest.approx(expected.item())


def test_other_persons_than_those_of_the_manifest_are_counted(tmp_path, microagg):
    """Measures of its own persons are compared with the manifest, those of others are not there."""
    homes = VISITS.with_columns(home=pl.col("who") // 4)
    homes.write_parquet(tmp_path / "in.parquet")
    mg.publish(
        homes,
        tmp_path / "out.parquet",
        ["age", "days"],
        5,
        entity="who",
        drop=["town", "sex", "home"],
    )
    call = ["risk", tmp_path / "out.parquet", "--original", tmp_path / "in.parquet", "--json"]
    own, other = microagg(*call), microagg(*call, "--entity", "home")
    assert (own.code, other.code) == (0, 0), other.err
    own, other = json.loads(own.out), json.loads(other.out)
    assert (own["entities"], other["entities"]) == (
        homes["who"].n_unique(),
        homes["home"].n_unique(),
    )
    assert own["dld_entity"] < other["dld_entity"]


@pytest.mark.parametrize("memory", [(), ("--memory", "2GB")])
@pytest.mark.parametrize("entity", [["who,days"], ["who", "days"], ['"x,y"']])
def test_columns_of_the_original_are_named_in_one_list_or_several(
    entity, memory, tmp_path, microagg
):
    visits = VISITS.rename({"town": "x,y"})
    visits.write_parquet(tmp_path / "in.parquet")
    mg.publish(visits, tmp_path / "o.parquet", "age", 5, drop=["who", "days", "x,y", "sex"])
    call = [
        "risk",
        tmp_path / "o.parquet",
        "--original",
        tmp_path / "in.parquet",
        *memory,
        "--json",
    ]
    done = microagg(
        *call, "--columns", "age", *(word for name in entity for word in ("--entity", name))
    )
    assert done.code == 0, done.err
    names = ["x,y"] if "x,y" in entity[0] else ["who", "days"]
    assert json.loads(done.out)["entities"] == visits.select(names).n_unique()


def test_a_key_that_does_not_match_names_the_right_table(tmp_path, microagg):
    visits = VISITS.with_row_index("id")
    out = tmp_path / "o.parquet"
    mg.publish(visits, out, ["age", "days"], 5, keep="id", drop=["who", "town", "sex"])
    call = ["risk", out, "--columns", "age", "--key", "id", "--entity", "who", "--original"]
    more = pl.concat([visits, visits[:1].with_columns(id=pl.lit(900, pl.UInt32))])
    more.write_parquet(tmp_path / "more.parquet")
    done = microagg(*call, tmp_path / "more.parquet")
    assert "finds every row of masked, and original has 1 more" in done.err
    pl.concat([visits[1:], visits[1:2]]).write_parquet(tmp_path / "twice.parquet")
    assert "1 row(s) of original repeat a key" in microagg(*call, tmp_path / "twice.parquet").err
