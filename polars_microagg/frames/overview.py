"""The functions of a namespace, as text and as the table that a notebook shows in its place."""

from __future__ import annotations

import re
import textwrap
from html import escape
from typing import Any

from polars_microagg.core import registry
from polars_microagg.core.registry import summary

__all__ = ["Overview"]

WIDE = 88
CODE = re.compile(r"`([^`]*)`")


def _purpose(member: Any) -> str:
    """Return the first line of the docstring of a function or property, without where to read on."""
    return summary(getattr(member, "fget", member)).partition("; see ")[0].rstrip(".")


class Overview:
    """A namespace that lists its functions where it is printed, and nothing of its table."""

    _call = ""
    """A call as an example of all methods."""

    def _title(self) -> str:
        """Return the name of the namespace, and of what it belongs to."""
        return type(self).__name__

    def _functions(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return methods and the other functions, each with what it does."""
        there = {name: member for name, member in vars(type(self)).items() if name[0] != "_"}
        methods = {n: e.summary.rstrip(".") for n, e in registry.methods().items() if n in there}
        others = {name: _purpose(member) for name, member in there.items() if name not in methods}
        return methods, others

    def __repr__(self) -> str:
        methods, others = self._functions()
        lines = [f"<{self._title()}>{f', as in {self._call}' if methods else ''}"]
        for kind, names in {"methods": methods, "functions": others}.items():
            if names:
                text = f"  {kind}: {', '.join(names)}"
                lines.append(textwrap.fill(text, WIDE, subsequent_indent="    "))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        methods, others = self._functions()
        call = f" and {len(methods)} methods, as in <code>{escape(self._call)}</code>"
        rows = []
        for name, text in (others | methods).items():
            said = CODE.sub(r"<code>\1</code>", escape(text))
            rows.append(
                f"<tr><td><code>{name}</code></td><td style='text-align: left'>{said}</td></tr>"
            )
        return (
            f"<details open><summary><code>{escape(self._title())}</code>: {len(others)} functions"
            f"{call if methods else ''}</summary>"
            f'<table class="dataframe">{"".join(rows)}</table></details>'
        )
