"""The same bits by any number of processes, wherever work is shared."""

import json

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.main import main
from polars_microagg.core import grouping, registry
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.kernels.local import local_search, patches
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.methods import lowloss as lowloss_file
from polars_microagg.out_of_core.masking import mask_source
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.processes import crew
from tests.loop import every_case
from tests.processes.test_crew import watched

COLUMNS = ["a", "b"]


def people(n, strata=1, seed=0):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(rng.lognormal(size=(n, 2)), schema=COLUMNS)
    return frame.with_columns(
        s=pl.Series(rng.integers(0, strata, n)), sick=pl.Series(rng.integers(0, 4, n))
    )


@pytest.fixture(autouse=True)
def _pays(monkeypatch):
    monkeypatch.setattr(crew, "EACH", 0.0)
    monkeypatch.setattr(crew, "RUNNING", 0.0)
    monkeypatch.setattr(crew.Crew, "count", lambda self, _: self.most)


@pytest.fixture
def started(monkeypatch):
    return watched(monkeypatch)


def numbers():
    """How many processes are tried: all under --deep."""
    return [1, 2, 5] if every_case() else [1, 2]


def same(started, made):
    """What is made by any number of processes, of which so many are started."""
    results = []
    for workers in numbers():
        started.clear()
        results.append(made(workers))
        assert len(started) == (0 if workers == 1 else workers)
    for other in results[1:]:
        assert other.equals(results[0])
    return results[0]


CALLS = [
    ("mdav", {"refine": True}),
    pytest.param("vmdav", {}, marks=pytest.mark.deep),
    pytest.param("lowloss", {"effort": 0.05}, marks=pytest.mark.deep),
    pytest.param("vmdav", {"confidential": "sick", "l": 2}, marks=pytest.mark.deep),
    pytest.param("genetic", {"generations": 3}, marks=pytest.mark.deep),
]


@pytest.mark.parametrize(("method", "options"), CALLS, ids=str)
def test_strata(started, method, options):
    frame = people(2400, strata=7)
    call = {"strata": "s", "method": method, **options}
    masked = same(started, lambda workers: mg.mask(frame, COLUMNS, 3, workers=workers, **call))
    mg.verify(masked, COLUMNS, k=3, strata="s")
    numbered = same(started, lambda n: mg.groups(frame, COLUMNS, 3, workers=n, **call))
    assert numbered["microagg_group"].n_unique() > 100


def test_some_strata_are_grouped_side_by_side_and_others_by_processes(started, monkeypatch):
    monkeypatch.setattr(grouping, "LOCKSTEP", 340)
    frame = people(2400, strata=7)
    sizes = frame["s"].value_counts()["count"]
    assert (sizes <= 340).sum() > 1
    assert (sizes > 340).sum() > 1
    same(started, lambda n: mg.groups(frame, COLUMNS, 3, strata="s", workers=n))


def test_strata_side_by_side_are_shared_in_jobs_of_many(started, monkeypatch):
    monkeypatch.setattr(grouping, "TOGETHER", 700)
    same(started, lambda n: mg.groups(people(2400, strata=7), COLUMNS, 3, strata="s", workers=n))


@pytest.mark.deep
def test_strata_of_null_patterns(started):
    frame = people(3000, strata=2).with_columns(
        a=pl.when(pl.int_range(3000) % 5 > 0).then("a"), c=pl.col("b") * pl.col("a")
    )
    columns = [*COLUMNS, "c"]

    def masked(workers):
        given = {"strata": "s", "nulls": "pattern", "workers": workers}
        return mg.vmdav(frame, columns, 3, **given)

    same(started, masked)


@pytest.fixture
def small_patches(monkeypatch):
    # Small enough for a quick test; nothing of it is read in a worker, which works on what it is sent.
    for module in (lowloss_file, local_search):
        monkeypatch.setattr(module, "WHOLE", 500)
    monkeypatch.setattr(patches, "PATCH", 400)
    monkeypatch.setattr(patches, "LEAF", 200)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="k"),
        pytest.param({"confidential": "sick", "l": 2}, id="model", marks=pytest.mark.deep),
    ],
)
def test_patches_of_lowloss(started, small_patches, options):
    frame = people(2000)

    def masked(workers):
        return mg.lowloss(frame, COLUMNS, 3, effort=0.5, workers=workers, **options)

    mg.verify(same(started, masked), COLUMNS, k=3)


def test_patches_of_a_refinement(started, small_patches):
    frame = people(2000)
    same(started, lambda workers: mg.mdav(frame, COLUMNS, 3, refine=True, workers=workers))


def test_patches_differ_by_chance_alone(small_patches):
    frame = people(2000)
    masked = [mg.lowloss(frame, COLUMNS, 3, seed=seed) for seed in (0, 0, 1)]
    assert masked[0].equals(masked[1])
    assert not masked[0].equals(masked[2])


def test_leaves_of_a_table_in_memory(started):
    frame = people(3000)
    leaves = mg.fit_leaves(frame, COLUMNS, 3, size=400)
    same(started, lambda workers: leaves.mask(frame, workers=workers))
    started.clear()
    leaves.protect(frame[:300])
    assert not started


def test_the_number_of_processes_is_no_part_of_leaves():
    with pytest.raises(mg.InvalidParameterError, match="workers=2"):
        mg.fit_leaves(people(300), COLUMNS, 3, workers=2)


def test_a_lazy_call(started):
    frame = people(1500, strata=5)

    def masked(workers):
        lazy = mg.vmdav(frame.lazy(), COLUMNS, 3, strata="s", workers=workers)
        return lazy.collect()

    same(started, masked)


def test_a_method_of_the_caller_is_run_here(started):
    entry = registry.methods()["vmdav"]
    inner = entry.function

    def own(x, /, *, k, gamma=0.2):
        return inner(x, k=k, gamma=gamma)

    object.__setattr__(entry, "function", own)
    try:
        frame = people(1500, strata=5)
        masked = mg.vmdav(frame, COLUMNS, 3, strata="s", workers=3)
    finally:
        object.__setattr__(entry, "function", inner)
    mg.verify(masked, COLUMNS, k=3, strata="s")
    assert not started


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "two"])
def test_a_number_of_processes_is_checked(workers):
    frame = people(30)
    for call in (mg.mdav, mg.fit_leaves(frame, COLUMNS, 3).mask):
        given = (frame,) if call is not mg.mdav else (frame, COLUMNS, 3)
        with pytest.raises(mg.InvalidParameterError, match="workers=.* at least 1"):
            call(*given, workers=workers)


def test_progress_is_told_as_by_one_process(started):
    frame = people(1500, strata=4)

    def told(workers):
        heard = []
        with mg.progress(lambda *each: heard.append(each)):
            mg.vmdav(frame, COLUMNS, 3, strata="s", workers=workers)
            mg.lowloss(frame, COLUMNS, 3, strata="s", effort=0.05, workers=workers)
        assert heard
        return pl.DataFrame(heard, orient="row")

    same_results = [told(workers) for workers in numbers()]
    assert started
    assert all(each.equals(same_results[0]) for each in same_results)


def test_an_error_is_that_of_one_process(started):
    frame = people(600, strata=3)
    said = set()
    for workers in numbers():
        with pytest.raises(mg.InvalidDataError) as raised:
            mg.mask(frame[:40], COLUMNS, 20, strata="s", workers=workers)
        said.add(str(raised.value))
    assert len(said) == 1


def test_lines_of_a_comparison(started):
    frame = people(600, strata=2)

    def compared(workers):
        given = {"methods": ["mdav", "vmdav", "k_ward"], "ks": [3, 400], "strata": "s"}
        table = mg.compare(frame, COLUMNS, workers=workers, **given)
        return table.drop("seconds", "pareto")

    table = same(started, compared)
    assert table["note"].is_null().to_list() == [True] * 3 + [False] * 3


def test_a_comparison_with_a_limit_of_time_takes_one_line_after_the_other(started):
    frame = people(400)
    table = mg.compare(frame, COLUMNS, methods=["mdav", "vmdav"], ks=3, seconds=60, workers=3)
    assert table["note"].is_null().all()
    assert not started
    mg.compare(frame, COLUMNS, methods=["mdav", "vmdav"], ks=3, workers=3)
    assert len(started) == 3


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="plain", marks=pytest.mark.deep),
        pytest.param({"strata": "s"}, id="strata"),
    ],
)
def test_leaves_out_of_core(started, tmp_path, monkeypatch, options):
    frame = people(3000, strata=3)
    frame.write_parquet(tmp_path / "in.parquet")

    def budget(_, memory, workers, *rest):
        return MemoryBudget(memory, workers, 300, 200, 450)

    monkeypatch.setattr(MemoryBudget, "of", classmethod(budget))

    def masked(workers):
        given = {"workers": workers, "size": 150, **options}
        mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", COLUMNS, 3, **given)
        return pl.read_parquet(tmp_path / "out.parquet")

    mg.verify(same(started, masked), COLUMNS, k=3, **options)


def test_a_release_does_not_tell_by_how_many_it_was_made(started, tmp_path):
    frame, manifests = people(500, strata=3), []

    def published(workers):
        target = tmp_path / f"{workers}.parquet"
        call = {"strata": "s", "method": "vmdav", "keep": "sick"}
        given = {} if workers == 1 else {"workers": workers}
        with mg.progress(None):
            mg.publish(frame, target, COLUMNS, 3, **call, **{"workers": 1, **given})
        manifests.append(json.loads((tmp_path / f"{target.name}.manifest.json").read_text()))
        return pl.read_parquet(target)

    same(started, published)
    configs = [manifest["config"] for manifest in manifests]
    assert all(config == configs[0] for config in configs)
    assert "workers" not in json.dumps(manifests[0])


def test_the_command_line_takes_a_number(started, tmp_path):
    frame = people(1500, strata=4)
    frame.write_parquet(tmp_path / "in.parquet")

    def protected(workers):
        target = tmp_path / f"{workers}.csv"
        words = ["protect", tmp_path / "in.parquet", "-o", target, "--columns", "a,b", "--k", "3"]
        words += ["--strata", "s", "--drop", "sick", "--method", "vmdav", "--workers", workers]
        assert main(list(map(str, words))) == 0
        return pl.read_csv(target)

    same(started, protected)
    words = ["protect", str(tmp_path / "in.parquet"), "-o", str(tmp_path / "o.csv"), "--workers=0"]
    assert main([*words, "--columns=a,b", "--k=3", "--drop=s,sick"]) == 2


@pytest.mark.parametrize("named", [None, 2])
def test_a_request_says_how_many_where_a_source_is_masked(started, tmp_path, monkeypatch, named):
    people(2000).write_parquet(tmp_path / "in.parquet")
    asked = []

    def budget(_, memory, workers, *rest):
        asked.append(workers)
        return MemoryBudget(memory, 1, 3000, 500, 1000)

    monkeypatch.setattr(MemoryBudget, "of", classmethod(budget))
    request = MaskRequest.of("vmdav", COLUMNS, 3, {"workers": 3})
    source = ParquetSource.of(tmp_path / "in.parquet")
    made = tmp_path / "made.parquet"
    masked = mask_source(source, tmp_path, made, request, memory=10**9, workers=named, size=300)
    assert asked == [named or 3]
    # One process was left to it, and that starts no others.
    assert not started
    assert "workers" not in masked.leaves[0].to_json()


def test_strata_in_several_processes_are_told_of_as_one_piece_of_work(started):
    told = []
    with mg.progress(lambda *call: told.append(call)):
        mg.lowloss(people(3000, strata=3), COLUMNS, 3, strata="s", effort=0.05, workers=2)
    assert started
    done = [done for done, _, _ in told]
    assert done == sorted(set(done))
    assert told[-1] == (3000, 3000, "lowloss")
