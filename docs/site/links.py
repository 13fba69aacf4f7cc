"""Links of a site that lead nowhere inside it."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["dead_links"]


class _Page(HTMLParser):
    """What a page points to, and what in it can be pointed to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.names.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)


def dead_links(site: Path) -> list[str]:
    """Return every link to a file or anchor that is not there, and every file asked of a network."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    dead = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            near = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            known = pages[near].names if near in pages else None
            if not near.is_file() or (anchor and known is not None and anchor not in known):
                dead.append(f"{path.relative_to(site)}: {target}")
    return dead
