"""The first screen of the README, and the comparison with other programs: what they state is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import polars_microagg as mg
from docs.site.pages import places_on_site
from docs.site.sections import targets
from polars_microagg.cli.main import main
from polars_microagg.core import registry
from tests.reference import MDAV_LOSSES
from tools import release

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_SCREEN = README.partition("\n## ")[0]
COMPARISON = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """Return the only block of a language on the first screen."""
    (code,) = re.findall(rf"^```{language}\n(.*?)^```$", FIRST_SCREEN, re.M | re.S)
    return code


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.fixture
def example(monkeypatch, tmp_path):
    """Run the first example in an empty folder, and return its two tables."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, pl.DataFrame] = {}
    exec(block("python"), names)
    names["patients"].write_parquet("patients.parquet")
    return names["patients"], names["masked"]


def test_first_example_is_3_anonymous_in_all_its_columns(example):
    patients, masked = example
    assert masked.columns == patients.columns
    mg.verify(masked, masked.columns, k=3)
    assert mg.anonymity(patients, patients.columns)["k_min"].item() == 1


def test_sql_and_job_of_the_first_screen_return_the_same_table(example):
    _, masked = example
    exec(release.first_examples(), {})
    with pytest.raises(AssertionError):
        exec(release.first_examples().replace(", strata := 'region'", ""), {})
    (command,) = block("sh").strip().splitlines()
    program, *arguments = command.split()
    assert program == "microagg"
    assert main(arguments) == 0
    assert pl.read_parquet("masked.parquet").equals(masked)


def test_first_screen_shows_the_figures_of_the_pages_it_links_to():
    above = re.findall(r"([\d.]+) % \|$", read("benchmarks/results/floors.md"), re.M)
    *_, limit = sorted(map(float, above))[:10]
    assert len(above) == 12
    assert f"{limit:g} % above" in FIRST_SCREEN
    exact = r"^[| ]*mdav[| ]+\w+[| ]+5[| ]+1,000,000[| ]+([\d.]+)"
    low, high = sorted(
        map(float, re.findall(exact, read("benchmarks/results/scale_mdav.md"), re.M))
    )
    seconds = f"{low:.0f} to {high:.0f}"
    assert f"{seconds} CPU seconds" in FIRST_SCREEN
    assert f"{seconds} CPU seconds" in " ".join(read("docs/choosing.md").split())
    (row,) = re.findall(r"^\| 1e8 x 4 \|.*", read("docs/scale.md"), re.M)
    wall, _, memory = (cell.strip() for cell in row.split("|")[4:7])
    assert f"{wall} s and {memory}" in FIRST_SCREEN
    tables = re.findall(r"^\| 00[23], table \d \| (.*) \|$", read("docs/papers.md"), re.M)
    cells = [re.findall(r"(\d+) ([a-z ]+)", row) for row in tables]
    same = sum(int(count) for row in cells for count, verdict in row if verdict == "the same")
    assert f"{same} of {sum(int(count) for row in cells for count, _ in row)}" in FIRST_SCREEN
    (killed,) = re.findall(r"tried, ([\d.]+ %) were killed", read("docs/mutation.md"))
    assert killed in FIRST_SCREEN
    cited = [entry.cite != "this library" for entry in registry.methods().values()]
    assert f"{len(cited)} methods, {sum(cited)} of them" in " ".join(FIRST_SCREEN.split())


def test_comparison_shows_the_losses_of_the_reference_files_and_is_short():
    losses = {(name, str(k)): f"{loss:.4f}" for name, k, loss in MDAV_LOSSES}
    lines = [line for line in COMPARISON.splitlines() if re.match(r"\| \w+, \d", line)]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(rows) == 8
    assert all(row[1] == row[7] for row in rows)
    for row in rows[:2]:
        assert row[6] == losses[row[0].partition(",")[0], row[1]]
    assert len(re.findall(r"[^\s|]*\w[^\s|]*", COMPARISON)) < 600


@pytest.mark.deep
def test_comparison_with_sdcmicro_measures_each_generated_table():
    """Without R as well; with R and sdcMicro both programs lose the same."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("MICROAGG_DATA", None)
    command = [sys.executable, str(ROOT / "benchmarks" / "sdcmicro.py"), "--rows", "203"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    line = r"^\| (\S+_203x\d+) \|.* (\w+) \| [\d.]+ \| \d* \| ([\d.]+) \| (\d+) \|$"
    rows = re.findall(line, done.stdout, re.M)
    assert {program for _, program, *_ in rows} >= {"polars_microagg"}
    assert len({name for name, *_ in rows}) == 4
    assert len({(name, loss) for name, _, loss, _ in rows}) == 4
    assert {size for *_, size in rows} == {"5"}


def test_import_time_and_time_of_exact_mdav_are_stated_once():
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in pages}
    imported = re.compile(r"`import polars_microagg`[^.]*\d(?:\.\d+)?(?: CPU)? (?:s|seconds)\b")
    assert [name for name, text in texts.items() if imported.search(text)] == ["decisions.md"]
    kept = read("benchmarks/results/scale_mdav.md")
    assert kept in texts["scale_mdav.md"]
    assert not any("20 to 40" in text for text in texts.values())


def test_pages_that_the_readme_links_to_are_pages_of_the_site():
    linked = {link.partition("#")[0] for link in targets(README) if "://" not in link}
    assert {path for path in linked if path.endswith(".md")} <= set(places_on_site(ROOT).pages)
