"""The page of a release, for those who decide on it."""

from polars_microagg.report.page import report_html

__all__ = ["report_html"]
