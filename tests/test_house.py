"""The laws of the house, read from the source text."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg import errors, report

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "polars_microagg"
MODULES = sorted(PACKAGE.rglob("*.py"))
PYTHON = [
    path
    for room in "polars_microagg tests docs examples benchmarks sql dbt tools".split()  # noqa: SIM905
    for path in sorted((ROOT / room).rglob("*.py"))
]
TEXT = PYTHON + [
    path
    for pattern in ("*.md", "*.toml", "docs/*.md", "sql/*", ".ci/*", "**/*.pyi")
    for path in sorted(ROOT.glob(pattern))
    if path.is_file() and path.suffix != ".py" and "build" not in path.relative_to(ROOT).parts
]


class Trees(dict):
    """The syntax tree of each file, parsed when a law first asks for it."""

    def __missing__(self, path):
        return self.setdefault(path, ast.parse(path.read_text(encoding="utf-8")))


TREES = Trees()

TOLD = {".bars", ".progress", ".processes"}
MASKED = {".core.masked", ".core.partition"}
INSIDE = {".errors", ".wording", *TOLD, ".core", ".kernels", "numpy"}
FRAMES = {*INSIDE, ".frames", "polars"}
ANALYSIS = {*FRAMES, ".analysis"}
PUBLISHING = {*ANALYSIS, ".publishing", ".durable", "._version", "pyarrow", "duckdb"}
PUBLISHING |= {".leaves", ".out_of_core"}
ROOMS = {
    "__init__": {
        *("._version", ".core.taxonomy", ".errors", ".functions", ".namespace", ".analysis"),
        *(".leaves", ".out_of_core", ".progress", ".publishing.publish", ".publishing.manifest"),
    },
    **dict.fromkeys(("_version", "bars", "durable", "wording"), frozenset()),
    "near_names": {".wording"},
    "errors": {".errors", ".wording"},
    "progress": {".errors", ".bars"},
    "processes": {".errors", *TOLD},
    "core": {*INSIDE},
    "core.partition": {"numpy"},
    "core.masked": {"numpy", ".core.partition"},
    "core.type_hints": set(),
    "core.registry": {".core.partition", ".core.type_hints"},
    "core.evaluate": {"numpy", ".core.partition", ".core.registry"},
    "core.attributes": {"numpy", ".core.partition"},
    "core.model": {".core.registry", ".core.type_hints"},
    "core.rule": {"numpy", ".core.attributes", ".core.model", ".core.partition"},
    "core.requirements": {".errors"},
    "kernels": {"numpy", *MASKED, ".kernels"},
    "methods": {"numpy", ".core.partition", ".core.registry", ".kernels", ".methods", *TOLD},
    "metrics": {"numpy", ".core.partition", ".core.registry", ".kernels"},
    "models": {
        *("numpy", ".core.attributes", ".core.model", ".core.partition", ".core.registry"),
        *(".kernels", ".models"),
    },
    "core.kind": {*MASKED, ".core.registry", ".kernels.embedding"},
    "kinds": {"numpy", "polars", ".core.kind", *MASKED, ".core.taxonomy", ".kernels", ".kinds"},
    "frames": FRAMES,
    "analysis": ANALYSIS,
    "charts": {*ANALYSIS, ".charts", "altair"},
    "functions": {*ANALYSIS, ".functions"},
    "namespace": {*ANALYSIS, ".charts", ".functions", ".near_names"},
    "duckdb": {*ANALYSIS, ".duckdb", "duckdb", "pyarrow"},
    "leaves": {*ANALYSIS, ".leaves", "pyarrow"},
    "out_of_core": {*ANALYSIS, ".leaves", ".out_of_core", ".durable", "pyarrow"},
    "leaves.spark_table": {*ANALYSIS, ".leaves", "pyspark"},
    "spark": {*ANALYSIS, ".leaves", ".publishing.column_roles", "pyspark"},
    **{"publishing": PUBLISHING, "publishing.publish": {*PUBLISHING, ".report"}},
    "report": {*PUBLISHING, ".charts", ".report", "jinja2", "vl_convert"} - {"pyarrow", "duckdb"},
    "cli": {*PUBLISHING, ".", ".charts", ".report", ".cli"} - {"pyarrow", "duckdb"},
}
"""What each room, or a file that is stricter, may import: what is of the package starts with a dot."""


def named(path):
    return str(path.relative_to(ROOT))


def each(paths):
    """One case for many files, which names every file that breaks the law."""

    def of(law):
        def one_case():
            offences = []
            for path in paths:
                try:
                    law(path)
                except AssertionError as error:
                    offences.append(f"{named(path)}: {error}")
            assert not offences, "\n".join(offences)
            assert paths

        one_case.__name__ = law.__name__
        return one_case

    return of


def test_one_case_names_every_file_that_breaks_the_law():
    @each([ROOT / "a.py", ROOT / "b.py", ROOT / "c.py"])
    def law(path):
        assert path.name == "b.py", "not b"

    with pytest.raises(AssertionError, match=r"a\.py: not b(\n.*)*c\.py: not b"):
        law()
    with pytest.raises(AssertionError):
        each([])(law)()


def imported(tree):
    """Every import of a module, wherever it is: what is of the package starts with a dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are written out, without leading dots"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            top, _, rest = name.partition(".")
            yield f".{rest}" if top == "polars_microagg" else top


def outside(module, tree):
    """What a module imports and its room may not, by the longest name that has a law."""
    law = next(ROOMS[".".join(module[:n])] for n in (2, 1) if ".".join(module[:n]) in ROOMS)
    allowed = law | sys.stdlib_module_names
    return {
        name
        for name in imported(tree)
        if not any(name == near or name.startswith(near.rstrip(".") + ".") for near in allowed)
    }


@each(MODULES)
def test_imports_point_inwards(path):
    module = path.relative_to(PACKAGE).with_suffix("").parts
    assert not outside(module, TREES[path])


def test_the_import_law_bites():
    tree = ast.parse(
        "def f():\n from polars_microagg.core import plan\n import polars.selectors as cs\n"
        "from polars_microagg.core.partition import Labels"
    )
    assert set(imported(tree)) == {".core.plan", "polars", ".core.partition.Labels"}
    assert outside(("kernels", "mdav", "rounds"), tree) == {".core.plan", "polars"}
    assert outside(("core", "partition"), tree) == {
        ".core.plan",
        "polars",
        ".core.partition.Labels",
    }
    assert not outside(("frames", "batch"), tree)
    assert "polars" in outside(("models", "k"), tree)
    assert "polars" not in outside(("kinds", "number"), tree)
    named = ast.parse("from polars_microagg.kinds import number, size")
    assert outside(("frames", "columns"), named) == {".kinds.number", ".kinds.size"}


def test_import_loads_none_of_the_heavy_libraries():
    code = (
        "import sys, polars_microagg, polars_microagg.report\n"
        "heavy = {'duckdb', 'pyarrow', 'pyspark', 'altair', 'vl_convert', 'jinja2'}\n"
        "heavy |= {'pandas', 'scipy', 'polars_microagg.duckdb', 'polars_microagg.spark'}\n"
        "print(*heavy & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == []


def test_the_wheel_carries_every_room():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = {path.parent for path in MODULES if path.name == "__init__.py"}
    names = {".".join(path.relative_to(ROOT).parts) for path in packages}
    listed = settings["tool"]["setuptools"]["packages"]
    assert sorted(names | {"polars_microagg.sql"}) == listed


def exported(tree):
    """The names listed in __all__."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return node.value
    return None


@pytest.mark.parametrize("module", [mg, mgd, errors, report], ids=lambda module: module.__name__)
def test_all_names_what_users_import(module):
    assert all(hasattr(module, name) for name in module.__all__)
    assert len(module.__all__) == len(set(module.__all__))
    assert [*module.__all__] == sorted(module.__all__) or module is mg


@each([path for path in MODULES if path.name == "__init__.py"])
def test_init_is_imports_and_lists_of_names_only(path):
    for number, node in enumerate(TREES[path].body):
        if isinstance(node, ast.Assign | ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            assert ast.unparse(target) == "__all__"
        elif getattr(node, "name", "") != "__dir__":
            doc = number == 0 and isinstance(node, ast.Expr)
            assert doc or isinstance(node, ast.Import | ast.ImportFrom)


@each(PYTHON)
def test_file_says_what_it_is(path):
    assert ast.get_docstring(TREES[path])


def pure_lines(path):
    """Lines of a module without blank ones, comments, docstrings, imports and `__all__`."""
    lines, left_out = path.read_text(encoding="utf-8").splitlines(), set()
    for node in ast.walk(TREES[path]):
        listed = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        if isinstance(node, ast.Import | ast.ImportFrom) or listed:
            left_out |= set(range(node.lineno, node.end_lineno + 1))
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node):
            text = node.body[0]
            left_out |= set(range(text.lineno, text.end_lineno + 1))
    numbered = enumerate(map(str.strip, lines), 1)
    return sum(n not in left_out and line[:1] not in ("", "#") for n, line in numbered)


SIZES = {
    "": (10, 616),
    "analysis": (12, 1249),
    "charts": (8, 557),
    "cli": (29, 2537),
    "core": (25, 2137),
    "duckdb": (22, 1945),
    "errors": (15, 1469),
    "frames": (17, 1434),
    "kernels": (76, 6452),
    "kinds": (10, 300),
    "leaves": (28, 2677),
    "methods": (33, 1165),
    "metrics": (9, 391),
    "models": (6, 61),
    "out_of_core": (26, 2314),
    "processes": (3, 276),
    "publishing": (78, 7049),
    "report": (13, 750),
}
"""Files and pure lines that each room may have. Lower them with every step that makes a room smaller."""

SLACK = 20
"""Pure lines that a room may be below its number."""


def test_no_room_grows():
    found = {}
    for path in MODULES:
        room, *rest = path.relative_to(PACKAGE).parts
        files, lines = found.get(room if rest else "", (0, 0))
        found[room if rest else ""] = files + 1, lines + pure_lines(path)
    larger = {
        room: size
        for room, size in found.items()
        if size[0] > SIZES.get(room, (0, 0))[0] or size[1] > SIZES.get(room, (0, 0))[1]
    }
    assert not larger, "make the room smaller, or say in the commit why it has to grow"
    smaller = {
        room: found.get(room, (0, 0))
        for room, (files, lines) in SIZES.items()
        if found.get(room, (0, 0))[0] < files or found.get(room, (0, 0))[1] < lines - SLACK
    }
    assert not smaller, "write these numbers into SIZES"


def test_only_code_counts():
    path = PACKAGE / "_version.py"
    text = path.read_text(encoding="utf-8").splitlines()
    assert 0 < pure_lines(path) < len(text)


@each(MODULES)
def test_no_assert_and_no_print(path):
    for node in ast.walk(TREES[path]):
        assert not isinstance(node, ast.Assert)
        assert not (isinstance(node, ast.Name) and node.id == "print")


def worded(tree):
    """Calls of an error of ours with a text of its own, and not by a name that says what is wrong."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if getattr(call.func, "attr", getattr(call.func, "id", "")) in errors.__all__:
            yield ast.unparse(call)


@each([path for path in MODULES if path.parent != PACKAGE / "errors"])
def test_the_wording_of_every_error_is_in_one_place(path):
    assert not list(worded(TREES[path]))


def test_the_law_of_wording_bites():
    tree = ast.parse("raise InvalidDataError(f'{n} is odd.')\nraise InvalidDataError.at(1, 2)")
    assert list(worded(tree)) == ["InvalidDataError(f'{n} is odd.')"]


def test_what_users_call_is_documented():
    members = [(module, name) for module in (mg, mgd, report) for name in module.__all__]
    bare = [name for module, name in members if not getattr(module, name).__doc__]
    assert not bare


@each(TEXT)
def test_no_path_of_one_machine(path):
    folders = "|".join(("work", "root", "home", "Users", "opt", "mnt"))
    found = re.findall(rf"(?<![\w.~])/(?:{folders})/\S*", path.read_text(encoding="utf-8"))
    assert not found


@each(sorted((PACKAGE / "frames").glob("*.py")))
def test_a_call_stays_one_lazy_node(path):
    for node in ast.walk(TREES[path]):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr == "map_batches":
            flags = {k.arg: ast.unparse(k.value) for k in node.keywords}
            assert flags["is_elementwise"] == "False"
            assert flags["returns_scalar"] == "False" or path.name == "with_dtype.py"


RUNNING = ("anonymity.py", "assess.py", "lower_bound.py", "compare.py", "plot.py")
"""What returns a number, a small table or a chart, and so reads the whole one."""


@each(
    sorted(
        path for room in ("frames", "analysis", "charts") for path in (PACKAGE / room).glob("*.py")
    )
)
def test_a_mask_runs_no_plan(path):
    named = {node.id for node in ast.walk(TREES[path]) if isinstance(node, ast.Name)}
    assert path.name in (*RUNNING, "safe_collect.py") or "collected" not in named


@each([path for path in MODULES if path.name not in ("safe_collect.py", "spark_table.py")])
def test_a_plan_of_the_user_runs_in_one_place(path):
    """Where its errors are stripped of the values of records that they hold."""
    called = {node.attr for node in ast.walk(TREES[path]) if isinstance(node, ast.Attribute)}
    assert "collect" not in called
    assert path.name in ("selection.py", "with_dtype.py") or "collect_schema" not in called


def test_stubs_name_what_there_is():
    stubs = PACKAGE
    tree = ast.parse((stubs / "functions.pyi").read_text(encoding="utf-8"))
    listed = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert listed == set(mg.mdav.__globals__["__all__"]) == set(ast.literal_eval(exported(tree)))
    for node in ast.parse((stubs / "namespace.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            written = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            there = {n for n in vars(getattr(mg, node.name)) if not n.startswith("_")}
            assert written == {"__init__", *there}
