"""Methods side by side: the time there is, and the roles of a configuration."""

import json
import re

import polars as pl
import pytest

from .conftest import called

COLUMNS = ["--columns", "age,income", "--strata", "region"]


def compare(folder, *arguments):
    code, said = called(folder, "compare", "in.parquet", *arguments)
    assert code in (0, 2, 3), said
    return code, said


def test_a_short_time_leaves_methods_out_and_says_so(source, tmp_path):
    code, said = compare(tmp_path, *COLUMNS, "--seconds", "1")
    assert code == 0, said
    assert not said or re.fullmatch(
        r"There was no time for [\w ,():=+.-]+ s\)\. Allow more with --seconds, or name fewer with "
        r"--methods\.\n",
        said,
    )


@pytest.mark.deep
def test_no_time_at_all_is_an_error_that_says_how_much_would_do(source, tmp_path):
    code, said = compare(tmp_path, *COLUMNS, "--seconds", "1e-6")
    assert code == 2
    assert said.count("\n") == 1
    enough = re.match(r"--seconds 1e-06 was given; it must be at least (\d+), in which one", said)
    assert compare(tmp_path, *COLUMNS, "--seconds", enough[1])[0] == 0


def test_the_roles_of_a_configuration_hold(source, people, tmp_path, microagg, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(
        "input = 'in.parquet'\ncolumns = ['age', 'income']\nstrata = ['region']\ndrop = ['name']\n"
        "k = 4\nnulls = 'impute'\nseed = 3\nrequire = ['k=4', 'il1<=9']\nmethod = 'vmdav'\n"
    )
    some = people.with_columns(age=pl.when(pl.int_range(60) > 0).then("age"))
    some.write_parquet(source)
    typed = ["--methods", "mdav,lowloss", "--json"]
    done = microagg("compare", "--config", "job.toml", *typed)
    assert done.code == 0, done.err
    assert done.err == "il1<=9 of the configuration is not measured here, and was left out.\n"
    told = json.loads(done.out)
    assert sorted({row["k"] for row in told["compared"]}) == [3, 4, 5, 10]
    assert told["recommended"]["reason"].startswith("Lowest loss with k >= 4: ")
    assert all(row["note"] is None for row in told["compared"])
    options = ["--drop", "name", "--nulls", "impute", "--seed", "3", "--ks", "3,4,5,10"]
    again = microagg("compare", "in.parquet", *COLUMNS, *options, "--require", "k=4", *typed)
    assert again.code == 0, again.err
    losses = [[row["loss"] for row in json.loads(d.out)["compared"]] for d in (done, again)]
    assert losses[0] == losses[1]
    without = microagg("compare", "in.parquet", *COLUMNS, "--methods", "mdav")
    assert without.code == 3
    assert "Use --nulls impute" in without.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--drop", "nmae"], 3, "--drop names 'nmae', which is not a column of the table."),
        (["--drop", "age"], 2, "Column 'age' has more than one role."),
        (["--require", "dlx<=3"], 2, "The measure 'dlx' of --require is not known"),
        (["--methods", "mdva"], 2, "There is no method 'mdva'. Did you mean 'mdav'?"),
        (["--config", "none.toml"], 2, "there is no such file. Write one with microagg init."),
        (["--ks", "3,x"], 2, "--ks 3,x was given; it must be whole numbers of at least 2"),
        (["--ks", ""], 2, "it must be whole numbers of at least 2 with commas between them"),
        (["--seconds", "soon"], 2, "--seconds soon was given; it must be a number above 0."),
    ],
)
def test_a_wrong_call_of_compare_is_answered_at_once(arguments, code, said, source, microagg):
    done = microagg("compare", source, *COLUMNS, *arguments)
    assert done.code == code, done.err
    assert said in done.err
    assert done.err.count("\n") == 1


@pytest.mark.deep
def test_a_report_without_time_for_a_map_is_written_all_the_same(source, tmp_path):
    roles = [*COLUMNS, "--drop", "name", "--k", "5"]
    assert called(tmp_path, "protect", "in.parquet", "-o", "o.parquet", *roles)[0] == 0
    call = ("report", "o.parquet", "--original", "in.parquet", "--seconds")
    code, said = called(tmp_path, *call, "1e-6")
    assert code == 0, said
    assert "The report has no" in said
    assert (tmp_path / "o.parquet.report.html").exists()
    code, said = called(tmp_path, *call, "soon", "--overwrite")
    assert code == 2
    assert "--seconds soon was given; it must be a number above 0, or 0 for no map." in said


@pytest.mark.parametrize("require", ["dld<=100", "loss<=0.01", "dld<=100 %"])
def test_a_recommendation_is_not_below_the_k_of_the_configuration(
    require, source, tmp_path, microagg, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(
        f"columns = ['age', 'income']\nstrata = 'region'\nk = 5\nrequire = '{require}'\n"
    )
    call = ["compare", "in.parquet", "--config", "job.toml", "--methods", "mdav"]
    line = json.loads(microagg(*call, "--json").out)["recommended"]
    assert line["k"] >= 5
    assert (
        sorted(found["k"] for found in json.loads(microagg(*call, "--json").out)["compared"])[0]
        == 3
    )
    done = microagg(*call, "--ks", "3,4")
    assert done.code == 2
    assert "--ks 3,4 was given; it must be" in done.err
    assert "the k=5 of the configuration" in done.err


def test_columns_masked_each_on_its_own_are_not_recommended(
    source, tmp_path, microagg, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    call = ["compare", "in.parquet", "--columns", "age,income", "--ks", "5,10"]
    call += ["--methods", "mdav,univariate", "--require", "loss<=99"]
    told = json.loads(microagg(*call, "--json").out)
    least = min(told["compared"], key=lambda row: row["loss"])
    assert (least["method"], least["k_min"]) == ("univariate", 1)
    assert told["recommended"]["method"] == "mdav"
    assert told["recommended"]["met"]
    assert "Lowest loss with loss <= 99 % and 2 records alike: mdav, k=5" in microagg(*call).out


def test_a_recommendation_is_for_blocks_too(source, tmp_path, microagg, monkeypatch):
    """Where each block has k on its own, no line has it for whole records."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text("columns = [['age'], ['income']]\nk = 5\n")
    call = ["compare", "in.parquet", "--config", "job.toml", "--methods", "mdav", "--json"]
    line = json.loads(microagg(*call, "--require", "dld<=100").out)["recommended"]
    assert line["met"]
    assert line["k"] == 5
