"""The DuckDB examples release what they say."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

import polars_microagg as mg

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}


@pytest.mark.deep
def test_etl_in_sql(tmp_path):
    command = [sys.executable, "-W", "error", ROOT / "examples" / "etl_duckdb.py", tmp_path]
    for _ in range(2):
        done = subprocess.run(
            [*command, "--rows", "3000"],
            capture_output=True,
            text=True,
            check=True,
            env=ENVIRONMENT,
        )
    before = pl.read_parquet(tmp_path / "patients.parquet")
    after = pl.read_parquet(tmp_path / "patients_masked_duckdb.parquet")
    masked, kept = ["age", "income", "weight", "visits", "admitted"], ["region", "sex"]
    mg.verify(after, masked, k=5, strata=kept)
    assert after.drop("beds").schema == before.drop("patient_id").schema
    expected = mg.mdav(before.drop("patient_id"), masked, k=5, strata=kept)
    order = [*kept, *masked]
    assert after.drop("beds").sort(order).equals(expected.sort(order))
    assert "patients_masked_duckdb.parquet" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {
        "patients.parquet",
        "patients_masked_duckdb.parquet",
    }


def dbt(project, *arguments):
    environment = ENVIRONMENT | {"DBT_PROJECT_DIR": str(project), "DBT_PROFILES_DIR": str(project)}
    command = [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", "build", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=project, env=environment
    )


@pytest.mark.skipif(
    not (importlib.util.find_spec("dbt") and importlib.util.find_spec("dbt.adapters.duckdb")),
    reason="dbt-duckdb is not installed: pip install 'dbt-core<1.11' dbt-duckdb",
)
def test_dbt_project(tmp_path):
    project = shutil.copytree(ROOT / "examples" / "dbt", tmp_path / "dbt")
    done = dbt(project)
    assert not done.returncode, done.stdout
    assert "PASS=3" in done.stdout
    with duckdb.connect(project / "example.duckdb") as con:
        before, after = con.table("patients").pl(), con.table("patients_masked").pl()
    columns = ["age", "income", "admitted"]
    assert after.equals(mg.mdav(before.drop("patient_id"), columns, 5, strata="region"))
    done = dbt(project, "--vars", "{k: 3}")
    assert done.returncode
    assert "FAIL 1 k_anonymous_patients_masked" in done.stdout
