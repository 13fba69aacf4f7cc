"""The materialization of the dbt package, and its example built by dbt where that is installed."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import polars_microagg as mg
from tests.databases import registered
from tests.dbt_macros import rendered_model

ROOT = Path(__file__).parents[1]
PEOPLE = "SELECT i AS id, i % 7 AS age, i % 4 // 2 AS region, i % 3 AS sick FROM range(84) r(i)"
SETTINGS = {"materialized": "masked", "columns": ["age"], "k": 5, "drop": ["id"], "tags": ["night"]}


@pytest.fixture
def con():
    with registered() as con:
        yield con


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "near"),
    {
        "entityy": "entity",
        "column_weight": "column_weights",
        "refin": "refine",
        "K": "k",
        "tag": "tags",
    }.items(),
)
def test_a_model_with_an_unknown_setting_is_refused_with_the_nearest_name(con, name, near):
    sentence = f"The materialization masked has no setting '{name}'. Did you mean '{near}'?"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        rendered_model(con, PEOPLE, **SETTINGS, **{name: "id"})
    with pytest.raises(
        ValueError, match=r"Choose from center, .* Move settings of your own to meta\."
    ):
        rendered_model(con, PEOPLE, **SETTINGS, zzz="id")


def test_a_model_takes_every_parameter_of_the_macro_and_every_key_of_dbt(con):
    more = {"strata": "region", "l": 2, "confidential": "sick", "workers": 1}
    more["pre-hook"], more["grants"] = "SELECT 1", {"select": ["ann"]}
    mask, verify = rendered_model(con, PEOPLE, **SETTINGS, **more)
    con.execute(f"CREATE OR REPLACE TEMP TABLE masked AS {mask}")
    wanted = mg.mdav(con.sql(PEOPLE).pl(), "age", 5, strata="region", confidential="sick", l=2)
    assert con.table("masked").pl().equals(wanted.drop("id"))
    assert con.sql(verify).fetchall()
    with pytest.raises(duckdb.Error, match="does not keep l := 4"):
        con.sql(rendered_model(con, PEOPLE, **SETTINGS, **(more | {"l": 4}))[1]).fetchall()


def test_a_model_of_persons_is_verified_by_what_comes_out(con):
    persons = PEOPLE.replace("i AS id", "i % 42 AS id")
    own = SETTINGS | {"drop": [], "entity": ["id"], "entity_mode": "rows", "max_entity_share": 0.9}
    mask, verify = rendered_model(con, persons, **own, keep=["region", "sick"])
    con.execute(f"CREATE OR REPLACE TEMP TABLE masked AS {mask}")
    assert "id" not in con.table("masked").columns
    assert con.sql(verify).fetchall()


def test_a_model_without_the_plugin_is_refused():
    with duckdb.connect() as bare, pytest.raises(ValueError, match="List microagg_plugin"):
        rendered_model(bare, PEOPLE, **SETTINGS)


def dbt_is_here():
    try:
        return importlib.metadata.version("dbt-duckdb")
    except importlib.metadata.PackageNotFoundError:
        return None


@pytest.mark.skipif(
    not dbt_is_here(),
    reason="dbt-duckdb is not installed: pip install dbt-core dbt-duckdb",
)
def test_the_project_builds_and_fails_where_more_is_asked(tmp_path):
    package = shutil.copytree(ROOT / "dbt", tmp_path / "package")
    project = package / "integration_tests"

    def dbt(*arguments):
        environment = os.environ | {"PYTHONPATH": str(ROOT), "DBT_PROJECT_DIR": str(project)}
        command = [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", *arguments]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=project,
            env=environment | {"DBT_PROFILES_DIR": str(project)},
        )

    assert dbt("deps").returncode == 0
    done = dbt("build")
    assert done.returncode == 0, done.stdout
    assert "PASS=12 WARN=0 ERROR=0" in done.stdout
    with duckdb.connect(project / "example.duckdb") as con:
        before, after = con.table("patients").pl(), con.table("patients_masked").pl()
    columns = ["age", "income", "admitted"]
    assert after.equals(mg.mdav(before.drop("patient_id"), columns, 5, strata="region"))
    # A model of which a column has no role is not built, and the one before stays.
    model = project / "models" / "duckdb" / "patients_masked.sql"
    text = model.read_text(encoding="utf-8")
    model.write_text(text.replace("drop=['patient_id']", "drop=[]"), encoding="utf-8")
    refused = dbt("build", "--select", "patients_masked")
    assert refused.returncode == 1
    assert "'patient_id' has no role" in refused.stdout
    with duckdb.connect(project / "example.duckdb") as con:
        assert con.table("patients_masked").pl().equals(after)
    # The same of a model or a test with a setting that there is not.
    model.write_text(text.replace("k=", "entityy='region', k="), encoding="utf-8")
    refused = dbt("build", "--select", "patients_masked")
    assert refused.returncode == 1
    assert "has no setting 'entityy'. Did you mean 'entity'?" in refused.stdout
    model.write_text(text, encoding="utf-8")
    tests = project / "models" / "visits.yml"
    known = tests.read_text(encoding="utf-8")
    tests.write_text(known.replace("strata: region, k:", "strta: region, k:"), encoding="utf-8")
    refused = dbt("build", "--select", "visits")
    assert refused.returncode != 0
    assert "microagg.k has no argument 'strta'. Did you mean 'strata'?" in refused.stdout
    tests.write_text(known, encoding="utf-8")
    with duckdb.connect(project / "example.duckdb") as con:
        assert con.table("patients_masked").pl().equals(after)
    harder = dbt("build", "--vars", "{harder: true, tested: 6}")
    assert harder.returncode == 1
    assert "PASS=3 WARN=0 ERROR=9" in harder.stdout, harder.stdout
