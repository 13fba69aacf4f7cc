"""Where a release goes: folders, tables of DuckDB, types a format lacks."""

import polars as pl
import pytest

from .conftest import ROLES, called


def protect(folder, target, *more):
    return called(folder, "protect", "in.parquet", "-o", target, *ROLES, *more)


@pytest.mark.parametrize("name", ["folder", pytest.param("folder.csv", marks=pytest.mark.deep)])
def test_a_folder_is_no_place_for_a_table(name, source, tmp_path):
    (tmp_path / name).mkdir()
    said = (
        f"{name!r} cannot be written: it is a folder. Name a file in it. Nothing was published.\n"
    )
    assert protect(tmp_path, name, "--overwrite") == (5, said)
    code, said = called(tmp_path, "risk", name, "--columns", "age")
    assert (code, said) == (3, f"{name!r} cannot be read: it is a folder. Name a file in it.\n")
    assert {path.name for path in tmp_path.iterdir()} == {source.name, name}


def test_a_target_that_cannot_be_is_found_before_the_table_is_read(tmp_path):
    (tmp_path / "in.parquet").write_bytes(b"broken")
    code, said = protect(tmp_path, "absent/o.parquet")
    assert code == 5
    assert "its folder does not exist" in said


@pytest.mark.parametrize(
    ("column", "named"),
    [
        (pl.Series([2**70] * 60, dtype=pl.Int128), "'extra' is of type Int128, which does not go"),
        pytest.param(
            pl.Series([1.5] * 60, dtype=pl.Float16),
            "'extra' is of type Float16, which does not go",
            marks=pytest.mark.deep,
        ),
        (pl.Series([[1]] * 60).alias(""), None),
    ],
    ids=["Int128", "Float16", "List"],
)
def test_a_type_that_duckdb_lacks_is_named_before_any_work(column, named, people, tmp_path):
    people.with_columns(extra=column).write_parquet(tmp_path / "in.parquet")
    code, said = protect(tmp_path, "o.duckdb::t", "--keep", "extra")
    if named is None:
        assert code == 0, said
        return
    assert code == 5
    assert named in said
    assert said.endswith("Drop or cast it first, or write Parquet. Nothing was published.\n")
    assert said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"age": ""}, "a column has no name, and DuckDB needs one. Name the column."),
        pytest.param(
            {"name": "AGE"},
            "columns 'AGE' and 'age' have one name in DuckDB. Rename one of them.",
            marks=pytest.mark.deep,
        ),
    ],
)
def test_names_that_duckdb_lacks_are_told(names, said, people, tmp_path):
    people.rename(names).write_parquet(tmp_path / "in.parquet")
    columns = people.rename(names).columns
    roles = ["--columns", "income", "--k", "5"]
    roles += [word for name in columns if name != "income" for word in ("--keep", name)]
    code, found = called(tmp_path, "protect", "in.parquet", "-o", "o.duckdb::t", *roles)
    assert code == 5, found
    assert said in found
    assert called(tmp_path, "protect", "in.parquet", "-o", "o.parquet", *roles)[0] == 0
    assert not (tmp_path / "o.duckdb").exists()


def tables(path):
    import duckdb

    with duckdb.connect(str(path)) as con:
        asked = "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
        return con.execute(asked).fetchall()


@pytest.mark.deep
def test_a_schema_can_be_named(source, tmp_path):
    import duckdb

    code, said = protect(tmp_path, "o.duckdb::lab.people")
    assert code == 5
    assert "the file has no schema 'lab'. Make it with CREATE SCHEMA, or name a table only." in said
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
    assert protect(tmp_path, "o.duckdb::main.people")[0] == 0
    with duckdb.connect(str(tmp_path / "o.duckdb")) as con:
        con.execute("CREATE SCHEMA lab")
    assert protect(tmp_path, "o.duckdb::lab.people")[0] == 0
    assert tables(tmp_path / "o.duckdb") == [("lab", "people"), ("main", "people")]
    for name in ("people", "lab.people"):
        code, said = protect(tmp_path, f"o.duckdb::{name}")
        assert code == 2
        assert "it is there already" in said
        assert called(tmp_path, "verify", f"o.duckdb::{name}")[0] == 0
    code, said = called(tmp_path, "risk", "o.duckdb::lab.none", "--columns", "age")
    assert code == 3
    assert "the file has no such table" in said


@pytest.mark.deep
def test_a_table_has_one_manifest_however_its_name_is_written(source, tmp_path):
    assert protect(tmp_path, "o.duckdb::people")[0] == 0
    more = ("--overwrite", "--method", "vmdav")
    assert protect(tmp_path, "o.duckdb::PEOPLE", *more)[0] == 0
    assert [path.name for path in tmp_path.glob("*.json")] == ["o.duckdb.people.manifest.json"]
    assert called(tmp_path, "verify", "o.duckdb::people")[0] == 0
