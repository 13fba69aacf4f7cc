"""More files than a process may have open at a time."""

from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.spill import OPEN, Ranges, Spill, batches_of, read, write_ranges
from tests.leaves.people import COLUMNS, people

resource = pytest.importorskip("resource", reason="limits of open files are set on Linux only")
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc"
)


@contextmanager
def at_most(files):
    """Allow so many files beside those that are open; some systems allow 256 in all."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = {int(path.name) for path in Path("/proc/self/fd").iterdir()}
    free = (number for number in count() if number not in used)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(islice(free, files, None)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_records_come_back_in_their_order_from_any_number_of_files(tmp_path):
    rng, files = np.random.default_rng(0), 3 * OPEN
    words = pl.Series(rng.choice(["a", "b", "c"], 4000).tolist(), dtype=pl.Categorical)
    frame = pl.DataFrame({"row": np.arange(4000), "word": words})
    numbers = rng.integers(0, files, 4000)
    spill = Spill(tmp_path, "part", files)
    with at_most(OPEN + 16):
        for start in range(0, 4000, 900):
            part = slice(start, start + 900)
            spill.write(frame[part], numbers[part])
        spill.close()
        for number in range(files):
            expected = frame.filter(pl.Series(numbers == number))
            assert read([spill.path(number)]).equals(expected)
            assert sum(batch.num_rows for batch in batches_of(spill.path(number))) == len(expected)
        assert read([spill.path(0), spill.path(files - 1)], ["row"]).columns == ["row"]


def test_ranges_are_read_from_any_number_of_files(tmp_path):
    frame = pl.DataFrame({"row": np.arange(500)})
    paths = [tmp_path / f"{number}.arrow" for number in range(2 * OPEN)]
    for number, path in enumerate(paths):
        write_ranges(frame.filter(pl.col("row") % len(paths) == number), path, 200, 3)
    with at_most(OPEN + 16):
        ranges = Ranges(paths)
        try:
            assert pl.concat(ranges.frame(number) for number in range(3)).equals(frame)
        finally:
            ranges.close()


def test_a_table_of_more_parts_than_files_may_be_open(tmp_path, monkeypatch):
    frame = people(6000)
    frame.write_parquet(tmp_path / "in.parquet")
    found = []
    for part in (10**6, 20):
        small = MemoryBudget(10**9, 1, part, 2000, 2000)
        monkeypatch.setattr(MemoryBudget, "of", classmethod(lambda cls, *args, s=small: s))
        with at_most(OPEN + 40):
            leaves = mg.protect_parquet(
                tmp_path / "in.parquet", tmp_path / f"{part}.parquet", COLUMNS, 3, size=40
            )
        assert len(leaves) > 2 * OPEN
        found.append(pl.read_parquet(tmp_path / f"{part}.parquet"))
    assert found[0].equals(found[1])
