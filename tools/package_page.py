"""The README as the page of a package shows it, where links between files lead nowhere.

The repository does not know where it is kept. Its owner writes the address at which the site of the
documentation is into `pyproject.toml`, once:

    [project.urls]
    Documentation = "https://..."

Distributions for a registry are then built with links to that site, which has every page and file that
the README names.
"""

from __future__ import annotations

import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

from docs.site.pages import START, places_on_site
from docs.site.sections import relinked, targets

__all__ = ["absolute", "address", "described", "lacking", "relative_links", "sources"]

NOT_YET = "The package is not on a package index yet."
"""What the README says before the first upload, and may not say on the page of a package."""


def address(root: Path) -> str | None:
    """Return the address of the site, if the owner has written it down."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: str | None = project.get("urls", {}).get("Documentation")
    return found


def absolute(text: str, site: str, root: Path) -> str:
    """Return the text of the README with links that lead to the site."""

    def there(link: str) -> str:
        path, mark, anchor = link.partition("#")
        if "://" in link or not path:
            return link
        if not path.startswith("files/"):
            path = path.removesuffix(".md") + ".html"
        return f"{site.rstrip('/')}/{path}{mark}{anchor}"

    return relinked(places_on_site(root).rewritten(text, "README.md", START), there)


def relative_links(text: str) -> list[str]:
    """Return the links of a page that hold only where its files are.

    >>> relative_links("[a](docs/a.md) [b](https://b.org) [c](#c)")
    ['docs/a.md']
    """
    return [link for link in targets(text) if "://" not in link and not link.startswith("#")]


def lacking(root: Path) -> str | None:
    """Return what only the owner can write before the README is shown on the page of a package."""
    if address(root) is None:
        return "pyproject.toml has no Documentation under [project.urls]: the address of the site."
    if NOT_YET in (root / "README.md").read_text(encoding="utf-8"):
        return f"README.md says {NOT_YET!r} Say there how to install it from the index."
    return None


def sources(root: Path, folder: Path) -> Path:
    """Return what is to be built: the repository, or where its site has an address, a copy for it."""
    site = address(root)
    if site is None:
        return root
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listed, cwd=root, check=True, capture_output=True, encoding="utf-8")
    for name in filter(None, found.stdout.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, folder / name)
    page = folder / "README.md"
    text = absolute(page.read_text(encoding="utf-8"), site, root)
    page.write_text(text, encoding="utf-8", newline="\n")
    return folder


def described(wheel: Path) -> str:
    """Return what the page of the package will show of a wheel."""
    with zipfile.ZipFile(wheel) as file:
        (name,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        return file.read(name).decode().partition("\n\n")[2]
