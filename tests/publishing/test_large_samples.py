"""What is seen of a large release on a sample: said so, and seen again by whoever checks it."""

import json

import polars as pl
import pyarrow as pa
import pytest

import polars_microagg as mg
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing import memory
from polars_microagg.publishing.large import survey as surveys
from polars_microagg.publishing.large.survey import Survey
from polars_microagg.publishing.manifest.check import check
from tests.publishing.test_large import PEOPLE, ROLES, N, released, small_memory, written

__all__ = ["small_memory"]


def test_warnings_of_a_sample_say_so_and_are_given_again(tmp_path, monkeypatch):
    people = PEOPLE.with_columns(net=pl.col("pay") * 0.7, code=pl.Series(range(N)))
    monkeypatch.setattr(surveys, "SAMPLE", 1000)
    source = written(people, tmp_path, "parquet")
    told = released(source, tmp_path / "o.parquet", keep=["sex", "net", "code"])
    assert told["how"]["sampled"]["warnings"] < N
    revealing = next(w for w in told["warnings"] if "'net' reveals" in w)
    assert f"a sample of {told['how']['sampled']['warnings']:,} of {N:,} rows" in revealing
    assert any("'code' is nearly unique: about 3000 distinct values" in w for w in told["warnings"])
    found = check(tmp_path / "o.parquet", original=source)
    assert [f.what for f in found if not f.holds] == []


@pytest.mark.parametrize("rows", [1000, N])
def test_what_was_looked_for_in_a_sample_is_told_where_nothing_was_seen(
    rows, tmp_path, monkeypatch
):
    # One record dwarfs its group; whether its group is in the sample nobody knows beforehand.
    rich = PEOPLE.with_columns(pay=pl.when(pl.int_range(pl.len()) == 7).then(1e12).otherwise("pay"))
    monkeypatch.setattr(surveys, "SAMPLE", rows)
    released(written(rich, tmp_path, "parquet"), tmp_path / "large.parquet")
    monkeypatch.setattr(memory, "BASE", 0)
    whole = released(rich, tmp_path / "whole.parquet")["warnings"]
    manifest = json.loads((tmp_path / "large.parquet.manifest.json").read_text())
    large = manifest["warnings"]
    assert any("one record makes more than 80%" in said for said in whole)
    if rows == N:
        assert large == whole
        return
    seen = manifest["how"]["sampled"]["warnings"]
    where = f"were looked for in a sample of {seen:,} of {N:,} rows, and not in the others."
    assert large[-1].endswith(where)


@pytest.mark.parametrize(("keep", "drop"), [([], ["sex"]), (["sex"], [])])
def test_groups_of_several_blocks_are_not_judged_by_parts_of_them(
    keep, drop, tmp_path, monkeypatch
):
    # A sample of classes of both columns has single records of the groups of one.
    monkeypatch.setattr(surveys, "SAMPLE", 1000)
    source = written(PEOPLE, tmp_path, "parquet")
    roles = {"keep": keep, "drop": [*drop, "id", "who", "dx", "city"], "memory": "2GB"}
    told = mg.publish(source, tmp_path / "o.parquet", [["age"], ["pay"]], 5, **roles)
    seen = told["how"]["sampled"]["warnings"]
    assert seen < N
    assert not [text for text in told["warnings"] if text.startswith("In ")]
    end = (
        "Single records that show in the centre of their group were not looked for, as the sample has "
        "not all records of the groups of a block. Mask all columns in one block, or give memory for the "
        "whole table."
    )
    kept = f"Kept columns that reveal masked ones were looked for in a sample of {seen:,} of {N:,} rows"
    assert told["warnings"][-1] == f"{kept}, and not in the others. " * bool(keep) + end
    found = check(tmp_path / "o.parquet", original=source)
    assert [(f.what, f.says) for f in found if not f.holds] == []


def test_who_is_linked_in_a_sample_is_told_with_its_interval(tmp_path):
    source = written(PEOPLE, tmp_path, "parquet")
    told = released(source, tmp_path / "o.parquet")
    sampled = told["how"]["sampled"]
    assert sampled["linked"] == 2000
    assert sampled["dld_low"] <= told["measures"]["dld"] <= sampled["dld_high"]
    path = tmp_path / "o.parquet.manifest.json"
    wrong = json.loads(path.read_text())
    wrong["how"]["sampled"]["dld_high"] += 1.0
    path.write_text(json.dumps(wrong))
    found = {f.what: f for f in check(tmp_path / "o.parquet", original=source)}
    assert not found["measures"].holds


def test_a_sample_keeps_no_text_of_other_rows_in_memory(tmp_path, monkeypatch):
    """Of 100,000 texts of 60 letters, 6 MB, a thousand are in the sample."""
    n = 100_000
    rows = pl.int_range(n, eager=True).alias("a")
    table = pl.DataFrame([rows, rows.cast(pl.String).str.pad_start(60, "x").alias("note")])
    table.write_parquet(tmp_path / "a.parquet")
    place = ParquetSource.of(tmp_path / "a.parquet")
    monkeypatch.setattr(surveys, "SAMPLE", 1000)
    before = pa.total_allocated_bytes()
    budget = MemoryBudget(10**9, 1, n, 1 << 12, 1 << 12)
    found = Survey.of(place, place, None, (["a"], ["note"], []), budget, 5)
    assert found.before.height > 500
    assert pa.total_allocated_bytes() - before < 10**6
    assert found.after.equals(table.join(found.after, on="a", how="semi"))


def test_of_estimates_no_value_is_of_less_than_one_person(tmp_path):
    rows = pl.int_range(9000, eager=True)
    cards = [(rows + 9000 * i).alias(f"c{i}") for i in range(6)]
    pl.DataFrame([rows.alias("pay"), rows.alias("who"), *cards]).write_parquet(
        tmp_path / "a.parquet"
    )
    place = ParquetSource.of(tmp_path / "a.parquet")
    budget = MemoryBudget(10**9, 1, 9000, 1 << 12, 1 << 12)
    found = Survey.of(place, place, None, (["pay"], [], ["who"]), budget, 3)
    assert min(found.pairs[name] - found.distinct[name] for name in found.pairs) >= 0


@pytest.mark.parametrize(
    ("form", "memory_", "more"),
    [
        ("csv", "300MB", True),
        ("duckdb", "300MB", True),
        ("csv", "500MB", False),
        ("parquet", "300MB", False),
    ],
)
def test_what_it_takes_to_set_a_table_down_is_said_beforehand(
    form, memory_, more, tmp_path, caplog
):
    caplog.set_level("INFO", "polars_microagg")
    source = written(PEOPLE, tmp_path, form)
    mg.publish(source, tmp_path / "o.parquet", ["age", "pay"], 5, memory=memory_, **ROLES)
    assert ("as Parquet takes up to 430 MB nevertheless" in caplog.text) == more
