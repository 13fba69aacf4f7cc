"""A dry run of masking: every check, without the search for groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from polars_microagg.core.partition import Matrix, Partition, ValueMasking
from polars_microagg.errors import TooFewRecordsError
from polars_microagg.frames.mask import MaskRequest

__all__ = ["rehearse"]


def rehearse(frame: pl.DataFrame, request: MaskRequest) -> None:
    """Run every step of `mask_table` except the search: each stratum is one group.

    Raises what `mask_table` would raise, except errors that only the method can find.

    >>> request = MaskRequest.of("mdav", "age", 2, {"nulls": "pattern"})
    >>> rehearse(pl.DataFrame({"age": [31, None, None, 47]}), request)
    >>> rehearse(pl.DataFrame({"age": [31, None, None]}), request)
    Traceback (most recent call last):
        ...
    polars_microagg.errors.TooFewRecordsError: 1 of 2 strata have fewer than k=2 records ...
    """
    k = request.plan.k
    if not frame.height:
        raise TooFewRecordsError.of(0, k)
    cells = request.plan.groups_cells

    def whole(x: Matrix, /, **_: object) -> Partition | ValueMasking:
        return ValueMasking(x) if cells else Partition.from_labels(np.zeros(len(x), dtype=np.intp))

    # One group a stratum has k records wherever any grouping does, so only the data can be refused.
    plain = replace(request.plan.method, function=whole, lockstep=None)
    plan = replace(request.plan, method=plain, refine=False)
    masker = replace(request, plan=plan).masker(frame.schema)
    gone = masker.mask(frame.select(request.inputs(masker))).flags(frame.height)
    if plan.small_strata == "drop" and gone.all():
        raise TooFewRecordsError.of(0, k)
