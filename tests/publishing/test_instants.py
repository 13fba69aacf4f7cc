"""Instants: a kill, a failure or another writer leaves a pair that agrees."""

import hashlib
import threading
from pathlib import Path

import pytest

import polars_microagg as mg
from polars_microagg.publishing.atomic import Swap
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.record import read_manifest
from tests.publishing.register import PEOPLE, N, holds, publish


def pair(path):
    return hashlib.sha256(path.read_bytes()).hexdigest(), read_manifest(Location.of(path).record)[
        "output"
    ]["sha256"]


@pytest.mark.parametrize("at", ["before", "after"])
def test_a_record_that_was_left_aside_is_put_back(at, tmp_path):
    """What a kill between two renames leaves: the target, and no record beside it."""
    path = tmp_path / "out.parquet"
    publish(path)
    record = Location.of(path).record
    swap = Swap(path, record)
    old = record.read_bytes()
    record.replace(swap._last)
    if at == "after":
        swap._next.write_bytes(old)
        swap._last.write_bytes(old.replace(b'"sha256": "', b'"sha256": "0'))
    with pytest.raises(mg.OutputError, match="it is there already"):
        publish(path, overwrite=False)
    assert record.read_bytes() == old
    assert {p.name for p in tmp_path.iterdir()} == {path.name, record.name}


def test_a_record_that_was_cut_is_not_put_back(tmp_path):
    path = tmp_path / "out.parquet"
    publish(path)
    record = Location.of(path).record
    Swap(path, record)._next.write_bytes(record.read_bytes()[:-40])
    record.unlink()
    with pytest.raises(mg.OutputError, match="it is there already"):
        publish(path, overwrite=False)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("step", ["settle", "target", "record"])
def test_a_failure_between_the_renames_leaves_a_pair(step, tmp_path, monkeypatch):
    path = tmp_path / "out.parquet"
    publish(path)
    old = pair(path)
    replace = Path.replace

    def failing(self, target):
        if Path(target) == (
            path if step == "target" else Location.of(path).record
        ) and not self.name.endswith(".last"):
            raise OSError(5, "Input/output error")
        return replace(self, target)

    if step == "settle":
        monkeypatch.setattr(
            "polars_microagg.publishing.atomic.settle",
            lambda folder: (_ for _ in ()).throw(OSError(5, "")),
        )
    else:
        monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(mg.OutputError, match="Input/output error"):
        publish(path, PEOPLE.head(40))
    monkeypatch.undo()
    record = Location.of(path).record
    if step == "record":  # the release is there, and no record lies
        assert not record.exists()
    else:
        assert pair(path) == old
    with pytest.raises(mg.OutputError, match="it is there already"):
        publish(path, overwrite=False)
    assert pair(path)[0] == pair(path)[1]


def test_two_writers_of_one_target_leave_one_pair(tmp_path):
    path = tmp_path / "out.parquet"
    failed = []

    def work(rows):
        for _ in range(4):
            try:
                publish(path, PEOPLE.head(rows))
            except Exception as error:
                failed.append(error)

    threads = [threading.Thread(target=work, args=(rows,)) for rows in (60, 70, 80, 90)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert pair(path)[0] == pair(path)[1]
    assert all(holds(Location.of(path)).values())
    assert {p.name for p in tmp_path.iterdir()} == {path.name, f"{path.name}.manifest.json"}


def test_a_link_is_replaced_and_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere.parquet"
    elsewhere.write_bytes(b"another's")
    (tmp_path / "out.parquet").symlink_to(elsewhere)
    publish(tmp_path / "out.parquet")
    assert elsewhere.read_bytes() == b"another's"
    assert not (tmp_path / "out.parquet").is_symlink()


def test_the_mode_of_the_old_file_stays(tmp_path):
    path = tmp_path / "out.parquet"
    publish(path)
    path.chmod(0o640)
    publish(path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_table_of_duckdb_is_replaced_beside_others(tmp_path):
    import duckdb

    with duckdb.connect(str(tmp_path / "a.duckdb")) as con:
        con.execute("CREATE TABLE other AS SELECT 42 AS x; CREATE TABLE t AS SELECT 1 AS y")
    publish(f"{tmp_path}/a.duckdb::t")
    with pytest.raises(mg.TooFewRecordsError, match="fewer than k=5"):
        publish(f"{tmp_path}/a.duckdb::t", PEOPLE.head(7))
    with duckdb.connect(str(tmp_path / "a.duckdb")) as con:
        assert con.sql("FROM other").fetchall() == [(42,)]
        assert con.sql("SELECT count(*) FROM t").fetchall() == [(N,)]
        assert len(con.sql("SHOW TABLES").fetchall()) == 2
    assert all(holds(Location.of(f"{tmp_path}/a.duckdb::t")).values())
