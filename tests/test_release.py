"""The script that says whether a version is ready, and that what it reads agrees."""

import ast
import re
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

import polars_microagg as mg
from docs.site.sections import targets
from tools import package_page, release
from tools.release import NotReadyError

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OLDEST = dict(
    line.split("==")
    for line in (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A copy of what the checks read, to be broken."""
    names = ("pyproject.toml", "CHANGELOG.md", "CITATION.cff", "README.md")
    for name in (*names, "polars_microagg/_version.py"):
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    return tmp_path


def test_the_version_is_written_in_one_place(files):
    assert release.version() == mg.__version__
    with (files / "CITATION.cff").open("a") as file:
        file.write("version: 9.9.9\n")
    with pytest.raises(NotReadyError, match=r"CITATION\.cff"):
        release.version()


@pytest.mark.parametrize("wrong", ["one", "1.0", "1.0.0.dev0"])
def test_a_version_has_three_numbers(files, wrong):
    place = files / "polars_microagg" / "_version.py"
    place.write_text(f'__version__ = "{wrong}"\n')
    with pytest.raises(NotReadyError, match="three numbers"):
        release.version()


def test_the_changelog_begins_with_the_version_and_its_day(files):
    place, now = files / "CHANGELOG.md", release.version()
    place.write_text(f"# Changelog\n\n## [{now}] - 2030-01-31\n\n## [0.0.1] - 2029-01-31\n")
    assert "2030" in release.changelog(unreleased=False)
    place.write_text(f"# Changelog\n\n## [{now}] - unreleased\n")
    assert release.changelog(unreleased=True)
    with pytest.raises(NotReadyError, match="unreleased"):
        release.changelog(unreleased=False)
    place.write_text("# Changelog\n\n## [0.0.1] - 2029-01-31\n")
    with pytest.raises(NotReadyError, match="does not begin"):
        release.changelog(unreleased=True)


def test_the_owner_is_asked_for_what_only_he_knows(files):
    place = files / "pyproject.toml"
    lacking = place.read_text(encoding="utf-8")
    place.write_text(
        lacking.replace("[project]", '[project]\nauthors = [{ name = "x" }]\nurls = { Home = "x" }')
    )
    with pytest.raises(NotReadyError, match="Documentation"):
        release.metadata()
    place.write_text(place.read_text(encoding="utf-8").replace("Home", "Documentation"))
    with pytest.raises(NotReadyError, match="not on a package index"):
        release.metadata()
    (files / "README.md").write_text("pip install it\n")
    assert release.metadata() == "1 urls"
    place.write_text(re.sub(r"^authors.*\n", "", place.read_text(encoding="utf-8"), flags=re.M))
    with pytest.raises(NotReadyError, match=r"no authors under"):
        release.metadata()


SITE = "https://docs.example/microagg/"


def test_links_of_the_package_page_lead_to_the_site():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = package_page.absolute(text, SITE, ROOT)
    before, after = targets(text), targets(shown)
    assert len(before) == len(after) > 40
    assert package_page.relative_links(text)
    assert not package_page.relative_links(shown)
    led = dict(zip(before, after, strict=True))
    assert led["docs/microaggregation.svg"] == f"{SITE}files/docs/microaggregation.svg"
    assert led["docs/options.md#strata"] == f"{SITE}guides/options.html#strata"
    assert led["docs/methods.md#metrics"] == f"{SITE}methods/index.html#metrics"
    assert led["LICENSE"] == f"{SITE}files/LICENSE"
    assert re.findall(r"^```.*?^```", text, re.M | re.S) == re.findall(
        r"^```.*?^```", shown, re.M | re.S
    )


def test_the_readme_is_rewritten_in_a_copy_and_only_where_the_site_has_an_address(tmp_path):
    here, copy = tmp_path / "here", tmp_path / "copy"
    shutil.copytree(ROOT / "docs", here / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, here)
    (here / "README.md").write_text("[a](docs/keys.md) [b](docs/generate.py)\n")
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    assert package_page.sources(here, copy) == here
    settings = (here / "pyproject.toml").read_text(encoding="utf-8")
    (here / "pyproject.toml").write_text(
        settings.replace("[project]", f'[project]\nurls = {{ Documentation = "{SITE}" }}')
    )
    assert package_page.sources(here, copy) == copy
    assert (copy / "README.md").read_text() == (
        f"[a]({SITE}guides/keys.html) [b]({SITE}files/docs/generate.py)\n"
    )
    assert (here / "README.md").read_text().startswith("[a](docs/keys.md)")
    assert (copy / "docs" / "keys.md").read_bytes() == (here / "docs" / "keys.md").read_bytes()


def test_what_a_wheel_says_of_itself_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as file:
        file.writestr("a.dist-info/METADATA", "Name: a\nVersion: 1\n\n# a\n\n[b](c.md)\n")
    said = package_page.described(tmp_path / "a.whl")
    assert said == "# a\n\n[b](c.md)\n"
    assert package_page.relative_links(said) == ["c.md"]


def test_what_was_built_is_one_wheel_and_one_sdist(tmp_path, monkeypatch):
    monkeypatch.setattr(release, "DIST", tmp_path)
    wheel = tmp_path / f"polars_microagg-{mg.__version__}-py3-none-any.whl"
    sdist = tmp_path / f"polars_microagg-{mg.__version__}.tar.gz"
    wheel.touch()
    with pytest.raises(NotReadyError, match="not a wheel and an sdist"):
        release.built()
    sdist.touch()
    assert release.built() == (wheel, sdist)


def test_a_command_that_fails_is_a_step_that_fails(capsys, monkeypatch):
    def failing():
        return release.run("git", "no-such-command")

    monkeypatch.setattr(release, "steps", lambda *_: [("one", failing), ("two", lambda: "fine")])
    assert release.check(unreleased=True, oldest="python") == 1
    said = capsys.readouterr().out
    assert "NO  one" in said
    assert "ok  two" in said
    assert "not ready: 1" in said


def test_the_oldest_versions_are_those_that_are_promised():
    """A constraint that was raised in one place only would test what nobody was promised."""
    least = dict(re.fullmatch(r"(\w+)>=([\d.]+)", one).groups() for one in PROJECT["dependencies"])
    assert {name: OLDEST[name].startswith(f"{floor}.") for name, floor in least.items()} == (
        dict.fromkeys(least, True)
    )


def test_nothing_asks_pyarrow_for_what_needs_pandas():
    """Older versions of pyarrow import pandas for the names of numpy's own types."""
    for path in sorted((ROOT / "polars_microagg").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not {"to_pandas", "to_pandas_dtype"} & called or "spark" in path.name, path


def test_every_python_that_is_promised_is_tried():
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert f">={named[0]}" == PROJECT["requires-python"]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert all(f'"{one}"' in workflow for one in named)
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    assert "py{" + ",".join(one.replace(".", "") for one in named) + "}" in tox
