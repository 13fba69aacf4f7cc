"""A finished Parquet file written to every format in batches: what the whole writer writes."""

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polars_microagg as mg
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.formats import column_batches, register, row_hash
from polars_microagg.publishing.formats.batches import (
    deliver,
    frames_of,
    set_down,
    set_down_frame,
    set_down_frames,
)
from polars_microagg.publishing.formats.duckdb_write import TableSwap
from polars_microagg.publishing.formats.files import Location, parsed, write
from polars_microagg.publishing.formats.register import Made
from polars_microagg.publishing.formats.row_hash import digest_of, rows_digest
from polars_microagg.publishing.formats.standard_output import deliver as send
from tests.loop import share
from tests.publishing.formats.batched import BATCH, UNHELD, place_of, same
from tests.publishing.formats.test_types import COLUMNS, REFUSED, N, frame

FILES = ("parquet", "csv", "ndjson", "arrow", "arrows")


def made_of(table, folder, rows=3):
    """A table as the engine leaves it: in groups of rows of a Parquet file."""
    return set_down_frame(table.lazy(), folder, batch=rows)


def delivered(made, form, batch=BATCH):
    file, place = io.BytesIO(), Location.of(f"o.{form}")
    deliver(made, file, place, batch=batch)
    return file


def read_again(file, form):
    return parsed(file, Location.of(f"o.{form}").format, "o")


@pytest.mark.whole
@pytest.mark.parametrize("rows", [N, 0, 1, BATCH])
@pytest.mark.parametrize("form", share(FILES, 2, 1))
def test_every_type_is_delivered_as_it_is_written_whole(form, rows, tmp_path):
    held = [name for name in COLUMNS if name not in REFUSED[form] | UNHELD]
    table = frame(held).head(rows).rename({"Date": "größe, \n'\"", "String": "^a.*$"})
    file, expected = delivered(made_of(table, tmp_path), form), io.BytesIO()
    write(table, expected, Location.of(f"o.{form}").format, "o")
    if form in ("csv", "ndjson"):
        assert file.getvalue() == expected.getvalue()
        return
    same(read_again(file, form), read_again(expected, form))
    same(read_again(file, form), table)


@pytest.mark.parametrize("form", ["arrow", "arrows"])
def test_batches_of_a_file_share_their_categories(form, tmp_path):
    kinds = pl.Enum(["z", "b", "a", "never"])
    table = pl.DataFrame(
        {
            "plain": pl.Series(["a", None, "b", "c", None, "a"], dtype=pl.Categorical),
            "ordered": pl.Series(["a", "b", "a", None, "z", "z"], dtype=kinds),
            "inner": pl.Series([["a"], [], None, ["b", None], ["c"], ["a"]]).cast(
                pl.List(pl.Categorical)
            ),
            "deep": pl.Series([{"x": [v], "y": v} for v in "abzabz"]).cast(
                pl.Struct({"x": pl.List(kinds), "y": pl.Categorical})
            ),
        }
    )
    file = delivered(made_of(table, tmp_path), form, batch=1)
    same(read_again(file, form), table)
    file.seek(0)
    opens = pa.ipc.open_file if form == "arrow" else pa.ipc.open_stream
    found = opens(file).read_all()
    assert found.column("plain").combine_chunks().dictionary.to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows"])
def test_notes_and_hidden_values_are_left_out(form, tmp_path):
    texts = ["secret illness", "plain"]
    hidden = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(b"\x02"), pa.array([77777777777, 5]).buffers()[1]]
    )
    column = pa.field("kind", pa.dictionary(pa.int32(), pa.string()), metadata={"by": "Ada"})
    schema = pa.schema([column, pa.field("n", pa.int64())], metadata={"note": "Ada Lovelace"})
    kinds = pa.DictionaryArray.from_arrays(pa.array([1, 1], pa.int32()), pa.array(texts))
    pq.write_table(pa.table([kinds, hidden], schema=schema), tmp_path / "made.parquet")
    file = delivered(ParquetSource.of(tmp_path / "made.parquet"), form)
    content = file.getvalue()
    assert not [
        w for w in (b"Ada", b"note", b"secret", (77777777777).to_bytes(8, "little")) if w in content
    ]
    assert read_again(file, form).rows() == [("plain", None), ("plain", 5)]
    place = tmp_path / "given.arrow"
    with pa.ipc.new_file(str(place), schema) as writer:
        writer.write_batch(pa.record_batch([kinds, hidden], schema=schema))
    set_down(Location.of(place), tmp_path, batch=9)
    content = (tmp_path / "source.parquet").read_bytes()
    assert not [w for w in (b"Ada", b"secret") if w in content]


def test_a_parquet_file_without_notes_is_copied_and_several_are_one(tmp_path):
    table = frame(["String", "Enum"])
    made = made_of(table, tmp_path)
    assert delivered(made, "parquet").getvalue() == made.paths[0].read_bytes()
    (tmp_path / "in").mkdir()
    for i in range(2):
        made_of(table[6 * i : 6 * i + 6], tmp_path).paths[0].rename(tmp_path / f"in/{i}.parquet")
    same(read_again(delivered(ParquetSource.of(tmp_path / "in"), "parquet"), "parquet"), table)


def swap(folder, table="t"):
    return TableSwap(folder / "o.duckdb", table, folder / "o.json")


@pytest.mark.whole
@pytest.mark.parametrize("rows", [N, 0, 1, BATCH])
def test_a_table_of_duckdb_is_filled_as_it_is_written_whole(rows, tmp_path):
    held = [name for name in COLUMNS if name not in REFUSED["duckdb::t"] | UNHELD]
    table = frame(held).head(rows).rename({"Date": "größe, \n'\""})
    made = made_of(table, tmp_path)
    with swap(tmp_path) as target:
        target.write(table)
        expected, content = target.reread(), target.content()
    assert not (tmp_path / "o.duckdb").exists()
    with swap(tmp_path) as target:
        target.fill(Made(made, BATCH))
        same(target.reread(), expected)
        down = set_down_frames(target.batches(5), tmp_path, "o", batch=4, name="again.parquet")
        same(pl.concat(frames_of(down, 7)), expected)
        assert Location.of("-").mac(b"key", target.batches(3)) == Location.of("-").mac(
            b"key", expected
        )
        assert target.content() == content
        target.commit(b"{}")
    same(Location.of(f"{tmp_path}/o.duckdb::t").read(), expected)
    assert (tmp_path / "o.json").read_bytes() == b"{}"


def filled(folder, made):
    with swap(folder) as target:
        target.fill(Made(made, 700))
        target.commit(b"{}")


def test_a_table_that_is_filled_in_vain_stays_and_one_that_is_committed_is_replaced(tmp_path):
    place = place_of(pl.DataFrame({"a": [1, 2], "c": [3, 4]}), "duckdb::t", tmp_path)
    made = made_of(pl.DataFrame({"a": range(3000), "b": ["ü"] * 3000}), tmp_path, 500)
    with swap(tmp_path) as target:
        target.fill(Made(made, 700))
    assert place.read().rows() == [(1, 3), (2, 4)]
    with duckdb.connect(str(place.path)) as con:
        con.execute("CREATE VIEW v AS SELECT c FROM t")
    with pytest.raises(mg.OutputError, match="the view 'main.v' reads it"):
        filled(tmp_path, made)
    assert place.read().rows() == [(1, 3), (2, 4)]
    with duckdb.connect(str(place.path)) as con:
        con.execute("DROP VIEW v")
    filled(tmp_path, made)
    assert place.read().height == 3000


def test_a_table_of_duckdb_is_in_the_order_of_the_file(tmp_path):
    table = pl.DataFrame({"a": range(300_000)})
    filled(tmp_path, made_of(table, tmp_path, 1 << 16))
    place = Location.of(f"{tmp_path}/o.duckdb::t")
    same(pl.concat(frames_of(set_down(place, tmp_path, batch=1 << 12), 1 << 14)), table)


def test_the_hash_of_rows_does_not_depend_on_how_they_come(monkeypatch):
    table = frame([name for name in COLUMNS if name not in REFUSED["duckdb::t"]])
    monkeypatch.setattr(row_hash, "CELLS", 5 * table.width)
    whole = rows_digest(table)
    for size in (1, 2, 3, 5, N, 99):
        parts = list(table.iter_slices(size))
        assert digest_of(parts) == digest_of([table[:0], *parts, table[:0]]) == whole
        assert digest_of(parts, b"key") != whole
    assert digest_of([table[:0]]) == rows_digest(table[:0])
    assert len({whole, rows_digest(table[:-1]), rows_digest(table.reverse())}) == 3
    monkeypatch.setattr(row_hash, "CELLS", column_batches.CELLS)
    assert rows_digest(table) != whole  # parts begin anew at fixed rows


def test_a_finished_file_is_sent_to_standard_output_from_its_beginning(monkeypatch):
    class Output:
        buffer = io.BytesIO()

        def fileno(self):
            raise ValueError

    monkeypatch.setattr(sys, "stdout", Output())
    file = io.BytesIO(b"x" * 3_000_000)
    file.read()
    send(file)
    assert Output.buffer.getvalue() == file.getvalue()


def test_a_format_without_batches_is_read_and_written_whole(tmp_path):
    before = dict(register.formats())
    try:
        register.register(
            register.Format(
                *("own", "own", (".own",)),
                read=lambda file, _: pl.read_ndjson(file),
                write=lambda table, file: table.write_ndjson(file),
            )
        )
        table = frame(["Int64"])
        (tmp_path / "o.own").write_bytes(delivered(made_of(table, tmp_path), "own").getvalue())
        same(
            pl.concat(frames_of(set_down(Location.of(tmp_path / "o.own"), tmp_path, batch=2), 3)),
            table,
        )
        register.register(replace(register.formats()["own"], write=None))
        with pytest.raises(mg.OutputError, match="it holds several tables"):
            delivered(made_of(table, tmp_path), "own")
    finally:
        register._FORMATS.clear()
        register._FORMATS.update(before)


@pytest.mark.parametrize("form", FILES)
def test_a_full_disk_is_told_alike(form, tmp_path):
    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(28, "No space")

    table, place = frame(["Int64"]), Location.of(f"o.{form}")
    with pytest.raises(mg.OutputError) as expected:
        write(table, Full(), place.format, place)
    with pytest.raises(mg.OutputError) as found:
        deliver(made_of(table, tmp_path), Full(), place, batch=4)
    assert str(found.value) in (str(expected.value), f"'{place}' {FULL}")


FULL = "cannot be written: No space left on device. Nothing was published."


# What getrusage tells of a process that was just started is the peak of its parent.
PEAK = """
import sys
from pathlib import Path
from polars_microagg.publishing.formats.batches import Typed, deliver, set_down
from polars_microagg.publishing.formats.files import Location
source, folder, form = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
made = set_down(Location.of(source), folder, batch=1 << 14, raw=True, typed=Typed(["a", "b"]))
with (folder / "made").open("w+b") as file:
    deliver(made, file, Location.of(f"o.{form}"), batch=1 << 14)
lines = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024)
"""


@pytest.mark.deep
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to tell a peak")
@pytest.mark.parametrize("form", FILES)
def test_memory_does_not_grow_with_the_rows(form, tmp_path):
    """3,600,000 rows more take 86 MB as a frame; buffers are full before the first million."""
    peaks = []
    for rows in (1_200_000, 4_800_000):
        table = pl.DataFrame({"a": range(rows), "b": pl.Series(range(rows)) * 0.25, "c": 1.5})
        source = place_of(table, form, tmp_path).path
        command = [sys.executable, "-c", PEAK, str(source), str(tmp_path), form]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path.cwd())
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 50
