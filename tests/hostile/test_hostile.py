"""A few of the trials of benchmarks/hostile.py, which goes on for as long as it is told to."""

import os

import polars as pl
import pytest

import polars_microagg as mg
from tests.hostile import doors, ends, pipelines, strings


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.mark.parametrize(
    ("trial", "count"),
    [(pipelines.trial, 12), (doors.trial, 15), (strings.trial, 6)],
    ids=["pipelines", "groupings", "strings"],
)
@pytest.mark.filterwarnings("ignore")
def test_nothing_is_found(trial, count, folder):
    assert [found for seed in range(count) for found in trial(seed, folder)] == []


def test_the_pipelines_find_a_mask_below_which_filters_and_slices_move(folder, monkeypatch):
    right = mg.mask

    def wrong(frame, *call, **options):
        if isinstance(frame, pl.DataFrame):
            return right(frame, *call, **options)
        down = dict.fromkeys(("predicate_pushdown", "slice_pushdown"), True)
        return frame.map_batches(lambda batch: right(batch, *call, **options), **down)

    monkeypatch.setattr(mg, "mask", wrong)
    assert [found for seed in range(30) for found in pipelines.trial(seed, folder)]


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_kill_leaves_a_whole_release(folder):
    assert ends.kill(0, folder) == []


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="disks of POSIX")
def test_a_full_disk_leaves_a_whole_release(folder):
    found = ends.full_disk(0, folder)
    if found is None:
        pytest.skip("no file system can be mounted here")
    assert found == []
