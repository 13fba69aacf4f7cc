"""Devices that are full: the old release or the new one, whole, and nothing beside it."""

import os
import resource
import subprocess
from contextlib import contextmanager

import duckdb
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing.manifest.check import check

from .conftest import ROLES, sound, state

OLD = b"what was there before"


@contextmanager
def mounted(folder, options):
    """A file system of its own, where this may be made."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        made = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        made = False
    if not made:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def big(tmp_path, people):
    wide = pl.concat([people] * 300).with_columns(
        name=pl.int_range(pl.len()).hash().cast(pl.String)
    )
    wide.write_parquet(tmp_path / "in.parquet")
    return [
        "protect",
        tmp_path / "in.parquet",
        *ROLES[:4],
        "--keep",
        "name",
        "--k",
        "5",
        "--method",
        "fixed_size",
    ]


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow", "ndjson"])
def test_a_full_disk(ending, tmp_path, people, microagg):
    full = tmp_path / "full"
    with mounted(full, "size=64k"):
        (full / f"out.{ending}").write_bytes(OLD)
        before = state(full)
        done = microagg(*big(tmp_path, people), "-o", full / f"out.{ending}", "--overwrite")
        sound(
            done,
            5,
            "cannot be written: No space left on device. Nothing was published",
            full,
            before,
        )


def test_a_file_that_may_not_grow(tmp_path, people, microagg):
    folder = tmp_path / "limited"
    folder.mkdir()
    (folder / "out.parquet").write_bytes(OLD)
    before = state(folder)
    arguments = big(tmp_path, people)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        done = microagg(*arguments, "-o", folder / "out.parquet", "--overwrite")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    sound(done, 5, "cannot be written: File too large. Nothing was published", folder, before)


def test_a_folder_that_is_read_only(tmp_path, source, microagg):
    folder = tmp_path / "fixed"
    if os.geteuid():
        folder.mkdir()
        folder.chmod(0o555)
        sound(
            microagg("protect", source, "-o", folder / "out.parquet", *ROLES),
            5,
            "Permission denied",
            folder,
            {},
        )
        return
    with mounted(folder, "ro"):
        done = microagg("protect", source, "-o", folder / "out.parquet", *ROLES)
        sound(
            done, 5, "cannot be written: Read-only file system. Nothing was published", folder, {}
        )


def tables(path):
    """The tables of a file, each with the number and a hash of its rows."""
    with duckdb.connect(str(path), read_only=True) as con:
        names = [
            name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        ]
        return {
            name: con.execute(f'SELECT count(*), hash(list(t)) FROM "{name}" t').fetchall()
            for name in names
        }


ROOM = [4, 8, 12, 16, 48, 160, 320, 330, 400, 500, 600, 700, 850, 860, 864, 868, 1200]
"""Kilobytes beside what is there: too few for a header, the rows, the log, the file, the manifest."""


@pytest.mark.deep
@pytest.mark.parametrize("there", [False, True], ids=["new", "overwrite"])
def test_a_table_of_duckdb_is_in_its_file_or_is_not_published(there, tmp_path, microagg):
    """Rows that only the log of the file has are lost by who copies the file."""
    full, source = tmp_path / "full", tmp_path / "in.parquet"
    people = pl.DataFrame({"age": pl.int_range(20_000, eager=True) % 97}).with_row_index("id")
    people.with_columns(pl.col("id").hash()).write_parquet(source)
    call = ["protect", source, "-o", full / "r.duckdb::masked", "--columns", "age", "--keep", "id"]
    call += ["--k", "5", "--method", "fixed_size", "--overwrite"]
    codes = []
    for room in ROOM:
        with mounted(full, f"size={room + 544 * there}k"):
            if there:
                with duckdb.connect(str(full / "r.duckdb")) as con:
                    con.execute("CREATE TABLE other AS SELECT 42 AS x")
                mg.publish(people.head(40), f"{full}/r.duckdb::masked", "age", 5, drop="id")
            names = {path.name for path in full.iterdir()}
            before = tables(full / "r.duckdb") if there else {}
            done = microagg(*call)
            assert done.code in (0, 5), done.err
            codes.append(done.code)
            assert not list(full.glob("*.wal*"))
            if done.code == 0:
                copy = tmp_path / "copy.duckdb"
                copy.write_bytes((full / "r.duckdb").read_bytes())
                assert set(tables(copy)) == {"masked", "other"} - ({"other"} - set(before))
                assert tables(copy)["masked"][0][0] == 20_000
                assert {path.name for path in full.iterdir()} == {
                    "r.duckdb",
                    "r.duckdb.masked.manifest.json",
                }
            else:
                assert "Nothing was published" in done.err
                assert {path.name for path in full.iterdir()} == names
                if there:
                    assert tables(full / "r.duckdb") == before
            if there or done.code == 0:
                assert all(finding.holds for finding in check(f"{full}/r.duckdb::masked"))
        full.rmdir()
    assert {0, 5} == set(codes)


FORMATS = ["parquet", "csv", "arrow", "ndjson"]


@pytest.mark.parametrize("ending", [*FORMATS, "duckdb::t"])
def test_a_manifest_or_a_report_on_a_full_disk_stops_the_release(
    ending, source, tmp_path, microagg
):
    """Each of the three files may be on a device of its own."""
    target = tmp_path / f"out.{ending}"
    mg.publish(pl.read_parquet(source), target, "age", 6, drop=["name", "region", "income"])
    call = ["protect", source, *ROLES, "--overwrite"]
    full = tmp_path / "full"
    for flag, name, size in [("--manifest", "m.json", "4k"), ("--report", "r.html", "16k")]:
        with mounted(full, f"size={size}"):
            (full / name).write_bytes(OLD)
            before, there = state(tmp_path), state(full)
            done = microagg(*call, "-o", target, flag, full / name)
            sound(done, 5, "No space left on device. Nothing was published", full, there)
            found = state(tmp_path)
            if "::" in ending:  # a file of DuckDB grows, and its rows are the same
                before.pop("out.duckdb"), found.pop("out.duckdb")
            assert found == before
        full.rmdir()
    assert all(finding.holds for finding in check(str(target)))


@pytest.mark.deep
@pytest.mark.parametrize("ending", FORMATS)
def test_a_release_and_its_manifest_share_what_is_left_of_a_disk(
    ending, source, people, tmp_path, microagg
):
    """At every size the pair is the old one or the new one."""
    codes, full = [], tmp_path / "full"
    old = people.select("region", pl.col("age", "income").mean())
    for size in range(12, 48, 4):
        with mounted(full, f"size={size}k"):
            target = full / f"out.{ending}"
            old.head(6).pipe(mg.publish, target, ["age", "income"], 6, keep="region", method=None)
            before = state(full)
            done = microagg("protect", source, "-o", target, *ROLES, "--overwrite")
            codes.append(done.code)
            if done.code:
                sound(done, 5, "No space left on device. Nothing was published", full, before)
            assert all(finding.holds for finding in check(target))
            assert len(state(full)) == 2
        full.rmdir()
    assert {0, 5} == set(codes)
