"""The DuckDB examples release what they say."""

import os
import subprocess
import sys
from pathlib import Path

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
