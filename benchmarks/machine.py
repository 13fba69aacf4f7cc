"""One sentence about what a benchmark ran on: commit, day, machine and versions."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import polars_microagg

ROOMS = ("polars_microagg", "sql", "benchmarks")
"""What may change a figure: a commit stands for these."""

NOT_MEASURED = ":(exclude)benchmarks/results"


def machine() -> str:
    """Return the sentence; the commit is that of the package that is imported."""
    versions = [f"Python {platform.python_version()}"]
    for name in ("polars", "numpy", "duckdb", "pyarrow"):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    where = f"{processor()}, {os.cpu_count()} cores, {platform.system()}"
    return f"{commit()}, {datetime.now(UTC):%Y-%m-%d}. {where}; {', '.join(versions)}."


def processor() -> str:
    """Return the name of the processor, as far as the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]} ({platform.machine()})" if names else platform.machine()


def commit() -> str:
    """Return the commit of the package, or its version where it is not in a repository."""
    root = Path(polars_microagg.__file__).parents[1]

    def git(*words: str) -> str:
        command = ["git", "-C", str(root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        found = git("rev-parse", "--short=10", "HEAD")
        changed = git("status", "--porcelain", "--", *ROOMS, NOT_MEASURED)
    except (OSError, subprocess.CalledProcessError):
        return f"Version {polars_microagg.__version__}"
    return f"Commit {found}{' and changes that are not committed' if changed else ''}"
