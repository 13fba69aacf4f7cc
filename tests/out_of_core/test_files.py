"""Files that cannot be read, that have no records, and what killed runs left behind."""

import os
import pathlib
import subprocess
import sys
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polars_microagg as mg
from polars_microagg.out_of_core import workspace
from tests.leaves.people import COLUMNS, people

TABLE = pl.DataFrame({"age": range(200), "name": [f"Anna {i}" for i in range(200)]})


def damaged(path):
    """A file whose footer is whole and whose pages are not."""
    TABLE.write_parquet(path, statistics=False)
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)
    path.write_bytes(content)


UNREADABLE = {
    "csv": (TABLE.write_csv, "it is no whole Parquet file. Give a Parquet file"),
    "garbage": (lambda path: path.write_bytes(b"Anna" * 999), "it is no whole Parquet file"),
    "nothing": (lambda path: path.write_bytes(b""), "it is no whole Parquet file"),
    "cut": (lambda path: path.write_bytes(b"PAR1\0\0Anna\0\0\0\0PAR1"), "it is no whole Parquet"),
    "damaged": (damaged, "it is no whole Parquet file"),
    "wide": (
        TABLE.with_columns(id=pl.col("age").cast(pl.Int128)).write_parquet,
        "whole numbers of 128 bits. Cast it or leave it out",
    ),
}


@pytest.mark.parametrize("kind", list(UNREADABLE))
def test_the_file_that_cannot_be_read_is_named(tmp_path, kind):
    write, text = UNREADABLE[kind]
    write(tmp_path / "people.parquet")
    with pytest.raises(
        mg.InvalidDataError, match=rf"people\.parquet' cannot be read: .*{text}"
    ) as e:
        mg.protect_parquet(tmp_path / "people.parquet", tmp_path / "out.parquet", ["age"], 5)
    assert "Anna" not in str(e.value)
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read every file")
def test_a_file_of_somebody_else(tmp_path):
    TABLE.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "people.parquet").chmod(0)
    with pytest.raises(mg.InvalidDataError, match="cannot be read: Permission denied"):
        mg.protect_parquet(tmp_path / "people.parquet", tmp_path / "out.parquet", ["age"], 5)


def test_folders_that_are_called_like_files(tmp_path):
    (tmp_path / "in" / "people.parquet").mkdir(parents=True)
    TABLE.write_parquet(tmp_path / "in" / "people.parquet" / "part-0.parquet")
    for source in (tmp_path / "in", tmp_path / "in" / "*.parquet"):
        mg.protect_parquet(source, tmp_path / "out.parquet", ["age"], 5)
        assert pl.read_parquet(tmp_path / "out.parquet")["name"].equals(TABLE["name"])


@pytest.mark.parametrize("dtype", ["keep", "float"])
def test_no_records_are_released_as_no_records(tmp_path, dtype):
    for name in ("a", "b"):
        TABLE.clear().write_parquet(tmp_path / f"{name}.parquet")
    to = tmp_path / "out.parquet"
    told = []
    with mg.progress(lambda *args: told.append(args)):
        leaves = mg.protect_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"], to, "age", 5)
    assert len(leaves) == 1
    assert mg.Leaves.from_json(leaves.to_json()).to_json() == leaves.to_json()
    mg.verify(leaves.mask(TABLE), "age", 5)
    leaves = mg.fit_leaves(TABLE, "age", 5, size=20, dtype=dtype)
    again = mg.protect_parquet(tmp_path / "a.parquet", to, "age", 5, leaves=leaves)
    assert again is leaves
    age = pl.Float64() if dtype == "float" else pl.Int64()
    assert pl.read_parquet(to).equals(TABLE.clear().with_columns(pl.col("age").cast(age)))
    assert pl.read_parquet(to).schema == {"age": age, "name": pl.String()}
    TABLE.clear().cast({"name": pl.Binary}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(mg.NotNumericError, match="'name'"):
        mg.protect_parquet(tmp_path / "b.parquet", to, "name", 5)


HOLDING = """
import sys, pathlib
from polars_microagg.out_of_core.workspace import working_folder

with working_folder(pathlib.Path(sys.argv[1])) as folder:
    print(folder.name, flush=True)
    sys.stdin.readline()
"""


@pytest.mark.skipif(os.name != "posix", reason="folder locks are of POSIX")
def test_what_a_killed_run_left_is_removed_by_the_next_one_of_any_name(tmp_path):
    TABLE.write_parquet(tmp_path / "in.parquet")
    pipe = subprocess.PIPE
    runs, names = [], []
    for name in ("first.parquet", "second.parquet"):
        command = [sys.executable, "-c", HOLDING, tmp_path / name]
        runs.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        names.append(runs[-1].stdout.readline().strip())
    runs[0].kill()
    runs[0].communicate()
    others = [".mine.microagg", ".notes.parquet.0123456g.microagg", "x.parquet.01234567.microagg"]
    for name in others:
        (tmp_path / name).mkdir()
        (tmp_path / name / "in-use").touch()
    try:
        mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "third.parquet", "age", 5)
        assert not (tmp_path / names[0]).exists()
        assert (tmp_path / names[1]).is_dir()
        assert all((tmp_path / name).is_dir() for name in others)
    finally:
        runs[1].communicate("\n")
    assert not (tmp_path / names[1]).exists()


@pytest.mark.skipif(os.name != "posix", reason="folder locks are of POSIX")
@pytest.mark.parametrize("at", range(3))
def test_a_folder_whose_removal_was_killed_is_removed_by_the_next_run(tmp_path, monkeypatch, at):
    def killed(path, *rest, **named):
        calls.append(path)
        if len(calls) > at:
            raise KeyboardInterrupt
        return unlink(path, *rest, **named)

    def run():
        with workspace.working_folder(tmp_path / "o") as folder:
            for name in ("a", "z"):
                (folder / name).touch()
            monkeypatch.setattr(pathlib.Path, "unlink", killed)

    unlink, calls = pathlib.Path.unlink, []
    with pytest.raises(KeyboardInterrupt):
        run()
    monkeypatch.setattr(pathlib.Path, "unlink", unlink)
    assert list(tmp_path.iterdir())
    workspace.remove_abandoned(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="folder locks are of POSIX")
def test_a_folder_that_was_not_locked_yet_is_removed_and_its_run_takes_another(
    tmp_path, monkeypatch
):
    def meanwhile(folder):
        calls.append(folder)
        if len(calls) == 1:
            workspace.remove_abandoned(tmp_path)
            assert not folder.exists()
        return opened(folder)

    opened, calls = workspace._opened, []
    monkeypatch.setattr(workspace, "_opened", meanwhile)
    with workspace.working_folder(tmp_path / "o") as folder:
        workspace.remove_abandoned(tmp_path)
        assert [path.name for path in folder.iterdir()] == [workspace.LOCK]
    assert not list(tmp_path.iterdir())


def test_two_columns_of_one_name_are_refused_in_a_sentence(tmp_path):
    column = pa.array([1, 2, 3] * 4)
    pq.write_table(pa.Table.from_arrays([column, column], ["age", "age"]), tmp_path / "in.parquet")
    with pytest.raises(mg.InvalidParameterError, match="two columns of the name 'age'"):
        mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", "age", 3)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([Decimal(1)] * 12, pa.decimal256(60, 0)),
        pa.array([[1]] * 12, pa.list_view(pa.int64())),
        pa.array([1] * 12, pa.timestamp("us", "+05:30")),
    ],
    ids=["decimal256", "list_view", "offset"],
)
def test_types_that_polars_does_not_have_are_named(tmp_path, column):
    pq.write_table(pa.table({"age": range(12), "x": column}), tmp_path / "in.parquet")
    try:
        pl.DataFrame(pq.read_table(tmp_path / "in.parquet"))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        pass
    else:
        pytest.skip("this version of polars has the type")
    with pytest.raises(mg.InvalidDataError, match=r"in\.parquet' cannot be read: column 'x' is of"):
        mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", "age", 3)


def test_the_allocator_of_arrow_is_what_it_was_before(tmp_path):
    before, seen = pa.default_memory_pool().backend_name, []
    people(300).write_parquet(tmp_path / "in.parquet")
    with mg.progress(lambda *_: seen.append(pa.default_memory_pool().backend_name)):
        mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "o.parquet", COLUMNS, 5, workers=1)
    assert set(seen) == {"system"}
    with pytest.raises(mg.InvalidDataError):
        mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "o.parquet", COLUMNS, 301, workers=1)
    assert pa.default_memory_pool().backend_name == before


def test_pandas_is_not_loaded(tmp_path):
    people(300).write_parquet(tmp_path / "in.parquet")
    code = (
        "import sys, polars_microagg as mg\n"
        "from polars_microagg.publishing import memory\n"
        "memory.BASE = 10**15\n"
        f"mg.publish('in.parquet', 'o.parquet', {COLUMNS}, 5, drop='*', memory='1GB')\n"
        "assert 'pandas' not in sys.modules"
    )
    names = people(300).columns
    code = code.replace("'*'", repr([n for n in names if n not in COLUMNS]))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
