"""Text of pages in Markdown: its sections, its anchors, and where its links lead."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

__all__ = ["Places", "anchors", "relinked", "sections", "slug", "targets"]

FENCE = re.compile(r"^(`{3,}|~{3,})")
LINK = re.compile(r"\]\(([^()\s]*)\)")


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is prose and not code."""
    fence = ""
    for line in text.splitlines(keepends=True):
        found = FENCE.match(line)
        yield line, not fence and not found
        if found and not fence:
            fence = found[1]
        elif found and line.strip() == fence:
            fence = ""


def slug(heading: str) -> str:
    """Return the anchor of a heading, as it is on the site and where the sources are shown.

    >>> slug("Persons, secrets and k")
    'persons-secrets-and-k'
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(text: str) -> list[str]:
    """Return the anchors of all headings of a page."""
    heads = [line for line, prose in _lines(text) if prose and line.startswith("#")]
    return [slug(line.lstrip("#")) for line in heads]


def sections(text: str) -> dict[str, str]:
    """Cut a page at its headings of the second level; what comes before them is under ''."""
    parts, name = {"": ""}, ""
    for line, prose in _lines(text):
        if prose and line.startswith("## "):
            name = line.removeprefix("## ").strip()
        parts[name] = parts.get(name, "") + line
    return parts


def relinked(text: str, there: Callable[[str], str]) -> str:
    """Return a page with other targets of its links; what looks like a link in code is none.

    >>> relinked("[a](b.md)", str.upper)
    '[a](B.MD)'
    """
    return "".join(
        LINK.sub(lambda link: f"]({there(link[1])})", line) if prose else line
        for line, prose in _lines(text)
    )


def targets(text: str) -> list[str]:
    """Return the targets of all links of a page, in order."""
    return [link for line, prose in _lines(text) if prose for link in LINK.findall(line)]


@dataclass
class Places:
    """Where a file of the repository, or a section of it, is on the site."""

    root: Path
    pages: dict[str, str] = field(default_factory=dict)
    """Page of the site by file, and by `file#anchor` where a section has gone elsewhere."""
    files: set[str] = field(default_factory=set)
    """Files that are no pages, and that pages offer."""

    def rewritten(self, text: str, source: str, page: str) -> str:
        """Return the text of a file with links that hold on its page of the site."""
        return relinked(text, lambda link: self._target(link, source, page))

    def _target(self, link: str, source: str, page: str) -> str:
        path, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            return link
        near = os.path.normpath(PurePosixPath(source).parent / path) if path else source
        there = self.pages.get(f"{near}#{anchor}") or self.pages.get(near)
        tail = f"#{anchor}" if anchor else ""
        if there:
            return tail if there == page and tail else f"{self.between(page, there)}{tail}"
        if not (self.root / near).is_file():
            raise FileNotFoundError(f"{source} links to {link}, which is not in the repository.")
        self.files.add(near)
        return self.between(page, f"files/{near}")

    @staticmethod
    def between(page: str, there: str) -> str:
        """Return the path from one page to another.

        >>> Places.between("guides/keys.md", "methods/mdav.md")
        '../methods/mdav.md'
        """
        return os.path.relpath(there, PurePosixPath(page).parent).replace(os.sep, "/")
