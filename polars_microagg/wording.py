"""How a message writes names, parameters and suggestions."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Number

__all__ = ["hint", "listed", "written"]


def listed(names: Iterable[object]) -> str:
    """Join names for a sentence, at most ten of them."""
    shown = [repr(name) for name in names]
    more = f" and {len(shown) - 10} more" if len(shown) > 10 else ""
    return ", ".join(shown[:10]) + more


def written(got: object) -> str:
    """Write a parameter as it was given; of what may hold data, only its type."""
    if isinstance(got, list | tuple):
        return f"[{', '.join(map(written, got[:10]))}{', ...' if len(got) > 10 else ''}]"
    return repr(got) if got is None or isinstance(got, str | Number) else f"<{type(got).__name__}>"


def hint(name: object, known: Iterable[str], *, told: bool = False) -> str:
    """Suggest the closest known name, or list what there is, if it was not told."""
    known = list(known)
    words = {other.lower(): other for other in known if isinstance(other, str)}
    if close := get_close_matches(str(name).lower(), words, n=1):
        return f"Did you mean {words[close[0]]!r}?"
    choose = f"Choose from {listed(known)}." if known else "There is none to choose from."
    return "" if told else choose
