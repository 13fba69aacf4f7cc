"""CSV and NDJSON read in batches: types of whole columns, and doubtful files told by one sentence."""

import datetime as dt
import gzip
import io
import sys
from threading import Event

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats import batches, csv, ndjson
from polars_microagg.publishing.formats.batches import Typed
from polars_microagg.publishing.formats.files import Location
from tests.publishing.formats.batched import alike, in_batches, same, small  # noqa: F401

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


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("role", ["mask", "confidential", "both", "none"])
def test_text_is_typed_in_batches_as_in_the_whole_column(name, role, tmp_path):
    table = pl.DataFrame({"id": range(6), name: pl.Series(TEXTS[name], dtype=pl.String)})
    table.write_csv(tmp_path / "o.csv")
    names, quantities = [name] * (role in ("mask", "both")), [name] * (role[0] in "cb")
    alike(tmp_path / "o.csv", tmp_path, names, quantities)


class Late(io.BytesIO):
    """A file whose fifth small read comes when it has been wound back to be read once more."""

    def __init__(self, text):
        super().__init__(text)
        self.small, self.wound_back, self.was_read = 0, Event(), Event()

    def read(self, size=-1):
        self.small += size == 32
        if late := size == 32 and self.small == 5:
            self.wound_back.wait(0.2)
        text = super().read(size)
        if late:
            self.was_read.set()
        return text

    def seek(self, *place):
        result = super().seek(*place)
        if self.small >= 4 and sys._getframe(1).f_code.co_name == "_header":
            self.wound_back.set()
            self.was_read.wait(0.2)
        return result


def test_a_thread_that_reads_ahead_takes_no_row_from_the_second_try():
    """Arrow goes on reading for a moment after a line that was too long for its blocks."""
    text = "id,long\n" + "".join(f"{i},{'a' * 99}\n" for i in range(12))
    for _ in range(10):
        frames = list(csv.CSV.read_batches(Late(text.encode()), ",", 4, None))
        assert pl.concat(frames)["id"].to_list() == [str(i) for i in range(12)]


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


ARRIVES = {
    "number": (["1.5"] * 9, "SECRET-1"),
    "whole number": (["1"] * 9, "1.5"),
    "day": (["2024-01-01"] * 9, "soon"),
    "zone lost": (["2024-01-01T10:00Z"] * 9, "2024-01-01T10:00"),
    "zone added": (["2024-01-01T10:00"] * 9, "2024-01-01T10:00Z"),
}


@pytest.mark.parametrize("name", ARRIVES)
@pytest.mark.parametrize("role", ["mask", "confidential"])
def test_text_that_arrives_after_types_were_found_is_refused(name, role, tmp_path, monkeypatch):
    """It became null, which may be imputed."""
    texts, late = ARRIVES[name]
    for number in range(3):
        pl.DataFrame({"id": range(9), "a": texts}).write_csv(tmp_path / f"o{number}.csv")
    look = batches._Rows.look

    def look_and_append(rows, *arguments, **options):
        found = look(rows, *arguments, **options)
        with (tmp_path / "o1.csv").open("a") as file:
            file.write(f"900,{late}\n" * 9)
        return found

    monkeypatch.setattr(batches._Rows, "look", look_and_append)
    asked = Typed(["a"]) if role == "mask" else Typed([], ["a"])
    place = Location.of(tmp_path / "o*.csv")
    with pytest.raises(
        mg.InvalidDataError, match=r"o1\.csv' cannot be read: it changed"
    ) as refused:
        in_batches(place, tmp_path, typed=asked, raw=True)
    assert late not in str(refused.value)


def test_json_that_arrives_after_types_were_found_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "o.ndjson"
    path.write_bytes(b'{"a":1}\n' * 9)
    merged = ndjson._merged

    def merge_and_append(schemas):
        found = merged(schemas)
        with path.open("ab") as file:
            file.write(b'{"a":"SECRET-1"}\n')
        return found

    monkeypatch.setattr(ndjson, "_merged", merge_and_append)
    with pytest.raises(mg.InvalidDataError, match="cannot be read") as refused:
        in_batches(Location.of(path), tmp_path, typed=Typed(["a"]), raw=True)
    assert "SECRET" not in str(refused.value)


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
