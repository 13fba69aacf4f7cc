"""Build the site: `python -m docs.site OUT`. It needs `pip install -e '.[docs]'` and no network."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docs.site.accessible import accessible
from docs.site.links import dead_links
from docs.site.machines import for_machines
from docs.site.pages import pages

ROOT = Path(__file__).resolve().parents[2]
THEME = Path(__file__).with_name("theme")


def write(root: Path, folder: Path) -> dict[str, str]:
    """Write all that the generator reads, and return the text of the pages."""
    made, offered = pages(root)
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    for name in sorted(offered):
        (folder / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, folder / "files" / name)
    return made


def main(arguments: list[str]) -> int:
    """Build the site into a folder, and return 1 if anything is amiss."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=__doc__)
    parser.add_argument("out", metavar="OUT", type=Path, help="folder of the site; it is replaced")
    out = parser.parse_args(arguments).out.resolve()
    if out.exists() and any(out.iterdir()) and not (out / "objects.inv").exists():
        parser.error(f"{out} is not empty and holds no site: name another folder.")
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / "source"
        made = write(ROOT, source)
        shutil.rmtree(out, ignore_errors=True)
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", THEME]
        command += ["-d", Path(work) / "trees", source, out]
        # One seed of hashes and no clock: the same bytes each time.
        fixed = {"PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": "0", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=os.environ | fixed, check=False, cwd=ROOT)
        if done.returncode:
            return done.returncode
        # Under their own names as well, for links from outside.
        shutil.copytree(source / "files", out / "files")
    for path in sorted(out.rglob("*.html")):
        page = accessible(path.read_text(encoding="utf-8"))
        path.write_text(page, encoding="utf-8", newline="\n")
    for name, text in for_machines(made).items():
        (out / name).write_text(text, encoding="utf-8", newline="\n")
    dead = dead_links(out)
    print(*dead, f"{len(made)} pages and {len(dead)} dead links in {out}", sep="\n")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
