"""Microaggregation for Polars and DuckDB: k-anonymous tables whose numbers stay usable."""

from polars_microagg import functions as _functions
from polars_microagg._version import __version__
from polars_microagg.analysis.anonymity import methods
from polars_microagg.analysis.compare import compare
from polars_microagg.analysis.lower_bound import lower_bound
from polars_microagg.analysis.recommend import recommend
from polars_microagg.core.taxonomy import Taxonomy
from polars_microagg.errors import (
    GuaranteeError,
    InvalidDataError,
    InvalidParameterError,
    MicroaggError,
    MissingValuesError,
    NotAnonymousError,
    NotNumericError,
    NotPublishedError,
    OutputError,
    RequirementError,
    TargetExistsError,
    TooFewRecordsError,
    UnknownMethodError,
    UnreachableError,
    WorkerError,
)
from polars_microagg.functions import *  # noqa: F403
from polars_microagg.leaves import Leaves, fit_leaves
from polars_microagg.namespace import MicroaggExpr, MicroaggFrame
from polars_microagg.out_of_core import anonymity, assess, protect_parquet, verify
from polars_microagg.progress import progress
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.publish import publish

__all__ = [
    "GuaranteeError",
    "InvalidDataError",
    "InvalidParameterError",
    "Leaves",
    "Manifest",
    "MicroaggError",
    "MicroaggExpr",
    "MicroaggFrame",
    "MissingValuesError",
    "NotAnonymousError",
    "NotNumericError",
    "NotPublishedError",
    "OutputError",
    "RequirementError",
    "TargetExistsError",
    "Taxonomy",
    "TooFewRecordsError",
    "UnknownMethodError",
    "UnreachableError",
    "WorkerError",
    "__version__",
    "anonymity",
    "assess",
    "compare",
    "fit_leaves",
    "lower_bound",
    "methods",
    "progress",
    "protect_parquet",
    "publish",
    "recommend",
    "verify",
]
__all__ += _functions.__all__


def __dir__() -> list[str]:
    """Return the public names alone, without the modules that hold them."""
    return sorted(__all__)
