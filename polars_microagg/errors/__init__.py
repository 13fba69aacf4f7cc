"""Every error the library raises, and the wording of each message.

::

    MicroaggError(ValueError)
      InvalidParameterError     you called it wrongly; raised when the call is typed
        UnknownMethodError
      InvalidDataError          the data cannot do it
        TooFewRecordsError
        UnreachableError        no grouping keeps a bound on confidential columns
        MissingValuesError
        NotNumericError
        NotAnonymousError       verify: a class is smaller than k
      NotPublishedError         publish: no file was put in place
        RequirementError        a requirement is not met
        OutputError             the file cannot be written
          TargetExistsError     it is there and may not be replaced
      WorkerError               a process that did part of the work was ended
      GuaranteeError        our bug; nothing was released

A message names columns, counts and parameters and never a data value of a record. It is a
sentence that stands alone, because DuckDB keeps only the text. The sentence is written from the
fields of the error, and each door writes it in its own spelling.

What one door or one kind of file alone refuses is worded in `usage`, `mappings`, `files`, `originals`,
`release` and `tables`, what a taxonomy refuses in `taxonomies`, the rest by the classes.
"""

from polars_microagg.errors.base import MicroaggError
from polars_microagg.errors.data import (
    InvalidDataError,
    NotAnonymousError,
    NotNumericError,
    TooFewRecordsError,
)
from polars_microagg.errors.missing import MissingValuesError
from polars_microagg.errors.output import (
    GuaranteeError,
    NotPublishedError,
    OutputError,
    RequirementError,
    TargetExistsError,
    WorkerError,
)
from polars_microagg.errors.parameters import InvalidParameterError, UnknownMethodError
from polars_microagg.errors.unreachable import UnreachableError

__all__ = [
    "GuaranteeError",
    "InvalidDataError",
    "InvalidParameterError",
    "MicroaggError",
    "MissingValuesError",
    "NotAnonymousError",
    "NotNumericError",
    "NotPublishedError",
    "OutputError",
    "RequirementError",
    "TargetExistsError",
    "TooFewRecordsError",
    "UnknownMethodError",
    "UnreachableError",
    "WorkerError",
]
