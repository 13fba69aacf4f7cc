"""Standard output that is closed, full, or left by its reader, with real processes."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from .conftest import ROLES

MICROAGG = f"{shlex.quote(sys.executable)} -m polars_microagg.cli.main"
RELEASE = f"protect in.parquet -o - --manifest m.json {shlex.join(ROLES)}"

posix = pytest.mark.skipif(os.name != "posix", reason="needs bash")
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


def shell(line, folder, **options):
    """Codes of all commands of a pipe, and what was said."""
    line = line.replace("microagg ", f"{MICROAGG} ") + "; echo ${PIPESTATUS[@]} >&3"
    found = folder / "codes"
    done = subprocess.run(
        ["bash", "-c", f"exec 3>{found.name}; {line}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,
    )
    codes = [int(code) for code in found.read_text().split()]
    found.unlink()
    return codes, done.stdout, done.stderr


@posix
@pytest.mark.parametrize(
    ("to", "why"),
    [
        (">&-", "it is closed."),
        pytest.param("> /dev/full", "No space left on device.", marks=full),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        *(
            pytest.param(command, marks=pytest.mark.deep)
            for command in ("methods", "--version", "methods --json", "protect --help")
        ),
        RELEASE,
    ],
)
def test_an_output_that_cannot_be_written_is_no_bug(command, to, why, source, tmp_path):
    codes, out, err = shell(f"microagg {command} {to}", tmp_path)
    assert codes == [5]
    assert err == f"'standard output' cannot be written: {why} Nothing was published.\n"
    assert not out
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.deep
@posix
def test_closed_streams_do_not_become_the_next_file_that_is_opened(source, tmp_path):
    roles = shlex.join(ROLES)
    codes, out, err = shell(f"microagg protect in.parquet -o o.parquet {roles} >&- <&-", tmp_path)
    assert codes == [0], err
    assert "Published o.parquet" in err
    assert not out
    assert pl.read_parquet(tmp_path / "o.parquet").height == pl.read_parquet(source).height
    codes, _, err = shell("microagg protect in.parquet -o o.parquet --columns age 2>&-", tmp_path)
    assert codes == [2]
    assert not err
    codes, _, err = shell("microagg risk - --columns age <&-", tmp_path)
    assert codes == [3]
    assert err == ("'standard input' cannot be read: it is empty. Write a table to it first.\n")


@posix
@full
def test_a_release_that_is_in_place_is_not_denied(source, tmp_path):
    roles = shlex.join(ROLES)
    line = f"microagg protect in.parquet -o o.parquet --json {roles} > /dev/full"
    codes, _, err = shell(line, tmp_path)
    assert codes == [5]
    assert err.splitlines()[-1].startswith("o.parquet is published, and the manifest could not be")
    assert (tmp_path / "o.parquet").exists()
    assert (tmp_path / "o.parquet.manifest.json").exists()


@posix
@pytest.mark.parametrize(
    "times",
    [
        pytest.param(1, id="fits into the pipe", marks=pytest.mark.deep),
        pytest.param(200, id="larger than a pipe"),
    ],
)
def test_a_reader_that_goes_away_gets_no_release(times, people, tmp_path):
    pl.concat([people] * times).write_parquet(tmp_path / "in.parquet")
    line = f"microagg {RELEASE} --method fixed_size | head -c 10 > /dev/null"
    codes, _, err = shell(line, tmp_path)
    assert codes[0] == 5
    assert err == (
        "'standard output' cannot be written: its reader went away. Nothing was published.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.deep
@posix
def test_a_slow_reader_gets_all_of_it(source, tmp_path):
    codes, _, err = shell(f"microagg {RELEASE} | (sleep 0.5; cat > o.arrows)", tmp_path)
    assert codes == [0, 0], err
    assert pl.read_ipc_stream(tmp_path / "o.arrows").height == pl.read_parquet(source).height
    codes, out, err = shell("microagg verify o.arrows --manifest m.json", tmp_path)
    assert codes == [0], out + err


@posix
@pytest.mark.parametrize(
    "command",
    [
        "methods --json",
        *(
            pytest.param(c, marks=pytest.mark.deep)
            for c in ("protect --help", "completion bash", "methods mdav")
        ),
    ],
)
def test_a_list_that_is_not_read_to_its_end_is_quiet(command, tmp_path):
    """As a program that is ended by SIGPIPE, of which a shell says 128 + 13."""
    # The reader has gone before the program, which takes some tenths of a second, writes.
    codes, _, err = shell(f"microagg {command} | true", tmp_path)
    assert codes == [141, 0]
    assert not err
