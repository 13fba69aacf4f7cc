"""Wrong calls: each is answered by a sentence that says what was received and the way out."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

from polars_microagg.cli.main import COMMANDS, parsers
from polars_microagg.cli.options import own_options
from polars_microagg.cli.settings import KEYS
from polars_microagg.core.options import COMMON
from polars_microagg.core.registry import methods

from .conftest import ROLES

WRONG = {
    "no input": ([], "protect needs IN, and none was given"),
    "no output": (["IN", *ROLES], "protect needs -o OUT, and none was given"),
    "no columns": (["IN", "-o", "OUT", "--k", "5", "--drop", "name,age,income", "--strata", "region"], "No column was given to mask. Name them with --columns"),
    "no k": (["IN", "-o", "OUT", *ROLES[:-2]], "protect needs k, the smallest group size, and none was given. Add --k 5.$"),
    "two roles": (["IN", "-o", "OUT", *ROLES, "--keep", "age"], "'age' has more than one role"),
    "k of 1": (["IN", "-o", "OUT", *ROLES[:-1], "1"], "^--k 1 is not a group size; k must be .* for example --k 5.$"),
    "k in words": (["IN", "-o", "OUT", *ROLES[:-1], "five"], "^--k five is not a group size"),
    "method misspelt": (["IN", "-o", "OUT", *ROLES, "--method", "mdva"], "There is no method 'mdva'. Did you mean 'mdav'"),
    "option misspelt": (["IN", "-o", "OUT", *ROLES, "--colums", "x"], "has no option '--colums'. Did you mean '--columns'"),
    "option of another library": (["IN", "-o", "OUT", *ROLES, "--group-by", "region"], "has no option '--group-by'. Did you mean '--strata'"),
    "underscore": (["IN", "-o", "OUT", *ROLES, "--small_strata", "null"], "Did you mean '--small-strata'"),
    "option of another method": (["IN", "-o", "OUT", *ROLES, "--gamma", "0.3"], "mdav has no option --gamma; vmdav has it. Leave it out, or take another --method."),
    "value out of range": (["IN", "-o", "OUT", *ROLES, "--method", "vmdav", "--gamma", "-1"], "it must be a number at least 0"),
    "choice misspelt": (["IN", "-o", "OUT", *ROLES, "--nulls", "imputed"], "it must be one of 'raise', 'impute', 'pattern'. Did you mean 'impute'"),
    "option without value": (["IN", "-o", "OUT", *ROLES, "--method"], "--method needs a value, and none was given"),
    "unknown ending": (["IN", "-o", "out.xlsx", *ROLES], "'out.xlsx' has the ending '.xlsx', which is of no known format; it must be one of .parquet"),
    "same file": (["IN", "-o", "IN", *ROLES, "--overwrite"], "is both IN and OUT, and one of them would be lost"),
    "stray words": (["IN", "-o", "OUT", *ROLES, "income", "age"], "was given 'income' without an option before it"),
    "measure misspelt": (["IN", "-o", "OUT", *ROLES, "--require", "dlt<=10"], "The measure 'dlt' of --require is not known.*Did you mean 'dld'"),
    "requirement without sign": (["IN", "-o", "OUT", *ROLES, "--require", "dld"], 'a measure, a sign and a number, as in "k=5"'),
    "short key": (["IN", "-o", "OUT", *ROLES, "--hash-key-file", "KEY"], "a key of at least 16 bytes"),
    "no config": (["IN", "-o", "OUT", "--config", "none.toml"], "there is no such file. Write one with microagg init"),
    "output like an option": (["IN", "-o", "-o.csv", *ROLES], "^--output was given '-o.csv', which looks like an option. If it is a file, write ./-o.csv; any other value goes behind =, as in --output=-o.csv. See"),
    "output like an option, in full": (["IN", "--output", "--o.csv", *ROLES], "^--output was given '--o.csv', which looks like an option"),
    "input like an option": (["-in.csv", "-o", "OUT", *ROLES], "has no option '-in.csv'. If it is a file, write ./-in.csv. See"),
    "value like an option": (["IN", "-o", "OUT", *ROLES, "--manifest", "-m.json"], "^--manifest was given '-m.json', which looks like an option"),
    "table without a name": (["IN", "-o", "p.duckdb::", *ROLES], "^'p.duckdb::' names no table of the file. Write it behind, as in p.duckdb::table.$"),
    "table without a name or colons": (["IN", "-o", "p.duckdb", *ROLES], "^'p.duckdb' names no table of the file. Write it behind, as in p.duckdb::table.$"),
    "input table without a name": (["p.DB::", "-o", "OUT", *ROLES], "^'p.DB::' names no table of the file. Write it behind, as in p.DB::table.$"),
    "table of no file": (["IN", "-o", "::t", *ROLES], "which is of no known format"),
    "both on stdout": (["IN", "-o", "-", *ROLES, "--json"], "both write to standard output"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_gets_a_useful_sentence(case, source, tmp_path, microagg):
    arguments, text = WRONG[case]
    (tmp_path / "key").write_text("short")
    files = {"IN": source, "OUT": tmp_path / "out.parquet", "KEY": tmp_path / "key"}
    before = sorted(tmp_path.iterdir())
    done = microagg("protect", *(files.get(word, word) for word in arguments))
    assert done.code == 2
    assert re.search(text, done.err), done.err
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    if "both" not in case:
        assert not done.out
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["protct"], "microagg has no command 'protct'. Did you mean 'protect'?"),
        (["protect", "--foo"], "has no option '--foo'. See microagg protect --help."),
        (["--k"], "microagg needs a command first. There are protect, "),
        (["risk"], "microagg risk needs TABLE, and none was given"),
        (
            ["risk", "x.parquet", "y.csv"],
            "microagg risk takes one table, and 'y.csv' was given as well. Name",
        ),
        (["risk", "x.parquet", "y.db::t"], "Name the one before masking with --original. See"),
        (["verify", "x.parquet", "y.csv.gz"], "Name the one before masking with --original. See"),
        (["risk", "x.parquet", "--columns", "age", "income"], "Names of columns go with commas"),
        (["verify", "x.parquet", "--columns", "a"], "needs --columns and --k together"),
        (["report", "x.parquet"], "report needs --original"),
        (["completion", "tcsh"], "'tcsh'"),
        (["methods", "mdva"], "Did you mean 'mdav'?"),
    ],
)
def test_other_commands_answer_too(arguments, text, microagg):
    done = microagg(*arguments)
    assert done.code == 2
    assert text in done.err
    assert done.err.count("\n") == 1


def test_without_a_command_there_is_help(microagg):
    done = microagg()
    assert done.code == 2
    assert "microagg demo" in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_parses(name, microagg):
    done = microagg(name, "--help")
    assert done.code == 0
    examples = done.out.partition("examples:\n")[2].replace("\\\n", " ")
    lines = [line.strip() for line in examples.splitlines() if f"microagg {name}" in line]
    assert lines
    for line in lines:
        words = re.sub(r"(\||>).*", "", line.partition(f"microagg {name}")[2]).rstrip(')"')
        shell = subprocess.run(
            ["bash", "-c", f"printf '%s\\n' {words}"], capture_output=True, text=True, check=True
        )
        parsers()[name].parse_args([word for word in shell.stdout.split("\n") if word])


def test_every_option_of_every_method_is_an_option_here():
    offered = set(parsers()["protect"]._option_string_actions)
    for entry in methods().values():
        for name in entry.options:
            assert f"--{name.replace('_', '-')}" in offered
    others = {
        "config",
        "manifest",
        "report",
        "hash_key_file",
        "dry_run",
        "json",
        "input",
        "overwrite",
    }
    assert not set(own_options()) & (others | {"columns", "k", "method", "strata", "keep", "drop"})
    assert "--small-strata" in offered


# --- The configuration -------------------------------------------------------------------------


def test_init_writes_what_protect_takes(source, people, tmp_path, microagg):
    job = tmp_path / "job.toml"
    assert microagg("init", source, "-o", job).code == 0
    told = tomllib.loads(job.read_text())
    assert told["columns"] == ["age", "income"]
    assert told["drop"] == ["name"]
    assert told["strata"] == ["region"]
    assert "Secret" not in job.read_text()
    assert microagg("init", source, "-o", job).code == 2
    by_config = microagg("protect", source, "-o", tmp_path / "a.parquet", "--config", job)
    assert by_config.code == 0
    assert microagg("protect", source, "-o", tmp_path / "b.parquet", *ROLES).code == 0
    assert pl.read_parquet(tmp_path / "a.parquet").equals(pl.read_parquet(tmp_path / "b.parquet"))


def test_an_option_wins_over_its_key(source, tmp_path, microagg):
    job = tmp_path / "job.toml"
    job.write_text(
        f"input = '{source}'\noutput = '{tmp_path / 'out.parquet'}'\ncolumns = [['age'], ['income']]\n"
        "strata = 'region'\ndrop = 'name'\nk = 9\nmethod = 'vmdav'\ngamma = 0.5\n"
    )
    done = microagg("protect", "--config", job, "--k", "4", "--gamma", "0.1", "--json")
    assert done.code == 0
    import json

    told = json.loads(done.out)
    assert told["config"]["k"] == 4
    assert told["config"]["gamma"] == 0.1
    assert told["config"]["columns"] == [["age"], ["income"]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "kolumns = ['age']",
            "The key 'kolumns' of the configuration is not known. Did you mean 'columns'",
        ),
        ("k = '5'", "k='5' was given; it must be a whole number"),
        ("k = true", "k=True was given"),
        ("columns = 3", "--columns 3 was given; it must be text or a list"),
        ("k = ", "it is not TOML"),
        ("columns = [1, 2]\nk = 5", "a column name or a list of names"),
    ],
)
def test_a_wrong_configuration_is_refused(text, said, source, tmp_path, microagg):
    (tmp_path / "job.toml").write_text(text)
    done = microagg(
        "protect", source, "-o", tmp_path / "out.parquet", "--config", tmp_path / "job.toml"
    )
    assert done.code == 2
    assert re.search(said, done.err), done.err
    assert done.err.count("\n") == 1


def test_python_m_runs_it():
    done = subprocess.run(
        [sys.executable, "-m", "polars_microagg.cli.main", "methods", "mdav"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith("mdav: ")
    assert not done.stderr


def test_the_exit_code_is_that_of_the_work_and_not_of_what_is_taken_down_after_it():
    code = "import atexit, os; atexit.register(os.abort)\n"
    code += "from polars_microagg.cli.main import run; run()"
    for arguments, expected in ((["methods", "mdav"], 0), (["methods", "mdva"], 2)):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == expected
        assert done.stdout.startswith("mdav: ") == (expected == 0)
        assert ("Did you mean 'mdav'?" in done.stderr) == (expected == 2)


def test_the_keys_of_a_configuration_are_those_of_the_docs():
    page = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
    table = page.partition("| keys of a configuration | |\n")[2].partition("\n\n")[0]
    listed, _, others = table.partition("| no keys |")
    keys = re.findall(r"`(\w+)`", listed)
    assert sorted(keys) == sorted({*KEYS, *COMMON, *own_options()})
    options = {action.dest for action in parsers()["protect"]._actions} - {"help"}
    assert sorted(re.findall(r"`(\w+)`", others)) == sorted(options - set(keys))
