"""Privacy models at the command line: roles, bounds, configuration, dry run, verify, risk, report."""

import json
import re

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.completion import SHELLS, script
from polars_microagg.cli.main import parsers
from polars_microagg.core.model import models
from polars_microagg.core.options import COMMON, MODEL_OPTIONS
from polars_microagg.wording import COMMAND_LINE

from .conftest import called, process

RNG = np.random.default_rng(12)
N = 480
VISITS = pl.DataFrame(
    {
        "patient": RNG.integers(0, 120, N),
        "age": RNG.integers(18, 90, N),
        "charge": RNG.lognormal(6, 1, N).round(2),
        "sex": RNG.choice(["f", "m"], N).tolist(),
        "dx": RNG.choice(["011", "012", "013"], N).tolist(),
        "pay": (RNG.integers(1, 40, N) * 50.5).round(2),
    }
)
COLUMNS = ["--columns", "age,charge", "--strata", "sex", "--k", "5"]
HIDDEN = ["--entity", "patient", "--confidential", "dx,pay"]
BOUNDS = ["--l", "2", "--max-share", "0.9", "--t", "0.4"]


@pytest.fixture
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    VISITS.write_parquet("in.parquet")
    VISITS.write_csv("in.csv")
    return tmp_path


def masked(**options):
    asked = {"entity": "patient", "entity_mode": "rows", "confidential": ["dx", "pay"]}
    bounds = {"l": 2, "max_share": 0.9, "t": 0.4}
    return mg.mdav(VISITS, ["age", "charge"], 5, strata="sex", **asked, **(bounds | options))


def test_a_real_process_publishes_and_verifies(visits):
    code, said = process(visits, "protect", "in.csv", "-o", "o.csv", *COLUMNS, *HIDDEN, *BOUNDS)
    assert code == 0, said
    told = json.loads((visits / "o.csv.manifest.json").read_text())
    persons = told["models"]["entity"]["k_entities"]
    assert f", {persons} entities or more in each class, " in said
    assert persons >= 5
    expected = masked().drop("patient")
    read = pl.read_csv(visits / "o.csv", schema_overrides={"dx": pl.String})
    assert read.equals(expected)  # codes keep their zeros, and pay was ordered as in Parquet
    assert called(visits, "verify", "o.csv", "--original", "in.csv")[0] == 0
    wrong = VISITS.with_columns(pl.col("patient").shuffle(seed=1))
    wrong.write_csv(visits / "other.csv")
    assert called(visits, "verify", "o.csv", "--original", "other.csv")[0] == 4


@pytest.mark.parametrize("file", ["in.parquet", "in.csv"])
def test_a_configuration_has_the_same_keys(file, visits, microagg):
    (visits / "job.toml").write_text(
        f"input = '{file}'\noutput = 'o.parquet'\ncolumns = ['age', 'charge']\nstrata = ['sex']\n"
        "entity = ['patient']\nconfidential = ['dx', 'pay']\nk = 5\nl = 2\nmax_share = 0.9\nt = 0.3\n"
        "t_scale = 'ranks'\nentity_mode = 'rows'\n"
    )
    done = microagg("protect", "--config", "job.toml", "--t", "0.4", "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["config"]["t"] == 0.4  # an option wins over its key
    assert told["config"]["t_scale"] == "ranks"
    expected = masked(t_scale="ranks").drop("patient")
    assert pl.read_parquet("o.parquet").equals(expected)
    assert told["output"]["columns"]["dx"] == "String"
    assert microagg("verify", "o.parquet", "--original", file).code == 0


@pytest.mark.parametrize("command", ["protect", "compare"])
def test_every_option_of_the_register_is_there(command, visits, microagg):
    done = microagg(command, "--help")
    for name in ("entity", "confidential", "entity_mode", "max_rows_per_entity", *MODEL_OPTIONS):
        assert name in COMMON
        assert f"\n  {COMMAND_LINE.parameter(name)} " in done.out
    for shell in SHELLS:
        written = script(shell, parsers())
        assert all(name in written for name in ("max-share", "entity-mode", "values", "alike"))


def test_a_released_person_needs_a_mode(visits, microagg):
    call = ["protect", "in.parquet", "-o", "o.parquet", *COLUMNS, *HIDDEN, *BOUNDS]
    call += ["--keep", "patient"]
    for dry in ([], ["--dry-run"]):
        done = microagg(*call, *dry)
        assert done.code == 2
        assert "--entity-mode is not named. Use --entity-mode alike" in done.err
    assert not (visits / "o.parquet").exists()
    done = microagg(*call, "--entity-mode", "rows")
    assert done.code == 0, done.err
    assert pl.read_parquet("o.parquet").equals(masked())
    assert microagg("verify", "o.parquet").code == 0


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (["--l", "20"], 4, "--l 20 cannot be reached: in a stratum of"),
        (["--t-scale", "ranks"], 2, "--t-scale ranks was given without --t"),
        (["--t", "2"], 2, "--t 2.0 was given; it must be a number from 0 to 1"),
        (["--l", "two"], 2, "--l two was given; it must be a whole number at least 1"),
        (["--entity-mode", "some"], 2, "--entity-mode some is not known"),
        (
            ["--max-rows-per-entity", "3"],
            2,
            "--max-rows-per-entity 3 was given without --entity-mode alike",
        ),
        (["--keep", "dx"], 2, "Column 'dx' has more than one role"),
        (["--drop", "patient"], 2, "Column 'patient' has more than one role"),
        (["--k", "121"], 4, "strata have fewer than k=121 entities"),
    ],
)
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_what_is_refused_is_said_in_words_of_the_command_line(
    more, code, words, dry, visits, microagg
):
    before = sorted(visits.iterdir())
    call = ["protect", "in.parquet", "-o", "o.parquet", *COLUMNS, *HIDDEN]
    done = microagg(*call, *more, *dry)
    assert done.code == code, done.err
    assert words in done.err
    assert sorted(visits.iterdir()) == before


def test_a_dry_run_names_the_roles(visits, microagg):
    call = ["protect", "in.parquet", *COLUMNS, *HIDDEN, *BOUNDS, "--dry-run", "--json"]
    done = microagg(*call)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    roles = {column["name"]: column["role"] for column in told["columns"]}
    assert roles["patient"] == "entity"
    assert roles["dx"] == roles["pay"] == "confidential"
    assert told["problems"] == []
    assert told["estimate"]["trial_rows"] == N


def test_columns_that_tell_persons_apart_are_named_in_any_order(tmp_path, microagg):
    people = pl.DataFrame({"house": [1, 1, 2, 2] * 5, "one": [1, 2] * 10, "age": range(20)})
    out = tmp_path / "out.parquet"
    named = {"entity": ["one", "house"], "keep": ["one", "house"], "entity_mode": "rows"}
    mg.publish(people, out, "age", 3, **named)
    assert microagg("verify", out).code == 0


def test_verify_without_a_manifest(visits, microagg):
    masked().write_parquet("o.parquet")
    call = ["verify", "o.parquet", *COLUMNS, "--entity", "patient", "--confidential", "dx,pay"]
    done = microagg(*call, *BOUNDS, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["holds"] is True
    assert told["k_entities"] >= 5
    assert set(models()) - {"k"} <= set(told)
    plain = mg.mdav(VISITS, ["age", "charge"], 5, strata="sex")
    plain.write_parquet("o.parquet")
    assert microagg("verify", "o.parquet", *COLUMNS).code == 0
    done = microagg(*call)
    assert done.code == 4
    assert "is not 5-anonymous on 'age', 'charge' within strata of 'sex'" in done.err
    assert "in all are of fewer than k=5 entities" in done.err
    done = microagg("verify", "o.parquet", *COLUMNS, "--confidential", "pay", "--t", "0.01")
    assert done.code == 4
    assert "The table does not keep --t 0.01 on" in done.err
    assert "at worst, the distance to the table of 'pay' is" in done.err
    assert microagg("verify", "o.parquet", "--confidential", "dx").code == 2
    assert microagg("verify", "o.parquet", *COLUMNS, "--l", "2").code == 2


@pytest.mark.parametrize("mode", ["rows", "alike"])
def test_persons_are_counted_alike_with_and_without_memory(mode, visits, microagg):
    # Two classes of fewer than three persons, one of them of fewer than three records.
    ages = {31: ["u", "v"], 47: ["u", "u", "v", "v"], 52: ["u", "v", "w"]}
    rows = [(age, who) for age, people in ages.items() for who in people]
    pl.DataFrame(rows, schema=["age", "who"], orient="row").write_parquet("few.parquet")
    call = ["verify", "few.parquet", "--columns", "age", "--k", "3", "--entity", "who"]
    for memory in ([], ["--memory", "250MB"]):
        done = microagg(*call, "--entity-mode", mode, *memory)
        assert done.code == 4
        said = (
            "2 class(es) with 6 record(s) in all are of fewer than k=3 entities (the fewest is 2)"
        )
        assert said in done.err
    with pytest.raises(mg.NotAnonymousError, match=re.escape(said)):
        mg.verify(pl.read_parquet("few.parquet"), "age", 3, entity="who", entity_mode=mode)


def test_a_table_without_records_has_no_worst_class(visits, microagg):
    VISITS.clear().write_parquet("empty.parquet")
    for command, mode in (("verify", "rows"), ("verify", "alike"), ("risk", "rows")):
        bounds = [*COLUMNS, *BOUNDS] if command == "verify" else COLUMNS[:4]
        done = microagg(command, "empty.parquet", *bounds, *HIDDEN, "--entity-mode", mode, "--json")
        assert done.code == 0, done.err
        told = json.loads(done.out)
        assert (told["entities"], told["k_entities"], told["l"]) == (0, None, None)


def test_risk_counts_persons_and_what_classes_tell(visits, microagg):
    call = ["protect", "in.csv", "-o", "o.csv", *COLUMNS, *HIDDEN, *BOUNDS, "--json"]
    done = microagg(*call, "--t-scale", "ranks")
    assert done.code == 0, done.err
    told = json.loads(done.out)["models"]
    found = json.loads(microagg("risk", "o.csv", "--original", "in.csv", "--json").out)
    assert found["k_entities"] == told["entity"]["k_entities"]
    # The owner reads the exact number of persons, and the manifest has it in whole per cents of the rows.
    assert 0 < abs(found["entities"] - told["entity"]["entities"]) <= 3
    worst = [row["found"] for row in told["confidential"] if row["model"] == "t"]
    assert found["t"] == pytest.approx(max(worst), rel=1e-3)
    alone = json.loads(microagg("risk", "o.csv", "--json").out)
    assert "k_entities" not in alone
    assert alone["l"] == found["l"]
    typed = ["--columns", "age,sex", "--entity", "patient", "--confidential", "pay", "--json"]
    raw = json.loads(microagg("risk", "in.parquet", *typed).out)
    classes = VISITS.group_by("age", "sex").agg(pl.col("patient").n_unique())
    assert raw["k_entities"] == classes["patient"].min()
    ranked = json.loads(microagg("risk", "in.parquet", *typed, "--t-scale", "ranks").out)
    assert ranked["t"] != raw["t"]
    done = microagg("risk", "in.parquet", "--columns", "age", "--t-scale", "ranks")
    assert done.code == 2
    assert "--t-scale ranks was given without --confidential" in done.err


def test_compare_keeps_the_models(visits, microagg):
    call = ["compare", "in.csv", *COLUMNS[:4], *HIDDEN, "--ks", "5", "--methods", "mdav", "--json"]
    plain = microagg(*call)
    assert plain.code == 0, plain.err
    bound = microagg(*call, "--t", "0.2")
    assert bound.code == 0, bound.err
    loss = [json.loads(done.out)["compared"][0]["loss"] for done in (plain, bound)]
    assert loss[0] < loss[1]


def test_the_report_says_what_was_promised_and_found(visits, microagg):
    pytest.importorskip("jinja2")
    call = ["protect", "in.parquet", "-o", "o.parquet", *COLUMNS, *HIDDEN, "--l", "2"]
    assert microagg(*call, "--report", "r.html").code == 0
    later = ["report", "o.parquet", "--original", "in.parquet", "--seconds", "0", "-o", "s.html"]
    assert microagg(*later).code == 0
    told = json.loads((visits / "o.parquet.manifest.json").read_text())["models"]
    for name in ("r.html", "s.html"):
        page = (visits / name).read_text()
        row = '<th scope="row">{}</th><td>{}</td><td>{}</td>'
        persons = told["entity"]["k_entities"]
        assert row.format("persons in the smallest group", "at least 5", persons) in page
        kinds = {r["column"]: r["found"] for r in told["confidential"] if r["model"] == "l"}
        what = "the number of distinct values of dx"
        assert row.format(what, "at least 2", kinds["dx"]) in page
        assert "Several rows a person." not in page
