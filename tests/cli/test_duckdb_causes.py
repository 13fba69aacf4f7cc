"""Why DuckDB refuses a file or a table: each cause its own sentence and code, and no value."""

import struct
import subprocess
import sys
from contextlib import contextmanager

import duckdb
import pytest

from .conftest import ROLES, SECRET

FACTOR = 0xBF58476D1CE4E5B9


def rewritten(path, version):
    """The same file, as of another version of the storage, with the checksum of its header."""
    raw = bytearray(path.read_bytes())
    raw[12:20] = version.to_bytes(8, "little")
    total = 5381
    for (word,) in struct.iter_unpack("<Q", bytes(raw[8:4096])):
        total ^= word * FACTOR & (1 << 64) - 1
    raw[:8] = struct.pack("<Q", total)
    path.write_bytes(raw)


def damaged(path):
    raw = bytearray(path.read_bytes())
    raw[4096:12288] = bytes(8192)
    path.write_bytes(raw)


def run(path, *statements):
    with duckdb.connect(str(path)) as con:
        for statement in statements:
            con.execute(statement)


@contextmanager
def held(path):
    """Another process that has the file open."""
    code = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print(flush=True); input()"
    command = [sys.executable, "-c", code, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as other:
        other.stdout.readline()
        try:
            yield
        finally:
            other.communicate(b"\n")


CAST = f"CREATE VIEW v AS SELECT CAST(CASE WHEN age > 0 THEN '{SECRET}' ELSE '1' END AS INT) AS age FROM t"
GONE = ("CREATE TABLE x AS SELECT 1 AS age", "CREATE VIEW v AS FROM x", "DROP TABLE x")

SOURCES = {
    "no such file": ("u.duckdb::t", None, 3, "there is no such file"),
    "empty": ("u.duckdb::t", lambda p: p.with_name("u.duckdb").touch(), 3, "it is empty. Write a table to it first"),
    "no table": ("r.duckdb::none", None, 3, "the file has no such table"),
    "no schema": ("r.duckdb::lab.none", None, 3, "the file has no such table"),
    "no database": ("r.duckdb::t", lambda p: p.write_bytes(b"x" * 9000), 3, "it is no DuckDB file"),
    "sqlite": ("r.duckdb::t", lambda p: p.write_bytes(b"SQLite format 3\0" + bytes(9000)), 3, "it is an SQLite file"),
    "newer": ("r.duckdb::t", lambda p: rewritten(p, 9999), 3, "a newer version of DuckDB wrote it. Update duckdb"),
    "older": ("r.duckdb::t", lambda p: rewritten(p, 1), 3, "an old version of DuckDB wrote it"),
    "damaged": ("r.duckdb::t", damaged, 3, "the file is damaged"),
    "cut": ("r.duckdb::t", lambda p: p.write_bytes(p.read_bytes()[:-9000]), 3, "the file is damaged"),
    "cast": ("r.duckdb::v", lambda p: run(p, CAST), 3, "it failed with ConversionException. The text of that error may hold values and is not shown; read the table in DuckDB"),
    "view of nothing": ("r.duckdb::v", lambda p: run(p, *GONE), 3, "it is a view, and what it reads is not there"),
    "view of a file": ("r.duckdb::v", lambda p: run(p, "COPY t TO 't.csv'", "CREATE VIEW v AS FROM read_csv('t.csv')"), 3, "it reads another file, and only this one is opened"),
}  # fmt: skip


@pytest.fixture
def register(people, tmp_path):
    with duckdb.connect(str(tmp_path / "r.duckdb")) as con:
        con.register("people", people.to_arrow())
        con.execute("CREATE TABLE t AS FROM people")
    return tmp_path / "r.duckdb"


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Wait for a file in use only a moment."""
    monkeypatch.setattr("polars_microagg.publishing.formats.duckdb_read.WAIT", 0.3)


@pytest.mark.parametrize("case", SOURCES)
def test_a_source_is_told_why(case, register, tmp_path, microagg, monkeypatch):
    name, prepare, code, text = SOURCES[case]
    if prepare:
        monkeypatch.chdir(tmp_path)
        prepare(register)
    for command in (["protect", "-o", tmp_path / "out.csv", *ROLES], ["risk", "--columns", "age"]):
        done = microagg(*command, f"{tmp_path}/{name}")
        assert (done.code, done.err.count("\n")) == (code, 1), done.err
        assert text in done.err
        assert SECRET not in done.err
    assert not (tmp_path / "out.csv").exists()


def test_a_source_that_is_in_use_is_tried_again(register, tmp_path, microagg):
    command = ["risk", f"{register}::t", "--columns", "age"]
    with held(register):
        done = microagg(*command)
        assert (done.code, done.err.count("\n")) == (5, 1)
        assert (
            "cannot be read: another process has the file open. Close it there, or try again"
            in done.err
        )
        done = microagg("protect", f"{register}::t", "-o", tmp_path / "out.csv", *ROLES)
        assert done.code == 5
    assert microagg(*command).code == 0
    with duckdb.connect(str(register)):
        done = microagg(*command)
        assert done.code == 5
        assert "this process has the file open" in done.err


TARGETS = {
    "no database": (lambda p: p.write_bytes(b"x" * 9000), "it is no DuckDB file. Name another file."),
    "newer": (lambda p: rewritten(p, 9999), "a newer version of DuckDB wrote it. Update duckdb"),
    "damaged": (damaged, "the file is damaged"),
    "referred to": (lambda p: run(p, "DROP TABLE t", "CREATE TABLE t (age INT PRIMARY KEY)", "CREATE TABLE o (age INT REFERENCES t (age))"), "another table refers to this one"),
}  # fmt: skip


@pytest.mark.parametrize("dry", [[], ["--dry-run"]], ids=["real", "dry"])
@pytest.mark.parametrize("case", TARGETS)
def test_a_target_is_told_why(case, dry, register, source, microagg):
    prepare, text = TARGETS[case]
    prepare(register)
    before = register.read_bytes()
    release = ["protect", source, "-o", f"{register}::t", *ROLES, "--overwrite", *dry]
    done = microagg(*release)
    if case == "referred to" and dry:
        return  # what refers to a table is seen when it is dropped
    assert done.code == 5, done.err
    assert text in done.err
    assert register.read_bytes() == before


def test_a_target_that_is_in_use(register, source, microagg):
    release = ["protect", source, "-o", f"{register}::t", *ROLES, "--overwrite"]
    for more in ([], ["--dry-run"]):
        with held(register):
            done = microagg(*release, *more)
        assert done.code == 5
        assert "another process has the file open. Close it there, or try again" in done.err
    with duckdb.connect(str(register)):
        assert "this process has the file open" in microagg(*release).err
    assert microagg(*release).code == 0


def test_memory_that_duckdb_lacks_is_memory(register, source, microagg, monkeypatch):
    """Whatever DuckDB cannot do for want of memory is no fault of the file."""
    from polars_microagg.publishing.formats import duckdb_read, duckdb_write

    def failing(*_):
        raise duckdb.OutOfMemoryException(f"could not hold {SECRET}")

    for command in (
        ["risk", f"{register}::t", "--columns", "age"],
        ["protect", source, "-o", f"{register}::new", *ROLES],
    ):
        monkeypatch.setattr(duckdb_read, "rows", failing)
        monkeypatch.setattr(duckdb_write, "rows", failing)
        done = microagg(*command)
        assert (done.code, done.err.count("\n")) == (1, 1), done.err
        assert "There is not enough memory" in done.err
        assert SECRET not in done.err
