"""Every format read in batches: the values, types and sentences of `Location.read`."""

import datetime as dt
import gzip
import io
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import polars_microagg as mg
from polars_microagg.cli.input_table import raw, source_of, typed_columns
from polars_microagg.cli.models import typed_values
from polars_microagg.publishing.formats import csv, ndjson
from polars_microagg.publishing.formats.batches import Typed, frames_of, set_down, set_down_frame
from polars_microagg.publishing.formats.duckdb_write import _query
from polars_microagg.publishing.formats.files import Location, write
from tests.publishing.formats.test_types import COLUMNS, FORMATS, REFUSED, N, frame

BATCH = 4
UNHELD = {"Int128", "Int128 large", "UInt128", "UInt128 large", "List Int128", "Array empty"}
UNHELD |= {"Struct empty"}
"""Types that no file that is read in batches has; those of CSV and NDJSON are read as others."""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Parse a few bytes at a time."""
    monkeypatch.setattr(csv, "SMALL", 32)
    monkeypatch.setattr(csv, "CELLS", 1)
    monkeypatch.setattr(ndjson, "PIECE", 16)


def place_of(table, form, folder):
    """Write a table in a format, and return where it is."""
    place = Location.of(f"{folder}/o.{form}")
    if place.tables:
        with duckdb.connect(str(place.path)) as con:
            con.register("given", table.to_arrow())
            con.execute(f"CREATE TABLE t AS {_query(table, 'given')}")
    else:
        with place.path.open("wb") as file:
            write(table, file, place.format, place)
    return place


def in_batches(places, folder, **options):
    inner = folder / "inner"
    inner.mkdir(exist_ok=True)
    source = set_down(places, inner, batch=BATCH, **options)
    parts = list(frames_of(source, 3))
    assert max(part.height for part in parts) <= 3
    return pl.concat(parts)


def same(found, expected):
    assert found.schema == expected.schema
    assert list(found.schema) == list(expected.schema)
    assert found.equals(expected)


@pytest.mark.parametrize("rows", [N, 0, 1, BATCH])
@pytest.mark.parametrize("form", FORMATS)
def test_every_type_is_read_in_batches_as_it_is_read_whole(form, rows, tmp_path):
    held = [name for name in COLUMNS if name not in REFUSED[form] | UNHELD]
    table = frame(held).head(rows).rename({"Date": "größe, \n'\"", "String": "^a.*$"})
    place = place_of(table, form, tmp_path)
    if form == "ndjson" and not rows:
        with pytest.raises(mg.InvalidDataError, match="it is empty"):
            in_batches(place, tmp_path)
        return
    same(in_batches(place, tmp_path), place.read())


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize("name", ["Int128", "List Int128"])
def test_numbers_of_128_bits_are_refused(form, name, tmp_path):
    place = place_of(frame([name]), form, tmp_path)
    with pytest.raises(mg.InvalidDataError, match="such as whole numbers of 128 bits"):
        in_batches(place, tmp_path)


def test_a_type_that_only_some_formats_have_is_named(tmp_path):
    place = place_of(frame(["Struct empty"]), "arrow", tmp_path)
    with pytest.raises(mg.InvalidDataError, match=r"column 'Struct empty' is of type .*in batches"):
        in_batches(place, tmp_path)
    with pytest.raises(mg.InvalidDataError, match=r"column 'x' is of type Int128.*in batches"):
        set_down_frame(pl.LazyFrame({"x": [1]}, schema={"x": pl.Int128}), tmp_path)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_an_arrow_file_of_others_is_read_alike(size, tmp_path):
    kinds = pa.array(["a", None, "b", "a", "b", "b"]).dictionary_encode()
    table = pa.table(
        {
            "text": pa.array(["a", None, "ü", "", "b", "c"]),
            "kind": kinds,
            "when": pa.array([1, 2, None, 4, 5, 6], pa.timestamp("s", "Europe/Vienna")),
            "day": pa.array([1, 2, None, 4, 5, 6], pa.date32()),
            "list": pa.array([[1], [], None, [2, 3], [4], [5]]),
            "yes": pa.array([True, None, False, True, True, False]),
        }
    )
    place = Location.of(tmp_path / "o.arrow")
    with pa.ipc.new_file(str(place.path), table.schema) as writer:
        writer.write_table(table, max_chunksize=size)
    same(in_batches(place, tmp_path), place.read())


TEXTS = {
    "whole": ["1", " 2", "+3", None, "-0", "007"],
    "numbers": ["1", "2", "-0", "4", "5", "0.25"],
    "late": ["1", "2", "3", "4", "5", "none of them"],
    "mixed": ["2024-01-01", "1", "x", "2024-01-01", "y", ""],
    "days": [None, None, None, None, "2024-02-29", "2024-01-01"],
    "zoned": ["2024-01-01T10:00Z", None, "2024-01-01 10:00:01.5+01:00", None, None, None],
    "zones": [*["2024-01-01T10:00Z"] * 3, *["2024-01-01T10:00"] * 3],
    "plain": ["2024-01-01T10:00:00"] * 6,
    "times": ["10:00:00", "23:59:59.5", None, "00:00:00", "10:00:00", "10:00:00"],
    "empty": [None] * 6,
    "code": ["1", "2", "3", "4", "5", "007"],
    "text": ["a", 'say "no"', "two\nlines", "ü,;", " b ", "c"],
    "long": ["a" * 99] * 6,
}


def whole(place, names=(), quantities=()):
    table = raw(place)
    resolved(table.columns, [*names, *quantities])
    return typed_values(place, typed_columns(place, table, names), quantities)


def told(step):
    try:
        return step()
    except mg.MicroaggError as error:
        return f"{type(error).__name__} {error}"


def resolved(columns, names):
    """What the roles of a call do."""
    if missing := [name for name in names if name not in columns]:
        raise mg.InvalidParameterError.unknown_column("columns", missing[0], columns)
    return names


def alike(path, folder, names=(), quantities=(), separator=None):
    """Both paths give one table or one sentence."""
    place = source_of(str(path), separator)
    expected = told(lambda: whole(place, names, quantities))

    def typed(columns):
        return Typed(resolved(columns, names), resolved(columns, quantities))

    found = told(lambda: in_batches(place, folder, typed=typed, raw=True))
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
    else:
        same(found, expected)
    return expected


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("role", ["mask", "confidential", "both", "none"])
def test_text_is_typed_in_batches_as_in_the_whole_column(name, role, tmp_path):
    table = pl.DataFrame({"id": range(6), name: pl.Series(TEXTS[name], dtype=pl.String)})
    table.write_csv(tmp_path / "o.csv")
    names, quantities = [name] * (role in ("mask", "both")), [name] * (role[0] in "cb")
    alike(tmp_path / "o.csv", tmp_path, names, quantities)


def test_the_types_are_those_that_were_meant(tmp_path):
    pl.DataFrame(TEXTS).write_csv(tmp_path / "o.csv")
    place = Location.of(tmp_path / "o.csv")
    quantities = [name for name in TEXTS if name != "code"]
    read = in_batches(place, tmp_path, typed=lambda names: Typed(["code"], names))
    other = in_batches(place, tmp_path, typed=Typed([], [*quantities, "code"]))
    assert read["code"].dtype == pl.Int64
    assert other["code"].to_list() == TEXTS["code"]
    assert (read["numbers"].dtype, read["whole"].dtype) == (pl.Float64, pl.String)
    assert str(read["numbers"][2]) == "-0.0"
    assert read["days"].to_list()[-2:] == [dt.date(2024, 2, 29), dt.date(2024, 1, 1)]
    assert read["zoned"].dtype == pl.Datetime("us", "UTC")
    assert read["zones"].dtype == read["late"].dtype == read["empty"].dtype == pl.String


LINES = "".join(f"{i},x{i}\n" for i in range(9))
BAD = {
    "no file": None,
    "empty": b"",
    "blank": b"\n\n",
    "header": b"a,b\n",
    "no newline": b"a,b",
    "twice": b"a,a\n1,2\n",
    "ragged": f"a,b\n{LINES}1\n".encode(),
    "ragged first": b"a,b\n1,2,3\n1,2\n",
    "latin": f"a,b\n{LINES}1,".encode() + b"\xff\n",
    "quote": f'a,b\n{LINES}1,"x\n'.encode(),
    "hidden": f'a,b\n{LINES}1,"x\n1,2\n3,4\n5,6\n"\n'.encode(),
    "semicolons": b"a;b\n1;2\n",
    "numbers above": b"1,b\n1,2\n",
    "workbook": b"PK\x03\x04.....xl/workbook",
    "page": b"<html>a,b</html>\n1,2\n",
    "parquet": b"PAR1\x15\x04abcd",
    "wrong cell": f"a,b\n{LINES}none,x\n".encode(),
    "wrong day": b"a,b\n2024-01-01,1\n2024-01-02,2\n\n2024-01-03,3\n2024-1-04,4\n2024-01-05,5\n",
    "wrong zone": b"a,b\n2024-01-01T10:00,1\n2024-01-01T10:00,1\n2024-01-01T10:00Z,2\n",
    "slashes": b"a,b\n01/02/2024,x\n03/04/2024,y\n",
    "thousands": b'a,b\n"1,5",x\n"2,7",y\n3,z\n',
    "one column": b"a\n1\n\n2\nx\n3\n",
    "other name": f"x,b\n{LINES}".encode(),
    "crlf": b"a,b\r\n1,2\r\n3,x\r\n5,6\r\n",
    "bom": b"\xef\xbb\xbfa,b\n1,2\n",
    "good": f"a,b\n{LINES}".encode(),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_a_doubtful_csv_file_is_told_alike(name, packed, tmp_path):
    path = tmp_path / f"o.csv{packed}"
    content = BAD[name]
    if content is not None:
        path.write_bytes(gzip.compress(content) if packed and content else content)
    said = alike(path, tmp_path, ["a"], ["b"] * (name not in ("twice", "one column")))
    assert isinstance(said, str) == (name not in ("good", "bom", "crlf"))
    assert {item.name for item in tmp_path.iterdir()} <= {path.name, "inner"}


def test_a_line_that_is_longer_than_a_block_is_read_and_no_row_twice(tmp_path, monkeypatch):
    table = pl.DataFrame(
        {"a": [f"{i}" * (1 + 500 * (i == 60)) for i in range(99)], "b": ["x"] * 99}
    )
    table.write_csv(tmp_path / "o.csv")
    place = Location.of(tmp_path / "o.csv")
    same(in_batches(place, tmp_path), table)
    monkeypatch.setattr(csv, "BLOCK", 64)
    alike(tmp_path / "o.csv", tmp_path)


def test_a_separator_is_kept(tmp_path):
    (tmp_path / "o.csv").write_text("a;b\n1;2,5\n3;4\n")
    assert alike(tmp_path / "o.csv", tmp_path, ["a"], separator=";").columns == ["a", "b"]


JSON = {
    "numbers": b'{"a":1}\n{"a":2.5}\n{"a":null}\n',
    "text": b'{"a":1}\n{"a":2.5}\n{"a":"x"}\n',
    "late": b'{"a":null}\n{"b":[]}\n{"b":[1]}\n{"c":{"x":1}}\n{"c":{"y":"z"}}\n',
    "first": b'{"b":1,"a":2}\n{"a":3,"b":4}\n\n{"c":1}\n',
    "yes": b'{"a":true}\n{"a":1}\n',
    "lists": b'{"a":[1]}\n{"a":2}\n',
    "any": b'{"a":"x"}\n{"a":{"x":1}}\n',
    "cut": b'{"a":1}\n{"a":2}\n{"a":',
    "no object": b'{"a":1}\n[2]\n',
    "nothing": b"x",
    "blank first": b'\n{"a":1}\n',
    "unicode": '{"größe":"ü\\n"}\n{"größe":"\\u00e9"}'.encode(),
    "latin": b'{"a":"x"}\n{"a":"\xff"}\n',
    "empty": b"",
}


@pytest.mark.parametrize("name", JSON)
def test_lines_of_json_have_the_types_of_all_lines(name, tmp_path):
    (tmp_path / "o.ndjson").write_bytes(JSON[name])
    alike(tmp_path / "o.ndjson", tmp_path)


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows", "duckdb::t"])
def test_a_file_that_was_cut_is_told_alike(form, tmp_path):
    place = place_of(pl.DataFrame({"a": range(5000)}), form, tmp_path)
    content = place.path.read_bytes()
    (tmp_path / "foreign").mkdir()
    for part in (b"", content[:5], content[: len(content) // 2], b"%PDF-1.7", b"x" * 4096):
        place.path.write_bytes(part)
        assert "cannot be read" in alike(place, tmp_path)
    place.path.unlink()
    assert "no such file" in alike(place, tmp_path)


def test_tables_of_duckdb_are_told_alike(tmp_path):
    path = tmp_path / "o.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE t AS SELECT range AS a FROM range(9)")
        con.execute("CREATE VIEW v AS SELECT * FROM t WHERE a > 3; CREATE TABLE gone AS FROM t")
        con.execute("CREATE VIEW w AS FROM gone; DROP TABLE gone")
        con.execute("CREATE TABLE i AS SELECT INTERVAL 3 HOUR AS x")
        con.execute("CREATE VIEW late AS SELECT CAST(if(a < 8, '1', 'Zelda') AS INT) AS x FROM t")
        con.execute("CREATE TABLE h AS SELECT 1::UHUGEINT << 127 AS x")
    for table in ("v", "w", "i", "late", "h", "none"):
        said = alike(f"{path}::{table}", tmp_path)
        assert isinstance(said, str) == (table != "v")
        assert "Zelda" not in str(said)
    with duckdb.connect(str(path)) as con:  # no connection is left open
        con.execute("CREATE TABLE again AS FROM t")


@pytest.mark.parametrize("rows", [0, 1, N])
def test_standard_input_is_read_in_batches(rows, tmp_path, monkeypatch):
    table = frame(["String", "Enum", "List"]).head(rows)
    stream = io.BytesIO()
    table.write_ipc_stream(stream)

    def given(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return Location.of("-")

    same(in_batches(given(stream.getvalue()), tmp_path), table)
    for content in (b"", b"PAR1\x15", b"x" * 9, stream.getvalue()[:-300]):
        expected = told(given(content).read)
        assert expected == told(lambda: in_batches(given(content), tmp_path))  # noqa: B023
        assert "'standard input' cannot be read" in expected


@pytest.mark.parametrize("form", ["csv", "ndjson", "arrow", "arrows", "parquet"])
def test_files_of_one_schema_are_one_table_in_the_order_of_their_names(form, tmp_path):
    table = pl.DataFrame({"a": range(9), "b": ["x", None, "z"] * 3})
    (tmp_path / "in").mkdir()
    for i in (2, 0, 1):
        path = place_of(table[3 * i : 3 * i + 3], form, tmp_path / "in").path
        path.rename(tmp_path / f"in/part-{i}.{form}")
    (tmp_path / "in/_SUCCESS").touch()
    every = [Location.of(f"{tmp_path}/in/part-{i}.{form}") for i in range(3)]
    for places in (Location.of(f"{tmp_path}/in/*.{form}"), Location.of(tmp_path / "in"), every):
        same(in_batches(places, tmp_path, typed=Typed(["a"])), table)
    place_of(pl.DataFrame({"c": [[1]]} if form != "csv" else {"c": [1]}), form, tmp_path / "in")
    if form == "ndjson":
        assert in_batches(every[0], tmp_path).columns == ["a", "b"]
        return
    with pytest.raises(mg.MicroaggError, match="one schema"):
        in_batches(Location.of(f"{tmp_path}/in/*.{form}"), tmp_path)


def test_a_wrong_cell_is_named_in_the_file_that_has_it(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "b.csv").write_text("a,b\n3,x\nnone,y\n")
    with pytest.raises(mg.InvalidDataError, match=r"b\.csv") as caught:
        in_batches(Location.of(f"{tmp_path}/?.csv"), tmp_path, typed=Typed(["a"]), raw=True)
    assert "line 3" in str(caught.value)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_keys_of_folders_are_columns(form, tmp_path):
    for year, zip_code in (
        ("2024", "007"),
        ("2023", "__HIVE_DEFAULT_PARTITION__"),
        ("2024", "a%2Fb"),
    ):
        folder = tmp_path / f"in/year={year}/zip={zip_code}"
        folder.mkdir(parents=True)
        place_of(pl.DataFrame({"a": [f"{year}{zip_code}"] * 2}), form, folder)
    read = in_batches(Location.of(tmp_path / "in"), tmp_path)
    assert read.columns == ["a", "year", "zip"]
    assert read["year"].to_list() == [2023, 2023, 2024, 2024, 2024, 2024]
    assert read["zip"].to_list() == [None, None, "007", "007", "a/b", "a/b"]
    (tmp_path / "in/year=2022").mkdir()
    place_of(pl.DataFrame({"a": ["x"]}), form, tmp_path / "in/year=2022")
    with pytest.raises(mg.InvalidDataError, match="other keys than"):
        in_batches(Location.of(tmp_path / "in"), tmp_path)


def test_a_folder_without_tables_and_one_of_two_formats(tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(mg.InvalidDataError, match="no file of a known format"):
        in_batches(Location.of(tmp_path / "in"), tmp_path)
    for form in ("csv", "parquet"):
        place_of(pl.DataFrame({"a": [1]}), form, tmp_path / "in")
    with pytest.raises(mg.InvalidDataError, match="of another format than o.csv"):
        in_batches(Location.of(tmp_path / "in"), tmp_path)


def test_a_plan_runs_into_a_file_and_its_errors_tell_no_value(tmp_path):
    table = frame(["String", "Enum", "Categorical", "Date"])
    found = set_down_frame(table.lazy().with_columns(x=pl.col("age") * 2), tmp_path, batch=5)
    same(pl.concat(frames_of(found, 4)), table.with_columns(x=pl.col("age") * 2))
    with pytest.raises(mg.InvalidDataError, match="at column 'x'") as caught:
        set_down_frame(pl.LazyFrame({"x": ["Zelda"]}).cast(pl.Int64), tmp_path)
    assert "Zelda" not in str(caught.value)
    assert caught.value.__context__ is None


def test_columns_that_are_not_asked_for_are_left_out(tmp_path):
    (tmp_path / "o.csv").write_text("a,b,c\n1,2,3\n")
    typed = Typed(["b", "c"])
    read = in_batches(Location.of(tmp_path / "o.csv"), tmp_path, columns=["c", "a"], typed=typed)
    assert read.rows() == [(3, "1")]
    assert read.columns == ["c", "a"]
