"""k-anonymity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polars_microagg.core.model import GroupSizes, model
from polars_microagg.errors import BrokenPromiseError

__all__ = ["K"]


@model
@dataclass(frozen=True)
class K:
    """Every group has at least k records.

    Notes
    -----
    Samarati, P. and Sweeney, L. (1998). Protecting privacy when disclosing information:
    k-anonymity and its enforcement through generalization and suppression.
    """

    k: int

    def failing(self, groups: GroupSizes) -> npt.NDArray[np.bool_]:
        """Return which groups have fewer than k records."""
        return np.asarray(groups.sizes < self.k)

    def broken(self, method: str, groups: GroupSizes) -> BrokenPromiseError:
        """Return the error that says how many records the smallest group has."""
        return BrokenPromiseError.small_class(method, int(groups.sizes.min()), self.k)
