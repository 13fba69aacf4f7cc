"""Calls that would release what was not meant, or lose a file: one code, one sentence, no harm."""

import pytest

from .conftest import ROLES


def test_requirements_add_up(source, tmp_path, microagg):
    config = tmp_path / "job.toml"
    config.write_text('columns = ["age", "income"]\nstrata = "region"\ndrop = "name"\nk = 5\n')
    config.write_text(config.read_text() + 'require = "dld<=0.001"\n')
    done = microagg("protect", source, "-o", tmp_path / "o.parquet", "--config", config)
    assert done.code == 4
    typed = ("--require", "loss<=100")
    done = microagg("protect", source, "-o", tmp_path / "o.parquet", "--config", config, *typed)
    assert done.code == 4
    assert "dld<=0.001" in done.err
    assert not (tmp_path / "o.parquet").exists()


def test_who_requires_k_means_records(source, tmp_path, microagg):
    columns = ("--columns", "age,income", "--strata", "region", "--drop", "name", "--k", "5")
    target = tmp_path / "o.parquet"
    call = ("protect", source, "-o", target, *columns, "--method", "individual_ranking")
    done = microagg(*call, "--require", "k>=5")
    assert done.code == 4
    assert "k>=5 (found 1)" in done.err
    assert not target.exists()
    assert microagg(*call).code == 0


def test_a_table_of_duckdb_is_replaced_only_when_allowed(source, tmp_path, microagg):
    import duckdb

    file = tmp_path / "r.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute("CREATE TABLE people AS SELECT 1 AS kept")
    for name in ("people", "PEOPLE"):
        done = microagg("protect", source, "-o", f"{file}::{name}", *ROLES)
        assert done.code == 2
        assert "there already" in done.err
    with duckdb.connect(str(file)) as con:
        assert con.execute("FROM people").fetchall() == [(1,)]
    assert microagg("protect", source, "-o", f"{file}::people", *ROLES, "--overwrite").code == 0
    call = ("protect", f"{file}::people", "-o", f"{file}::People", "--columns", "age,income")
    done = microagg(*call, "--keep", "region", "--k", "5", "--overwrite")
    assert "is both IN and OUT" in done.err
    assert done.code == 2


@pytest.mark.parametrize("flag", ["--manifest", "--report"])
@pytest.mark.parametrize("at", ["IN", "OUT"])
def test_no_file_of_a_call_takes_the_place_of_another(flag, at, source, tmp_path, microagg):
    before = source.read_bytes()
    files = {"IN": source, "OUT": tmp_path / "o.parquet"}
    call = ("protect", source, "-o", files["OUT"], *ROLES, flag, files[at], "--overwrite")
    done = microagg(*call)
    assert done.code == 2
    assert f"is both {at} and {flag}" in done.err
    assert source.read_bytes() == before
    assert not files["OUT"].exists()


DOUBTFUL = {
    "a quote that is never closed": ('P7,N,31,100,"abc\n', "a quote that is never closed"),
    "rows in a cell": (
        'P7,N,31,100,"a\nP8,S,32,200,b\nP9,S,33,300,c"\n',
        "cell(s) hold what reads",
    ),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_a_csv_in_which_rows_may_hide_is_refused(case, tmp_path, microagg):
    row, said = DOUBTFUL[case]
    lines = [f"P{i},N,{20 + i},{1000 + i},fine\n" for i in range(10, 30)]
    path = tmp_path / "in.csv"
    path.write_text("id,region,age,income,note\n" + "".join(lines[:10]) + row + "".join(lines[10:]))
    roles = ("--columns", "age,income", "--strata", "region", "--drop", "id", "--keep", "note")
    done = microagg("protect", path, "-o", tmp_path / "o.csv", *roles, "--k", "5")
    assert done.code == 3
    assert said in done.err
    assert not (tmp_path / "o.csv").exists()


def test_a_csv_without_a_header_is_refused_without_showing_it(tmp_path, microagg):
    path = tmp_path / "in.csv"
    path.write_text("".join(f"P{i},N,{20 + i},{1000 + i}\n" for i in range(20)))
    roles = ("--columns", "age,income", "--strata", "region", "--drop", "id", "--k", "5")
    done = microagg("protect", path, "-o", tmp_path / "o.csv", *roles)
    assert done.code == 3
    assert "may be its first record" in done.err
    assert "1000" not in done.err
