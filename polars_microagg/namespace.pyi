"""Types of the namespaces.

Written by docs/generate.py from the registry; do not edit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, Unpack

import polars as pl

from polars_microagg.analysis.attacker import Known
from polars_microagg.charts.plot import MicroaggPlot
from polars_microagg.core.taxonomy import Taxonomy
from polars_microagg.frames.selection import Columns, F, Names
from polars_microagg.functions import Frame, FrameOptions, MetricOptions, Options

__all__ = ["MicroaggExpr", "MicroaggFrame"]

class MicroaggFrame(Generic[F]):
    """The functions of the package with the frame given, as ``frame.microagg``."""

    def __init__(self, frame: F) -> None: ...
    def mask(
        self,
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
        """Mask columns by a method given by name; see `polars_microagg.mask`."""

    def groups(
        self,
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
        """Add the group of each record as a column; see `polars_microagg.groups`."""

    def verify(
        self,
        columns: Columns,
        k: int,
        *,
        strata: Names = None,
        entity: Names = None,
        entity_mode: Literal["rows", "mean", "alike"] | None = None,
        confidential: Names = None,
        l: int | None = None,
        max_entity_share: float | None = None,
        max_share: float | None = None,
        t: float | None = None,
        t_scale: Literal["values", "ranks"] = "values",
    ) -> None:
        """Raise unless k records share each record; see `polars_microagg.verify`."""

    def anonymity(
        self,
        columns: Columns,
        *,
        strata: Names = None,
        k: int | None = None,
        confidential: Names = None,
        entity: Names = None,
        t_scale: Literal["values", "ranks"] = "values",
    ) -> pl.DataFrame:
        """Count the classes of equal records; see `polars_microagg.anonymity`."""

    def lower_bound(
        self,
        columns: Columns,
        k: int,
        *,
        effort: float = 0.0,
        circular: Names = None,
        nominal: Names = None,
        ordinal: Names = None,
        taxonomy: Mapping[str, Taxonomy] | None = None,
    ) -> float:
        """Find a floor of `loss` for any grouping; see `polars_microagg.lower_bound`."""

    def assess(
        self,
        masked: Frame,
        columns: Columns | None = None,
        *,
        metrics: str | Sequence[str] | None = None,
        by: Names = None,
        entity: Names = None,
        by_column: bool = False,
        **options: Unpack[MetricOptions],
    ) -> pl.DataFrame:
        """Measure the loss and risk of a release; see `polars_microagg.assess`."""

    def compare(
        self,
        columns: Columns,
        *,
        methods: str | Sequence[str] | None = None,
        ks: int | Sequence[int] = (3, 5, 10),
        strata: Names = None,
        known: Known = None,
        known_sample: int | None = None,
        seconds: float | None = None,
        metrics: str | Sequence[str] | None = None,
        seed: int = 0,
        workers: int | None = None,
        **options: Any,
    ) -> pl.DataFrame:
        """Mask by several methods and measure each; see `polars_microagg.compare`."""

    @property
    def plot(self) -> MicroaggPlot:
        """Draw charts of what masking does; see `polars_microagg.charts.plot`."""

    def cbfs(self, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
        """Group round the record farthest from the mean of the remaining ones, one group a round."""

    def dba1(self, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
        """Group round the record in the densest place, until fewer than k records are left."""

    def dba2(self, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
        """Group as DBA-1 does, and dissolve groups whose records fit better into others."""

    def diameter(self, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
        """Group round the two most distant records; each one left over joins the nearest group."""

    def fixed_size(
        self,
        columns: Columns,
        k: int,
        *,
        sort: Literal["sz", "fpc"] | str = "sz",
        descending: bool = False,
        **options: Unpack[FrameOptions],
    ) -> F:
        """Sort the records by one axis and group k successive ones."""

    def fuzzy(
        self,
        columns: Columns,
        k: int,
        *,
        m: float = 1.1,
        iterations: int = 100,
        **options: Unpack[FrameOptions],
    ) -> F:
        """Run fuzzy c-means with fewer and fewer clusters until each has k records."""

    def genetic(
        self,
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

    def individual_ranking(self, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
        """Sort the values and group k successive ones; no k records are made alike."""

    def k_ward(
        self,
        columns: Columns,
        k: int,
        *,
        sort: Literal["sz", "fpc", "md"] | str = "fpc",
        projected: bool = False,
        **options: Unpack[FrameOptions],
    ) -> F:
        """Join records by Ward's method until each group has k, and divide large groups again."""

    def lowloss(
        self, columns: Columns, k: int, *, effort: float = 1.0, **options: Unpack[FrameOptions]
    ) -> F:
        """Start from MDAV and exchange records and groups, at random and ever more choosily."""

    def md(
        self,
        columns: Columns,
        k: int,
        *,
        grow: Literal["centroid", "seed"] = "centroid",
        leftover: Literal["each", "together"] = "each",
        **options: Unpack[FrameOptions],
    ) -> F:
        """Group round the two records that are most distant from each other."""

    def mdav(self, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
        """Group round the record farthest from the mean, then round the one farthest from it."""

    def mdav1(self, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
        """Group as MDAV does, and add each record left over to the group nearest to it."""

    def mdav2(self, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
        """Group as MDAV-1 does, and dissolve groups whose records fit better into others."""

    def mhm(
        self,
        columns: Columns,
        k: int,
        *,
        order: Literal["npn", "md", "mdav", "cbfs"] = "npn",
        **options: Unpack[FrameOptions],
    ) -> F:
        """Walk from record to near record, and cut the path where the sum of squares is least."""

    def mic1d(
        self,
        columns: Columns,
        k: int,
        *,
        tail: Literal["merge", "keep"] = "merge",
        **options: Unpack[FrameOptions],
    ) -> F:
        """Group the values of all columns in one sorted vector; no k records are made alike."""

    def mu_approx(self, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
        """Join records to trees of at least k, and cut the trees into groups."""

    def multi_dsort(
        self,
        columns: Columns,
        k: int,
        *,
        resort: bool = True,
        constant: bool = False,
        **options: Unpack[FrameOptions],
    ) -> F:
        """Sort the records by the sum of their ranks, and group round the first and the last."""

    def pcp(
        self,
        columns: Columns,
        k: int,
        *,
        cost: Literal["multivariate", "projected"] = "multivariate",
        **options: Unpack[FrameOptions],
    ) -> F:
        """Sort the records by their first principal component and cut them optimally."""

    def sugeno(
        self,
        columns: Columns,
        k: int,
        *,
        cost: Literal["multivariate", "projected"] = "multivariate",
        **options: Unpack[FrameOptions],
    ) -> F:
        """Sort the records by the Sugeno integral of their values and cut them optimally."""

    def tfrp1(self, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
        """Group round the records farthest from two fixed points, in turns."""

    def tfrp2(self, columns: Columns, k: int, **options: Unpack[FrameOptions]) -> F:
        """Group as TFRP-1 does, and dissolve groups whose records fit better into others."""

    def univariate(
        self,
        columns: Columns,
        k: int,
        *,
        cost: Literal["sse", "sae", "maxdist"] = "sse",
        **options: Unpack[FrameOptions],
    ) -> F:
        """Sort the values and cut them where the groups cost least."""

    def vmdav(
        self, columns: Columns, k: int, *, gamma: float = 0.2, **options: Unpack[FrameOptions]
    ) -> F:
        """Group round the record farthest from the mean, and extend the group while others are near."""

    def zscores(
        self,
        columns: Columns,
        k: int,
        *,
        cost: Literal["multivariate", "projected"] = "multivariate",
        **options: Unpack[FrameOptions],
    ) -> F:
        """Sort the records by the sum of their z-scores and cut them optimally."""

class MicroaggExpr:
    """The methods on expressions, as ``expression.microagg``."""

    def __init__(self, expression: pl.Expr) -> None: ...
    def mask(
        self,
        k: int,
        *,
        method: str = "mdav",
        scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
        center: Literal["mean", "median"] = "mean",
        nulls: Literal["raise", "impute", "pattern"] = "raise",
        small_strata: Literal["raise", "null", "drop"] = "raise",
        dtype: Literal["keep", "float"] = "keep",
        refine: bool = False,
        seed: int = 0,
        **options: Any,
    ) -> pl.Expr:
        """Mask by a method given by name; see `polars_microagg.mask`."""

    def groups(
        self,
        k: int,
        *,
        method: str = "mdav",
        scale: Literal["zscore", "minmax", "robust", "none"] = "zscore",
        center: Literal["mean", "median"] = "mean",
        nulls: Literal["raise", "impute", "pattern"] = "raise",
        small_strata: Literal["raise", "null", "drop"] = "raise",
        dtype: Literal["keep", "float"] = "keep",
        refine: bool = False,
        seed: int = 0,
        **options: Any,
    ) -> pl.Expr:
        """Group of each record, numbered from 0 in each call; see `polars_microagg.groups`."""

    def k_prime(self) -> pl.Expr:
        """Mean size of the classes of equal records: k', records divided by classes."""

    def k_min(self) -> pl.Expr:
        """Size of the smallest class of equal records."""

    def k_entities(self, entity: str | Sequence[str]) -> pl.Expr:
        """Least number of distinct entities in a class of equal records; their null is an error."""

    def l(self, confidential: str | Sequence[str]) -> pl.Expr:
        """Least of all classes of equal records: the number of distinct values."""

    def max_share(self, confidential: str | Sequence[str]) -> pl.Expr:
        """Greatest of all classes of equal records: the share of the commonest value."""

    def t(
        self, confidential: str | Sequence[str], *, t_scale: Literal["values", "ranks"] = "values"
    ) -> pl.Expr:
        """Greatest of all classes of equal records: the distance to the table."""

    def cbfs(self, k: int, **options: Unpack[Options]) -> pl.Expr:
        """Group round the record farthest from the mean of the remaining ones, one group a round."""

    def dba1(self, k: int, **options: Unpack[Options]) -> pl.Expr:
        """Group round the record in the densest place, until fewer than k records are left."""

    def dba2(self, k: int, **options: Unpack[Options]) -> pl.Expr:
        """Group as DBA-1 does, and dissolve groups whose records fit better into others."""

    def diameter(self, k: int, **options: Unpack[Options]) -> pl.Expr:
        """Group round the two most distant records; each one left over joins the nearest group."""

    def fixed_size(
        self,
        k: int,
        *,
        sort: Literal["sz", "fpc"] | str = "sz",
        descending: bool = False,
        **options: Unpack[Options],
    ) -> pl.Expr:
        """Sort the records by one axis and group k successive ones."""

    def fuzzy(
        self, k: int, *, m: float = 1.1, iterations: int = 100, **options: Unpack[Options]
    ) -> pl.Expr:
        """Run fuzzy c-means with fewer and fewer clusters until each has k records."""

    def genetic(
        self,
        k: int,
        *,
        steps: Literal[1, 2] = 2,
        macro: int = 27,
        population: int = 10,
        generations: int = 10000,
        mutation: float = 0.1,
        crossover: float = 0.5,
        **options: Unpack[Options],
    ) -> pl.Expr:
        """Group by MDAV, and let the groups evolve within macrogroups."""

    def individual_ranking(self, k: int, **options: Unpack[Options]) -> pl.Expr:
        """Sort the values and group k successive ones; no k records are made alike."""

    def k_ward(
        self,
        k: int,
        *,
        sort: Literal["sz", "fpc", "md"] | str = "fpc",
        projected: bool = False,
        **options: Unpack[Options],
    ) -> pl.Expr:
        """Join records by Ward's method until each group has k, and divide large groups again."""

    def lowloss(self, k: int, *, effort: float = 1.0, **options: Unpack[Options]) -> pl.Expr:
        """Start from MDAV and exchange records and groups, at random and ever more choosily."""

    def md(
        self,
        k: int,
        *,
        grow: Literal["centroid", "seed"] = "centroid",
        leftover: Literal["each", "together"] = "each",
        **options: Unpack[Options],
    ) -> pl.Expr:
        """Group round the two records that are most distant from each other."""

    def mdav(self, k: int, **options: Unpack[Options]) -> pl.Expr:
        """Group round the record farthest from the mean, then round the one farthest from it."""

    def mdav1(self, k: int, **options: Unpack[Options]) -> pl.Expr:
        """Group as MDAV does, and add each record left over to the group nearest to it."""

    def mdav2(self, k: int, **options: Unpack[Options]) -> pl.Expr:
        """Group as MDAV-1 does, and dissolve groups whose records fit better into others."""

    def mhm(
        self,
        k: int,
        *,
        order: Literal["npn", "md", "mdav", "cbfs"] = "npn",
        **options: Unpack[Options],
    ) -> pl.Expr:
        """Walk from record to near record, and cut the path where the sum of squares is least."""

    def mic1d(
        self, k: int, *, tail: Literal["merge", "keep"] = "merge", **options: Unpack[Options]
    ) -> pl.Expr:
        """Group the values of all columns in one sorted vector; no k records are made alike."""

    def mu_approx(self, k: int, **options: Unpack[Options]) -> pl.Expr:
        """Join records to trees of at least k, and cut the trees into groups."""

    def multi_dsort(
        self, k: int, *, resort: bool = True, constant: bool = False, **options: Unpack[Options]
    ) -> pl.Expr:
        """Sort the records by the sum of their ranks, and group round the first and the last."""

    def pcp(
        self,
        k: int,
        *,
        cost: Literal["multivariate", "projected"] = "multivariate",
        **options: Unpack[Options],
    ) -> pl.Expr:
        """Sort the records by their first principal component and cut them optimally."""

    def sugeno(
        self,
        k: int,
        *,
        cost: Literal["multivariate", "projected"] = "multivariate",
        **options: Unpack[Options],
    ) -> pl.Expr:
        """Sort the records by the Sugeno integral of their values and cut them optimally."""

    def tfrp1(self, k: int, **options: Unpack[Options]) -> pl.Expr:
        """Group round the records farthest from two fixed points, in turns."""

    def tfrp2(self, k: int, **options: Unpack[Options]) -> pl.Expr:
        """Group as TFRP-1 does, and dissolve groups whose records fit better into others."""

    def univariate(
        self, k: int, *, cost: Literal["sse", "sae", "maxdist"] = "sse", **options: Unpack[Options]
    ) -> pl.Expr:
        """Sort the values and cut them where the groups cost least."""

    def vmdav(self, k: int, *, gamma: float = 0.2, **options: Unpack[Options]) -> pl.Expr:
        """Group round the record farthest from the mean, and extend the group while others are near."""

    def zscores(
        self,
        k: int,
        *,
        cost: Literal["multivariate", "projected"] = "multivariate",
        **options: Unpack[Options],
    ) -> pl.Expr:
        """Sort the records by the sum of their z-scores and cut them optimally."""
