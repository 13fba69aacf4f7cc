"""What `init` makes of each column: a role where it is plain, and a question where it is not."""

import json
import re
import tomllib
import uuid

import numpy as np
import polars as pl
import pytest

from polars_microagg.cli.init import configuration, guess
from polars_microagg.core.model import models

ROWS, PERSONS = 4500, 1500
RNG = np.random.default_rng(7)
PERSON = RNG.integers(0, PERSONS, ROWS)
"""Who each visit is of."""

SEX, BORN = RNG.integers(0, 2, PERSONS), RNG.integers(1930, 2010, PERSONS)
NUMBERS = RNG.permutation(10**7)[:PERSONS] + 10**7
UUIDS = [str(uuid.UUID(int=int(number) * 12345678901234567)) for number in NUMBERS]


def of_person(values):
    return pl.Series([values[person] for person in PERSON])


def drawn(values, shares=None):
    return pl.Series(RNG.choice(values, ROWS, p=shares))


VISITS = pl.DataFrame(
    {
        "sex": of_person([["f", "m"][sex] for sex in SEX]),
        "age": of_person([2020 - int(born) for born in BORN]),
        "charge": RNG.lognormal(6, 1, ROWS).round(2),
    }
)

ENTITIES = {
    "patient": of_person(range(PERSONS)),
    "patientId": of_person([int(number) for number in NUMBERS]),
    "PAT_NO": of_person([f"P{number}" for number in NUMBERS]),
    "kundennummer": of_person([float(number) for number in NUMBERS]),
    "person_key": of_person(UUIDS),
}
ASKED = {
    "who": of_person(UUIDS),
    "reference": of_person([f"{number:010d}@x.org" for number in NUMBERS]),
    "reach": of_person([f"+49 170 {number}" for number in NUMBERS]),
    "full name": of_person([f"N{number} M{number}" for number in NUMBERS]),
    "nachname": of_person([f"N{number % 300}" for number in NUMBERS]),
    "a": of_person(range(PERSONS)),
    "b": of_person([int(number) for number in NUMBERS]),
    "c": of_person([f"{number:x}" for number in NUMBERS]),
    "d": pl.Series(RNG.choice(10**9, ROWS, replace=False)),
    "zip": drawn([10115, 20095, 80331, 50667, 60311, 70173, 1067, 4109] * 9),
    "PLZ": drawn([f"{number:05d}" for number in range(1000, 1400)]),
    "diagnosis": drawn(["flu", "asthma", "hiv"]),
    "dx": drawn(["J10", "J45", "B20"]),
    "dx_1": drawn([1, 2, 3]),
    "icd10": drawn([f"J{number}" for number in range(40)]),
    "diag_code": drawn(range(100, 180)),
    "DiagCode": drawn([1.0, 2.0, 3.0]),
    "primary_disease": drawn(["x", "y"]),
    "Krankheit": drawn(["x", "y"]),
    "religion": drawn(["x", "y", "z"]),
    "Konfession": drawn([1, 2, 3]),
    "hiv": drawn([True, False]),
    "salary_band": drawn(["low", "high"]),
    "c1": drawn(["a", "b", "c", "d", "e"]),
    "V7": drawn([1, 2, 3]),
    "answer": drawn(["yes", "no"]),
    "insured": drawn([True, False]),
    "constant": pl.Series([1] * ROWS),
    "status": drawn(["x", "y"], [0.999, 0.001]),
    "maybe": pl.Series([True, False, None] * (ROWS // 3)),
    "parts": pl.Series([[1, 2], [3]] * (ROWS // 2)),
    "part": pl.Series([{"x": 1}, {"x": 2}] * (ROWS // 2)),
    "raw": pl.Series([b"1", b"2"] * (ROWS // 2)),
    "icd_enum": drawn(["x", "y"]).cast(pl.Enum(["x", "y"])),
}
DROPPED = {
    "visit": pl.Series(range(ROWS)),
    "visit_id": pl.Series([str(uuid.UUID(int=number)) for number in range(ROWS)]),
    "remark": pl.Series([f"text of {number}" for number in range(ROWS)]),
    "town": drawn([f"town {number}" for number in range(1400)]),
    "nothing": pl.Series([None] * ROWS, dtype=pl.Float64),
    "no type": pl.Series([None] * ROWS),
}
MASKED = {
    "age": VISITS["age"],
    "charge": VISITS["charge"],
    "salary": pl.Series(RNG.integers(15_000, 90_000, ROWS)),
    "income": pl.Series(RNG.integers(0, 10**9, ROWS)),
    "number_of_children": drawn(range(9)),
    "patient_age": VISITS["age"],
    "household size": drawn(range(1, 9)),
    "covid": drawn(range(100)),
    "date_of_birth": pl.Series(RNG.integers(0, 20_000, ROWS)).cast(pl.Date),
    "pressure": pl.Series(RNG.normal(size=ROWS)),
    "year": drawn(range(1990, 2025)),
    "seen": pl.Series(RNG.integers(0, 10**15, ROWS)).cast(pl.Datetime("us")),
    "price": pl.Series(RNG.integers(0, 9999, ROWS)).cast(pl.Decimal(12, 2)),
}
STRATA = {
    "region": drawn(["N", "S"]),
    "site": drawn([1, 2, 3]),
    "district_name": drawn(["x", "y"]),
}


CATEGORIES = {
    "city": drawn([f"city {number}" for number in range(90)]),
    "gender": drawn(["f", "m", "x"], [0.6, 0.399, 0.001]),
    "state": drawn([1, 2, 3], [0.6, 0.399, 0.001]),
    "country": drawn(["AT", "DE", None]),
}


def role(name, column):
    return guess(VISITS.with_columns(column.alias(name)), name, 5)


@pytest.mark.parametrize("name", ASKED)
def test_what_is_in_doubt_is_a_question(name):
    found, why = role(name, ASKED[name])
    assert (found, why[-1]) == ("ask", "?"), why


@pytest.mark.parametrize("name", ENTITIES)
def test_the_id_of_a_person_with_several_rows_is_the_entity(name):
    found, why = role(name, ENTITIES[name])
    assert (found, why.count("several rows")) == ("entity", 1), why
    assert role(name, ENTITIES[name].set(pl.int_range(ROWS, eager=True) == 0, None))[0] == "ask"
    assert role(f"visit {name[::-1]}", ENTITIES[name])[0] != "entity"


@pytest.mark.parametrize("name", DROPPED)
def test_what_tells_a_record_apart_or_nothing_is_dropped(name):
    assert role(name, DROPPED[name])[0] == "drop"


@pytest.mark.parametrize("name", MASKED)
def test_quantities_and_dates_are_masked(name):
    assert role(name, MASKED[name])[0] == "columns"


@pytest.mark.parametrize("name", ["Gender", "sex_2", "BUNDESLAND", "schoolName", "age_group"])
def test_a_name_of_places_or_groups_makes_a_stratum_and_no_other_does(name):
    column = drawn([1, 2, 3])
    assert role(name, column)[0] == "strata"
    assert role("x" + name.lower()[::-1], column)[0] == "ask"


@pytest.mark.parametrize("name", CATEGORIES)
def test_groups_too_many_or_too_small_for_strata_are_masked_as_categories(name):
    assert role(name, CATEGORIES[name])[0] == "nominal"
    assert role("q" + name[::-1], CATEGORIES[name])[0] in ("ask", "columns")


def test_texts_of_few_records_each_are_dropped_and_of_many_asked_about():
    words = [f"w{number}" for number in range(1400)]
    assert role("qxz", drawn(words))[0] == "drop"
    assert role("qxz", drawn(words[:60]))[0] == "ask"


def test_kinds_are_written_and_trees_suggested(tmp_path, microagg):
    table = VISITS.with_columns(gender=CATEGORIES["gender"], zip=ASKED["PLZ"])
    table.write_csv(tmp_path / "in.csv")
    job = tmp_path / "job.toml"
    assert microagg("init", tmp_path / "in.csv", "-o", job).code == 0
    text = job.read_text()
    told = tomllib.loads(text)
    assert told["columns"] == ["age", "charge", "gender"]
    assert told["nominal"] == ["gender"]
    assert '\n# [taxonomy]\n# "zip" = "prefix:5,3,2"\n' in text
    # The suggestion works as it is once the comment is taken away.
    text = text.replace("# [taxonomy]", "[taxonomy]").replace('# "zip" = ', '"zip" = ')
    job.write_text(
        text.replace('    "gender",', '    "gender", "zip",').replace('"mdav"', '"fixed_size"')
    )
    done = microagg("protect", tmp_path / "in.csv", "-o", tmp_path / "o.csv", "--config", job)
    assert done.code == 0, done.err
    released = pl.read_csv(tmp_path / "o.csv", infer_schema=False)
    assert set(released["zip"].unique()) <= {
        *ASKED["PLZ"],
        "010**",
        "011**",
        "012**",
        "013**",
        "01***",
        "*",
    }
    assert set(released["gender"].unique()) <= {"f", "m", "x"}
    assert (released["gender"] == "x").sum() in (0, *range(5, 4500))


@pytest.mark.parametrize("name", STRATA)
def test_few_large_classes_are_strata(name):
    assert role(name, STRATA[name])[0] == "strata"


def test_nothing_is_released_as_it_is_unless_somebody_says_so():
    every = {**ENTITIES, **ASKED, **DROPPED, **MASKED, **STRATA, **CATEGORIES}
    guessed = {role(name, column)[0] for name, column in every.items()}
    assert guessed == {"columns", "nominal", "strata", "entity", "drop", "ask"}


def test_bands_of_a_quantity_do_not_make_it_an_id():
    """Equal values go with one band there, as they do with one person of an id."""
    x = pl.Series(RNG.integers(10_000, 12_000, ROWS) * 7)
    for band in ((x < 77_000), (x // 10_000)):
        frame = pl.DataFrame({"x": x, "band": band.cast(pl.String), "age": VISITS["age"]})
        assert guess(frame, "x", 5)[0] == "columns"


def test_a_question_has_counts_and_no_value():
    assert role("a", ASKED["a"])[1].startswith(
        f"looks like the id of a person ({len(set(PERSON)):,} distinct in 4,500 rows). Drop it"
    )
    text = configuration(VISITS.with_columns(who=ASKED["who"], dx=ASKED["dx"]), 5)
    assert not any(value in text for value in [*UUIDS, "J10", "J45", "B20"])
    assert re.search(
        r"^# dx: looks like a confidential attribute \(3 distinct in 4,500 rows\)", text, re.M
    )


def whole():
    columns = {"sex": VISITS["sex"], **ENTITIES, **ASKED, **DROPPED, **MASKED, **STRATA}
    return pl.DataFrame([column.alias(name) for name, column in columns.items()])


def test_the_file_is_refused_until_every_question_is_answered(tmp_path, microagg):
    table = whole().drop("no type")
    table.write_parquet(tmp_path / "in.parquet")
    job, target = tmp_path / "job.toml", tmp_path / "o.parquet"
    done = microagg("init", tmp_path / "in.parquet", "-o", job)
    assert done.code == 0
    asked = {**ENTITIES, **ASKED}  # no one of several ids of persons is the entity
    assert f"asks about {len(asked)} column(s)" in done.err
    told = tomllib.loads(job.read_text())
    listed = [name for list_ in ("columns", "strata", "keep", "drop") for name in told[list_]]
    assert sorted([*listed, *asked]) == sorted(table.columns)
    assert told["keep"] == told["entity"] == told["confidential"] == []
    call = ["protect", tmp_path / "in.parquet", "-o", target, "--config", job]
    for dry in ([], ["--dry-run"]):
        done = microagg(*call, *dry)
        assert done.code == 3
        assert "'patient', 'patientId'" in done.err
        assert "has no role" in done.err
        assert "job.toml" in done.err
    assert not target.exists()
    answers = ",".join(f'"{name}"' for name in asked)
    done = microagg(
        *call, "--drop", answers + "," + ",".join(told["drop"]), "--method", "fixed_size"
    )
    assert done.code == 0, done.err
    assert pl.read_parquet(target).columns == [
        n for n in table.columns if n in listed and n not in told["drop"]
    ]


def test_one_question_is_enough_to_stop(tmp_path, microagg):
    VISITS.with_columns(dx=ASKED["dx"]).write_parquet(tmp_path / "in.parquet")
    job = tmp_path / "job.toml"
    assert microagg("init", tmp_path / "in.parquet", "-o", job).code == 0
    call = ["protect", tmp_path / "in.parquet", "-o", tmp_path / "o.parquet", "--config", job]
    assert microagg(*call).code == 3
    assert microagg(*call, "--drop", "dx", "--method", "fixed_size").code == 0


def test_persons_and_what_is_confidential_are_written_into_the_file(tmp_path, microagg):
    table = VISITS.with_columns(patient_id=ENTITIES["patientId"], dx=ASKED["dx"])
    table.write_parquet(tmp_path / "in.parquet")
    job, target = tmp_path / "job.toml", tmp_path / "o.parquet"
    assert microagg("init", tmp_path / "in.parquet", "-o", job).code == 0
    text = job.read_text()
    told = tomllib.loads(text)
    assert told["entity"] == ["patient_id"]
    assert told["confidential"] == []
    bounds = [name for name, model in models().items() if model.of == "confidential"]
    assert [name for name in bounds if f"\n# {name} = " in text] == bounds
    # What is confidential is released once the comment before it is taken away, and not before.
    call = ["protect", tmp_path / "in.parquet", "-o", target, "--config", job]
    assert microagg(*call).code == 3
    text = text.replace('    # "dx",', '    "dx",').replace("# l = 2", "l = 2")
    job.write_text(text.replace('"mdav"', '"fixed_size"'))
    done = microagg(*call)
    assert done.code == 0, done.err
    assert pl.read_parquet(target).columns == ["sex", "age", "charge", "dx"]
    manifest = json.loads((tmp_path / "o.parquet.manifest.json").read_text())
    assert manifest["models"]["entity"]["k_entities"] >= 5
    assert min(row["found"] for row in manifest["models"]["confidential"][:1]) >= 2


def test_questions_about_odd_names_are_comments(tmp_path):
    names = ["dx\ncolumns = ['age']", 'dx"', "dx]", "# dx", "dx\u2028x", "dx\\"]
    frame = VISITS.with_columns(ASKED["dx"].alias(name) for name in names)
    text = configuration(frame, 5)
    told = tomllib.loads(text)
    assert told["columns"] == ["age", "charge"]
    assert told["strata"] == ["sex"]
    assert text.count("looks like a confidential attribute") == len(names)


def test_a_report_does_not_take_the_place_of_the_configuration(source, tmp_path, microagg):
    job = tmp_path / "job.toml"
    job.write_text("columns = ['age', 'income']\nstrata = 'region'\ndrop = 'name'\nk = 5\n")
    call = ["protect", source, "-o", tmp_path / "o.parquet", "--config", job, "--overwrite"]
    done = microagg(*call, "--report", job)
    assert done.code == 2
    assert "is both --report and --config" in done.err
