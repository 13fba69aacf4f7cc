"""Words and numbers of a page, as plain text."""

from __future__ import annotations

from collections.abc import Iterable

from polars_microagg.charts.style import printable

__all__ = ["counted", "number", "percent", "unlike"]

LONGEST = 60
"""Characters of a name that are shown."""


def unlike(names: Iterable[str]) -> dict[str, str]:
    r"""Write names so that each is printable and no two are alike.

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


def counted(value: int, noun: str) -> str:
    """Write how many there are of something.

    >>> counted(1, "group"), counted(2000, "group")
    ('1 group', '2,000 groups')
    """
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def number(value: float | None, digits: int = 0) -> str:
    r"""Write a number with commas between thousands.

    >>> number(12345), number(-0.0001, 2), number(None)
    ('12,345', '0.00', '\u2013')
    """
    if value is None or value != value:
        return "\u2013"
    return f"{round(value, digits) + 0.0:,.{digits}f}"


def percent(value: float | None) -> str:
    """Write a percentage; a small one is not written as none.

    >>> percent(12.34), percent(0.01), percent(0.0)
    ('12.3 %', 'under 0.1 %', '0 %')
    """
    if value is None or value != value:
        return "\u2013"
    return "under 0.1 %" if 0 < value < 0.05 else "0 %" if value == 0 else f"{number(value, 1)} %"
