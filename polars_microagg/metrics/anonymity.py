"""Sizes of the classes of equal masked records."""

from __future__ import annotations

from polars_microagg.core.partition import Labels
from polars_microagg.core.registry import metric

__all__ = ["k_min", "k_prime"]


@metric(cite="Samarati and Sweeney (1998)", assessed=150)
def k_min(classes: Labels) -> int | None:
    """Size of the smallest class of equal masked records.

    Parameters
    ----------
    classes : array of shape (c,)
        Sizes of the classes.

    Returns
    -------
    int or None
        The k of k-anonymity; None for an empty table.

    Examples
    --------
    >>> import numpy as np
    >>> k_min(np.array([5, 7, 6]))
    5
    """
    return int(classes.min()) if len(classes) else None


@metric(cite="Nin, Herranz and Torra (2008)", assessed=160)
def k_prime(classes: Labels) -> float | None:
    """Mean size of the classes of equal masked records.

    Parameters
    ----------
    classes : array of shape (c,)
        Sizes of the classes.

    Returns
    -------
    float or None
        Records divided by distinct masked records; None for an empty table.

    Notes
    -----
    The real anonymity k' of the papers: n divided by the number of distinct masked records
    on the attributes that an intruder knows.

    Examples
    --------
    >>> import numpy as np
    >>> k_prime(np.array([5, 7, 6]))
    6.0
    """
    return float(classes.sum() / len(classes)) if len(classes) else None
