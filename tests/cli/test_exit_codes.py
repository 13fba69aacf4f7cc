"""Every exit code, as each command reaches it."""

import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from polars_microagg.cli.main import CODES

from .conftest import ROLES, called

DOCUMENTED = {0, 1, 2, 3, 4, 5, 130, 141}

CASES = {
    "risk: no such option": ("risk o.parquet --colums age", 2),
    "risk: no such column": ("risk o.parquet --columns agee", 3),
    "risk: no such file": ("risk absent.parquet --columns age", 3),
    "compare: no such column": ("compare in.parquet --columns agee", 3),
    "compare: no such file": ("compare absent.parquet --columns age", 3),
    "compare: no such method": ("compare in.parquet --columns age --methods mdva", 2),
    "verify: sound": ("verify o.parquet", 0),
    "verify: no such column": ("verify o.parquet --columns agee --k 5", 3),
    "verify: no such file": ("verify absent.parquet", 3),
    "verify: a class is too small": ("verify in.parquet --columns age,income --k 5", 4),
    "verify: another release": ("verify x.parquet --manifest o.parquet.manifest.json", 4),
    "report: there already": ("report o.parquet --original in.parquet -o there.html", 2),
    "report: no folder": ("report o.parquet --original in.parquet -o absent/r.html --seconds 0", 5),
    "report: another original": ("report o.parquet --original x.parquet", 3),
    "init: there already": ("init in.parquet -o there.html", 2),
    "init: a folder": ("init in.parquet -o there --overwrite", 5),
    "init: no folder": ("init in.parquet -o absent/job.toml", 5),
    "init: no such file": ("init absent.parquet", 3),
    "init: k of 1": ("init in.parquet -k 1", 2),
    "demo: there already": ("demo demo", 2),
    "demo: no folder": ("demo in.parquet/demo", 5),
}


@pytest.fixture(scope="module")
def released(people, tmp_path_factory):
    """A folder with a table and its release."""
    folder = tmp_path_factory.mktemp("released")
    people.write_parquet(folder / "in.parquet")
    code, said = called(folder, "protect", "in.parquet", "-o", "o.parquet", *ROLES)
    assert code == 0, said
    return folder


@pytest.mark.parametrize("case", CASES)
def test_commands_end_with_the_code_of_what_went_wrong(
    case, released, people, tmp_path, microagg, monkeypatch
):
    shutil.copytree(released, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    people.with_columns(age=pl.col("age") + 1).write_parquet("x.parquet")
    Path("there.html").touch()
    Path("there").mkdir()
    Path("demo").mkdir()
    Path("demo/patients.csv").touch()
    words, code = CASES[case]
    done = microagg(*words.split())
    assert done.code == code, done.err
    assert "bug" not in done.err


@pytest.mark.parametrize("change", [lambda t: t.drop("age"), lambda t: t.with_columns(new=1)])
@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_source_whose_columns_came_or_went_is_a_wrong_input(
    change, dry, people, tmp_path, microagg
):
    change(people).write_parquet(tmp_path / "in.parquet")
    job = tmp_path / "job.toml"
    job.write_text("columns = ['age', 'income']\nstrata = 'region'\ndrop = 'name'\nk = 5\n")
    target = tmp_path / "o.parquet"
    done = microagg("protect", tmp_path / "in.parquet", "-o", target, "--config", job, *dry)
    assert done.code == 3
    assert re.search("'age', which is not a column|'new' has no role", done.err)
    assert not target.exists()


def test_the_documents_list_the_codes_of_the_help():
    text = (Path(__file__).parents[2] / "docs/command_line.md").read_text()
    part = text.partition("## Exit codes")[2].partition("## ")[0]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", part, re.MULTILINE)} == DOCUMENTED
    assert {int(code) for code in re.findall(r"\b\d+\b", CODES)} == DOCUMENTED


def test_verify_tells_an_absent_release_from_an_absent_manifest(released, monkeypatch, microagg):
    monkeypatch.chdir(released)
    absent = microagg("verify", "absent.parquet")
    assert "'absent.parquet' cannot be read: there is no such file." in absent.err
    alone = microagg("verify", "in.parquet")
    assert alone.code == 3
    assert "microagg verify OUT --columns age,income --k 5" in alone.err
    assert microagg("verify", "in.parquet", "--columns", "age,income", "--k", "5").code == 4
