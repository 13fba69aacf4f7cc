"""Run benchmarks and keep what they print, with machine and commit, for the pages that show it.

    python benchmarks/keep.py                  # all of them, half an hour
    python benchmarks/keep.py speed risk       # these
    python benchmarks/keep.py --list           # what there is, and what is kept of which commit

Each is a script of this folder that takes minutes. What it prints goes to benchmarks/results/, and from
there to the page of benchmarks and, by docs/generate.py, into docs/loss.md. Reference files are looked for
where the environment variable MICROAGG_DATA says. Where the machine does other work as well, give it a
processor that is left alone: `taskset -c 1 python benchmarks/keep.py`.
"""

import argparse
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"

RUNS = {
    "speed": "bench.py speed lazy",
    "univariate": "bench.py univariate",
    "risk": "bench.py risk",
    "methods": "bench.py methods --quick",
    "floors": "floors.py",
    "loss-files": "loss.py --only files",
    "loss-many": "loss.py --only many million",
    "scale_mdav": "bench.py scale_mdav",
    "sdcmicro": "sdcmicro.py",
}
"""What is run by name: a script and its words."""


def page(call: str, printed: str) -> str:
    """Return what a script prints as Markdown; its first line says what it ran on.

    >>> print(page("a.py", "Commit 1.\\n\\nall\\n| a |\\n| --- |\\n"))
    `python benchmarks/a.py`
    <BLANKLINE>
    Commit 1.
    <BLANKLINE>
    ```text
    all
    ```
    <BLANKLINE>
    | a |
    | --- |
    <BLANKLINE>
    """
    about, _, rest = printed.partition("\n")
    parts = [f"`python benchmarks/{call}`", about]
    for is_table, lines in groupby(rest.splitlines(), lambda line: line.startswith("|")):
        block = "\n".join(line.rstrip() for line in lines).strip("\n")
        if block:
            parts.append(block if is_table else f"```text\n{block}\n```")
    return "\n\n".join(parts) + "\n"


def kept(name: str) -> str:
    """Return what is kept under a name, or nothing."""
    path = RESULTS / f"{name}.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def keep(name: str) -> None:
    """Run a benchmark, show what it prints, and keep it if it ends well."""
    script, *words = RUNS[name].split()
    command = [sys.executable, str(HERE / script), *words]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    printed = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            printed.append(line)
    if process.returncode:
        sys.exit(f"{name} ended with {process.returncode}: what was kept before stays.")
    RESULTS.mkdir(exist_ok=True)
    text = page(RUNS[name], "".join(printed))
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8", newline="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RUNS))
    parser.add_argument("--list", action="store_true", help="only say what is kept")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in RUNS]:
        parser.error(f"{', '.join(unknown)} is not one of {', '.join(RUNS)}.")
    if not given.list and not os.environ.get("MICROAGG_DATA"):
        parser.error("set MICROAGG_DATA to the folder of the reference files.")
    for name in given.names or RUNS:
        if given.list:
            print(f"{name:12} {(kept(name).splitlines() or ['', '', 'nothing is kept'])[2]}")
        else:
            keep(name)
    if not given.list:
        subprocess.run([sys.executable, str(HERE.parent / "docs" / "generate.py")], check=True)


if __name__ == "__main__":
    main()
