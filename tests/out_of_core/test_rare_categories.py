"""Categories that are too rare, counted in pieces of a table: as on the whole of it."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.frames.columns import kind_for
from polars_microagg.frames.rare_categories import refuse_rare_in
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.rare_categories import RareCounter
from tests.leaves.mixtures import PREFIXES
from tests.loop import rounds

TYPES = [pl.String, pl.Categorical, pl.Int64, pl.Enum([str(i) for i in range(400)])]


def words(call, *args):
    """What a call refuses; nothing if it does not."""
    try:
        call(*args)
    except mg.InvalidDataError as error:
        return str(error)
    return ""


def drawn(rng):
    """A table with a column of some type, and of few or many categories, and how it is masked."""
    n, dtype = int(rng.integers(1, 400)), TYPES[rng.integers(len(TYPES))]
    value = (n * rng.random(n) ** rng.choice([1, 3])).astype(int) // int(rng.integers(1, 5))
    column = pl.Series("x", value).cast(pl.String).cast(dtype)
    absent = pl.Series(rng.random(n) < rng.choice([0, 0.3]))
    frame = pl.DataFrame(
        {"x": column, "who": rng.integers(0, -(-n // 9), n), "two": rng.integers(0, 2, n)}
    )
    frame = frame.with_columns(x=pl.when(~absent).then("x"))
    ordinal = dtype != pl.Categorical and rng.random() < 0.5
    asked = {"ordinal" if ordinal else "nominal": ("x",)}
    entity = [[], ["who"], ["who", "two"]][rng.integers(3)]
    return frame, {"x": kind_for("x", frame.schema["x"], asked)}, entity


def test_a_table_in_pieces_is_refused_as_the_whole_of_it(tmp_path):
    rng, refused = np.random.default_rng(7), 0
    budget = MemoryBudget(10**9, 1, 40, 30, 50)
    for number in range(rounds(150)):
        frame, kinds, entity = drawn(rng)
        k = int(rng.integers(2, 9))
        frame.write_parquet(tmp_path / "in.parquet")
        table = ParquetSource.of(tmp_path / "in.parquet")
        (own := tmp_path / str(number)).mkdir()
        counter = RareCounter(table, kinds, entity, budget, own)
        for part in frame.iter_slices(30):
            counter.add(part)
        whole = words(refuse_rare_in, frame, kinds, k, entity)
        assert words(counter.refuse, k) == whole
        refused += bool(whole)
    assert number / 5 < refused < number


def test_only_columns_that_can_be_too_rare_are_read(tmp_path):
    frame = pl.DataFrame({"age": [1], "zip": ["a"], "job": ["b"], "who": [1]})
    frame.write_parquet(tmp_path / "in.parquet")
    table, budget = ParquetSource.of(tmp_path / "in.parquet"), MemoryBudget(10**9, 1, 9, 9, 9)
    trees = {"taxonomy": {"zip": PREFIXES}}
    kinds = {name: kind_for(name, frame.schema[name], trees) for name in ("age", "zip", "job")}
    assert RareCounter(table, kinds, ["who"], budget, tmp_path).columns == ["job", "who"]
    numbers = {"age": kinds["age"], "zip": kinds["zip"]}
    assert not RareCounter(table, numbers, ["who"], budget, tmp_path).columns


def test_nothing_is_split_or_written_before(tmp_path, monkeypatch):
    frame = pl.DataFrame({"pay": [str(i) for i in range(100)]})
    frame.write_parquet(tmp_path / "in.parquet")
    seen = []
    with (
        mg.progress(lambda done, total, what: seen.append(done / total)),
        pytest.raises(mg.InvalidDataError, match="100 of 100 values"),
    ):
        mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", "pay", 3)
    # One of six passes.
    assert max(seen) == 1 / 6
