"""What a namespace can do, as text and as the table that a notebook shows in its place."""

from __future__ import annotations

import inspect
import re
import textwrap
from html import escape
from typing import Any

from polars_microagg.core import registry

__all__ = ["Overview"]

WIDE = 88
CODE = re.compile(r"`([^`]*)`")


def _first(thing: Any) -> str:
    """Return what a docstring says first, without where to read on."""
    line = (inspect.getdoc(thing) or "").partition("\n")[0]
    return line.partition("; see ")[0].rstrip(".")


class Overview:
    """Shows the functions of a namespace, and nothing of the table that it stands on."""

    _call = ""
    """A call as an example of all methods."""

    def _of(self) -> str:
        """Return what the namespace stands on."""
        return type(self).__name__

    def _listed(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return methods and the other functions, each with what it does."""
        there = {name: thing for name, thing in vars(type(self)).items() if name[0] != "_"}
        methods = {n: e.summary.rstrip(".") for n, e in registry.methods().items() if n in there}
        others = {name: _first(thing) for name, thing in there.items() if name not in methods}
        return methods, others

    def __repr__(self) -> str:
        methods, others = self._listed()
        lines = [f"<{self._of()}>{f', as in {self._call}' if methods else ''}"]
        for kind, names in {"methods": methods, "functions": others}.items():
            if names:
                text = f"  {kind}: {', '.join(names)}"
                lines.append(textwrap.fill(text, WIDE, subsequent_indent="    "))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        methods, others = self._listed()
        call = f" and {len(methods)} methods, as in <code>{escape(self._call)}</code>"
        rows = []
        for name, text in (others | methods).items():
            said = CODE.sub(r"<code>\1</code>", escape(text))
            rows.append(
                f"<tr><td><code>{name}</code></td><td style='text-align: left'>{said}</td></tr>"
            )
        return (
            f"<details open><summary><code>{escape(self._of())}</code>: {len(others)} functions"
            f"{call if methods else ''}</summary>"
            f'<table class="dataframe">{"".join(rows)}</table></details>'
        )
