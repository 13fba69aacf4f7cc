"""How much memory there is, and how large a source is, as far as it can be told without reading it."""

import gzip
import io
import sys
from types import SimpleNamespace

import duckdb
import polars as pl
import pytest

from polars_microagg.publishing import any_size, memory, sources
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.memory import Memory, amount, free_bytes, whole_bytes
from polars_microagg.publishing.sources import FrameSource, PlaceSource, StreamSource

GB = 10**9
PEOPLE = pl.DataFrame({"age": range(5000), "name": [f"person {i}" for i in range(5000)]})


def group(root, at, **files):
    folder = root / at
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_of_", ".")).write_text(text)


@pytest.mark.parametrize("above", [False, True])
def test_the_limit_of_a_control_group_counts_without_its_cache(above, tmp_path):
    listed, root = tmp_path / "cgroup", tmp_path / "fs"
    listed.write_text("0::/a/b\n")
    own = {"memory_of_max": "3000", "memory_of_current": "1000"}
    group(root, "a" if above else "a/b", **own, memory_of_stat="anon 1\ninactive_file 400")
    group(root, "a/b" if above else "a", memory_of_max="max", memory_of_current="5")
    assert memory._left_in_groups(listed, root) == [2400]


def test_the_limit_of_a_group_of_the_first_version(tmp_path):
    listed, root = tmp_path / "cgroup", tmp_path / "fs"
    listed.write_text("9:name=systemd:/\n4:memory,cpu:/job\n1:cpu:/job\n")
    group(root, "memory/job", **{"memory.limit_in_bytes": "900", "memory.usage_in_bytes": "1000"})
    assert memory._left_in_groups(listed, root) == [0]


def test_nothing_is_known_of_a_system_that_says_nothing(tmp_path, monkeypatch):
    assert memory._left_in_groups(tmp_path / "none", tmp_path) == []
    monkeypatch.setattr(memory, "_available", list)
    monkeypatch.setattr(memory, "_left_in_groups", list)
    assert free_bytes() == memory.UNKNOWN


def test_the_default_is_a_share_of_the_least_that_is_free(monkeypatch):
    monkeypatch.setattr(memory, "_available", lambda: [8 * GB])
    monkeypatch.setattr(memory, "_left_in_groups", lambda: [4 * GB, 6 * GB])
    assert Memory.of(None) == Memory(2 * GB, False)
    assert str(Memory.of(None)) == "2 GB, 50% of what is free"
    monkeypatch.setattr(memory, "_left_in_groups", lambda: [5])
    assert Memory.of(None).limit == memory.LEAST


def test_amounts_have_two_digits():
    amounts = (250_000, 999_000_000, 1_000_000_000, 123 * GB)
    assert [amount(n) for n in amounts] == ["0.25 MB", "1000 MB", "1 GB", "120 GB"]


def places(folder):
    PEOPLE.write_parquet(folder / "a.parquet")
    PEOPLE.write_csv(folder / "a.csv")
    PEOPLE.write_ndjson(folder / "a.ndjson")
    PEOPLE.write_ipc(folder / "a.arrow", compression="zstd")
    PEOPLE.write_ipc_stream(folder / "a.arrows")
    (folder / "z.csv").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    with duckdb.connect(str(folder / "a.duckdb")) as con:
        con.register("given", PEOPLE.to_arrow())
        con.execute("CREATE TABLE t AS FROM given")
    return ("a.parquet", "a.csv", "a.ndjson", "a.arrow", "a.arrows", "z.csv", "a.duckdb::t")


def test_rows_are_told_without_reading_a_file_whole(tmp_path):
    for name in places(tmp_path):
        size = PlaceSource(Location.of(tmp_path / name)).size()
        assert 0.7 * PEOPLE.height <= size.rows <= 4 * PEOPLE.height, name
        # What is reckoned is no less than what the table takes.
        assert size.rows * size.width >= PEOPLE.estimated_size() / 2, name


def test_rows_of_a_plan_are_those_of_its_files(tmp_path):
    places(tmp_path)
    for scan in (pl.scan_parquet, pl.scan_ndjson, pl.scan_csv):
        plan = scan(tmp_path / f"a.{scan.__name__.removeprefix('scan_')}")
        size = FrameSource(plan.filter(pl.col("age") > 9)).size()
        assert 0.5 * PEOPLE.height <= size.rows <= 2 * PEOPLE.height
    assert FrameSource(PEOPLE.lazy()).size().rows == 0
    assert FrameSource(pl.defer(lambda: PEOPLE, schema=PEOPLE.schema)).size() is None


@pytest.mark.parametrize("name", ["none.parquet", "none.duckdb::t", "empty.csv", "broken.parquet"])
def test_what_cannot_be_looked_at_is_left_to_whoever_reads_it(name, tmp_path):
    (tmp_path / "empty.csv").touch()
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    assert PlaceSource(Location.of(tmp_path / name)).size().rows in (0, 1)


@pytest.mark.parametrize("name", ["-", "in/*.parquet"])
def test_streams_and_several_files_are_set_down_first(name):
    assert PlaceSource(Location.of(name)).size() is None


def test_the_choice_follows_from_the_bytes():
    size = sources.Size(10**6, 100.0, 10)
    need = whole_bytes(10**6, 100.0, 10)
    fits = any_size.chosen(size, Memory(need, True))
    beyond = any_size.chosen(size, Memory(need - 1, True))
    assert (fits["engine"], beyond["engine"]) == ("whole", "leaves")


@pytest.mark.parametrize("most", [100, 1 << 28])
def test_a_stream_is_read_into_memory_as_far_as_it_fits(most, tmp_path, monkeypatch):
    sent = io.BytesIO()
    PEOPLE.write_ipc_stream(sent)
    sent.seek(0)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=sent))
    monkeypatch.setattr(sources, "MOST", most)
    stream = StreamSource.of(4 * GB)
    assert (stream.size() is None) == (most == 100)
    table = stream.set_down(tmp_path, 1000, lambda _: None)
    assert pl.read_parquet(table.paths[0]).equals(PEOPLE)
    assert [path.name for path in tmp_path.iterdir()] == [table.paths[0].name]
