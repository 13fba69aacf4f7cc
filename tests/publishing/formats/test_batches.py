"""Every format read in batches: the values, types and sentences of `Location.read`."""

import io
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats.batches import Typed, frames_of, set_down_frame
from polars_microagg.publishing.formats.files import Location
from tests.loop import share
from tests.publishing.formats.batched import (  # noqa: F401
    BATCH,
    UNHELD,
    alike,
    in_batches,
    place_of,
    same,
    small,
    told,
)
from tests.publishing.formats.test_types import COLUMNS, FORMATS, REFUSED, N, frame


@pytest.mark.whole
@pytest.mark.parametrize("rows", [N, 0, 1, BATCH])
@pytest.mark.parametrize("form", share(FORMATS, 2))
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
