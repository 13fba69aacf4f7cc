"""Whether a version is ready to be published; nothing is uploaded.

    python -m tools.release --check

builds the distributions into dist/ and the site beside it, and tries the wheel by itself, with the newest
and with the oldest versions of what it needs. Each step says what it found; the command fails if one of them
does. `--unreleased` leaves out what is only done at a release: the date, the tag, what the owner fills in.
It needs `pip install '.[release,docs]'`, Python 3.11 or 3.12 for the oldest versions, and a registry.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from tools import package_page

ROOT = Path(__file__).parents[1]
PACKAGE = "polars_microagg"
DIST = ROOT / "dist"
MOST = 600_000
"""Bytes that the wheel may have."""

IMPORT = 0.4
"""Seconds of CPU that an import may take with the newest versions, those of Polars and numpy among them."""

EXAMPLES = ("etl_polars.py", "etl_duckdb.py")
"""Examples that need nothing but the wheel."""


class NotReadyError(Exception):
    """What keeps the version from being published."""


def text(name: str) -> str:
    """Return the text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def run(*command: object, cwd: Path = ROOT) -> str:
    """Run a command and return what it said."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-20:])
        raise NotReadyError(f"{' '.join(map(str, command))} failed:\n{last}")
    return done.stdout


def version() -> str:
    """Return the version, which is written in one place."""
    found = re.search(
        r'^__version__ = "(\d+\.\d+\.\d+)"$', text("polars_microagg/_version.py"), re.M
    )
    if not found:
        raise NotReadyError("polars_microagg/_version.py has no version of three numbers.")
    if re.search(r"^version:", text("CITATION.cff"), re.M):
        raise NotReadyError("CITATION.cff has a version, too: leave it out.")
    return found[1]


def changelog(unreleased: bool) -> str:
    """Check that the changelog begins with this version and its day."""
    heading = re.search(r"^## \[(.+?)\] - (.+)$", text("CHANGELOG.md"), re.M)
    if not heading or heading[1] != version():
        raise NotReadyError(f"CHANGELOG.md does not begin with ## [{version()}] - and a day.")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[2]) and not unreleased:
        raise NotReadyError(
            f"CHANGELOG.md has {heading[2]!r} where the day of the release belongs."
        )
    return heading[0]


def metadata() -> str:
    """Check what only the owner can fill in."""
    project = tomllib.loads(text("pyproject.toml"))["project"]
    lacking = [name for name in ("authors", "urls") if not project.get(name)]
    if lacking:
        raise NotReadyError(f"pyproject.toml has no {' and no '.join(lacking)} under [project].")
    if said := package_page.lacking(ROOT):
        raise NotReadyError(said)
    return f"{len(project['urls'])} urls"


def tag() -> str:
    """Check that all is committed, and that the version was not published before."""
    if changed := run("git", "status", "--porcelain").strip():
        raise NotReadyError(f"Not committed:\n{changed}")
    name = f"v{version()}"
    if run("git", "tag", "--list", name).strip():
        raise NotReadyError(f"The tag {name} is there already: raise the version.")
    return f"git tag {name} comes last"


def built() -> tuple[Path, Path]:
    """Return the wheel and the sdist."""
    found = sorted(DIST.glob(f"polars_microagg-{version()}*"))
    if [path.suffix for path in found] != [".whl", ".gz"]:
        raise NotReadyError(f"dist/ has {[path.name for path in found]}, not a wheel and an sdist.")
    return found[0], found[1]


def build() -> str:
    """Build both distributions from what is in the repository, with links for the package's page."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as made:
        sources = package_page.sources(ROOT, Path(made))
        run(sys.executable, "-m", "build", "--outdir", DIST, sources)
    wheel, sdist = built()
    links = package_page.relative_links(package_page.described(wheel))
    if links and package_page.address(ROOT):
        raise NotReadyError(f"{wheel.name} describes itself with links that lead nowhere: {links}")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    return f"{wheel.name}, {sdist.name} {sdist.stat().st_size:,} bytes"


def size() -> str:
    """Check that the wheel is small."""
    found = built()[0].stat().st_size
    if found > MOST:
        raise NotReadyError(f"the wheel has {found:,} bytes; {MOST:,} are allowed.")
    return f"{found:,} bytes"


def site() -> str:
    """Check that what programs write of the documentation is current, and build the site."""
    run(sys.executable, "docs/generate.py", "--check")
    with tempfile.TemporaryDirectory() as made:
        said = run(sys.executable, "-m", "docs.site", made)
    return said.splitlines()[-1].partition(" in ")[0]


def imported(python: Path, most: float | None) -> str:
    """Return the CPU seconds of an import, the best of nine, beside those of Polars and numpy."""
    best = [min(_cpu(python, code) for _ in range(9)) for code in ("polars, numpy", PACKAGE)]
    said = "import {1:.2f} s of CPU, {0:.2f} of them Polars and numpy".format(*best)
    if most is not None and best[1] > most:
        raise NotReadyError(f"{said}; {most} are allowed.")
    return said


def _cpu(python: Path, names: str) -> float:
    """Return the CPU seconds of a process that imports modules, and does nothing else."""
    code = f"import {names}, time; print(time.process_time())"
    return float(run(python, "-I", "-c", code))


def tried(python: str, *constraints: object, most: float | None = None) -> str:
    """Install the wheel by itself, and run the first examples of the README and whole scripts."""
    wheel, _ = built()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        run(python, "-m", "venv", folder / "env")
        inside = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        run(inside, "-m", "pip", "install", "--only-binary", ":all:", wheel, *constraints)
        # DuckDB 1.4.0 may abort at the end of a program that leaves a connection open (docs/versions.md).
        (folder / "readme.py").write_text(first_examples(), encoding="utf-8")
        run(inside, "-I", "readme.py", cwd=folder)
        for name in EXAMPLES:
            shutil.copy(ROOT / "examples" / name, folder)
            run(inside, "-I", name, "register", cwd=folder)
        run(inside, "-I", "-m", "polars_microagg.cli.main", "--version", cwd=folder)
        code = (
            "import sys; from importlib.metadata import version;"
            "names = ('polars', 'duckdb', 'numpy', 'pyarrow');"
            "print('Python', *sys.version_info[:3], *(f'{n} {version(n)}' for n in names))"
        )
        return f"{run(inside, '-I', '-c', code).strip()}; {imported(inside, most)}"


def first_examples() -> str:
    """Return a script that runs the first example of the README, and compares it with the one in SQL."""
    blocks = dict(re.findall(r"^```(python|sql)\n(.*?)^```", text("README.md"), re.M | re.S))
    return f"""{blocks["python"]}
import duckdb
import polars_microagg.duckdb as mgd

con = mgd.register(duckdb.connect())
con.execute("CREATE TABLE patients AS FROM patients")
assert con.sql({blocks["sql"]!r}).pl().equals(masked)
con.close()
"""


def steps(unreleased: bool, oldest: str) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the steps by name, in their order."""
    yield "version", version
    yield "changelog", lambda: changelog(unreleased)
    if not unreleased:
        yield "metadata", metadata
        yield "tag", tag
    yield "site", site
    yield "build", build
    yield "size", size
    yield "wheel, newest", lambda: tried(sys.executable, most=IMPORT)
    yield "wheel, oldest", lambda: tried(oldest, "-c", ROOT / ".ci" / "oldest.txt")


def check(unreleased: bool, oldest: str) -> int:
    """Run all steps, say what each found, and return how many failed."""
    failed, begun = 0, perf_counter()
    for name, step in steps(unreleased, oldest):
        since = perf_counter()
        try:
            said, word = step(), "ok"
        except NotReadyError as error:
            said, word = str(error), "NO"
            failed += 1
        print(f"{word}  {name} ({perf_counter() - since:.0f} s): {said}", flush=True)
    word = "ready" if not failed else f"not ready: {failed} of the steps failed"
    print(f"{word} ({perf_counter() - begun:.0f} s)")
    return failed


def main() -> None:
    """Read the command line."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--check", action="store_true", required=True, help="run all steps")
    parser.add_argument("--unreleased", action="store_true", help="leave out date, tag and owner")
    parser.add_argument("--oldest", default=sys.executable, help="Python for the oldest versions")
    options = parser.parse_args()
    sys.exit(bool(check(options.unreleased, options.oldest)))


if __name__ == "__main__":
    main()
