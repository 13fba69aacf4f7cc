"""What is seen of a large release on a sample: said so, and seen again by whoever checks it."""

import json
import re

import polars as pl
import pyarrow as pa
import pytest

import polars_microagg as mg
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing import memory
from polars_microagg.publishing.large import survey as surveys
from polars_microagg.publishing.large.group_sample import GroupSample
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
    seen = f"kept columns that reveal masked ones in {manifest['how']['sampled']['warnings']:,}"
    where = r"Single records that .* were looked for in ([\d,]+) of 3,000 rows, in whole groups of at most 1,000, (.*), and not in the others\."
    found = re.fullmatch(where, large[-1])
    assert 500 < int(found[1].replace(",", "")) < 1500
    assert found[2] == seen


@pytest.mark.parametrize(("keep", "drop"), [([], ["sex"]), (["sex"], [])])
def test_groups_of_several_blocks_are_judged_as_a_whole(keep, drop, tmp_path, monkeypatch):
    # A sample of classes of both columns would have single records of the groups of one.
    monkeypatch.setattr(surveys, "SAMPLE", 1000)
    source = written(PEOPLE, tmp_path, "parquet")
    roles = {"keep": keep, "drop": [*drop, "id", "who", "dx", "city"], "memory": "2GB"}
    told = mg.publish(source, tmp_path / "o.parquet", [["age"], ["pay"]], 5, **roles)
    assert told["how"]["sampled"]["warnings"] < N
    assert not [text for text in told["warnings"] if text.startswith("In ")]
    assert re.search(r"looked for in \d+ of 3,000 rows or more of each block", told["warnings"][-1])
    assert ("kept columns that reveal masked ones in" in told["warnings"][-1]) == bool(keep)
    found = check(tmp_path / "o.parquet", original=source)
    assert [(f.what, f.says) for f in found if not f.holds] == []


@pytest.mark.parametrize("every", [10, 1])
def test_a_sample_has_whole_groups_but_for_the_largest(every):
    """A share of 2,000 groups of three, and none of 3,000 rows without an income, in batches."""
    age, pay = [i // 3 for i in range(6000)] + [9999] * 3000, pl.int_range(9000, eager=True)
    after = pl.DataFrame({"age": age, "note": pay.cast(pl.String)}).sample(
        fraction=1, shuffle=True, seed=1
    )
    before = pl.DataFrame({"age": after["note"].cast(pl.Int64), "who": after["note"]})
    sample = GroupSample(["age"], ["who"], every, 100, 0)
    blank = after["age"] == 7
    for start in range(0, 9000, 700):
        piece = slice(start, start + 700)
        sample.add(before[piece], after[piece], blank[piece])
    # No more of a group that is too large is held than tells that it is.
    assert sum(len(one) for one, _ in sample.tables) <= 1.25 * 6000 / every + 101
    one, other = sample.whole()
    assert other.columns == ["age"]
    assert one.columns == ["age", "who"]
    sizes = other["age"].value_counts()
    assert 0.75 * 2000 / every < len(sizes) < 1.25 * 2000 / every
    assert set(sizes["count"]) == {3}
    assert not {7, 9999} & set(sizes["age"])
    masked = dict(after.select("note", "age").rows())
    assert [masked[who] for who in one["who"]] == other["age"].to_list()


def test_large_groups_are_judged_as_well(tmp_path, monkeypatch, caplog):
    """In each of 40 towns of 1,500 one has a bonus, and all of the town are given it."""
    monkeypatch.setattr(surveys, "SAMPLE", 6000)
    town = [i // 1500 for i in range(60_000)]
    bonus = [float(t) if i % 1500 == 7 else None for i, t in enumerate(town)]
    source = written(pl.DataFrame({"town": town, "bonus": bonus}), tmp_path, "parquet")
    asked = {"strata": "town", "nulls": "impute", "memory": "2GB"}
    mg.publish(source, tmp_path / "o.parquet", "bonus", 5, **asked)
    assert "only one record has a value of 'bonus'" in caplog.text
    assert "in whole groups of at most 6,000" in caplog.text


@pytest.mark.parametrize("heavy", [1.0, 0.0])
def test_a_sample_of_few_values_is_as_large_as_any(heavy, tmp_path, monkeypatch):
    """Where all rows are of twenty classes, one of twenty such classes would be all or nothing."""
    monkeypatch.setattr(surveys, "SAMPLE", 1000)
    rows = pl.int_range(60_000, eager=True)
    table = pl.DataFrame(
        [(rows % 20 * heavy + rows // 5 * (1 - heavy)).alias("age"), rows.alias("id")]
    )
    table.write_parquet(tmp_path / "a.parquet")
    place = ParquetSource.of(tmp_path / "a.parquet")
    budget = MemoryBudget(10**9, 1, 60_000, 1 << 12, 1 << 12)
    found = Survey.of(place, place, None, ([["age"]], [], []), budget, 5)
    assert 850 < found.after.height < 1150
    assert found.before["age"].equals(found.after["age"])
    assert 850 * (1 - heavy) <= found.groups[0][0].height < 1150


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
    found = Survey.of(place, place, None, ([["a"]], ["note"], []), budget, 5)
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
    found = Survey.of(place, place, None, ([["pay"]], [], ["who"]), budget, 3)
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
