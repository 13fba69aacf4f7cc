"""The examples for orchestrators, called as their framework would call them."""

import importlib.util
import json
import sys
import types
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

EXAMPLES = Path(__file__).parents[2] / "examples"
RNG = np.random.default_rng(2)
PATIENTS = pl.DataFrame(
    {
        "patient_id": range(200),
        "region": ["N", "S"] * 100,
        "age": RNG.integers(18, 90, 200),
        "income": RNG.lognormal(10, 0.5, 200).round(),
    }
)


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def files(tmp_path):
    PATIENTS.write_parquet(tmp_path / "patients.parquet")
    return str(tmp_path / "patients.parquet"), str(tmp_path / "patients_masked.parquet")


def test_the_task_publishes_and_the_check_holds(files):
    told = example("airflow_task").release(*files)
    assert told["k"] >= 5
    assert told["out"] == 200
    json.dumps(told)  # it travels between tasks as JSON
    passed, said = example("dagster_check").release_is_sound(files[1])
    assert passed
    assert "smallest class has" in said["k"]


def test_the_check_fails_for_another_file(files):
    example("airflow_task").release(*files)
    pl.read_parquet(files[1]).head(150).write_parquet(files[1])
    passed, said = example("dagster_check").release_is_sound(files[1])
    assert not passed
    assert "does not have the hash" in said["hash"]


def test_the_task_publishes_nothing_that_is_not_reached(files):
    release = example("airflow_task").release
    PATIENTS.head(12).with_columns(region=pl.lit("N")).write_parquet(files[0])
    with pytest.raises(mg.RequirementError, match="loss<=30"):
        release(*files)
    assert not Path(files[1]).exists()


def test_the_parts_for_the_frameworks_run(files, monkeypatch):
    """With stand-ins that do what a decorator of theirs does: keep the function."""

    def kept(*plain, **_):
        return plain[0] if plain else kept

    dagster = types.ModuleType("dagster")
    dagster.AssetCheckResult, dagster.asset_check = types.SimpleNamespace, kept
    airflow, sdk, failed = (
        types.ModuleType(n) for n in ("airflow", "airflow.sdk", "airflow.sdk.exceptions")
    )
    sdk.task, sdk.dag = kept, lambda **_: lambda _: lambda: None
    failed.AirflowFailException = type("AirflowFailException", (Exception,), {})
    for name, module in (
        ("dagster", dagster),
        ("airflow", airflow),
        ("airflow.sdk", sdk),
        ("airflow.sdk.exceptions", failed),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    task = example("airflow_task").mask
    assert task(*files)["k"] >= 5
    with pytest.raises(mg.OutputError, match="folder does not exist"):
        task(files[0], "absent/out.parquet")
    PATIENTS.head(3).write_parquet(files[0])
    with pytest.raises(failed.AirflowFailException, match="fewer than k=5"):
        task(*files)
    checked = example("dagster_check")
    checked.RELEASE = files[1]
    assert checked.patients_masked_is_sound().passed
