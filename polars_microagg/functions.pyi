"""Types of the functions on frames.

Written by docs/generate.py from the registry; do not edit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_microagg.analysis.attacker import Known
from polars_microagg.frames.selection import Columns, F, Names

__all__ = [
    "above_optimum",
    "cbfs",
    "cells",
    "dba1",
    "dba2",
    "delta_corr",
    "delta_corr_sd",
    "delta_r",
    "delta_w",
    "diameter",
    "dld",
    "dr",
    "drisk",
    "eigenvalue_difference",
    "fixed_size",
    "fpc_share",
    "fuzzy",
    "genetic",
    "groups",
    "il",
    "il1",
    "il1_zero_cells",
    "il1s",
    "il2",
    "il3",
    "il4",
    "il5",
    "individual_ranking",
    "interval_disclosure",
    "k_min",
    "k_prime",
    "k_ward",
    "loss",
    "lowloss",
    "mask",
    "md",
    "mdav",
    "mdav1",
    "mdav2",
    "mean_sd",
    "mhm",
    "mic1d",
    "mu_approx",
    "multi_dsort",
    "pcp",
    "pld",
    "score",
    "sse",
    "sst",
    "sugeno",
    "tfrp1",
    "tfrp2",
    "univariate",
    "vmdav",
    "zscores",
]

Frame: TypeAlias = pl.DataFrame | pl.LazyFrame

def above_optimum(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    effort: float = 0.0,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Percentage by which the loss is above the least possible one, at most.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    effort : float, default 0.0
        How hard to try for a tighter bound: 1 is a few seconds for a thousand records.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        The loss of the release is at most this percentage above the least that any grouping into
        groups of at least k records loses, k being the number of records that share the rarest
        masked record. 0 where nothing is lost; else None where k is 1, where a value is missing, and
        where no loss could be excluded.

    Notes
    -----
    The bound is that of `lower_bound`, for the k that the release keeps.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.above_optimum(before, after)
    """

def cbfs(
    frame: F,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group round the record farthest from the mean of the remaining ones, one group a round.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    Centroid-based fixed-size microaggregation of M. Laszlo and S. Mukherjee (2005), "Minimum
    spanning tree partitioning algorithm for microaggregation", IEEE Transactions on Knowledge
    and Data Engineering 17(7), 902-911, as described by A. N. Mahmood, M. E.
    Kabir and A. K. Mustafa (2012), section 4.

    The record r that is farthest from the mean of the remaining records forms a group with the
    k - 1 remaining records nearest to it. This is repeated until fewer than k records remain,
    and each of these is added to its nearest group: the one with the nearest centroid, before
    any is added. Equal distances go to the lowest row, or to the group formed first.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.cbfs(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def cells(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> int:
    """Number of cells that are compared: those with a value before and after.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    int
        Cells that are NaN in neither.

    Notes
    -----
    this library

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.cells(before, after)
    """

def dba1(
    frame: F,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group round the record in the densest place, until fewer than k records are left.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    DBA-1 of J.-L. Lin, T.-H. Wen, J.-C. Hsieh and P.-C. Chang (2010), "Density-based
    microaggregation for statistical disclosure control", Expert Systems with Applications 37(4),
    3256-3263, as described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    The k-neighbourhood of a record consists of itself and the k - 1 unassigned records nearest to
    it. A new group is built repeatedly of the k-neighbourhood of the record with the highest
    k-density among all unassigned records, until fewer than k records are unassigned. These are
    assigned to their respective nearest groups: those with the nearest centroid, before any is
    added. Equal distances and densities go to the lowest row, or to the group formed first.

    The k-density is one over the sum of squared distances of the k-neighbourhood from its mean.
    The paper's text does not define it; this definition gives all printed losses.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.dba1(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def dba2(
    frame: F,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group as DBA-1 does, and dissolve groups whose records fit better into others.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    DBA-2 of J.-L. Lin, T.-H. Wen, J.-C. Hsieh and P.-C. Chang (2010), "Density-based
    microaggregation for statistical disclosure control", Expert Systems with Applications 37(4),
    3256-3263, as described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    The groups of DBA-1 are fine-tuned by checking whether to decompose a group and merge its
    content with other groups, in the reverse of the order in which they were added: each record
    of a group is tentatively added to the group with the nearest other centroid, and if the sums
    of squares of these groups grow by less than that of the group itself, it stays so. At the
    end MDAV-1 is applied to each group with more than 2k - 1 records.

    Centroids are those at the beginning of a group's turn. The paper's text does not say so; this
    gives all printed losses.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.dba2(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def delta_corr(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Mean absolute difference of the correlations of pairs of columns.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        From 0 to 2; None if fewer than two columns vary before.

    Notes
    -----
    Table 4 of Mateo-Sanz and Domingo-Ferrer (1998). Columns that are constant before are left out.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.delta_corr(before, after)
    """

def delta_corr_sd(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Standard deviation of the differences whose mean is `delta_corr`.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        Standard deviation (ddof 0); None if fewer than two columns vary before.

    Notes
    -----
    Table 4 of Mateo-Sanz and Domingo-Ferrer (1998).

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.delta_corr_sd(before, after)
    """

def delta_r(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Change of the correlation of the columns with the first principal component, per cent.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        100 times the mean of |R'| / |R| - 1; None if no column varies before.

    Notes
    -----
    Delta R in table 3 of Mateo-Sanz and Domingo-Ferrer (1998): R is the correlation of a column
    with the scores on the first component of the correlation matrix of its own table, which is
    the square root of the eigenvalue times the entry of the eigenvector. Columns that are
    constant before, or have R = 0, are left out. Where eigenvalues are equal, so that there is no
    one first component, the value depends on rounding.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.delta_r(before, after)
    """

def delta_w(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Change of the weights of the columns on the first principal component, per cent.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        100 times the mean of |W' / W - 1|; None if no column varies before.

    Notes
    -----
    Delta W in table 3 of Mateo-Sanz and Domingo-Ferrer (1998): W is the component score
    coefficient, the entry of the eigenvector divided by the square root of the eigenvalue. What
    is left out is as in `delta_r`.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.delta_w(before, after)
    """

def diameter(
    frame: F,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group round the two most distant records; each one left over joins the nearest group.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    Diameter-based fixed-size microaggregation of M. Laszlo and S. Mukherjee (2005), "Minimum
    spanning tree partitioning algorithm for microaggregation", IEEE Transactions on Knowledge
    and Data Engineering 17(7), 902-911, as described by A. N. Mahmood, M. E.
    Kabir and A. K. Mustafa (2012), section 4.

    The two most distant remaining records form groups with their respective k - 1 nearest
    records, while at least 2k remain. If at least k remain then, they form a group; if fewer,
    each remaining record is added to its own nearest group, the one with the nearest centroid
    before any is added. More than one group can therefore have more than k records.

    It differs from the maximum distance method in the last step alone, as the paper describes
    that one: it is `md` with ``grow="seed"`` and ``leftover="each"``.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.diameter(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def dld(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    optimistic: bool = False,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Distance-based linkage disclosure: share of records nearest to their own masked record.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    optimistic : bool, default False
        Whether a record counts fully if its own masked record is at the least distance, however
        many others are. The intruder is thought to choose well, so this is an upper bound. By
        default it counts 1 divided by the number of masked records at that distance: the
        expected share of hits of an intruder who chooses among them at random.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        Per cent, from 0 to 100; None for an empty table.

    Notes
    -----
    D. Pagliuca and G. Seri (1999); J. Domingo-Ferrer and V. Torra (2001). Each original record is
    linked to the masked record at the least Euclidean distance, both in standard deviations
    (ddof 0) from the mean of the original. Distances are equal if they differ by less than 1e-12
    of the largest value. Columns that are constant before are left out. An absent value is taken
    as the mean, and its absence as one column more, in which present and absent are one standard
    deviation apart.

    After microaggregation k records share the least distance, so without `optimistic` the
    measure is about a k-th of the share of records whose own centroid is nearest.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.dld(before, after)
    """

def dr(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    weights: Literal["mic1d", "sugeno"] | Mapping[str, float] = "mic1d",
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Disclosure risk DR: a weighted mean of linkage and interval disclosure.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    weights : {"mic1d", "sugeno"} or mapping, default 'mic1d'
        "mic1d": 0.5 DLD + 0.5 ID. "sugeno": 0.25 DLD + 0.25 PLD + 0.5 ID. Or weights of "dld",
        "pld" and "interval_disclosure", of which the result is the mean; what is left out is 0,
        and so is "il".
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        From 0 to 100; None if a part that counts is None, or none counts.

    Notes
    -----
    J. Domingo-Ferrer and V. Torra (2001). The presets are those of the papers on Mic1D, which
    leaves out probabilistic linkage, and on projection by the Sugeno integral.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.dr(before, after)
    """

def drisk(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    width: float = 0.05,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Share of records all of whose values lie close to their masked values.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    width : float, default 0.05
        How close, to either side, in standard deviations (ddof 1) of the masked column.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        From 0 to 1, as in sdcMicro; None for an empty table.

    Notes
    -----
    ``dRisk`` of the R package sdcMicro with its default k = 0.05. The ends belong to the interval.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.drisk(before, after)
    """

def eigenvalue_difference(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Sum of the relative differences of the eigenvalues of the correlation matrix.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        Sum of |e - e'| / e over the eigenvalues in descending order, without those that are 0
        before; None if no column varies before.

    Notes
    -----
    "eigen" of ``dUtility`` in the R package sdcMicro.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.eigenvalue_difference(before, after)
    """

def fixed_size(
    frame: F,
    columns: Columns,
    k: int,
    *,
    sort: Literal["sz", "fpc"] | str = "sz",
    descending: bool = False,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Sort the records by one axis and group k successive ones.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    sort : {"sz", "fpc"} or column, default 'sz'
        What to sort by: the sum of z-scores, the first principal component, or one variable.
    descending : bool, default False
        Whether to start from the largest.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    UFS of J. M. Mateo-Sanz and J. Domingo-Ferrer (1998), "A comparative study of microaggregation
    methods", after the single-axis sorting of D. Defays and P. Nanopoulos (1993).

    Data vectors are sorted in ascending or descending order by a particular variable, by the sum
    of z-scores, or by the first principal component, here of the correlation matrix with loadings
    that sum to more than 0. Then groups of k successive vectors are formed. If n is not a
    multiple of k, the last group contains more than k. Ties are sorted by row, in both directions.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.fixed_size(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def fpc_share(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Share of the variability after that the first principal component explains, per cent.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        100 times the largest eigenvalue of the correlation matrix over the number of columns;
        the closer to that of the original with itself, the better. None if no column varies.

    Notes
    -----
    %FPC in table 3 of Mateo-Sanz and Domingo-Ferrer (1998). Columns that are constant before are
    left out; one that is constant after only has correlations of 0.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.fpc_share(before, after)
    """

def fuzzy(
    frame: F,
    columns: Columns,
    k: int,
    *,
    m: float = 1.1,
    iterations: int = 100,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Run fuzzy c-means with fewer and fewer clusters until each has k records.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    m : float, default 1.1
        Exponent for the partition matrix to start with.
    iterations : int, default 100
        Most iterations of one run.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    J. Domingo-Ferrer and V. Torra (2003), "Fuzzy microaggregation for microdata protection",
    Journal of Advanced Computational Intelligence and Intelligent Informatics 7(2), 153-159, as
    described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    The method repeatedly runs fuzzy c-means to adjust its two parameters, the number of clusters c
    and the exponent for the partition matrix m, until each cluster contains at least k records. The
    value of c is initially large, and m small, and is gradually reduced, and m increased. The same
    process is then recursively applied to those clusters with 2k or more records.

    Left open, and chosen here: c starts from n/k, rounded down, and falls by 5 %, but at least by
    1. Only when two clusters do not suffice, m is raised by a tenth at a time up to 2: to raise it
    in every run costs more information. If that fails, as for equal records, MDAV divides the
    cluster. A record is in the cluster to which it belongs most. The first centres are records drawn
    with a chance that grows with the squared distance from those drawn before.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.fuzzy(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def genetic(
    frame: F,
    columns: Columns,
    k: int,
    *,
    steps: Literal[1, 2] = 2,
    macro: int = 27,
    population: int = 10,
    generations: int = 10000,
    mutation: float = 0.1,
    crossover: float = 0.5,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group by MDAV, and let the groups evolve within macrogroups.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    steps : {1, 2}, default 2
        Whether macrogroups are made of records, or of the groups that MDAV makes with k.
    macro : int, default 27
        Records in a macrogroup, K in the paper; at least two groups go into one in any case.
    population : int, default 10
        Chromosomes of a macrogroup.
    generations : int, default 10000
        Number of generations.
    mutation : float, default 0.1
        Share of genes that mutate.
    crossover : float, default 0.5
        Share of pairs of parents that are crossed.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    A. Martinez-Balleste, A. Solanas, J. Domingo-Ferrer and J. M. Mateo-Sanz (2007), "A genetic
    approach to multivariate microaggregation for database privacy".

    Two-step partitioning: build a k-partition by MDAV. Taking its average vectors as records, apply
    MDAV to build macrogroups of K/k of them, and replace them by the original records. Then apply a
    genetic algorithm to each macrogroup. The k-partition of the macrogroup is one of the
    chromosomes of its initial population, so the sum of squared errors is never greater than that
    of MDAV (Lemma 1). One-step partitioning: MDAV builds the macrogroups of K records, and all
    chromosomes start at random.

    A gene is the number of a record's group. Parents are chosen by the roulette wheel with the
    fitness 1 / (SSE + 1), crossed at one point and mutated; population, rates and generations are
    those of the paper, and the best chromosome is kept. The paper does not say what becomes of
    chromosomes with groups of less than k or more than 2k - 1 records: here records of the former
    go to the group with the nearest centroid, and the latter are split across a random direction.
    All macrogroups of like size evolve side by side. The time grows with the generations.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.genetic(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def groups(
    frame: F,
    columns: Columns,
    k: int,
    *,
    method: str = "mdav",
    name: str = "microagg_group",
    strata: Names = None,
    order_by: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    refine: bool = False,
    seed: int = 0,
    **options: Any,
) -> F:
    """Add the number of each record's group as a column, and mask nothing.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table.
    columns : str, selector or list
        Columns whose values decide the groups.
    k : int
        Smallest group size, at least 2.
    method : str, default 'mdav'
        Name of a method; ``methods()`` lists them.
    name : str, default 'microagg_group'
        Name of the new column.
    **options : Any
        As for the function of the method.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        The table with a UInt32 column more, numbered by first record; null where a small
        stratum has no group.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> people = pl.DataFrame({"age": [47, 23, 25, 51]})
    >>> mg.groups(people, "age", k=2)["microagg_group"].to_list()
    [0, 1, 1, 0]
    """

def il(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float:
    """Information loss IL: 100 times the mean of IL1 to IL5.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float
        Percentage, at least 0. There is no upper bound.

    Notes
    -----
    Domingo-Ferrer and Torra (2001).

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.il(before, after)
    """

def il1(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    zero: Literal["scale", "skip"] = "scale",
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float:
    """Mean variation of the values: the mean over all cells of the relative difference.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    zero : {"scale", "skip"}, default 'scale'
        What becomes of a cell whose original value is 0 and whose masked value is not: it is
        divided by the mean absolute value of its column, or left out.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float
        Share, at least 0; 0 keeps everything. There is no upper bound.

    Notes
    -----
    J. Domingo-Ferrer and V. Torra (2001), "A quantitative comparison of disclosure control methods
    for microdata", who leave open what happens at 0. In a column of zeros every change counts 1.
    A cell that stays 0 counts 0. `il1_zero_cells` tells how many cells the rule touches; many of
    them make this measure and `il` unsteady.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.il1(before, after)
    """

def il1_zero_cells(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> int:
    """Number of cells that are 0 before and not after, to which the rule of `il1` applies.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    int
        How many.

    Notes
    -----
    Domingo-Ferrer and Torra (2001)

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.il1_zero_cells(before, after)
    """

def il1s(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    total: bool = False,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float:
    """Distance of the masked values in standard deviations: the mean over cells, or the sum.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    total : bool, default False
        Whether to take the sum, as ``IL1s`` of sdcMicro does, which grows with the table.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float
        Mean or sum of |x - x'| / (sqrt(2) sd), sd with ddof 1; columns that are constant before
        are left out.

    Notes
    -----
    W. E. Yancey, W. E. Winkler and R. H. Creecy (2002), "Disclosure risk assessment in perturbative
    microdata protection", who average; ``dUtility`` of the R package sdcMicro sums.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.il1s(before, after)
    """

def il2(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float:
    """Mean variation of the means of the columns.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float
        Share, at least 0. Microaggregation keeps means, so it is 0 but for rounding to a type.

    Notes
    -----
    Domingo-Ferrer and Torra (2001). A mean of 0 is replaced, as a divisor, by the mean absolute
    value of its column; where that is 0 too, any change counts 1.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.il2(before, after)
    """

def il3(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float:
    """Mean variation of the covariances, variances among them.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float
        Share, at least 0: the mean over the p(p + 1)/2 pairs of columns.

    Notes
    -----
    Domingo-Ferrer and Torra (2001). A covariance of 0 is replaced, as a divisor, by the product of
    the two standard deviations; where that is 0 too (a constant column), any change counts 1.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.il3(before, after)
    """

def il4(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float:
    """Mean variation of the variances.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float
        Share, at least 0; at most 1 if variances only shrink.

    Notes
    -----
    Domingo-Ferrer and Torra (2001). For a column that is constant before, any change counts 1.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.il4(before, after)
    """

def il5(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    change: Literal["absolute", "relative"] = "absolute",
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float:
    """Mean absolute error of the correlations.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    change : {"absolute", "relative"}, default 'absolute'
        Whether differences are taken as they are, or divided by the original correlation (or by
        1 where it is 0).
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float
        Mean over the p(p - 1)/2 pairs of columns, from 0 to 2 unless relative; 0 with one column.

    Notes
    -----
    Domingo-Ferrer and Torra (2001), as in Nin, Herranz and Torra's tables; of the papers one says
    absolute error here and variation for `il1`, another the reverse. The correlation with a
    constant column is 0.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.il5(before, after)
    """

def individual_ranking(
    frame: F,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Sort the values and group k successive ones; no k records are made alike.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    D. Defays and P. Nanopoulos (1993), "Panels of enterprises and confidentiality: the small
    aggregates method", Proceedings of the 1992 Symposium on Design and Analysis of Longitudinal
    Surveys, Statistics Canada, 195-204.

    Each variable is considered independently: the values are sorted and groups of k successive
    values are formed. If n is not a multiple of k, the last group contains more than k. Equal
    values are sorted by row.

    Every variable has its own partition, so k counts values of one column, not records. A
    masked value lies between the means of its neighbouring groups, often a narrow interval.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.individual_ranking(people, ["income"], k=3)
    >>> mg.verify(masked, ["income"], k=3)
    """

def interval_disclosure(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    by: Literal["rank", "value", "sd"] = "rank",
    widths: float | Sequence[float] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Share of original values inside an interval around their masked value, per cent.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    by : {"rank", "value", "sd"}, default 'rank'
        What a width of w per cent means. "rank": from w/2 % of the records below to w/2 % above
        in the order of the masked column; equal values share their mean rank. "value": w % of
        the masked value to either side. "sd": w % of the standard deviation of the original
        column to either side.
    widths : float or sequence of float, default (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
        Widths in per cent; the result is the average over them.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        From 0 to 100; None if there is no value. All columns count alike.

    Notes
    -----
    J. Domingo-Ferrer and V. Torra (2001), who average over widths of 1 to 10 per cent of ranks.
    They say the interval's width is p per cent of the ranks, so half lies on each side. The ends
    belong to the interval. In a constant column of masked values the interval is that value.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.interval_disclosure(before, after)
    """

def k_min(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> int | None:
    """Size of the smallest class of equal masked records.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    int or None
        The k of k-anonymity; None for an empty table.

    Notes
    -----
    Samarati and Sweeney (1998)

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.k_min(before, after)
    """

def k_prime(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Mean size of the classes of equal masked records.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

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
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.k_prime(before, after)
    """

def k_ward(
    frame: F,
    columns: Columns,
    k: int,
    *,
    sort: Literal["sz", "fpc", "md"] | str = "fpc",
    projected: bool = False,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Join records by Ward's method until each group has k, and divide large groups again.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    sort : {"sz", "fpc", "md"} or column, default 'fpc'
        What tells the first and the last records: the sum of z-scores, the first principal
        component, the two records most distant from each other, or one variable.
    projected : bool, default False
        Whether Ward's method is applied to the sorting criterion and not to the records.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    MDO, or UDO if projected, of J. M. Mateo-Sanz and J. Domingo-Ferrer (1998), "A comparative
    study of microaggregation methods"; J. Domingo-Ferrer and J. M. Mateo-Sanz (2002), "Practical
    data-oriented microaggregation for statistical disclosure control", IEEE Transactions on
    Knowledge and Data Engineering 14(1), 189-201.

    Form a group with the first (smallest) k elements of the data set and another group with the
    last (largest) k elements. Use Ward's method, which joins the two groups whose union raises the
    sum of squared errors least, until all elements belong to a group of k or more; never join two
    groups which both have k or more. Apply the algorithm recursively to each group that contains
    2k or more elements.

    The papers leave open: the sorting criterion is computed once, for all records, and kept in the
    recursion; this gives the printed losses. With "md" the two records most distant from each
    other are sought in every recursion, that in the lower row is the first, and each group takes
    the record nearest to its running mean; projected, all records are placed on the line through
    the two. Projected records join only with neighbours on the axis. Of unions that cost the same,
    the first group of fewer than k goes with the one of its equals that has the fewest records.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.k_ward(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def loss(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float:
    """Information loss 100 SSE/SST: 0 keeps everything, 100 leaves only the means.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float
        Percentage; 0 where no column varies.

    Notes
    -----
    Domingo-Ferrer and Mateo-Sanz (2002), as used in all tables of the comparative study.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.loss(before, after)
    """

def lowloss(
    frame: F,
    columns: Columns,
    k: int,
    *,
    effort: float = 1.0,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Start from MDAV and exchange records and groups, at random and ever more choosily.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    effort : float, default 1.0
        How long to search: 1 is about a second for some thousand records, and 10 about ten. It is
        a number of steps, so that the same seed gives the same groups on any machine.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    The method of this library. An optimal partition has groups of k to 2k - 1 records
    (J. Domingo-Ferrer and J. M. Mateo-Sanz, 2002, IEEE Transactions on Knowledge and Data
    Engineering 14(1), 189-201); to find one is NP-hard.

    If a single column varies, it is cut at its optimum, without a search. *Start.* MDAV, V-MDAV, and the
    optimal partition along the path from record to nearest record. With very many records, MDAV
    for the farthest ones and, in blocks of neighbours, the others.
    *Local search.* Records move to the groups of their nearest neighbours or swap places with
    their members, groups are dissolved, created and split, and chains of up to eight records take
    each other's places; each where the change of the sum of squares is known exactly and negative.
    Of exchanges that touch the same group the best one is made. *Annealing* makes such exchanges
    at random, one that raises the sum of squares by s with probability exp(-s / (t h)), where t
    falls and h grows with the mean squared distance of the record from its k nearest neighbours,
    to the power of 3/4 and 2/5 in turn. It starts from the best grouping, many times and not hot;
    local search follows, and of each part of the records that the two groupings do not mix with
    others, the better one is kept. With more than 20,000 records all this is done in patches, which
    are cut along other borders each time, so that time and memory are linear in n: two short
    annealings first, then local search.

    *What did not pay*, on generated and public tables: one long annealing; three shorter ones, each
    from the start; drawing only partners other than the neighbour itself, fewer neighbours, all
    members of a group at once, or only records that can move; starting hotter for large k; random
    swaps in many places, each kept if local search made them pay; more neighbours for a single
    record; hot annealing of very many records.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.lowloss(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def mask(
    frame: F,
    columns: Columns,
    k: int,
    *,
    method: str = "mdav",
    strata: Names = None,
    order_by: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    refine: bool = False,
    seed: int = 0,
    **options: Any,
) -> F:
    """Mask columns by a method given by name.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table.
    columns : str, selector, list, or list of lists
        What to mask.
    k : int
        Smallest group size, at least 2.
    method : str, default 'mdav'
        Name of a method; ``methods()`` lists them.
    **options : Any
        As for the function of the method.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        What the function of the method returns.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> people = pl.DataFrame({"age": [23, 25, 47, 51]})
    >>> mg.mask(people, "age", k=2, method="univariate")["age"].to_list()
    [24, 24, 49, 49]
    """

def md(
    frame: F,
    columns: Columns,
    k: int,
    *,
    grow: Literal["centroid", "seed"] = "centroid",
    leftover: Literal["each", "together"] = "each",
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group round the two records that are most distant from each other.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    grow : {"centroid", "seed"}, default 'centroid'
        Whom a group takes next: the record nearest to its mean so far, or the one nearest to the
        record it started from.
    leftover : {"each", "together"}, default 'each'
        Where fewer than k records go that are left over: each to the group nearest to it, or all
        to the nearer one of the two groups formed last.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    MFS with the maximum-distance criterion of J. M. Mateo-Sanz and J. Domingo-Ferrer (1998), "A
    comparative study of microaggregation methods", Questiio 22(3), 511-526, Algorithm 2; with
    ``grow="seed"`` the maximum distance method of J. Domingo-Ferrer and J. M. Mateo-Sanz (2002),
    "Practical data-oriented microaggregation for statistical disclosure control", IEEE
    Transactions on Knowledge and Data Engineering 14(1), 189-201.

    While at least 2k records remain, the two of them that are most distant are the extreme ones;
    a group of k is formed from the first and then one from the other. If at least k records
    remain then, they form a group. If fewer remain, they are added to the closest group.

    In the text of 1998 the next member is the record closest to the group, and in its table it
    is the one nearest to the mean of the group: that gives the printed losses. Which extreme one
    is first is left open there: here it is the one farther from the mean of the remaining
    records. If the first group has taken the other, the record now most distant from the first
    stands in for it. The text of 1998 adds the records left over to the two groups formed last,
    that of 2002 each to its own nearest: the losses differ in the fourth digit. Nearest is the
    group with the nearest centroid, before any is added. Equal distances go to the lowest row.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.md(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def mdav(
    frame: F,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group round the record farthest from the mean, then round the one farthest from it.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    MDAV-generic of J. Domingo-Ferrer and V. Torra (2005), "Ordinal, continuous and heterogeneous
    k-anonymity through microaggregation", Data Mining and Knowledge Discovery 11(2), 195-212.

    While at least 3k records remain, r is the remaining record farthest from their mean and s
    the one farthest from r; r and the k - 1 remaining records nearest to it form a group, then s
    and the k - 1 nearest to it. If r's group has taken s, the record now farthest from r stands
    in for it. If at least 2k remain then, the record farthest from their mean and the k - 1
    nearest to it form a group. The rest is the last group. Equal distances go to the lowest row.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.mdav(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def mdav1(
    frame: F,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group as MDAV does, and add each record left over to the group nearest to it.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    MDAV-1 of J.-L. Lin, T.-H. Wen, J.-C. Hsieh and P.-C. Chang (2010), "Density-based
    microaggregation for statistical disclosure control", Expert Systems with Applications 37(4),
    3256-3263, as described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    While at least 2k records remain, r is the remaining record farthest from their mean and s
    the one farthest from r; r and the k - 1 remaining records nearest to it form a group, then s
    and the k - 1 nearest to it. If r's group has taken s, the record now farthest from r stands
    in for it. If at least k records remain then, the one farthest from their mean and the k - 1
    nearest to it form a group. Any remaining records are added to their respective nearest
    groups. Equal distances go to the lowest row, or to the group formed first.

    The paper leaves open what is nearest: here it is the group with the nearest centroid, as the
    groups were before any record was added.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.mdav1(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def mdav2(
    frame: F,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group as MDAV-1 does, and dissolve groups whose records fit better into others.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    MDAV-2 of J.-L. Lin, T.-H. Wen, J.-C. Hsieh and P.-C. Chang (2010), "Density-based
    microaggregation for statistical disclosure control", Expert Systems with Applications 37(4),
    3256-3263, as described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    The groups of MDAV-1 are checked one after the other, whether to decompose them: each record
    of a group is tentatively added to the group with the nearest other centroid, and if the sums
    of squares of these groups grow by less than that of the group itself, it stays so. MDAV-1 is
    then applied to each group with more than 2k - 1 records.

    The order in which groups are checked is not printed: here it is by their sum of squares
    after MDAV-1, the greatest first, which gives 11 of the 12 printed losses to the last digit
    and all but one digit of the other.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.mdav2(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def mean_sd(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Mean over the columns of the standard deviation after divided by that before.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        1 keeps the spread, 0 leaves only the means; None if no column varies before.

    Notes
    -----
    Table 2 of J. M. Mateo-Sanz and J. Domingo-Ferrer (1998). Columns that are constant before are
    left out.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.mean_sd(before, after)
    """

def mhm(
    frame: F,
    columns: Columns,
    k: int,
    *,
    order: Literal["npn", "md", "mdav", "cbfs"] = "npn",
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Walk from record to near record, and cut the path where the sum of squares is least.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    order : {"npn", "md", "mdav", "cbfs"}, default 'npn'
        The path: always to the nearest point next, or through the groups of another method.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    J. Domingo-Ferrer, A. Martinez-Balleste, J. M. Mateo-Sanz and F. Sebe (2006), "Efficient
    multivariate data-oriented microaggregation", The VLDB Journal 15(4), 355-369, as described by
    A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    The method first uses a heuristic, such as nearest point next, or the groups of maximum distance,
    MDAV or CBFS, to order the records. Steps similar to those of S. Hansen and S. Mukherjee (2003)
    are then applied: of all cuts of this order into groups of k to 2k - 1 records, the one with the
    least sum of squared errors is taken.

    Nearest point next starts with the record farthest from the mean and goes on to the nearest
    record not visited yet. A path through groups visits their centroids in this way, and within a
    group starts with the record nearest to the centroid before, ends with the one nearest to the
    centroid after, and goes to the nearest point next in between. How the paper goes through a
    group is not known in full, and its printed losses differ from these. The groups themselves are
    one cut of their path, so the loss is never higher than that of the other method.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.mhm(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def mic1d(
    frame: F,
    columns: Columns,
    k: int,
    *,
    tail: Literal["merge", "keep"] = "merge",
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group the values of all columns in one sorted vector; no k records are made alike.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    tail : {"merge", "keep"}, default 'merge'
        Whether the values that remain when k does not divide n p join the last group, or are a
        smaller group of their own.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    Mic1D-k of J. Nin, "One dimension microaggregation", section 3.

    *Vectorization*: the values of all records and attributes are put in a single vector, the
    concept of record and attribute is ignored. *Sorting*: in increasing order. *Partitioning*: into
    blocks of k successive values. *Normalization*: each block is brought to [0, 1] by its least and
    its greatest value, to 0.5 if they are equal. *Re-sorting and re-normalization*: the two steps
    are repeated with the normalized values. *Mean value computation*: the mean of each of the new
    blocks replaces its values. Then both normalizations are undone and each value is put back in
    its place.

    It protects hardly at all: values that are next to each other in the one vector are near each
    other already, and the least and the greatest of a block can return to themselves, so that most
    masked values equal their originals or nearly so. It is here because the paper compares with it.

    k counts values, not records, and the method promises no k equal records: the number of
    records that share their masked values can only be measured afterwards, as in `k_prime`. It
    keeps neither the mean of a column nor its range, since values of different columns are grouped.

    The paper leaves open: the mean is taken of the twice normalized values, and each value is put
    back by the two ranges that it was normalized by, so that a value whose block is constant
    returns to itself. The paper keeps a smaller last block ("keep"); the default merges it, so that
    no block has fewer than k. Equal values are sorted by record, then by column.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.mic1d(people, ["age", "income"], k=3)
    >>> masked.height
    6
    """

def mu_approx(
    frame: F,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Join records to trees of at least k, and cut the trees into groups.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    J. Domingo-Ferrer, F. Sebe and A. Solanas (2008), "A polynomial-time approximation to optimal
    multivariate microaggregation", Computers and Mathematics with Applications 55(4), 714-732, as
    described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    First build a forest: while any tree has fewer than k records, join it by an edge to the record
    outside that is nearest to one of its own. Then decompose the trees such that all have between k
    and max(2k - 1, 3k - 5) records. Finally, for any tree of more than 2k - 1, find the record that
    is farthest from the centroid of the tree; it and its k - 1 nearest records in the tree form a
    group, and the remaining records of the tree another.

    Left open, and chosen here: the smallest tree is joined first, of equally small ones that with
    the shortest edge. Edges that leave k records or more on both sides are cut, the longest first.
    A larger tree that is left then has a centre, all branches of which have fewer than k records:
    they are gathered round it, the nearest first. The printed losses are up to 7 % off those of
    this choice, to either side.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.mu_approx(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def multi_dsort(
    frame: F,
    columns: Columns,
    k: int,
    *,
    resort: bool = True,
    constant: bool = False,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Sort the records by the sum of their ranks, and group round the first and the last.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    resort : bool, default True
        Whether the remaining records are ranked and sorted again after every two groups.
    constant : bool, default False
        Whether a column that is constant ranks the records too, by row.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), "New multi-dimensional sorting based
    k-anonymity microaggregation for statistical disclosure control".

    Rank each of the variables in ascending order and sort the records by the sum of their ranks.
    Form a group with the first record and its k - 1 nearest records, and another with the last
    record and its k - 1 nearest; the inclusion of these records causes less sum of squared errors
    than that of others. Sort the remaining records again, and repeat until fewer than 3k remain. If
    2k or more remain, form a group with the first record and another with all others; else form a
    group with all remaining records.

    Equal values are ranked by row, and equal sums told apart by the first column, then by the
    second, and so on. A column that is constant ranks nothing, unless asked for.

    The text sorts again after every two groups, which is the default. The printed losses are
    obtained with ``resort=False`` and with ``scale="none"``, that is, from data that are not
    standardised, unlike the losses they are printed beside: on standardised data the method loses
    more than `mdav`. That of EIA needs ``constant=True`` too, since its year is constant. Other
    printed losses come from a last group of fewer than k records, or leave records out;
    such groups are not made here. While the first group is formed the last record is spared for
    its own.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.multi_dsort(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def pcp(
    frame: F,
    columns: Columns,
    k: int,
    *,
    cost: Literal["multivariate", "projected"] = "multivariate",
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Sort the records by their first principal component and cut them optimally.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    cost : {"multivariate", "projected"}, default 'multivariate'
        Whether a group costs the sum of squared errors of its records or of their projections.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    PCP microaggregation of J. Nin, J. Herranz and V. Torra (2008), "On the disclosure risk of
    multivariate microaggregation", Data and Knowledge Engineering 67(3), 399-412.

    A projection algorithm is applied to the attributes, which results in a vector z with one
    component for each record: the linear combination of the standardised attributes which has the
    maximum variance. The components are sorted in increasing order, and the optimal univariate
    method is applied, the cost of an edge being the within-group sum of squared errors of the
    original records between its ends. Give blocks of columns to project each on its own.

    The papers disagree about the cost: Algorithm 1 of "One dimension microaggregation" takes that
    of the records, hence the default, and "Modeling projections in microaggregation" that of the
    projections. The loadings sum to more than 0. Equal projections are sorted by row.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.pcp(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def pld(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    agreement: Literal["sd", "rank", "exact"] = "sd",
    tolerance: float = 0.1,
    limit: int = 20000,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Probabilistic linkage disclosure: share of records linked to their own masked record.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    agreement : {"sd", "rank", "exact"}, default 'sd'
        When an original and a masked value agree. "sd": they differ by at most `tolerance`
        standard deviations of the original column. "rank": their ranks, each in its own column,
        differ by at most `tolerance` times the number of records; equal values share their mean
        rank. "exact": they are equal.
    tolerance : float, default 0.1
        How far apart values may be.
    limit : int, default 20000
        Most records; with more the result is None, as the time grows with n times the number of
        distinct masked records.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        Per cent, from 0 to 100; None for an empty table, above the limit, and for more than 20
        attributes.

    Notes
    -----
    I. P. Fellegi and A. B. Sunter (1969), fitted by the EM algorithm of M. A. Jaro (1989) to the
    patterns of agreement of all pairs of an original and a masked record. Each original record is
    linked to the masked record with the most evidence, sum of log(m / u) where values agree and
    log((1 - m) / (1 - u)) where not; ties count as in `dld`. The papers do not say when numbers
    agree, and equal they hardly ever are after microaggregation. Absent values agree among
    themselves only. Columns that are constant before are left out.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.pld(before, after)
    """

def score(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    weights: Literal["mic1d", "sugeno"] | Mapping[str, float] = "mic1d",
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float | None:
    """Score of a release: the mean of information loss IL and disclosure risk DR.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    weights : {"mic1d", "sugeno"} or mapping, default 'mic1d'
        Presets: half for IL and half for DR with the same preset. Or weights of "il", "dld", "pld"
        and "interval_disclosure", of which the result is the mean; what is left out is 0.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float or None
        At least 0, the lower the better; None if a part that counts is None.

    Notes
    -----
    J. Domingo-Ferrer and V. Torra (2001): 0.5 IL + 0.5 DR.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.score(before, after)
    """

def sse(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float:
    """Sum of squared differences on standardised columns.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float
        Sum over all cells of the squared difference in standard deviations (ddof 0) of the
        original column. Constant columns are left out.

    Notes
    -----
    Domingo-Ferrer and Mateo-Sanz (2002)

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.sse(before, after)
    """

def sst(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    known: Known = None,
    known_sample: int | None = None,
    key: Names = None,
    seed: int = 0,
) -> float:
    """Sum of squared differences from the mean on standardised columns.

    Parameters
    ----------
    original : polars.DataFrame or polars.LazyFrame
        The table before.
    masked : polars.DataFrame or polars.LazyFrame
        The table after.
    columns : str, selector or list, default None
        Columns to measure; all that both tables have by default.
    known : str, int or list, default None
        What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of
        `columns` (the default); a whole number m, for all sets of m columns; "subsets", for all
        sets; or a list of lists of columns. The result is the average over the sets, or the
        least for `k_min`.
    known_sample : int, default None
        How many of the sets to draw at random without repetition; all by default.
    key : str or list of str, default None
        Columns that identify a row; rows are matched by position by default.
    seed : int, default 0
        Seed of `known_sample`.

    Returns
    -------
    float
        The number of cells with a value in columns that vary, up to rounding.

    Notes
    -----
    Domingo-Ferrer and Mateo-Sanz (2002)

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = mg.mdav(before, "age", k=2)
    >>> value = mg.sst(before, after)
    """

def sugeno(
    frame: F,
    columns: Columns,
    k: int,
    *,
    cost: Literal["multivariate", "projected"] = "multivariate",
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Sort the records by the Sugeno integral of their values and cut them optimally.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    cost : {"multivariate", "projected"}, default 'multivariate'
        Whether a group costs the sum of squared errors of its records or of their integrals.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    J. Nin and V. Torra (2008), "Modeling projections in microaggregation", IPMU'08, section 3.

    An aggregation function of the variables results in one summarised value a record: the Sugeno
    integral with respect to the measure ``Q(|A| / N)``,

        SI_Q(a_1, ..., a_N) = max over i of min(Q(i / N), a_s(i)),

    where s is a permutation such that a_s(i) >= a_s(i+1), with the quantifier Q(x) = x. The values
    are sorted in increasing order, and the optimal univariate method is applied. Give blocks of
    columns to summarise each on its own.

    The integral needs values in [0, 1] and the paper does not say how they come there: here each
    column is brought to [0, 1] by its least and greatest value. Many integrals are equal, to some
    i / N: equal ones are sorted by the sum of the values, then by row. With "projected" the cost
    is that of the paper; the default is that of `pcp` and `zscores`.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.sugeno(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def tfrp1(
    frame: F,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group round the records farthest from two fixed points, in turns.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    The first phase of C.-C. Chang, Y.-C. Li and W.-H. Huang (2007), "TFRP: An efficient
    microaggregation algorithm for statistical disclosure control", Journal of Systems and
    Software 80(11), 1866-1878, as described by A. N. Mahmood, M. E. Kabir and A. K.
    Mustafa (2012), section 4.

    Let N_min and N_max be the minimum and maximum values over all attributes. The reference
    point G1 has N_min as its value for all attributes, and G2 has N_max. A group is formed of
    the remaining record farthest from G1 and the k - 1 nearest to it, then one of the remaining
    record farthest from G2 and the k - 1 nearest to it. These two steps are repeated until fewer
    than k records remain, which are added to their respective nearest groups: those with the
    nearest centroid, before any is added. Equal distances go to the lowest row, or to the group
    formed first.

    N_min and N_max are two numbers, taken over all attributes on the scale of the distances; a
    minimum for each attribute does not give the printed losses. With ``scale="none"`` they are the
    least and the greatest of the values as they are.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.tfrp1(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def tfrp2(
    frame: F,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group as TFRP-1 does, and dissolve groups whose records fit better into others.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    Both phases of C.-C. Chang, Y.-C. Li and W.-H. Huang (2007), "TFRP: An efficient
    microaggregation algorithm for statistical disclosure control", Journal of Systems and
    Software 80(11), 1866-1878, as described by A. N. Mahmood, M. E. Kabir and A. K.
    Mustafa (2012), section 4.

    When all groups of TFRP-1 are generated, an enhancement step determines, from the greatest
    sum of squares to the least, whether a group should be retained, or decomposed and added to
    other groups: each of its records is tentatively added to the group with the nearest other
    centroid, and if the sums of squares of these groups grow by less than that of the group
    itself, it stays so. No record is merged into a group of more than 4k - 1 records.

    What becomes of groups with more than 2k - 1 records is not said: here TFRP-1 is applied to
    each of them, which gives all twelve printed losses.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.tfrp2(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def univariate(
    frame: F,
    columns: Columns,
    k: int,
    *,
    cost: Literal["sse", "sae", "maxdist"] = "sse",
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Sort the values and cut them where the groups cost least.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    cost : {"sse", "sae", "maxdist"}, default 'sse'
        Cost of a group: the sum of squared errors about its mean, the sum of absolute errors about
        its median, or the distance from its smallest to its largest value.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    S. L. Hansen and S. Mukherjee (2003), "A polynomial algorithm for optimal univariate
    microaggregation", IEEE Transactions on Knowledge and Data Engineering 15(4), 1043-1044.

    When the values are sorted, the clusters of an optimal partition are contiguous and contain
    between k and 2k - 1 elements. Let g_0 ... g_n be nodes and (g_i, g_j) an edge for all j such
    that i + k <= j < i + 2k, its cost the within-group sum of squared error of the values
    i + 1 ... j. The optimal partition is the shortest path from g_0 to g_n.

    The other costs are those of F. I. Stamm and M. T. Schaub (2024), "Faster optimal univariate
    microaggregation", Transactions on Machine Learning Research: an optimal partition has groups of
    k to 2k - 1 contiguous elements under each of them, and the same programme finds it. Which
    centre is emitted does not depend on the cost: ``center="median"`` goes with "sae".

    Equal values are sorted by row. Of several shortest paths it is the one whose last group is
    smallest, then the group before it, and so on.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.univariate(people, ["income"], k=3)
    >>> mg.verify(masked, ["income"], k=3)
    """

def vmdav(
    frame: F,
    columns: Columns,
    k: int,
    *,
    gamma: float = 0.2,
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Group round the record farthest from the mean, and extend the group while others are near.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    gamma : float, default 0.2
        How readily a group takes more than k records: 0 never; 0.2 suits scattered records, 1.1
        clustered ones.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    V-MDAV of A. Solanas, A. Martinez-Balleste and J. Domingo-Ferrer (2006), "V-MDAV: a
    multivariate microaggregation with variable group size", 17th COMPSTAT Symposium of the IASC,
    as described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    While at least k records are unassigned, the one farthest from the mean of all records and
    the k - 1 unassigned records nearest to it form a group. It is then extended up to 2k - 1
    records: with d_in the distance of the unassigned record nearest to any record of the group,
    and d_out its distance to the nearest other unassigned record, it is added if
    d_in < gamma d_out, and otherwise the group is closed. Records left over are each added to the
    group with the nearest centroid, and a group that has more than 2k - 1 records then is split
    by MDAV-1. Equal distances go to the lowest row.

    The paper's text leaves open whether distances are squared (here they are not), and whether
    the mean moves (here it stays). The last unassigned record has no d_out and is left over.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.vmdav(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """

def zscores(
    frame: F,
    columns: Columns,
    k: int,
    *,
    cost: Literal["multivariate", "projected"] = "multivariate",
    strata: Names = None,
    scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
    center: Literal["mean", "median"] = "mean",
    nulls: Literal["raise", "impute", "pattern"] = "raise",
    small_strata: Literal["raise", "null", "drop"] = "raise",
    dtype: Literal["keep", "float"] = "keep",
    order_by: Names = None,
    refine: bool = False,
    seed: int = 0,
) -> F:
    """Sort the records by the sum of their z-scores and cut them optimally.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table. A LazyFrame stays lazy: nothing is read when the call is typed.
    columns : str, selector, list, or list of lists
        What to mask: a name, a selector, a list of them; or a list of lists, blocks that are
        masked each on its own (k then holds for each block only).
    k : int
        Smallest group size, at least 2.
    cost : {"multivariate", "projected"}, default 'multivariate'
        Whether a group costs the sum of squared errors of its records or of their projections.
    strata : str or list of str, default None
        Columns whose values keep records apart; null is a stratum of its own.
    scale : {"zscore", "minmax", "robust", "none"}, default 'zscore'
        How columns are scaled, for distances only.
    center : {"mean", "median"}, default 'mean'
        Which centre replaces the values of a group.
    nulls : {"raise", "impute", "pattern"}, default 'raise'
        Whether nulls raise; are filled by the centre of their group ("impute": distances are
        over the values present); or stay ("pattern": records with nulls in the same columns
        are masked among themselves). NaN and infinities always raise.
    small_strata : {"raise", "null", "drop"}, default 'raise'
        Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells
        and strata become null, and all that are emptied must be at least k); or is left out
        ("drop": its rows do not come out).
    dtype : {"keep", "float"}, default 'keep'
        Whether columns keep their type, rounded half to even, or become Float64.
    order_by : str or list of str, default None
        Columns that fix the order of the records where the plan does not, as after a
        streaming join; equal distances go to the first record. Rows come out as they came.
    refine : bool, default False
        Whether records and groups are exchanged afterwards while that lowers the sum of squares;
        no group falls below k. Methods that group values refuse it.
    seed : int, default 0
        Seed of methods that draw at random; others do not depend on it.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Same columns, rows and order; the masked columns hold the centre of their group.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong; raised when the call is typed, or a column when the schema is known.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    Zscores microaggregation of J. Nin, J. Herranz and V. Torra (2008), "On the disclosure risk of
    multivariate microaggregation", Data and Knowledge Engineering 67(3), 399-412.

    A projection algorithm is applied to the attributes, which results in a vector z with one
    component for each record: the sum over its attributes of (x - mean) / standard deviation. The
    components are sorted in increasing order, and the optimal univariate method is applied, the
    cost of an edge being the within-group sum of squared errors of the original records between
    its ends. Give blocks of columns to project each on its own.

    The papers disagree about the cost: Algorithm 1 of "One dimension microaggregation" takes that
    of the records, hence the default, and "Modeling projections in microaggregation" that of the
    projections. The latter calls the divisor a variance; a z-score divides by the standard
    deviation, and so does this. Equal projections are sorted by row.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
    >>> people = pl.DataFrame({"age": ages, "income": incomes})
    >>> masked = mg.zscores(people, ["age", "income"], k=3)
    >>> mg.verify(masked, ["age", "income"], k=3)
    """
