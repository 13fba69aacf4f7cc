"""Types of the functions on frames.

Written by docs/generate.py from the registry; do not edit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, type_check_only

import polars as pl

from polars_microagg.analysis.attacker import Known
from polars_microagg.core.taxonomy import Taxonomy
from polars_microagg.frames.selection import Columns, F, Names

__all__ = [
    "above_optimum",
    "cbfs",
    "cells",
    "changed",
    "dba1",
    "dba2",
    "delta_corr",
    "delta_corr_sd",
    "delta_r",
    "delta_w",
    "diameter",
    "dld",
    "dld_entity",
    "dld_without_strata",
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

@type_check_only
class Options(TypedDict, total=False):
    """Options of every method, on frames and in expressions; behind each its default."""

    circular: Names  # default None
    nominal: Names  # default None
    ordinal: Names  # default None
    taxonomy: Mapping[str, Taxonomy] | None  # default None
    column_weights: Mapping[str, float] | None  # default None
    entity: Names  # default None
    entity_mode: Literal["rows", "mean", "alike"] | None  # default None
    confidential: Names  # default None
    l: int | None  # default None
    max_entity_share: float | None  # default None
    max_share: float | None  # default None
    t: float | None  # default None
    t_scale: Literal["values", "ranks"]  # default "values"
    scale: Literal["zscore", "minmax", "robust", "none"]  # default "zscore"
    center: Literal["mean", "median"]  # default "mean"
    nulls: Literal["raise", "impute", "pattern"]  # default "raise"
    small_strata: Literal["raise", "null", "drop"]  # default "raise"
    dtype: Literal["keep", "float"]  # default "keep"
    refine: bool  # default False
    seed: int  # default 0
    workers: int | None  # default None

@type_check_only
class FrameOptions(Options, total=False):
    """Options of every method on frames; behind each its default."""

    strata: Names  # default None
    max_rows_per_entity: int | None  # default None
    order_by: Names  # default None

@type_check_only
class MetricOptions(TypedDict, total=False):
    """Options of every metric; behind each its default."""

    circular: Names  # default None
    nominal: Names  # default None
    ordinal: Names  # default None
    taxonomy: Mapping[str, Taxonomy] | None  # default None
    known: Known  # default None
    known_sample: int | None  # default None
    key: Names  # default None
    strata: Names  # default None
    seed: int  # default 0

def above_optimum(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    effort: float = 1.0,
    **options: Unpack[MetricOptions],
) -> float | None:
    """Percentage by which the loss is above the least possible one, at most."""

def cbfs(frame: F, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
    """Group round the record farthest from the mean of the remaining ones, one group a round."""

def cells(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> int:
    """Number of cells that are compared: those with a value before and after."""

def changed(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float | None:
    """Share of cells whose value is another one, or gone, after masking."""

def dba1(frame: F, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
    """Group round the record in the densest place, until fewer than k records are left."""

def dba2(frame: F, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
    """Group as DBA-1 does, and dissolve groups whose records fit better into others."""

def delta_corr(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float | None:
    """Mean absolute difference of the correlations of pairs of columns."""

def delta_corr_sd(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float | None:
    """Standard deviation of the differences whose mean is `delta_corr`."""

def delta_r(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float | None:
    """Change of the correlation of the columns with the first principal component, per cent."""

def delta_w(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float | None:
    """Change of the weights of the columns on the first principal component, per cent."""

def diameter(frame: F, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
    """Group round the two most distant records; each one left over joins the nearest group."""

def dld(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    optimistic: bool = False,
    **options: Unpack[MetricOptions],
) -> float | None:
    """Distance-based linkage disclosure: share of records nearest to their own masked record."""

def dld_entity(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    optimistic: bool = False,
    entity: Names = None,
    **options: Unpack[MetricOptions],
) -> float | None:
    """Distance-based linkage disclosure of persons: share with a record nearest to its own masked one."""

def dld_without_strata(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    optimistic: bool = False,
    **options: Unpack[MetricOptions],
) -> float | None:
    """Distance-based linkage disclosure by an attacker who does not know the strata."""

def dr(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    weights: Literal["mic1d", "sugeno"] | Mapping[str, float] = "mic1d",
    **options: Unpack[MetricOptions],
) -> float | None:
    """Disclosure risk DR: a weighted mean of linkage and interval disclosure."""

def drisk(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    width: float = 0.05,
    **options: Unpack[MetricOptions],
) -> float | None:
    """Share of records all of whose values lie close to their masked values."""

def eigenvalue_difference(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float | None:
    """Sum of the relative differences of the eigenvalues of the correlation matrix."""

def fixed_size(
    frame: F,
    columns: Columns,
    k: int,
    *,
    sort: Literal["sz", "fpc"] | str = "sz",
    descending: bool = False,
    **options: Unpack[FrameOptions],
) -> F:
    """Sort the records by one axis and group k successive ones."""

def fpc_share(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float | None:
    """Share of the variability after that the first principal component explains, per cent."""

def fuzzy(
    frame: F,
    columns: Columns,
    k: int,
    *,
    m: float = 1.1,
    iterations: int = 100,
    **options: Unpack[FrameOptions],
) -> F:
    """Run fuzzy c-means with fewer and fewer clusters until each has k records."""

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
    **options: Unpack[FrameOptions],
) -> F:
    """Group by MDAV, and let the groups evolve within macrogroups."""

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
    """Add the number of each record's group as a column, and mask nothing."""

def il(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float | None:
    """Information loss IL: 100 times the mean of IL1 to IL5."""

def il1(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    zero: Literal["scale", "skip"] = "scale",
    **options: Unpack[MetricOptions],
) -> float:
    """Mean variation of the values: the mean over all cells of the relative difference."""

def il1_zero_cells(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> int:
    """Number of cells that are 0 before and not after, to which the rule of `il1` applies."""

def il1s(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    total: bool = False,
    **options: Unpack[MetricOptions],
) -> float:
    """Distance of the masked values in standard deviations: the mean over cells, or the sum."""

def il2(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float:
    """Mean variation of the means of the columns."""

def il3(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float:
    """Mean variation of the covariances, variances among them."""

def il4(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float:
    """Mean variation of the variances."""

def il5(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    change: Literal["absolute", "relative"] = "absolute",
    **options: Unpack[MetricOptions],
) -> float:
    """Mean absolute error of the correlations."""

def individual_ranking(frame: F, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
    """Sort the values and group k successive ones; no k records are made alike."""

def interval_disclosure(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    by: Literal["rank", "value", "sd"] = "rank",
    widths: float | Sequence[float] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    **options: Unpack[MetricOptions],
) -> float | None:
    """Share of original values inside an interval around their masked value, per cent."""

def k_min(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> int | None:
    """Size of the smallest class of equal masked records."""

def k_prime(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float | None:
    """Mean size of the classes of equal masked records."""

def k_ward(
    frame: F,
    columns: Columns,
    k: int,
    *,
    sort: Literal["sz", "fpc", "md"] | str = "fpc",
    projected: bool = False,
    **options: Unpack[FrameOptions],
) -> F:
    """Join records by Ward's method until each group has k, and divide large groups again."""

def loss(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float:
    """Information loss 100 SSE/SST: 0 keeps everything, 100 leaves only the means."""

def lowloss(
    frame: F, columns: Columns, k: int, *, effort: float = 1.0, **options: Unpack[FrameOptions]
) -> F:
    """Start from MDAV and exchange records and groups, at random and ever more choosily."""

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
    """Mask columns by a method given by name."""

def md(
    frame: F,
    columns: Columns,
    k: int,
    *,
    grow: Literal["centroid", "seed"] = "centroid",
    leftover: Literal["each", "together"] = "each",
    **options: Unpack[FrameOptions],
) -> F:
    """Group round the two records that are most distant from each other."""

def mdav(frame: F, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
    """Group round the record farthest from the mean, then round the one farthest from it."""

def mdav1(frame: F, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
    """Group as MDAV does, and add each record left over to the group nearest to it."""

def mdav2(frame: F, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
    """Group as MDAV-1 does, and dissolve groups whose records fit better into others."""

def mean_sd(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float | None:
    """Mean over the columns of the standard deviation after divided by that before."""

def mhm(
    frame: F,
    columns: Columns,
    k: int,
    *,
    order: Literal["npn", "md", "mdav", "cbfs"] = "npn",
    **options: Unpack[FrameOptions],
) -> F:
    """Walk from record to near record, and cut the path where the sum of squares is least."""

def mic1d(
    frame: F,
    columns: Columns,
    k: int,
    *,
    tail: Literal["merge", "keep"] = "merge",
    **options: Unpack[FrameOptions],
) -> F:
    """Group the values of all columns in one sorted vector; no k records are made alike."""

def mu_approx(frame: F, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
    """Join records to trees of at least k, and cut the trees into groups."""

def multi_dsort(
    frame: F,
    columns: Columns,
    k: int,
    *,
    resort: bool = True,
    constant: bool = False,
    **options: Unpack[FrameOptions],
) -> F:
    """Sort the records by the sum of their ranks, and group round the first and the last."""

def pcp(
    frame: F,
    columns: Columns,
    k: int,
    *,
    cost: Literal["multivariate", "projected"] = "multivariate",
    **options: Unpack[FrameOptions],
) -> F:
    """Sort the records by their first principal component and cut them optimally."""

def pld(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    agreement: Literal["sd", "rank", "exact"] = "sd",
    tolerance: float = 0.1,
    limit: int = 20000,
    **options: Unpack[MetricOptions],
) -> float | None:
    """Probabilistic linkage disclosure: share of records linked to their own masked record."""

def score(
    original: Frame,
    masked: Frame,
    columns: Columns | None = None,
    *,
    weights: Literal["mic1d", "sugeno"] | Mapping[str, float] = "mic1d",
    **options: Unpack[MetricOptions],
) -> float | None:
    """Score of a release: the mean of information loss IL and disclosure risk DR."""

def sse(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float:
    """Sum of squared differences on standardised columns."""

def sst(
    original: Frame, masked: Frame, columns: Columns | None = None, **options: Unpack[MetricOptions]
) -> float:
    """Sum of squared differences from the mean on standardised columns."""

def sugeno(
    frame: F,
    columns: Columns,
    k: int,
    *,
    cost: Literal["multivariate", "projected"] = "multivariate",
    **options: Unpack[FrameOptions],
) -> F:
    """Sort the records by the Sugeno integral of their values and cut them optimally."""

def tfrp1(frame: F, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
    """Group round the records farthest from two fixed points, in turns."""

def tfrp2(frame: F, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
    """Group as TFRP-1 does, and dissolve groups whose records fit better into others."""

def univariate(
    frame: F,
    columns: Columns,
    k: int,
    *,
    cost: Literal["sse", "sae", "maxdist"] = "sse",
    **options: Unpack[FrameOptions],
) -> F:
    """Sort the values and cut them where the groups cost least."""

def vmdav(
    frame: F, columns: Columns, k: int, *, gamma: float = 0.2, **options: Unpack[FrameOptions]
) -> F:
    """Group round the record farthest from the mean, and extend the group while others are near."""

def zscores(
    frame: F,
    columns: Columns,
    k: int,
    *,
    cost: Literal["multivariate", "projected"] = "multivariate",
    **options: Unpack[FrameOptions],
) -> F:
    """Sort the records by the sum of their z-scores and cut them optimally."""
