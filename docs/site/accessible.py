"""HTML of a page as keyboards, screen readers and phones need it."""

import re

__all__ = ["accessible"]

CELL = re.compile(r"<td>(?=(.*?)</td>)", re.S)
TAG = re.compile(r"<[^>]*>")
LONG = 16
"""Characters from which the text of a cell may be broken into lines."""

ADDED = {
    # What scrolls sideways is reached by keys.
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    'class="caption" role="heading"': 'class="caption" role="heading" aria-level="2"',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="This page">',
}


def accessible(page: str) -> str:
    """Return a page whose code and tables scroll by keys, and whose parts at the side have names.

    Cells of words are marked, so that a narrow page breaks these and leaves numbers in one line.

    >>> accessible("<pre><td>1.5 (0.01)</td><td>a number of <b>words</b></td>")
    '<pre tabindex="0"><td>1.5 (0.01)</td><td class="words">a number of <b>words</b></td>'
    """
    for old, new in ADDED.items():
        page = page.replace(old, new)
    return CELL.sub(lambda cell: '<td class="words">' if _is_long(cell[1]) else cell[0], page)


def _is_long(cell: str) -> bool:
    return len(TAG.sub("", cell).strip()) >= LONG
