"""How the rows arrive does not matter: chunks, row groups, morsels, threads, order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import polars_microagg as mg

from .doors import ENGINES, coarse, same

LONG = coarse(2500, seed=2)
OPTIONS = {"k": 20, "strata": "region", "order_by": "id"}


@pytest.fixture(scope="module")
def long_masked() -> pl.DataFrame:
    return mg.mdav(LONG, ["a", "b"], **OPTIONS)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rows", [1, 7, 2048])
def test_chunks_of_the_source_do_not_matter(
    rows: int, engine: str, long_masked: pl.DataFrame
) -> None:
    pieces = [LONG.slice(i, rows) for i in range(0, LONG.height, rows)]
    chunked = pl.concat(pieces, rechunk=False)
    assert chunked.n_chunks() == len(pieces)
    same(mg.mdav(chunked, ["a", "b"], **OPTIONS), long_masked)
    same(mg.mdav(chunked.lazy(), ["a", "b"], **OPTIONS).collect(engine=engine), long_masked)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rows", [50, 333, 2500])
def test_row_groups_of_the_file_do_not_matter(
    rows: int, engine: str, tmp_path: Path, long_masked: pl.DataFrame
) -> None:
    path = tmp_path / "t.parquet"
    LONG.write_parquet(path, row_group_size=rows)
    masked = mg.mdav(pl.scan_parquet(path), ["a", "b"], **OPTIONS)
    same(masked.collect(engine=engine), long_masked)


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_morsels_of_the_streaming_engine_do_not_matter(
    rows: int, long_masked: pl.DataFrame
) -> None:
    with pl.Config(streaming_chunk_size=rows):
        got = mg.mdav(LONG.lazy(), ["a", "b"], **OPTIONS).collect(engine="streaming")
    same(got, long_masked)


def test_order_by_gives_the_same_after_a_streaming_join_in_every_run(
    long_masked: pl.DataFrame,
) -> None:
    left = LONG.select("id", "region", "a").lazy()
    right = LONG.select("id", "b").sample(fraction=1.0, shuffle=True, seed=3).lazy()
    masked = mg.mdav(left.join(right, on="id"), ["a", "b"], **OPTIONS)
    for _ in range(5):
        same(masked.collect(engine="streaming").sort("id"), long_masked)


SHUFFLES = {
    "backwards": LONG.reverse(),
    "by value": LONG.sort("b", "a", maintain_order=True),
    "at random": LONG.sample(fraction=1.0, shuffle=True, seed=4),
    "at random again": LONG.sample(fraction=1.0, shuffle=True, seed=5),
}


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_order_by_makes_the_order_of_rows_indifferent_and_leaves_it(
    shuffle: str, long_masked: pl.DataFrame
) -> None:
    shuffled = SHUFFLES[shuffle]
    got = mg.mdav(shuffled, ["a", "b"], **OPTIONS)
    assert got["id"].equals(shuffled["id"])
    same(got.sort("id"), long_masked)
    same(mg.mdav(shuffled.lazy(), ["a", "b"], **OPTIONS).collect(), got)


def test_without_order_by_ties_follow_the_rows() -> None:
    # Else the tests above would show nothing.
    plain = {"k": 20, "strata": "region"}
    shuffled = LONG.sample(fraction=1.0, shuffle=True, seed=0)
    got = mg.mdav(shuffled, ["a", "b"], **plain).sort("id")
    assert not got.equals(mg.mdav(LONG, ["a", "b"], **plain))


def test_order_by_several_columns_puts_nulls_last_and_breaks_ties_by_row() -> None:
    frame = coarse(60).with_columns(
        first=pl.when(pl.col("id") % 5 > 0).then(pl.col("id") % 3), second=pl.col("id") % 7
    )
    keys = ["first", "second"]
    by_hand = frame.sort(keys, nulls_last=True, maintain_order=True)
    expected = mg.mdav(by_hand, ["a", "b"], 4).sort("id")
    same(mg.mdav(frame, ["a", "b"], 4, order_by=keys), expected)
    numbered = mg.groups(by_hand, ["a", "b"], 4).sort("id")["microagg_group"]
    got = mg.groups(frame, ["a", "b"], 4, order_by=keys)["microagg_group"]
    # The same groups; each door numbers them by the first record of its own table.
    pairs = pl.DataFrame({"got": got, "expected": numbered}).unique()
    assert pairs.height == got.n_unique() == numbered.n_unique()
    assert got.unique(maintain_order=True).equals(got.unique().sort())


ALONE = """
import sys
import polars as pl
import polars_microagg as mg
assert pl.thread_pool_size() == int(sys.argv[3])
source = pl.scan_parquet(sys.argv[1])
masked = mg.mdav(source, ["a", "b"], 20, strata="region", order_by="id")
masked.collect(engine="streaming").write_ipc(sys.argv[2] + "/streaming.arrow")
masked.collect(engine="in-memory").write_ipc(sys.argv[2] + "/in-memory.arrow")
mg.mdav(source.collect(), ["a", "b"], 20, strata="region").write_ipc(sys.argv[2] + "/eager.arrow")
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_threads_gives_the_same_and_none_waits_for_another(
    threads: int, tmp_path: Path, long_masked: pl.DataFrame
) -> None:
    source = tmp_path / "t.parquet"
    LONG.write_parquet(source, row_group_size=200)
    subprocess.run(
        [sys.executable, "-c", ALONE, str(source), str(tmp_path), str(threads)],
        env=os.environ | {"POLARS_MAX_THREADS": str(threads)},
        check=True,
        timeout=60,
    )
    for name in ("streaming", "in-memory", "eager"):
        same(pl.read_ipc(tmp_path / f"{name}.arrow"), long_masked)
