"""The columns of two tables as coordinates, whose squared distances are those of the columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.core.options import KEY_OPTIONS, keys_asked
from polars_microagg.core.own_options import refuse_unknown
from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.errors.categories import new_categories
from polars_microagg.frames.columns import kind_for, require, values
from polars_microagg.frames.safe_collect import quietly
from polars_microagg.kernels.scale import side_by_side

__all__ = [
    "CELLS",
    "Coordinates",
    "at_least_two",
    "coordinates",
    "kinds_asked",
    "matrices",
    "refuse_new_categories",
]

CELLS = 1 << 26
"""Numbers that the coordinates of a column may take for measures, which pass over them a few times."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Columns before and after as (n, q) matrices in the same units, NaN for null.

    `joint` (q,) is the position of the column that each coordinate is of, and `numeric` (q,) whether
    that has numbers.
    """

    before: Matrix
    after: Matrix
    joint: Labels
    numeric: npt.NDArray[np.bool_]

    @property
    def several(self) -> Labels | None:
        """The column of each coordinate, or None if each is a column."""
        return None if len(np.unique(self.joint)) == len(self.joint) else self.joint


def coordinates(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    names: Sequence[str],
    asked: Mapping[str, Any] | None = None,
) -> Coordinates:
    """Return matrices of the coordinates of the columns of both tables.

    >>> found = coordinates(pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1.5, 1.5]}), ["a"])
    >>> found.before.tolist(), found.after.tolist()
    ([[1.0], [2.0]], [[1.5], [1.5]])
    """
    n = original.height
    parts, joint, numeric = list[tuple[Matrix, Matrix]](), [], []
    for j, name in enumerate(names):
        # Methods of a Series look it up by its name, where "^a$" would be a pattern.
        before, after = (table[name].alias("0") for table in (original, masked))
        kind = kind_for(name, before.dtype, asked)
        for column in (before, after):
            require(column, name, "keep", kind if column.dtype == before.dtype else None)
        # A masked value that the type before does not have would be shown by the error of its cast.
        one, other, embedding = quietly(partial(values, before, after, kind), "masked")
        if embedding is None:
            parts.append((one[:, None], other[:, None]))
        else:
            both = np.concatenate([one, other])
            wide = at_least_two(embedding.coordinates(both, CELLS))
            parts.append((wide[:n], wide[n:]))
        width = parts[-1][0].shape[1]
        joint += [j] * width
        numeric += [kind.numeric and embedding is None] * width
    return Coordinates(
        side_by_side([part[0] for part in parts], n),
        side_by_side([part[1] for part in parts], n),
        np.array(joint, dtype=np.intp),
        np.array(numeric, dtype=np.bool_),
    )


def at_least_two(wide: Matrix) -> Matrix:
    """Add a second coordinate to one of two categories: measures know categories by several."""
    return wide if wide.shape[1] > 1 else np.hstack([wide, wide - wide])


def matrices(
    original: pl.DataFrame, masked: pl.DataFrame, names: Sequence[str]
) -> tuple[Matrix, Matrix]:
    """Return columns of numbers of both tables as (n, p) matrices in the same units.

    >>> before, after = matrices(pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1.5, 1.5]}), ["a"])
    >>> before.tolist(), after.tolist()
    ([[1.0], [2.0]], [[1.5], [1.5]])
    """
    found = coordinates(original, masked, names)
    return found.before, found.after


def refuse_new_categories(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    names: Sequence[str],
    asked: Mapping[str, Any],
) -> None:
    """Refuse nominal columns with values that no record had before: they are classes of a taxonomy."""
    for name in names:
        kind = kind_for(name, original.schema[name], asked)
        if kind.numeric or kind.widens or kind.ordered:
            continue
        before, after = (table[name].alias("0").cast(pl.String) for table in (original, masked))
        after = after.drop_nulls().unique()
        if new := int((~after.is_in(before.unique().implode())).sum()):
            raise new_categories(name, new)


def kinds_asked(options: Mapping[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Check the parameters that say of which kind columns are, as they were given to a function."""
    refuse_unknown(function, options, KEY_OPTIONS)
    return keys_asked(options)
