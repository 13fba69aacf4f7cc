"""Files that are not what their name says: compressed ones are read, others are told what they are."""

import bz2
import gzip
import io
import lzma
import zipfile

import polars as pl
import pyarrow as pa
import pytest

from .conftest import ROLES

COMPRESSED = {
    "gzip": (gzip.compress, ".gz"),
    "zstd": (lambda raw: pa.compress(raw, "zstd", asbytes=True), ".zst"),
    "bzip2": (bz2.compress, ".bz2"),
}


def zipped(raw, *names):
    """An archive with these files in it."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, raw)
    return memory.getvalue()


def written(people, form):
    """The bytes of a table."""
    memory = io.BytesIO()
    getattr(people, f"write_{form}")(memory)
    return memory.getvalue()


@pytest.mark.parametrize("named", [True, False], ids=["named so", "under the plain name"])
@pytest.mark.parametrize("how", COMPRESSED)
@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_a_compressed_text_is_read(form, how, named, people, tmp_path, microagg):
    compress, ending = COMPRESSED[how]
    source = tmp_path / f"in.{form}{ending if named else ''}"
    source.write_bytes(compress(written(people, form)))
    plain = tmp_path / f"plain.{form}"
    plain.write_bytes(written(people, form))
    for path, out in ((source, "a.parquet"), (plain, "b.parquet")):
        done = microagg("protect", path, "-o", tmp_path / out, *ROLES)
        assert done.code == 0, done.err
    assert pl.read_parquet(tmp_path / "a.parquet").equals(pl.read_parquet(tmp_path / "b.parquet"))
    assert microagg("verify", tmp_path / "a.parquet", "--original", source).code == 0
    out = ["risk", tmp_path / "a.parquet", "--original", source, "--columns", "age,income"]
    assert microagg(*out).code == 0


def test_a_wrong_cell_is_told_by_its_line_also_when_compressed(tmp_path, microagg):
    source = tmp_path / "in.csv.gz"
    source.write_bytes(gzip.compress(b"age,income\n1,2\n3,4\n5,oops\n6,7\n"))
    done = microagg("protect", source, "-o", tmp_path / "o.csv", "--columns", "age,income", "--k=2")
    assert done.code == 3
    assert "the first of them on line 4" in done.err


FOREIGN = {
    "cut gzip": ("in.csv", lambda t: gzip.compress(written(t, "csv"))[:-20], "it is compressed with gzip and damaged"),
    "gzip of nothing": ("in.csv", lambda t: gzip.compress(b""), "it is empty"),
    "gzip twice": ("in.csv", lambda t: gzip.compress(gzip.compress(b"a,b\n")), "it is compressed with gzip. Unpack it first"),
    "gzip of utf-16": ("in.csv", lambda t: gzip.compress("a,b\n1,2\n".encode("utf-16")), "it is UTF-16"),
    "gzip as parquet": ("in.parquet", lambda t: gzip.compress(written(t, "parquet")), "it is compressed with gzip. Unpack it first"),
    "zstd as arrow": ("in.arrow", lambda t: pa.compress(written(t, "ipc"), "zstd", asbytes=True), "it is compressed with zstd. Unpack"),
    "xz": ("in.csv", lambda t: lzma.compress(written(t, "csv")), "it is compressed with xz. Unpack it first"),
    "zip": ("in.csv", lambda t: zipped(written(t, "csv"), "in.csv"), "it is a zip archive. Unpack it first"),
    "excel": ("in.csv", lambda t: zipped(b"<x/>", "[Content_Types].xml", "xl/workbook.xml"), "it is an Excel workbook. Save its sheet as CSV"),
    "excel of old": ("in.csv", lambda t: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "Excel workbook"),
    "open document": ("in.csv", lambda t: zipped(b"application/vnd.oasis.opendocument.spreadsheet", "mimetype"), "zip archive"),
    "parquet as csv": ("in.csv", lambda t: written(t, "parquet"), "it is a Parquet file. Rename or save it with the ending .parquet"),
    "parquet as ndjson": ("in.ndjson", lambda t: written(t, "parquet"), "it is a Parquet file. Rename or save it with the ending .parquet"),
    "arrow as csv": ("in.csv", lambda t: written(t, "ipc"), "it is an Arrow IPC file. Rename or save it with the ending .arrow"),
    "stream as arrow": ("in.arrow", lambda t: written(t, "ipc_stream"), "it is an Arrow IPC stream. Rename or save it with the ending .arrows"),
    "arrow as stream": ("in.arrows", lambda t: written(t, "ipc"), "it is an Arrow IPC file. Rename or save it with the ending .arrow."),
    "sqlite as csv": ("in.csv", lambda t: b"SQLite format 3\0" + bytes(600), "it is an SQLite file"),
    "duckdb as csv": ("in.csv", lambda t: bytes(8) + b"DUCK" + bytes(600), "it is a DuckDB file. Rename it with the ending .duckdb, and write ::table"),
    "utf-16 with mark": ("in.csv", lambda t: "age,income\n1,2\n".encode("utf-16"), "it is UTF-16. Save it as UTF-8, as with iconv -f utf-16 -t utf-8"),
    "utf-16 without mark": ("in.csv", lambda t: "age,income\n1,2\n".encode("utf-16-le"), "it is UTF-16"),
    "utf-16 the other way": ("in.csv", lambda t: "age,income\n1,2\n".encode("utf-16-be"), "it is UTF-16"),
    "utf-32": ("in.csv", lambda t: "age,income\n1,2\n".encode("utf-32"), "it is UTF-32"),
    "utf-16 ndjson": ("in.ndjson", lambda t: '{"age":1}\n'.encode("utf-16"), "it is UTF-16"),
    "latin-1": ("in.csv", lambda t: "age,straße\n1,2\n".encode("latin-1"), "line 1 has bytes that are not UTF-8, perhaps of Latin-1"),
    "csv as parquet": ("in.parquet", lambda t: written(t, "csv"), "it is not a whole Parquet file"),
    "html": ("in.csv", lambda t: b"<!DOCTYPE html><html><body>Not found</body></html>\n", "it is a web page"),
}  # fmt: skip


@pytest.mark.parametrize("case", FOREIGN)
def test_what_a_file_is_instead_is_told(case, people, tmp_path, microagg):
    name, content, text = FOREIGN[case]
    source = tmp_path / name
    source.write_bytes(content(people))
    columns, out = ["--columns", "age,income"], ["-o", tmp_path / "out.csv"]
    for command in (["protect", *columns, "--k", "5", *out], ["risk", *columns], ["init", *out]):
        done = microagg(*command, source)
        assert done.code == 3, done.err
        assert text in done.err
        assert done.err.count("\n") == 1
        assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("ending", [".csv.gz", ".ndjson.zst", ".csv.bz2"])
def test_a_release_is_not_compressed_by_us(ending, source, tmp_path, microagg):
    done = microagg("protect", source, "-o", tmp_path / f"out{ending}", *ROLES)
    assert done.code == 2
    assert "compressed files are only read. Write" in done.err
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
