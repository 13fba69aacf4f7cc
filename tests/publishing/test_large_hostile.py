"""Large releases of tables with what goes wrong: emptied rows, strange names."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.publishing.manifest.check import check
from tests.loop import share
from tests.publishing.test_large import PEOPLE, ROLES, N, released, small_memory, written

__all__ = ["small_memory"]


def test_whole_numbers_of_64_bits_are_measured_as_they_are(tmp_path, monkeypatch):
    # Batches in which all numbers have 63 bits are read from text beside others.
    draw = np.random.default_rng(0).integers(2**62, 2**63, N).astype(np.uint64)
    people = PEOPLE.with_columns(age=draw * np.where(np.arange(N) < N - 40, 1, 2).astype(np.uint64))
    budget = MemoryBudget(10**9, 1, 10**5, 50, 5000)
    monkeypatch.setattr(MemoryBudget, "of", classmethod(lambda *_: budget))
    told = released(people, tmp_path / "o.csv", columns=["age"], drop=[*ROLES["drop"], "pay"])
    assert told["measures"]["k_min"] == told["k"]["found"] >= 5
    source = written(people, tmp_path, "parquet")
    assert [f.what for f in check(tmp_path / "o.csv", original=source) if not f.holds] == []


def test_rows_that_are_emptied_come_out_beside_what_is_kept(tmp_path):
    people = PEOPLE.with_columns(
        city=pl.Series(["Z"] * 3 + ["Y"] * 4 + PEOPLE["city"][7:].to_list())
    )
    roles = {"drop": ["id", "who"], "keep": ["sex", "dx"], "strata": "city", "small_strata": "null"}
    told = released(written(people, tmp_path, "parquet"), tmp_path / "o.parquet", **roles)
    assert told["rows"]["emptied"] == 7
    after = pl.read_parquet(tmp_path / "o.parquet")
    assert after[:7].select("age", "pay", "city").null_count().row(0) == (7, 7, 7)
    assert after["dx"].equals(people["dx"])
    found = check(tmp_path / "o.parquet", original=tmp_path / "in.parquet")
    assert [f.what for f in found if not f.holds] == []


@pytest.mark.parametrize(
    "name", share(["o.parquet", "o.csv", "o.ndjson", "o.arrow", "o.arrows"], 3)
)
def test_a_column_without_a_name_keeps_it(name, tmp_path):
    people = PEOPLE.rename({"pay": ""})
    released(people, tmp_path / name, columns=["age", ""])
    made = {"csv": pl.read_csv, "ndjson": pl.read_ndjson, "arrow": pl.read_ipc,
            "arrows": pl.read_ipc_stream, "parquet": pl.read_parquet}[name[2:]]  # fmt: skip
    assert made(tmp_path / name).columns == ["age", "", "sex"]
    source = tmp_path / f"again.{name[2:]}"
    (tmp_path / name).rename(source)
    mg.publish(source, tmp_path / "p.parquet", ["age", ""], 5, keep="sex", memory="2GB")
    assert pl.read_parquet(tmp_path / "p.parquet").columns == ["age", "", "sex"]
