"""Errors of attributes that are not there, with the nearest name."""

from __future__ import annotations

from collections.abc import Iterable

from polars_microagg.wording import hint

__all__ = ["Suggesting", "no_attribute"]


def no_attribute(owner: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error of an attribute that is not there.

    >>> no_attribute("'MicroaggFrame' object", "mdva", ["md", "mdav", "_mdva"])
    AttributeError("'MicroaggFrame' object has no attribute 'mdva'. Did you mean 'mdav'?")
    """
    near = hint(name, [one for one in known if not one.startswith("_")], shown=True)
    # Without `name` Python would add a suggestion of its own to what it prints.
    return AttributeError(f"{owner} has no attribute {name!r}{'. ' * bool(near)}{near}", name="")


class Suggesting:
    """An object whose missing attributes are errors that name the nearest one."""

    def __getattr__(self, name: str) -> object:
        raise no_attribute(f"{type(self).__name__!r} object", name, dir(type(self)))
