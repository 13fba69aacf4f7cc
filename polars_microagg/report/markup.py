"""Pieces of HTML, with every text from outside escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from polars_microagg.charts.style import printable

__all__ = [
    "counted",
    "escaped",
    "listed",
    "number",
    "percent",
    "section",
    "table",
    "unlike",
]

LONGEST = 60
"""Characters of a name that are shown."""


def unlike(names: Iterable[str]) -> dict[str, str]:
    r"""Write names so that each is printable and no two are alike.

    Examples
    --------
    >>> list(unlike(["a\x00", "a\x01"]).values())
    ['a\ufffd', 'a\ufffd (2)']
    """
    shown: dict[str, str] = {}
    for name in names:
        written = plain = printable(name, LONGEST)
        count = 1
        while written in shown.values():
            count += 1
            written = f"{plain} ({count})"
        shown[name] = written
    return shown


def escaped(text: object, longest: int = 500) -> str:
    """Write a text as HTML.

    Examples
    --------
    >>> escaped('<b onclick="x">')
    '&lt;b onclick=&quot;x&quot;&gt;'
    """
    return html.escape(printable(text, longest))


def counted(value: int, noun: str) -> str:
    """Write how many there are of something.

    Examples
    --------
    >>> counted(1, "group"), counted(2000, "group")
    ('1 group', '2,000 groups')
    """
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def number(value: float | None, digits: int = 0) -> str:
    r"""Write a number with commas between thousands.

    Examples
    --------
    >>> number(12345), number(-0.0001, 2), number(None)
    ('12,345', '0.00', '\u2013')
    """
    if value is None or value != value:
        return "\u2013"
    return f"{round(value, digits) + 0.0:,.{digits}f}"


def percent(value: float | None) -> str:
    """Write a percentage; a small one is not written as none.

    Examples
    --------
    >>> percent(12.34), percent(0.01), percent(0.0)
    ('12.3 %', 'under 0.1 %', '0 %')
    """
    if value is None or value != value:
        return "\u2013"
    return "under 0.1 %" if 0 < value < 0.05 else "0 %" if value == 0 else f"{number(value, 1)} %"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Join names for a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], 2)
    ('a, b and c', 'a, b and 1 more')
    """
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table whose first cell of each row is its header; cells are HTML already.

    Examples
    --------
    >>> table("T", ["a", "b"], [["x", "1"]]).count('scope="')
    3
    """
    above = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    lines = [
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f"<td>{c}</td>" for c in row[1:]) + "</tr>"
        for row in rows
    ]
    return (
        f'<div class="scroll" role="region" aria-label="{caption}" tabindex="0"><table>'
        f"<caption>{caption}</caption><thead><tr>{above}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def section(name: str, title: str, *parts: str) -> str:
    """Write a section with a heading; all of it is HTML already.

    Examples
    --------
    >>> section("a", "A", "<p>b</p>")
    '<section id="a" aria-labelledby="a-title"><h2 id="a-title">A</h2><p>b</p></section>'
    """
    body = "".join(parts)
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{title}</h2>{body}</section>'
    )
