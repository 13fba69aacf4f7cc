"""A release holds no value that can no longer be read in it: nulled, filtered, sliced or cut."""

import io
import subprocess
import sys

import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats.scrub import visible

N = 30
NUMBERS = [5551234500 + i for i in range(N)]
GONE = [i % 3 == 0 for i in range(N)]
TEXTS = [f"SECRET-DIAGNOSIS-{i:04}" if gone else "a common cold" for i, gone in enumerate(GONE)]
PAIR = pl.Struct({"a": pl.String, "b": pl.Int64})

COLUMNS = {
    "String": pl.Series("x", TEXTS),
    "Int64": pl.Series("x", NUMBERS),
    "Float64": pl.Series("x", NUMBERS, dtype=pl.Float64),
    "Binary": pl.Series("x", [text.encode() for text in TEXTS]),
    "Struct": pl.Series(
        "x", [{"a": t, "b": n} for t, n in zip(TEXTS, NUMBERS, strict=True)], dtype=PAIR
    ),
    "List": pl.Series("x", [[text, None] for text in TEXTS]),
    "List Int64": pl.Series("x", [[number] for number in NUMBERS]),
    "List Struct": pl.Series("x", [[{"a": t}] for t in TEXTS]),
    "Array": pl.Series("x", [[text] for text in TEXTS], dtype=pl.Array(pl.String, 1)),
    "Categorical": pl.Series("x", TEXTS, dtype=pl.Categorical),
    "List Categorical": pl.Series("x", [[t] for t in TEXTS], dtype=pl.List(pl.Categorical)),
}
"""Each has secrets where `GONE` says so."""


def keep():
    return ~pl.col("gone")


WAYS = {
    "null": lambda frame: frame.with_columns(pl.when(keep()).then("x")),
    "filter": lambda frame: frame.filter(keep()),
    "slice": lambda frame: frame.sort("gone").slice(0, GONE.count(False)),
}


def released(column, way):
    frame = pl.DataFrame({"age": range(20, 20 + N), "gone": GONE}).with_columns(column)
    return WAYS[way](frame).drop("gone")


def inside(array):
    """All bytes of an array, also of its children and its dictionary."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return b"".join(buffer.to_pybytes() for buffer in array.buffers() if buffer is not None)


def content(file, form):
    """Everything that a file holds, once it is decompressed."""
    read = {"arrow": ipc.open_file, "arrows": ipc.open_stream, "parquet": pq.ParquetFile}[form]
    table = read(file).read() if form == "parquet" else read(file).read_all()
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    return b"".join(inside(part) for chunk in chunks for part in (chunk, *categories(chunk)))


def categories(array):
    """Dictionaries further in, which are no buffers of the array."""
    if pa.types.is_dictionary(array.type):
        return [array.dictionary]
    if pa.types.is_struct(array.type):
        return [part for i in range(array.type.num_fields) for part in categories(array.field(i))]
    return categories(array.values) if hasattr(array, "values") else []


def secrets(found):
    """How many of the hidden values are among some bytes."""
    hidden = [n for n, gone in zip(NUMBERS, GONE, strict=True) if gone]
    raw = [pl.Series([n]).to_numpy().tobytes() for n in (*hidden, *map(float, hidden))]
    return found.count(b"SECRET") + sum(map(found.count, raw))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", COLUMNS)
def test_arrow_holds_only_what_is_seen(tmp_path, name, way):
    frame = released(COLUMNS[name], way)
    assert secrets(content(plainly(frame), "arrow")) or name not in ("String", "Binary")
    for ending in ("arrow", "arrows"):
        path = tmp_path / f"out.{ending}"
        mg.publish(frame, path, ["age"], k=3, keep=["x"])
        assert not secrets(content(path, ending))
        read = pl.read_ipc if ending == "arrow" else pl.read_ipc_stream
        assert read(path)["x"].equals(frame["x"])


def plainly(frame):
    """What Polars itself writes, by which the test is known to see what is hidden."""
    memory = io.BytesIO()
    frame.write_ipc(memory)
    memory.seek(0)
    return memory


def test_cut_texts_leave_their_ends_behind(tmp_path):
    texts = pl.Series("x", [f"visible start of a long text {text}" for text in TEXTS])
    frame = pl.DataFrame({"age": range(N), "x": texts.str.slice(0, 29)})
    for ending in ("arrow", "arrows"):
        mg.publish(frame, tmp_path / f"out.{ending}", ["age"], k=3, keep=["x"])
        assert not secrets(content(tmp_path / f"out.{ending}", ending))


@pytest.mark.parametrize("way", WAYS)
def test_parquet_has_no_dictionary_of_rows_that_are_gone(tmp_path, way):
    frame = released(COLUMNS["List Categorical"], way)
    mg.publish(frame, tmp_path / "out.parquet", ["age"], k=3, keep=["x"])
    assert not secrets(content(tmp_path / "out.parquet", "parquet"))


def test_standard_output_holds_only_what_is_seen(tmp_path):
    values = pa.array(NUMBERS), pa.array(TEXTS, pa.large_string())
    valid = pa.array([not gone for gone in GONE]).buffers()[1]
    under = [pa.Array.from_buffers(each.type, N, [valid, *each.buffers()[1:]]) for each in values]
    table = pa.table({"age": list(range(N)), "n": under[0], "s": under[1]})
    given = tmp_path / "given.arrow"
    with ipc.new_file(given, table.schema) as file:
        file.write(table)
    assert secrets(content(given, "arrow"))
    command = [sys.executable, "-m", "polars_microagg.cli.main", "protect", str(given), "-o", "-"]
    options = ["--columns", "age", "--k", "3", "--keep", "n,s"]
    done = subprocess.run([*command, *options], capture_output=True, check=True)
    assert not secrets(content(io.BytesIO(done.stdout), "arrows"))


def test_odd_values_stay():
    odd = [float("nan"), -0.0, 0.0, float("inf"), None, 5e-324]
    frame = pl.DataFrame({"": odd, "list": [[value] for value in odd]})
    back = visible(frame)
    assert back.equals(frame)
    assert list(map(str, back[""])) == list(map(str, odd))


@pytest.mark.parametrize("values", [[{}, None], [[{}], None]])
def test_types_that_parquet_lacks_stay(values):
    empty = pl.Struct([])
    dtype = empty if values[0] == {} else pl.List(empty)
    frame = pl.DataFrame({"x": pl.Series(values, dtype=dtype)})
    assert visible(frame).schema == frame.schema
    assert visible(frame).equals(frame)
