"""A lower bound of `loss` that holds for any grouping."""

from __future__ import annotations

from typing import Any

import numpy as np

from polars_microagg.analysis.anonymity import selected
from polars_microagg.analysis.coordinates import coordinates, kinds_asked
from polars_microagg.core import registry
from polars_microagg.core.options import group_size
from polars_microagg.errors import InvalidParameterError, TooFewRecordsError
from polars_microagg.frames.columns import kind_for, refuse, require
from polars_microagg.frames.safe_collect import collected
from polars_microagg.frames.selection import Columns, as_frame, by_name, named_options
from polars_microagg.kernels.local.local_search import refined
from polars_microagg.kernels.risk.lower_bound import neighbour_bound
from polars_microagg.kernels.risk.tightest_bound import tightest_bound
from polars_microagg.kernels.scale import standardised

__all__ = ["lower_bound"]

MANY = 100_000
"""With more records the tighter bound starts from a grouping that takes less time than MDAV."""


def lower_bound(
    frame: Any, columns: Columns, k: int, *, effort: float = 0.0, **kinds: Any
) -> float:
    """Find a floor of `loss` that no grouping of at least k records can go under.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table before masking; a LazyFrame is collected.
    columns : str, selector or list
        Columns that would be masked together, without nulls.
    k : int
        Smallest group size, at least 2.
    effort : float, default 0
        How hard to try for a higher floor: 1 takes seconds to some minutes, for 4,000 records in five
        columns 80 CPU seconds with k=3, above 150 with k=5 and 20 with k=10; more never finds a lower
        one. With 0 it is found from the nearest neighbours of each record.
    **kinds : Any
        Which columns are categories, as for `mask`: ``nominal``, ``ordinal``, ``taxonomy`` and so on.

    Returns
    -------
    float
        Percentage, to compare with ``loss``; a release with a loss of L is at most
        ``100 * (L / floor - 1)`` percent above the least possible one.

    Raises
    ------
    InvalidParameterError
        A parameter or a column is wrong.
    InvalidDataError
        Nulls, NaN or infinities, or fewer than k records.

    Notes
    -----
    The sum of squares of a group of m records is the sum of all its squared distances, over 2m.
    So each record of a group of k costs at least those to its k - 1 nearest others over 2k. Such
    prices of records, which no k of them exceed, no larger group exceeds either, so their sum is a
    floor of any grouping. With `effort` the prices are raised:

    - by multipliers for pairs of records: i is in the group of j if and only if j is in that of i;
    - for k up to 5 and up to 5,000 records, towards the greatest sum there is, by column generation
      with all groups that would be cheaper;
    - for larger k and up to 1,500 records, by a semidefinite relaxation;
    - for more records, by such a relaxation of overlapping patches of neighbours, up to 125,000
      records over k.

    The floor holds for any method that makes groups of whole records, within strata or not, since
    strata only leave fewer groupings. It does not hold for `univariate`, `individual_ranking` and
    `mic1d`, which mask each column on its own, nor for blocks: they may lose less, as their ``k_min``
    over all columns may be 1.

    With more than 256 coordinates of a column of categories the distances are right on average only,
    and so is the floor.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> people = pl.DataFrame({"age": [23, 25, 47, 51]})
    >>> floor = mg.lower_bound(people, "age", k=2)
    >>> loss = mg.loss(people, mg.mdav(people, "age", k=2))
    >>> round(floor, 3), round(loss, 3)
    (1.575, 1.575)
    """
    k = group_size(k)
    number = isinstance(effort, int | float | np.integer | np.floating)
    if not number or isinstance(effort, bool) or not 0 <= effort < np.inf:
        raise InvalidParameterError.kind("effort", effort, "a number at least 0")
    table = as_frame(frame)
    blocks = selected(table, columns)
    if len(blocks) > 1:
        what, instead = "several blocks of columns", "Ask for the floor of one block at a time."
        raise InvalidParameterError.cannot("lower_bound", what, instead)
    names = list(blocks[0])
    table = collected(table.lazy().select(by_name(name) for name in names))
    asked = kinds_asked(named_options(kinds, table.schema), lower_bound)
    for name in names:
        refuse(name, table.schema[name], asked)
        # Methods of a Series look it up by its name, where "^a$" would be a pattern.
        require(table[name].alias("0"), name, "raise", kind_for(name, table.schema[name], asked))
    found = coordinates(table, table, names, asked)
    x = found.before
    if len(x) < k:
        raise TooFewRecordsError.of(len(x), k)
    x = np.ascontiguousarray(standardised(x, x, found.joint)[0])
    if not x.size:
        return 0.0
    if effort:
        name = "mdav" if len(x) <= MANY else "fixed_size"
        labels = registry.methods()[name].function(x, k=k).labels
        floor = tightest_bound(x, k, refined(x, labels, np.array([len(x)]), k)[0], effort)
    else:
        floor = neighbour_bound(x, k)
    return 100.0 * floor / float(np.square(x).sum())
