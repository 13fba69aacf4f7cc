"""Tables as spreadsheets of half of Europe write them: semicolons, decimal commas, days before months."""

import json

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

from .conftest import called

HINT = "cannot be read: it looks separated by ';', and would be a single column. Add --separator ';', or --separator , if it is one column."
COMMAS = "Column 'income' looks like numbers with other marks than a point; they would be masked as categories. Write them as 1234.5"
ROLES = ["--columns", "age,income", "--keep", "region", "--drop", "id,born,rent,dx", "--k", "4"]
OWN = ["--separator", ";"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table written with points, the same with commas, and a release of the first."""
    rng, n = np.random.default_rng(3), 300
    born = [f"{d:02d}.{m:02d}.{y}" for d, m, y in zip(
        rng.integers(1, 29, n), rng.integers(1, 13, n), rng.integers(1950, 2000, n), strict=True
    )]  # fmt: skip
    frame = pl.DataFrame(
        {
            "id": [f"P{i}" for i in range(n)],
            "region": rng.choice(["N", "S"], n),
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "rent": rng.uniform(300, 900, n).round(1),
            "born": born,
            "dx": rng.choice(["a", "b", "c"], n),
        }
    )
    frame = frame.with_columns(pl.when(pl.col("age") > 25).then("rent").alias("rent"))
    frame.write_csv(tmp_path / "points.csv", separator=";")
    number = [
        pl.col(name).cast(pl.String).str.replace(".", ",", literal=True)
        for name in ("income", "rent")
    ]
    frame.with_columns(number).write_csv(tmp_path / "commas.csv", separator=";")
    frame.write_parquet(tmp_path / "table.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def published(folder, *more):
    found = called(folder, "protect", "points.csv", "-o", "o.csv", *OWN, *ROLES, *more)
    assert found[0] == 0, found


@pytest.mark.whole
@pytest.mark.parametrize("memory", [(), ("--memory", "300MB")])
@pytest.mark.parametrize("name", ["points.csv", "commas.csv"])
@pytest.mark.parametrize(
    "command",
    [
        ("init",),
        ("protect", "-o", "p.csv", *ROLES),
        ("compare", "--columns", "age"),
        ("risk", "--columns", "age"),
        ("verify", "--columns", "age", "--k", "2"),
    ],
)
def test_every_command_gives_the_same_hint(folder, command, name, memory):
    if memory and command[0] in ("init", "compare"):
        pytest.skip("it has no such option")
    assert called(folder, command[0], name, *command[1:], *memory) == (3, f"{name!r} {HINT}\n")
    code, said = called(folder, command[0], name, *command[1:], *memory, *OWN)
    if command[0] == "protect" and name == "commas.csv":
        assert (code, COMMAS in said) == (3, True)
    else:
        assert code in (0, 4), said


@pytest.mark.parametrize("memory", [(), ("--memory", "300MB")])
@pytest.mark.parametrize("key", [False, True])
def test_a_manifest_keeps_how_the_original_was_read(folder, memory, key):
    (folder / "key.txt").write_text("0123456789abcdef", encoding="utf-8")
    keys = ["--hash-key-file", "key.txt"] if key else []
    published(folder, *keys)
    manifest = json.loads((folder / "o.csv.manifest.json").read_text(encoding="utf-8"))
    assert manifest["input"]["separator"] == ";"
    for command in (["verify", *keys], ["risk"], ["report", "-o", "r.html", "--overwrite"]):
        asked = [command[0], "o.csv", "--original", "points.csv", *command[1:], *memory]
        assert called(folder, *asked)[0] == 0
        assert called(folder, *asked, *OWN)[0] == 0
        # One that is typed is taken, and the table then has one column.
        assert called(folder, *asked, "--separator", ",")[0] in (3, 4)
        # An original of another format has no separator.
        asked[3] = "table.parquet"
        assert (called(folder, *asked)[0] == 0) != (key and command[0] == "verify")


def test_a_comma_is_not_noted(folder):
    pl.read_csv("points.csv", separator=";").write_csv("plain.csv")
    assert called(folder, "protect", "plain.csv", "-o", "o.csv", *ROLES)[0] == 0
    manifest = json.loads((folder / "o.csv.manifest.json").read_text(encoding="utf-8"))
    assert "separator" not in manifest["input"]


@pytest.mark.parametrize("memory", [(), ("--memory", "300MB")])
@pytest.mark.parametrize("command", ["verify", "risk", "report"])
def test_an_original_with_decimal_commas_is_refused_as_protect_does(
    folder, microagg, command, memory
):
    published(folder)
    output = ["-o", "r.html"] if command == "report" else []
    done = microagg(command, "o.csv", "--original", "commas.csv", *output, *memory)
    assert done.code in (3, 4)
    assert COMMAS in done.out + done.err
    assert "The manifest does not say it" not in done.out + done.err


def test_init_reads_numbers_and_dates_as_protect_does(folder, microagg):
    done = microagg("init", "commas.csv", *OWN)
    assert done.code == 0
    numbers = "looks like numbers with other marks than a point"
    assert f"# income: {numbers} (300 distinct in 300 rows), which are not read. Write" in done.out
    assert f"# rent: {numbers}" in done.out
    assert "# born: looks like dates such as DD.MM.YYYY" in done.out
    assert "telephone" not in done.out
    # What it offers for few values, and what it says of nulls.
    assert "dx: looks like a confidential attribute (3 distinct in 300 rows). Drop it, mask it, or take it into confidential" in done.out  # fmt: skip
    assert '# These columns have nulls: "rent" (' in done.out
    assert '# nulls = "pattern"' in done.out
    done = microagg("init", "points.csv", *OWN)
    assert '"income",  # Float64' in done.out


def test_a_separator_of_a_configuration_is_for_files_of_csv(folder, microagg):
    (folder / "job.toml").write_text(
        'columns = ["age"]\nseparator = ";"\nk = 4\nkeep = ["region"]\n'
        'drop = ["id", "born", "rent", "dx", "income"]\n',
        encoding="utf-8",
    )
    for name in ("table.parquet", "points.csv"):
        call = ["protect", name, "-o", "o.parquet", "--config", "job.toml", "--overwrite"]
        assert called(folder, *call)[0] == 0
    assert microagg("compare", "table.parquet", "--config", "job.toml", "--methods", "md").code == 0
    code, said = called(folder, *call[:1], "table.parquet", *call[2:], *OWN)
    assert (code, said) == (
        2,
        "--separator is for CSV, and 'table.parquet' is none. Leave it out.\n",
    )


@pytest.mark.parametrize("memory", [[], ["--memory", "250MB"]])
def test_a_release_of_one_column_is_read_again_whatever_is_in_its_cells(tmp_path, memory):
    pl.DataFrame({"a;b": ["x;1", "y;2"] * 30}).write_csv(tmp_path / "in.csv")
    words = ["--columns", "a;b", "--k", "3", "--separator", ",", *memory]
    assert called(tmp_path, "protect", "in.csv", "-o", "o.csv", *words)[0] == 0
    beside = ["--original", "in.csv", "--separator", ","]
    for words in (
        ["verify"],
        ["verify", *beside],
        ["risk"],
        ["risk", *beside],
        ["report", *beside],
    ):
        code, said = called(tmp_path, words[0], "o.csv", *words[1:], *memory)
        assert code == 0, (words, said)
    if not memory:
        assert called(tmp_path, "verify", "o.csv", "--beside", "o.csv")[0] == 0


@pytest.mark.parametrize("memory", [None, "250MB"])
def test_python_is_told_how_to_read_it(tmp_path, memory):
    (tmp_path / "in.csv").write_text("age\tpay\n" + "3\t4\n" * 9)
    words = "looks separated by tab, .* Give pl.read_csv.path, separator='\\\\t'., or separator=','"
    with pytest.raises(mg.InvalidDataError, match=words):
        mg.publish(tmp_path / "in.csv", tmp_path / "o.csv", "age", 3, drop="pay", memory=memory)
