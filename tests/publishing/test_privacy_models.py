"""Persons and confidential columns of a release: their roles, and what is counted again on the file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from polars_microagg.core.model import models
from polars_microagg.core.options import MODEL_OPTIONS
from polars_microagg.publishing import release as releasing
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.record import read_manifest
from tests.loop import share
from tests.publishing.register import holds

RNG = np.random.default_rng(3)
N = 600
VISITS = pl.DataFrame(
    {
        "patient": [f"p{i}" for i in RNG.integers(0, 150, N)],
        "age": RNG.integers(18, 90, N),
        "charge": RNG.lognormal(6, 1, N).round(2),
        "sex": RNG.choice(["f", "m"], N).tolist(),
        "dx": RNG.choice(["flu", "burn", "cold", None], N, p=[0.5, 0.3, 0.15, 0.05]).tolist(),
        "pay": RNG.integers(1, 40, N) * 50,
    }
)
MASKED = ["age", "charge"]
BOUNDS = {"l": 2, "max_share": 0.9, "t": 0.35}
ENDINGS = ["o.csv", "o.duckdb::t", "o.parquet", "o.arrow", "o.arrows", "o.ndjson"]


def publish(path, frame=VISITS, **options):
    given = {"strata": "sex", "entity": "patient", "confidential": ["dx", "pay"], **options}
    return mg.publish(frame, path, MASKED, 5, **given)


def nothing(folder):
    return not list(folder.iterdir())


def counted(frame, keys):
    """The fewest persons of a class, counted by group_by alone."""
    return frame.group_by(keys).agg(pl.col("patient").n_unique())["patient"].min()


def largest(frame, keys):
    """The largest share of one person in the rows of a class, counted by group_by alone."""
    rows = frame.group_by(*keys, "patient").len()
    return rows.group_by(keys).agg(pl.col("len").max() / pl.col("len").sum())["len"].max()


def found(told):
    return {(row["model"], row["column"]): row["found"] for row in told["models"]["confidential"]}


@pytest.mark.parametrize("name", share(ENDINGS, 6))
def test_persons_and_confidential_values_are_counted_on_the_file(name, tmp_path):
    told = publish(f"{tmp_path}/{name}", **BOUNDS)
    place = Location.of(f"{tmp_path}/{name}")
    masked = mg.mdav(
        VISITS.drop("patient").with_columns(VISITS["patient"]),
        MASKED,
        5,
        strata="sex",
        entity="patient",
        entity_mode="rows",
        confidential=["dx", "pay"],
        **BOUNDS,
    )
    assert place.read().columns == ["age", "charge", "sex", "dx", "pay"]
    assert told["roles"]["entity"] == ["patient"]
    assert told["roles"]["confidential"] == ["dx", "pay"]
    assert told["roles"]["keep"] == told["roles"]["drop"] == []
    classes = ["age", "charge", "sex"]
    assert told["models"]["entity"] == {
        "released": [],
        "mode": "rows",
        "entities": 150,  # 149 are 24.8 % of the rows, rounded to 25 %
        "k_entities": counted(masked, classes),
        "alike_min": None,
        "models": {"max_entity_share": round(largest(masked, classes), 2)},
    }
    assert told["models"]["entity"]["k_entities"] >= 5
    tells = mg.anonymity(masked, MASKED, strata="sex", confidential="pay").row(0, named=True)
    assert found(told)["l", "pay"] == tells["l"]
    assert found(told)["t", "pay"] == float(f"{tells['t']:.4g}")  # ordered, also in text
    by = masked.drop_nulls("dx").group_by(*classes, "dx").len()
    shares = by.select(pl.col("len") / pl.col("len").sum().over(classes))["len"]
    assert found(told)["max_share", "dx"] == float(f"{shares.max():.4g}") <= 0.9
    asked = {(row["model"], row["asked"]) for row in told["models"]["confidential"]}
    assert asked == set(BOUNDS.items())
    assert told == read_manifest(place.record)
    assert all(holds(place).values())
    assert all(holds(place, original=_file(tmp_path)).values())


def _file(folder):
    VISITS.write_parquet(folder / "in.parquet")
    return folder / "in.parquet"


def test_confidential_columns_without_a_bound_are_measured(tmp_path):
    told = publish(tmp_path / "o.parquet", confidential="dx", entity=None, drop=["patient", "pay"])
    rows = told["models"]["confidential"]
    assert [row["model"] for row in rows] == [n for n, m in models().items() if m.of != "entity"]
    assert {row["asked"] for row in rows} == {None}
    assert "entity" not in told["models"]
    assert "entity" not in told["roles"]
    plain = mg.mdav(VISITS, MASKED, 5, strata="sex")
    assert pl.read_parquet(tmp_path / "o.parquet").equals(plain.drop("patient", "pay"))
    tells = mg.anonymity(plain, MASKED, strata="sex", confidential="dx").row(0, named=True)
    assert found(told)["l", "dx"] == tells["l"]
    assert all(holds(tmp_path / "o.parquet").values())


def test_a_release_without_either_says_nothing_of_them(tmp_path):
    told = mg.publish(VISITS, tmp_path / "o.parquet", "age", 5, drop=cs.all())
    assert "models" not in told
    assert list(told["roles"]) == ["mask", "stratum", "keep", "drop"]
    assert "models" not in holds(tmp_path / "o.parquet")


# --- Roles -------------------------------------------------------------------------------------------


def test_a_selector_does_not_release_the_entity(tmp_path):
    told = publish(tmp_path / "o.parquet", confidential=None, keep=cs.all())
    assert told["roles"]["keep"] == ["dx", "pay"]
    assert "patient" not in pl.read_parquet(tmp_path / "o.parquet").columns


def test_an_entity_is_released_only_with_a_mode(tmp_path):
    with pytest.raises(mg.InvalidParameterError, match="entity_mode is not named"):
        publish(tmp_path / "o.parquet", VISITS.lazy(), keep="patient")
    assert nothing(tmp_path)
    told = publish(tmp_path / "o.parquet", keep="patient", entity_mode="rows")
    assert told["models"]["entity"]["released"] == ["patient"]
    assert told["roles"]["keep"] == []
    read = pl.read_parquet(tmp_path / "o.parquet")
    assert read["patient"].equals(VISITS["patient"])
    assert counted(read, ["age", "charge", "sex"]) == told["models"]["entity"]["k_entities"]
    assert all(holds(tmp_path / "o.parquet").values())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drop": "patient"}, "'patient' is in entity and in drop as well"),
        ({"keep": "dx"}, "'dx' is in confidential and in keep as well"),
        ({"confidential": ["patient"]}, "'patient' is in entity and in confidential as well"),
        ({"confidential": "sex"}, "'sex' is in strata and in confidential as well"),
        ({"entity": "age"}, "'age' is masked and is in entity as well"),
        ({"entity": "patien"}, "entity names 'patien', which is not a column"),
        ({"confidential": "dxx"}, "confidential names 'dxx', which is not a column"),
        ({"l": 1.5}, "l=1.5 was given"),
        ({"confidential": None, "l": 2}, "l=2 was given without confidential"),
        ({"t_scale": "ranks"}, "t_scale='ranks' was given without t"),
        ({"entity": None, "entity_mode": "rows"}, "was given without entity"),
        ({"entity_mode": "one"}, "entity_mode='one' is not known"),
    ],
)
@pytest.mark.parametrize("method", ["mdav", None])
def test_what_is_refused(options, words, method, tmp_path):
    if method is None:
        words = words.replace("is masked and is in entity", "is in columns and in entity")
    with pytest.raises(mg.InvalidParameterError, match=re.escape(words)):
        publish(tmp_path / "o.parquet", method=method, **options)
    assert nothing(tmp_path)


def test_an_unknown_person_is_refused(tmp_path):
    unknown = VISITS.with_columns(patient=pl.col("patient").replace("p1", None))
    with pytest.raises(mg.InvalidDataError, match="an entity that is not known"):
        publish(tmp_path / "o.parquet", unknown)
    assert nothing(tmp_path)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "in all are of fewer than k=5 entities"),
        ({"entity": None, "drop": "patient", "t": 0.2}, r"The table does not keep t=0\.2 on"),
    ],
)
def test_a_mask_that_forgets_what_was_asked_is_found_out(asked, words, tmp_path, monkeypatch):
    def forgetful(table, _):
        return mg.mdav(table, MASKED, 5, strata="sex"), pl.repeat(False, N, eager=True)

    monkeypatch.setattr(releasing, "mask_table", forgetful)
    with pytest.raises(mg.NotAnonymousError, match=words):
        publish(tmp_path / "o.parquet", **asked)
    assert nothing(tmp_path)


@pytest.mark.parametrize(
    ("mode", "more"),
    [
        ("mean", {}),
        ("mean", {"center": "median", "keep": "patient"}),
        ("alike", {"small_strata": "drop", "strata": None, "drop": "sex"}),
        ("alike", {"small_strata": "drop", "max_rows_per_entity": 3, "keep": "patient", "l": 2}),
    ],
)
@pytest.mark.parametrize("name", ["o.parquet", "o.csv"])
def test_rows_of_a_person_are_masked_as_one(mode, more, name, tmp_path):
    told = publish(tmp_path / name, entity_mode=mode, **more)
    told_of = told["models"]["entity"]
    assert told_of["mode"] == mode
    assert told_of["k_entities"] >= 5
    assert (told_of["alike_min"] is not None) == (mode == "alike")
    original = _file(tmp_path)
    assert all(holds(tmp_path / name, original=original).values())
    VISITS.with_columns(pl.col("age") + 40).write_parquet(original)
    assert not holds(tmp_path / name, original=original)["measures"]
    if "max_rows_per_entity" in more:
        read = Location.of(tmp_path / name).read()
        assert read.group_by("patient").len()["len"].max() == 3
        assert abs(told["rows"]["dropped"] - (N - read.height)) <= 0.005 * read.height
        assert read.height < N
    if mode == "alike" and name == "o.parquet" and "keep" in more:
        rows = read.sort(MASKED).group_by("patient", "sex").agg(MASKED).sort("patient", "sex")
        whole = rows.group_by("patient", maintain_order=True).agg("sex", *MASKED)
        assert whole.group_by("sex", *MASKED).len()["len"].min() == told_of["alike_min"] >= 5


def test_dropped_rows_are_not_counted(tmp_path):
    few = VISITS.with_columns(
        sex=pl.when(pl.col("patient") == "p1").then(pl.lit("x")).otherwise("sex")
    )
    told = publish(tmp_path / "o.parquet", few, small_strata="drop", l=2)
    rare = int((few["sex"] == "x").sum())
    assert (told["rows"]["dropped"], rare) == (round(0.01 * (N - rare)), 5)
    assert abs(told["models"]["entity"]["entities"] - VISITS["patient"].n_unique() + 1) <= 3
    few.write_parquet(tmp_path / "in.parquet")
    assert all(holds(tmp_path / "o.parquet", original=tmp_path / "in.parquet").values())


def test_of_few_records_no_number_of_persons_is_told(tmp_path):
    told = publish(tmp_path / "o.parquet", VISITS.head(60), confidential=None, drop=["dx", "pay"])
    assert told["models"]["entity"] == {
        **{"released": [], "mode": "rows"},
        **{"entities": None, "k_entities": None, "alike_min": None},
        "models": {"max_entity_share": None},
    }
    VISITS.head(60).write_parquet(tmp_path / "in.parquet")
    assert all(holds(tmp_path / "o.parquet", original=tmp_path / "in.parquet").values())


def test_each_block_keeps_the_models(tmp_path):
    told = mg.publish(
        VISITS.drop("pay"),
        tmp_path / "o.parquet",
        [["age"], ["charge"]],
        5,
        **{"strata": "sex", "entity": "patient", "confidential": "dx", "l": 2},
    )
    read = pl.read_parquet(tmp_path / "o.parquet").with_columns(VISITS["patient"])
    fewest = min(counted(read, [name, "sex"]) for name in MASKED)
    assert told["models"]["entity"]["k_entities"] == fewest >= 5
    for name, worst in {"l": min, "t": max}.items():
        tells = mg.anonymity(read, [["age"], ["charge"]], strata="sex", confidential="dx")
        assert found(told)[name, "dx"] == float(f"{worst(tells[name].to_list()):.4g}")
    assert all(holds(tmp_path / "o.parquet").values())


@pytest.mark.parametrize("name", ["o.parquet", "o.csv"])
@pytest.mark.parametrize(
    ("who", "secret"),
    share([("", "^a$"), ("^.*$", ""), ("row", "class"), ("0", "1"), ("entity", "*")], 2),
)
def test_any_name_will_do(who, secret, name, tmp_path):
    frame = VISITS.select(
        "age", "charge", pl.col("patient").alias(who), pl.col("pay").alias(secret)
    )
    frame.write_parquet(tmp_path / "in.parquet")
    given = {"entity": who, "confidential": secret, "t": 0.4}
    told = mg.publish(frame, tmp_path / name, MASKED, 5, **given)
    assert {row["column"] for row in told["models"]["confidential"]} == {secret}
    assert all(holds(tmp_path / name).values())
    assert all(holds(tmp_path / name, original=tmp_path / "in.parquet").values())
    given |= {"keep": who, "entity_mode": "rows"}
    told = mg.publish(frame, tmp_path / name, MASKED, 5, **given)
    assert told["models"]["entity"]["released"] == [who]
    assert all(holds(tmp_path / name).values())


def test_several_columns_tell_an_entity(tmp_path):
    split = VISITS.drop("dx").with_columns(
        house=pl.col("patient").str.slice(0, 2), patient=pl.col("patient").str.slice(2)
    )
    told = publish(
        tmp_path / "o.parquet",
        split,
        **{"entity": ["house", "patient"], "confidential": "pay", "keep": "house"},
        entity_mode="rows",
    )
    assert told["roles"]["entity"] == ["house", "patient"]
    assert told["models"]["entity"]["released"] == ["house"]
    assert told["models"]["entity"]["entities"] == 150  # 149, in whole per cents of 600 rows
    assert pl.read_parquet(tmp_path / "o.parquet").columns == [
        "age",
        "charge",
        "sex",
        "pay",
        "house",
    ]
    assert all(holds(tmp_path / "o.parquet").values())
    split.write_parquet(tmp_path / "in.parquet")
    assert all(holds(tmp_path / "o.parquet", original=tmp_path / "in.parquet").values())


def test_no_model_is_named_by_hand():
    names = [name for name in MODEL_OPTIONS if len(name) > 1]
    rooms = [Path(mg.__file__).parent / room for room in ("publishing", "cli", "report")]
    files = [path for room in rooms for path in room.rglob("*") if path.suffix in (".py", ".html")]
    assert len(files) > 50
    assert names
    assert not [p.name for p in files for name in names if name in p.read_text(encoding="utf-8")]
