"""A wheel, an sdist and an editable install each carry all that the package needs."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        importlib.util.find_spec("build") is None, reason="needs build: pip install '.[test]'"
    ),
]

USE = """
import sys
from importlib import resources
from pathlib import Path

import polars as pl
import polars_microagg as mg
from polars_microagg.duckdb.macros import sql_text

assert Path(mg.__file__).is_relative_to(sys.argv[1]), mg.__file__
package = resources.files("polars_microagg")
for name in ("py.typed", "functions.pyi", "namespace.pyi", "report/templates/style.css"):
    assert package.joinpath(name).is_file(), name
templates = list(package.joinpath("report/templates").rglob("*.html"))
assert len(templates) == int(sys.argv[2]), templates
assert "k_min(x)" in sql_text()["measures"]
assert resources.files("polars_microagg.sql").joinpath("measures.sql").is_file()
people = pl.DataFrame({"age": [23, 25, 47, 51]})
print(people.lazy().microagg.mdav("age", k=2).collect()["age"].to_list())
"""


def run(*command, **options):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        **options,
    )
    assert not done.returncode, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def here(name, least):
    """Tell whether a distribution is in this environment, in this major version or a later one."""
    try:
        return int(metadata.version(name).partition(".")[0]) >= least
    except metadata.PackageNotFoundError:
        return False


# Without the build back end in this environment, pip and build fetch it into one of their own.
BACK_END = ["--no-build-isolation"] if here("setuptools", 77) else []


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of what is in the repository, so that building leaves nothing in it."""
    copy = tmp_path_factory.mktemp("source")
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("polars_microagg", "sql"):
        shutil.copytree(ROOT / name, copy / name, ignore=leave)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    return copy


@pytest.fixture(scope="module")
def built(source):
    """The sdist, and the wheel that is built from it."""
    isolation = ["--no-isolation"] if BACK_END else []
    run(sys.executable, "-m", "build", *isolation, source, cwd=source.parent)
    return source / "dist"


@pytest.fixture
def python(tmp_path):
    """A fresh environment that borrows everything but the package from this one."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "fresh")
    (site,) = (tmp_path / "fresh").rglob("site-packages")
    for item in Path(sysconfig.get_path("purelib")).iterdir():
        if "polars_microagg" not in item.name:
            (site / item.name).symlink_to(item, target_is_directory=item.is_dir())
    scripts = "Scripts" if os.name == "nt" else "bin"
    return tmp_path / "fresh" / scripts / "python"


def masks(python, home, *what):
    """Install into the environment and mask there, far from this repository."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    run(*pip, "install", "--quiet", "--no-deps", *what)
    templates = len(list((ROOT / "polars_microagg" / "report").rglob("*.html")))
    return run(python, "-I", "-c", USE, home, templates, cwd=python.parent) == "[24, 24, 49, 49]\n"


def test_wheel(built, python):
    (wheel,) = built.glob("*.whl")
    assert masks(python, python.parents[1], wheel)


def test_sdist(built, python):
    (sdist,) = built.glob("*.tar.gz")
    assert masks(python, python.parents[1], *BACK_END, sdist)


def test_editable(source, python):
    assert masks(python, source, *BACK_END, "--editable", source)
