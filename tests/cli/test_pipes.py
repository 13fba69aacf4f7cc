"""Pipes and devices where a file is wanted: what is read once works, all else is one sentence."""

import os
import threading
from pathlib import Path

import pytest

from polars_microagg.errors import OutputError
from polars_microagg.publishing.atomic import checked

from .conftest import ROLES

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs named pipes and /dev")

ONCE = "it is a pipe or a device, and a table is read more than once. Write it to a file first, or send"
DEVICE = "it is a device or a pipe. Name a file, or - for the output."


def files(folder):
    """Names of all that is there."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["in", "in.csv", "in.parquet", "in.duckdb::t"])
def test_a_named_pipe_is_no_table_and_nobody_waits(name, tmp_path, microagg):
    os.mkfifo(tmp_path / name.partition("::")[0])
    out = ["-o", tmp_path / "out.csv", "--columns", "age", "--k", "5"]
    for command in (["protect", *out], ["risk", "--columns", "age"], ["init", *out[:2]]):
        done = microagg(*command, tmp_path / name)
        assert (done.code, done.err.count("\n")) == (3, 1)
        assert ONCE in done.err
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_nor_is_a_file_that_a_shell_redirects(form, people, tmp_path, microagg):
    getattr(people, f"write_{form}")(tmp_path / f"in.{form}")
    out = ["-o", tmp_path / "out.parquet", "--columns", "age", "--k", "5"]
    with (tmp_path / f"in.{form}").open("rb") as file:
        redirected = f"/dev/fd/{file.fileno()}"  # what /dev/stdin leads to
        for command in (["protect", *out], ["protect", *out, "--dry-run"], ["init", *out[:2]]):
            done = microagg(*command, redirected)
            assert (done.code, done.err.count("\n")) == (3, 1), done.err
            assert ONCE in done.err
    assert files(tmp_path) == [f"in.{form}"]


@pytest.mark.parametrize("original", ["/dev/stdin", "/dev/fd/0", "/dev/null"])
def test_nor_is_a_device(original, source, tmp_path, microagg):
    assert microagg("protect", source, "-o", tmp_path / "out.parquet", *ROLES).code == 0
    for command in ("verify", "risk"):
        done = microagg(command, tmp_path / "out.parquet", "--original", original)
        assert (done.code, done.err.count("\n")) == (3, 1)
        assert ONCE in done.err


@pytest.mark.parametrize(
    "target", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/null", "/dev/none.parquet"]
)
def test_no_name_of_a_stream_is_replaced(target):
    """It may lead to a regular file, and it is the name that would be replaced; so only look."""
    with pytest.raises(OutputError, match="it is a device or a pipe"):
        checked(Path(target))


def test_no_pipe_is_replaced(source, tmp_path, microagg):
    pipe, safe = tmp_path / "pipe", tmp_path / "safe.parquet"
    os.mkfifo(pipe)
    release = ["protect", source, *ROLES, "--overwrite", "-o"]
    for command in (
        [*release, pipe],
        [*release, safe, "--manifest", pipe],
        [*release, safe, "--report", pipe],
        ["init", source, "-o", pipe, "--overwrite"],
        ["protect", source, *ROLES, "-o", f"{pipe}.duckdb::t", "--manifest", pipe],
    ):
        done = microagg(*command)
        assert (done.code, done.err.count("\n")) == (5, 1), done.err
        assert DEVICE in done.err
    assert files(tmp_path) == [source.name, "pipe"]
    assert pipe.is_fifo()


def fed(path, content):
    """Write to a pipe once, for whoever reads it."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,), daemon=True)
    writer.start()
    return writer


def test_a_configuration_and_a_key_may_come_by_a_pipe(source, tmp_path, microagg):
    """They are read once; a second look would wait for ever, or find nothing."""
    text = 'columns = ["age", "income"]\nstrata = "region"\ndrop = "name"\nk = 5\n'
    fed(tmp_path / "job.toml", text.encode())
    fed(tmp_path / "key", b"k" * 32)
    out = ["-o", tmp_path / "out.parquet", "--config", tmp_path / "job.toml"]
    done = microagg("protect", source, *out, "--hash-key-file", tmp_path / "key")
    assert done.code == 0, done.err
    (tmp_path / "plain").write_bytes(b"k" * 32)
    done = microagg("verify", tmp_path / "out.parquet", "--hash-key-file", tmp_path / "plain")
    assert done.code == 0, done.err
