"""Charts in a notebook: ``frame.microagg.plot``."""

from __future__ import annotations

from typing import Any

import polars as pl

from polars_microagg.analysis.anonymity import selected
from polars_microagg.analysis.assess import assess
from polars_microagg.charts import altair_charts, risk_map
from polars_microagg.charts.aggregates import (
    class_table,
    correlation_table,
    linkage_table,
    loss_table,
)
from polars_microagg.charts.category_shares import category_shares
from polars_microagg.charts.histograms import histogram
from polars_microagg.charts.style import altair, printable
from polars_microagg.core.options import group_size
from polars_microagg.errors import InvalidParameterError, NotNumericError
from polars_microagg.errors.originals import unmatched_rows
from polars_microagg.frames.columns import is_number, refuse, type_name
from polars_microagg.frames.overview import Overview
from polars_microagg.frames.safe_collect import collected
from polars_microagg.frames.selection import MASKED, Columns, Names, as_frame, keys_of

__all__ = ["MicroaggPlot"]


class MicroaggPlot(Overview):
    """Altair charts of a table before and after masking; only aggregates are drawn.

    Every method returns an Altair chart, which a notebook shows and ``chart.save("a.svg")``
    writes. They need the extra ``report``.

    Examples
    --------
    >>> before = pl.DataFrame({"age": [23, 25, 31, 47, 52, 58]})
    >>> after = before.microagg.mdav("age", k=3)
    >>> after.microagg.plot.class_sizes("age", k=3).description
    'Records by the size of their group; the smallest size allowed is 3.'
    """

    def __init__(self, frame: pl.DataFrame | pl.LazyFrame) -> None:
        self._frame = collected(frame)

    def _title(self) -> str:
        return "microagg.plot of a DataFrame"

    def _pair(
        self, masked: Any, columns: Any, *, numbers: bool = False
    ) -> tuple[pl.DataFrame, list[str]]:
        """Return the masked table, and the names of columns, all of `numbers`, that both tables have."""
        after = collected(as_frame(masked, "masked"), "masked")
        if after.height != self._frame.height:
            raise unmatched_rows(self._frame.height, after.height)
        if columns is None:
            both = [n for n, d in self._frame.schema.items() if is_number(d) and n in after.schema]
            columns = [name for name in both if is_number(after.schema[name])]
        names = [name for block in selected(self._frame, columns) for name in block]
        for name in names:
            if name not in after.schema:
                raise InvalidParameterError.unknown_column("columns", name, after.schema, MASKED)
            for table in (self._frame, after):
                refuse(name, table.schema[name])
                if numbers and not is_number(table.schema[name]):
                    raise NotNumericError.of(name, type_name(table.schema[name]))
        return after, names

    def distributions(self, masked: Any, columns: Columns | None = None, *, k: int = 5) -> Any:
        """Draw each column before (filled) and after (line), categories as bars.

        Parameters
        ----------
        masked : polars.DataFrame or polars.LazyFrame
            The table after masking, in the same order.
        columns : str, selector or list, optional
            Columns; all numeric and temporal ones that both tables have by default.
        k : int, default 5
            Fewest original records of a bin; smaller bins are merged with a neighbour. Categories that
            fewer records have, and that are not in the masked table, are summed.

        Returns
        -------
        altair.VConcatChart
            One chart a column.
        """
        after, names = self._pair(masked, columns)
        k = group_size(k)
        parts, config = [], None
        for name in names:
            pair = self._frame[name].alias("0"), after[name].alias("0")
            if all(is_number(column.dtype) for column in pair):
                chart = altair_charts.distribution(histogram(*pair, k), name)
            else:
                chart = altair_charts.categories(category_shares(*pair, k), name)
            config, chart.config = chart.config, altair().Undefined
            parts.append(chart.properties(title=printable(name)))
        joined = altair().vconcat(*parts)
        joined.config = config
        return joined

    def class_sizes(self, columns: Columns, *, k: int, strata: Names = None) -> Any:
        """Draw how many records of this, the masked, table are in groups of each size.

        Parameters
        ----------
        columns : str, selector or list
            Columns that were masked together.
        k : int
            Smallest size allowed, which is marked.
        strata : str, selector or list, optional
            Columns that were kept as strata: groups are counted within each.

        Returns
        -------
        altair.LayerChart
            The chart.
        """
        names = [name for block in selected(self._frame, columns) for name in block]
        keys = keys_of(self._frame.schema, "strata", strata)
        return altair_charts.class_size_chart(
            class_table(self._frame, names, group_size(k), keys), k
        )

    def loss(self, masked: Any, columns: Columns | None = None) -> Any:
        """Draw what each column loses, in per cent of its variation.

        Parameters
        ----------
        masked, columns
            As for `distributions`.

        Returns
        -------
        altair.LayerChart
            The chart, the greatest loss first.
        """
        return altair_charts.loss_chart(loss_table(self._frame, *self._pair(masked, columns)))

    def correlations(self, masked: Any, columns: Columns | None = None) -> Any:
        """Draw the change of each correlation.

        Parameters
        ----------
        masked, columns
            As for `distributions`.

        Returns
        -------
        altair.LayerChart
            The chart, of at most 12 columns.
        """
        return altair_charts.correlations(
            correlation_table(self._frame, *self._pair(masked, columns, numbers=True))
        )

    def linkage(
        self, masked: Any, columns: Columns | None = None, *, k: int = 5, strata: Names = None
    ) -> Any:
        """Draw how often an intruder finds the right record, by how many columns they know.

        Parameters
        ----------
        masked, columns
            As for `distributions`.
        k : int, default 5
            Smallest group size, which is marked as 1 in k.
        strata : str or list of str, optional
            Columns of `masked` that the intruder knows, too, such as the strata of the release.

        Returns
        -------
        altair.LayerChart
            The chart.
        """
        after, names = self._pair(masked, columns)
        within = keys_of(after.schema, "strata", strata, MASKED)
        names = [name for name in names if name not in within]
        table = linkage_table(self._frame, after, names, strata=within)
        return altair_charts.linkage(table, group_size(k))

    def risk_utility(
        self,
        compared: pl.DataFrame,
        *,
        masked: Any = None,
        columns: Columns | None = None,
        strata: Names = None,
    ) -> Any:
        """Draw the loss and risk of each line of `compare`, and the Pareto line.

        Parameters
        ----------
        compared : polars.DataFrame
            What `compare` returned.
        masked : polars.DataFrame or polars.LazyFrame, optional
            A release of this table, to be marked on the map.
        columns : str, selector or list, optional
            Its columns, as for `distributions`.
        strata : str or list of str, optional
            Its strata, as `compare` had them.

        Returns
        -------
        altair.LayerChart
            The chart.
        """
        chosen = None
        if masked is not None:
            after, names = self._pair(masked, columns)
            within = keys_of(after.schema, "strata", strata, MASKED)
            names = [name for name in names if name not in within]
            asked: dict[str, Any] = {"metrics": ["loss", "dr"], "strata": within}
            measures = assess(self._frame, after, names, **asked).row(0)
            chosen = None if None in measures else measures
        return risk_map.risk_utility(compared, chosen=chosen)
