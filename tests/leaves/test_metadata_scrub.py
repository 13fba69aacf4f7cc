"""A released file says nothing beside its records: no notes, no category that nobody has."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polars_microagg as mg

N = 40
KINDS = pa.DictionaryArray.from_arrays(pa.array([0, 1] * N, pa.int8()), ["flu", "cold", "TELLTALE"])
HALF = KINDS.slice(0, N)
OFFSETS = pa.array([0, 2, None, *range(4, 2 * N, 2), 2 * N][: N + 1], pa.int32())
NOTE = {"about": "TELLTALE"}


def noted(name, dtype):
    return pa.field(name, dtype, metadata=NOTE)


COLUMNS = {
    "plain": pa.array(range(N)),
    "category": HALF,
    "struct": pa.StructArray.from_arrays(
        [HALF, pa.array(range(N))],
        fields=[noted("kind", KINDS.type), noted("number", pa.int64())],
        mask=pa.array([i == 7 for i in range(N)]),
    ),
    "list": pa.ListArray.from_arrays(OFFSETS, KINDS),
    "large": pa.LargeListArray.from_arrays(OFFSETS.cast(pa.int64()), KINDS),
    "fixed": pa.FixedSizeListArray.from_arrays(KINDS, 2),
    "map": pa.MapArray.from_arrays(OFFSETS, pa.array(range(2 * N)), KINDS),
    "lists": pa.ListArray.from_arrays(
        pa.array(range(N + 1), pa.int32()), pa.ListArray.from_arrays(OFFSETS, KINDS)
    ),
}


@pytest.mark.parametrize("name", list(COLUMNS))
@pytest.mark.parametrize("rows_a_group", [11, N])
def test_no_note_of_the_source_is_in_the_release(tmp_path, name, rows_a_group):
    column = COLUMNS[name]
    fields = [noted("age", pa.int64()), noted("x", column.type)]
    table = pa.Table.from_arrays([pa.array(range(N)), column], schema=pa.schema(fields, NOTE))
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=rows_a_group)
    leaves = mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", "age", 5)
    made = tmp_path / "out.parquet"
    assert b"TELLTALE" in (tmp_path / "in.parquet").read_bytes()
    assert b"TELLTALE" not in made.read_bytes()
    assert set(pq.read_metadata(made).metadata) == {b"ARROW:schema"}
    released = pq.read_table(made)
    assert b"TELLTALE" not in released.schema.serialize().to_pybytes()
    before = pq.read_table(tmp_path / "in.parquet")
    assert released.schema.equals(before.schema)
    assert released["x"].to_pylist() == before["x"].to_pylist()
    masked = leaves.protect(table)
    pq.write_table(masked, made)
    assert b"TELLTALE" not in made.read_bytes()
    assert masked["x"].to_pylist() == table["x"].to_pylist()


def test_the_index_of_pandas_and_its_attributes_stay_behind(tmp_path):
    frame = pd.DataFrame({"age": np.arange(N)}, index=pd.RangeIndex(4711, 4711 + N))
    frame.attrs["oldest"] = "TELLTALE"
    frame.to_parquet(tmp_path / "in.parquet")
    assert b"4711" in (tmp_path / "in.parquet").read_bytes()
    mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", "age", 5)
    content = (tmp_path / "out.parquet").read_bytes()
    assert b"4711" not in content
    assert b"TELLTALE" not in content


def test_statistics_are_of_the_masked_values(tmp_path):
    pl.DataFrame({"age": [1, *[50] * 8, 99]}).write_parquet(tmp_path / "in.parquet")
    mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", "age", 5)
    found = pq.read_metadata(tmp_path / "out.parquet").row_group(0).column(0).statistics
    assert (found.min, found.max) == (40, 60)  # (1 + 4·50) / 5 = 40.2, (4·50 + 99) / 5 = 59.8


def test_what_makes_a_type_is_kept(tmp_path):
    kinds = ["low", "mid", "high"]
    frame = pl.DataFrame(
        {
            "age": range(6),
            "level": pl.Series(["mid", "high"] * 3, dtype=pl.Enum(kinds)),
            "kind": pl.Series(["b", "a"] * 3, dtype=pl.Categorical),
        }
    )
    frame.write_parquet(tmp_path / "in.parquet")
    mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", "age", 2)
    released = pl.read_parquet(tmp_path / "out.parquet")
    assert released.schema == frame.schema
    assert released.drop("age").equals(frame.drop("age"))
    ordered = pd.DataFrame({"age": range(6)})
    ordered["level"] = pd.Categorical(["high", "low"] * 3, categories=kinds, ordered=True)
    ordered.to_parquet(tmp_path / "in.parquet")
    mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", "age", 2)
    level = pd.read_parquet(tmp_path / "out.parquet")["level"]
    assert level.cat.ordered
    assert list(level.cat.categories) == ["low", "high"]
    assert list(level) == ["high", "low"] * 3
