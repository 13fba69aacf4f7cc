"""What the documentation shows is what happens."""

import doctest
import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import polars_microagg as mg
from benchmarks import keep
from polars_microagg import functions
from polars_microagg.analysis.counted_classes import confidential_models
from polars_microagg.cli.main import COMMANDS
from polars_microagg.core import registry
from tests.reference import reference_path

pytestmark = pytest.mark.usefixtures("defaults_of_users")

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
OPTIONS = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "sql/README.md"]
PAGES += [f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))]

FENCED = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:```text\n(?P<shown>.*?)^```\n)?", re.M | re.S
)
RUN_PAGES = ["README.md", "sql/README.md", "docs/polars.md", "docs/options.md", "docs/checks.md"]
RUN_PAGES += ["docs/choosing.md", "docs/etl.md", "docs/new_method.md", "docs/persons.md"]
RUN_PAGES += ["docs/keys.md"]
"""Pages whose blocks of Python are run, each page as one session."""

BLOCKS = {
    page: [found.groupdict() for found in FENCED.finditer((ROOT / page).read_text("utf-8"))]
    for page in RUN_PAGES
}
FILES = [
    block["code"]
    for block in BLOCKS["docs/new_method.md"]
    if block["code"].startswith("# polars_microagg/")
]
SESSIONS = {
    page: [block for block in blocks if block["code"] not in FILES]
    for page, blocks in BLOCKS.items()
}
EACH_BLOCK = [(page, number) for page, blocks in SESSIONS.items() for number in range(len(blocks))]

RUN = """
import contextlib, io, json, sys, traceback

names, outputs = {}, []
for code in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        try:
            exec(code, names)
        except names["mg"].MicroaggError as error:
            print(traceback.format_exception_only(error)[-1])
    outputs.append(output.getvalue())
json.dump(outputs, sys.stdout)
"""


def run(*command, **options):
    """Run Python on this source tree in a fresh process in which every warning is an error."""
    command = [sys.executable, "-W", "error", *map(str, command)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, **options
    )


def printed_by(blocks, here):
    """What blocks of a page print, run in order in one process."""
    code = json.dumps([block["code"] for block in blocks])
    done = run("-c", RUN, cwd=here, input=code)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What the blocks of a page print, run in order when its first block is asked for."""

    @cache
    def of(page):
        here = tmp_path_factory.mktemp("page")
        if page == "docs/keys.md":
            (here / "adult").symlink_to(reference_path("adult/adult.csv").parent)
        if page == "docs/new_method.md":
            with_new_method(here)
        return printed_by(SESSIONS[page], here)

    return of


def with_new_method(here):
    """Put the package into a folder, with the file that the page tells to add."""
    for folder in ("polars_microagg", "sql"):
        shutil.copytree(ROOT / folder, here / folder)
    for code in FILES:
        name = code.partition("\n")[0].removeprefix("# ")
        (here / name).write_text(code, encoding="utf-8")


def folded(text):
    """Fold white space in prose; a table has to be right to the character."""
    return text.strip("\n") if "┌" in text else " ".join(text.split())


@pytest.mark.deep
@pytest.mark.parametrize(("page", "number"), EACH_BLOCK)
def test_block_prints_what_is_shown(page, number, printed):
    assert folded(printed(page)[number]) == folded(SESSIONS[page][number]["shown"] or "")


def test_every_page_that_is_run_has_blocks():
    assert all(SESSIONS.values())


def test_readme_shows_what_matters_first():
    lines = README.splitlines()
    shown = next(i for i, line in enumerate(lines) if line.startswith("│ N "))
    headings = [line for line in lines if line.startswith("## ")]
    assert shown < 40
    assert headings[0] == "## What this does not protect against"
    assert len(lines) <= 250


@pytest.mark.parametrize(
    "page", ["README.md", "docs/polars.md", "docs/options.md", "docs/checks.md"]
)
def test_the_first_call_of_a_page_is_one_that_type_checkers_see(page):
    calls = re.findall(r"\b(mg\.|\.microagg\.)\w+\(", "".join(b["code"] for b in BLOCKS[page]))
    assert calls[0] == "mg."


def test_what_the_readme_calls_is_there():
    """The table of tasks, and all else in prose: functions, options, commands and pages."""
    prose = re.sub(r"^```.*?^```", "", README, flags=re.M | re.S)
    rows = [line.split(" | ") for line in prose.splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 20
    assert all("](" in page for *_, page in rows)
    for name in re.findall(r"\bmg\.(\w+)", prose):
        assert name in mg.__all__
    assert set(re.findall(r"\bmicroagg ([a-z]+)", prose)) <= set(COMMANDS)
    options = set(re.findall(r"\b(\w+)=", "".join(call for _, call, _ in rows)))
    assert {"k", "strata", "memory"} < options
    assert options <= {*inspect.signature(mg.mdav).parameters} | {"memory"}
    assert "memory" in inspect.signature(mg.publish).parameters


def test_adding_a_method_takes_one_file():
    assert len(FILES) == 1


def test_the_page_of_options_lists_them():
    options = re.findall(r"^\| `(\w+)` \| (.*?) \|", OPTIONS.partition("## Strata")[0], re.M)
    parameters = inspect.signature(mg.mdav).parameters
    written = {name for name, _ in options}
    assert written == set(parameters) - {"frame", "columns", "k"}
    for name, values in options:
        if isinstance(parameters[name].default, str):
            assert values.startswith(f'`"{parameters[name].default}"`')


@pytest.mark.parametrize("name", registry.methods())
def test_every_method_is_in_the_table(name):
    row = f"| `{name}` | {registry.methods()[name].summary.rstrip('.')} |"
    assert row in (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")


@pytest.mark.deep
def test_the_demo_prints_what_is_shown(tmp_path):
    code = "from polars_microagg.cli.main import run; run()"
    done = run("-c", code, "demo", cwd=tmp_path)
    assert not done.returncode, done.stderr
    page = (ROOT / "docs" / "etl.md").read_text(encoding="utf-8")
    shown = page.partition("&& microagg demo\n```\n```text\n")[2].partition("```")[0]
    assert done.stdout.strip() == shown.strip()


def test_every_kept_benchmark_has_a_run_and_says_what_it_ran_on():
    assert not doctest.testmod(keep).failed
    tables = run(ROOT / "benchmarks" / "bench.py", "--list").stdout
    for call in keep.RUNS.values():
        script, *words = call.split()
        assert (ROOT / "benchmarks" / script).is_file()
        named = [word for word in words if not word.startswith("--")]
        assert script != "bench.py" or all(re.search(rf"^{n} ", tables, re.M) for n in named)
    results = sorted((ROOT / "benchmarks" / "results").iterdir())
    assert {path.stem for path in results} <= set(keep.RUNS)
    for path in results:
        call, _, about = path.read_text(encoding="utf-8").splitlines()[:3]
        # The script of that commit, which may have another name now.
        assert re.fullmatch(r"`python benchmarks/\w+\.py( [\w -]+)?`", call)
        assert re.search(r"\bcommit [0-9a-f]{10}, \d{4}-\d\d-\d\d\. .*Python 3", about, re.I), (
            path.name
        )


@pytest.mark.deep
def test_a_benchmark_measures_each_way_in_a_process_of_its_own():
    words = ["speed", "--rows", "500", "--only", "gaussian 2"]
    done = run(ROOT / "benchmarks" / "bench.py", *words)
    assert not done.returncode, done.stderr
    lines = re.findall(
        r"^\| (\w+) gaussian 2 \| 500 \| ([\d.]+) \|.*\| (.*) \|$", done.stdout, re.M
    )
    assert [(way, said) for way, _, said in lines] == [("ours", ""), ("plain", "the same bits")]
    assert float(lines[0][1]) < float(lines[1][1])


def test_what_is_kept_is_shown_between_its_comments(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import generate

    named = "benchmarks/results/a.md"
    around = f"b\n<!-- {named} -->\n{{}}<!-- end of {named} -->\nc\n"
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    (tmp_path / "page.md").write_text(around.format("old\n"))
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    assert generate.with_results("page.md") == around.format("old\n")
    (tmp_path / named).write_text("| new |\n")
    assert generate.with_results("page.md") == around.format("\n| new |\n\n")


def test_generated_files_are_fresh():
    done = run(ROOT / "docs" / "generate.py", "--check")
    assert not done.returncode, f"{done.stdout}{done.stderr}Run: python docs/generate.py"


def test_a_stale_file_is_found(tmp_path):
    for name in ("docs", "polars_microagg", "sql"):
        shutil.copytree(ROOT / name, tmp_path / name)
    stub = tmp_path / "polars_microagg" / "functions.pyi"
    stub.write_text(stub.read_text(encoding="utf-8").replace("mdav", "vadm"), encoding="utf-8")
    done = run(tmp_path / "docs" / "generate.py", "--check")
    assert done.returncode == 1
    assert done.stdout == "stale: polars_microagg/functions.pyi\n"


WRITTEN = {
    **{f"mg.{name}": getattr(mg, name) for name in functions.__all__},
    **{
        f"{room.__name__}.{name}": getattr(room, name)
        for room in (mg.MicroaggFrame, mg.MicroaggExpr)
        for name in registry.methods()
    },
    **{f"MicroaggExpr.{name}": getattr(mg.MicroaggExpr, name) for name in confidential_models()},
}


@pytest.mark.parametrize("name", WRITTEN)
def test_function_made_from_the_registry_is_documented(name):
    function = WRITTEN[name]
    doc = inspect.getdoc(function)
    for section in ("Parameters", "Returns", "Examples"):
        assert f"\n{section}\n{'-' * len(section)}\n" in doc
    parameters = set(inspect.signature(function).parameters) - {"self"}
    documented = re.findall(r"^\**(\w+) : ", doc.partition("\nReturns\n")[0], re.M)
    assert set(documented) == parameters
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags)
    examples = doctest.DocTestParser().get_doctest(doc, {}, name, None, None)
    assert examples.examples
    failures = []
    runner.run(examples, out=failures.append)
    assert not failures, "".join(failures)


def test_every_public_name_is_documented():
    for name in mg.__all__:
        assert inspect.getdoc(getattr(mg, name)), name


SMALL = {"etl_polars.py": ["--rows", "3000"]}
# Called by tests/publish and tests/test_spark_strata.py.
CALLED = {"airflow_task.py", "dagster_check.py", "etl_spark.py"}
SCRIPTS = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.name not in CALLED]


@pytest.mark.deep
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_example_runs(path, tmp_path):
    done = run(path, tmp_path, *SMALL.get(path.name, []), cwd=tmp_path)
    assert not done.returncode, done.stderr
    assert str(tmp_path) in done.stdout


@pytest.mark.deep
def test_etl_example_releases_what_it_says(tmp_path):
    example = ROOT / "examples" / "etl_polars.py"
    for _ in range(2):
        done = run(example, tmp_path, "--rows", "3000")
        assert not done.returncode, done.stderr
    before = pl.read_parquet(tmp_path / "patients.parquet")
    after = pl.read_parquet(tmp_path / "patients_masked.parquet")
    masked, kept = ["age", "income", "weight", "visits", "admitted"], ["region", "sex"]
    assert after.schema == before.drop("patient_id").schema
    assert after.select(kept).equals(before.select(kept))
    mg.verify(after, masked + kept, k=5)
    assert f"Information loss {mg.loss(before, after, masked):.2f} %" in done.stdout
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"patients.parquet", "patients_masked.parquet"}


def test_right_uses_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    uses = runpy.run_path(str(ROOT / "tests" / "typed_uses.py"))
    for name in ("functions", "pipes", "measures", "publishing", "namespaces"):
        uses[name](uses["DATA"])


def test_ci_runs_the_test_command_of_the_readme_with_every_case():
    (command,) = re.findall(r"^.*&& python -m pytest$", README, re.M)
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert f"{command} --deep" in lines


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert "://" in target or (ROOT / page).parent.joinpath(target).exists(), target
    headings = {line.lstrip("# ").lower().replace(" ", "-") for line in text.splitlines()}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


def test_changelog_knows_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## \[(.+?)\]", changelog, re.M)[1] in (mg.__version__, "Unreleased")
    assert "### Numbers that change" in changelog


def test_nobody_is_sent_to_a_registry_for_this_package():
    """It is installed from a clone; a registry may lack the name, or give it to somebody else."""
    rooms = [ROOT / room for room in ("polars_microagg", "docs", "examples", "sql")]
    files = [path for room in rooms for path in room.rglob("*") if path.suffix in (".py", ".md")]
    told = re.compile(r"pip install[^\n]*polars[_-]microagg")
    assert [
        str(path) for path in [*files, ROOT / "README.md"] if told.search(path.read_text())
    ] == []


@pytest.mark.parametrize("name", ["loss", "assess"])
def test_columns_that_are_measured_by_default_are_those_that_the_docstring_says(name):
    """Numbers and times, and what is named as categories; texts are measured only where named."""
    doc = " ".join(inspect.getdoc(getattr(mg, name)).split())
    assert "all numeric and temporal ones that both tables have by default" in doc
    before = pl.DataFrame({"age": [23, 25, 47, 51], "job": ["a", "b", "a", "b"]})
    after = before.with_columns(pl.lit(40).alias("age"), pl.lit("a").alias("job"))
    assert mg.loss(before, after) == mg.loss(before, after, "age")
    both = mg.loss(before, after, ["age", "job"])
    assert mg.loss(before, after, nominal="job") == both != mg.loss(before, after)
