"""The page of a release, for those who decide on it."""

from polars_microagg.report.page import report_html

__all__ = ["report_html"]


def __dir__() -> list[str]:
    """Return the public names alone, without the modules that hold them."""
    return sorted(__all__)
