"""Parquet files have dictionaries where few values come again and again, and hold any type."""

import io
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polars_microagg.out_of_core.parquet_writer import TableWriter


def written(*tables, schema=None):
    file = io.BytesIO()
    with TableWriter(file, schema or tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    return pq.ParquetFile(file)


def test_only_columns_of_few_values_have_a_dictionary():
    rng, n = np.random.default_rng(3), 30_000
    table = pa.table(
        {
            "income": rng.normal(size=n),
            "age": rng.integers(0, 100, n),
            "cost": rng.integers(0, 200, n) / 4,
            "code": [str(x) for x in range(n)],
            "sex": pa.array(rng.choice(["f", "m"], n)).dictionary_encode(),
        }
    )
    group = written(table).metadata.row_group(0)
    coded = {n: group.column(j).has_dictionary_page for j, n in enumerate(table.column_names)}
    assert coded == {"income": False, "age": True, "cost": True, "code": True, "sex": True}


@pytest.mark.parametrize(("distinct", "coded"), [(2_000, True), (140_000, True), (400_000, False)])
def test_a_file_is_no_larger_than_with_dictionaries_of_all_columns(distinct, coded):
    rng, n = np.random.default_rng(4), 400_000
    values = rng.normal(size=distinct)
    table = pa.table({"income": values[rng.integers(0, distinct, n)]})
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    made = written(table).metadata.row_group(0).column(0)
    assert made.has_dictionary_page == coded
    assert made.total_compressed_size <= 1.02 * file.getbuffer().nbytes


def test_nested_columns_keep_their_dictionaries():
    rng, n = np.random.default_rng(5), 20_000
    codes = [f"code-{i}" for i in range(200)]
    table = pa.table(
        {
            "income": rng.normal(size=n),
            "codes": [[codes[i] for i in row] for row in rng.integers(0, 200, (n, 3))],
            "place": [{"city": codes[i], "land": codes[i % 7]} for i in rng.integers(0, 200, n)],
        }
    )
    group = written(table).metadata.row_group(0)
    columns = [group.column(j) for j in range(group.num_columns)]
    assert [c.has_dictionary_page for c in columns] == [False, True, True, True]


def test_all_types_come_back_and_so_does_a_table_without_rows():
    table = pa.table(
        {
            "null": pa.nulls(3),
            "flag": [True, None, False],
            "half": pa.array(np.arange(3, dtype=np.float16)),
            "price": [Decimal("1.50"), None, Decimal("2.25")],
            "day": [date(2026, 1, 1), None, date(2026, 1, 2)],
            "span": [timedelta(1), timedelta(2), None],
            "bytes": pa.array([b"ab", b"cd", None], pa.binary(2)),
            "many": [[1.5], None, []],
            "both": [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}],
            "nan": [float("nan"), -0.0, 0.0],
        }
    )
    assert (
        written(table, table).read().drop("nan").equals(pa.concat_tables([table] * 2).drop("nan"))
    )
    assert written(schema=table.schema).read().equals(table.schema.empty_table())
