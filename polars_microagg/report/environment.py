"""The templates of a page, which escape every text that is put into them."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from polars_microagg.charts.style import INSTALL, printable
from polars_microagg.report.text import counted, number, percent

if TYPE_CHECKING:
    import jinja2

__all__ = ["MISSING", "environment", "installed"]

MISSING = f"Reports need jinja2, which is not installed. {INSTALL}"


def installed() -> bool:
    """Return whether pages can be written."""
    return find_spec("jinja2") is not None


@cache
def environment() -> jinja2.Environment:
    r"""Return what reads the templates, made when the first page is written.

    >>> environment().from_string("{{ name }}").render(name='<b onclick="x">\x00')
    '&lt;b onclick=&#34;x&#34;&gt;\ufffd'
    """
    try:
        import jinja2
    except ModuleNotFoundError:
        raise ModuleNotFoundError(MISSING, name="jinja2") from None
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("polars_microagg.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_without_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"counted": counted, "cut": printable, "number": number, "percent": percent}
    return made


def _without_controls(value: Any) -> Any:
    """Return a text without control characters; what is HTML already has none."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return printable(value, len(value))
