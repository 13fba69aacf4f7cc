"""An Airflow task: mask a Parquet file and publish it, or fail for good where privacy is at stake.

`release` needs nothing of Airflow; the DAG below it is there where Airflow is installed.
"""

import polars as pl

import polars_microagg as mg


def release(source: str, target: str) -> dict[str, object]:
    """Publish what is 5-anonymous and loses little; what is returned holds no record."""
    patients = pl.scan_parquet(source)
    roles = {"strata": "region", "drop": "patient_id"}
    required = ["k=5", "loss<=30"]
    told = mg.publish(patients, target, ["age", "income"], 5, require=required, **roles)
    return {"sha256": told["output"]["sha256"], "k": told["k"]["found"], **told["rows"]}


try:
    from airflow.sdk import dag, task
    from airflow.sdk.exceptions import AirflowFailException
except ImportError:
    pass
else:

    @task(retries=3)
    def mask(source: str, target: str) -> dict[str, object]:
        """Try again if the disk failed, and never if the data or a requirement did."""
        try:
            return release(source, target)
        except mg.OutputError:
            raise
        except mg.MicroaggError as error:
            raise AirflowFailException(str(error)) from None

    @dag(schedule=None)
    def masked_patients() -> None:
        """One task."""
        mask("patients.parquet", "patients_masked.parquet")

    masked_patients()
