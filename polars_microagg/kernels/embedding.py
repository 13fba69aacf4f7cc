"""Embeddings of columns that are not numbers: coordinates whose distances are those of the values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["Embedding", "most_coordinates"]

FEWEST, MOST = 64, 256
"""Bounds of the most coordinates of a column: fewer of many records, as all are compared with all."""

CELLS = 1 << 23
"""Numbers that the coordinates of a column may take for grouping."""


def most_coordinates(records: int, cells: int = CELLS) -> int:
    """Return the most coordinates that a column of so many records gets.

    >>> most_coordinates(1_000), most_coordinates(1_000_000)
    (256, 64)
    """
    return min(max(cells // max(1, records), FEWEST), MOST)


@dataclass(frozen=True, eq=False)
class Embedding:
    """Points in Euclidean space for the values of a column, by code.

    The path to value c of a tree has the edges ``paths[c]`` from the root down, -1 where it ends
    before; `lengths` are theirs. The squared distance of two values is the length of the edges that
    only one of their paths has. With `points` they lie at these coordinates instead, `span` apart at
    most.
    """

    paths: Labels
    lengths: Vector
    span: float = 1.0
    points: Matrix | None = None

    @classmethod
    def apart(cls, values: int) -> Embedding:
        """Embed values of which any two are at distance 1.

        >>> table = Embedding.apart(3).coordinates(np.array([0.0, 1.0, 2.0]))
        >>> float(np.square(table[0] - table[2]).sum().round(12))
        1.0
        """
        return cls(np.arange(values)[:, None], np.full(values, 0.5))

    @classmethod
    def at(cls, points: Matrix, span: float) -> Embedding:
        """Embed values at known coordinates."""
        return cls(np.empty((len(points), 0), dtype=np.intp), np.empty(0), span, points)

    def reach(self, codes: Vector) -> float:
        """Return the largest distance of two values, of which none is deeper than those of the records.

        >>> float(Embedding.apart(3).reach(np.array([0.0, np.nan])))
        1.0
        """
        if self.points is not None:
            return self.span
        held = np.unique(codes[~np.isnan(codes)].astype(np.intp))
        # The way from the deepest value up and down again is at most this long.
        steps = np.append(self.lengths, 0.0)[self.paths[held]]
        return max(float(np.sqrt(2 * steps.sum(axis=1).max(initial=0.0))), 1e-300)

    def coordinates(self, codes: Vector, cells: int = CELLS) -> Matrix:
        """Return (n, q) coordinates of records; NaN where a code is.

        They depend on which codes there are, not on how many values are embedded: those of one
        stratum are the same alone and among others. Beyond 256 coordinates, or 64 if there would be
        more than so many `cells`, the edges that tell least apart share the last ones, in which their
        distances are right on average.
        """
        there = ~np.isnan(codes)
        held, number, counts = np.unique(
            codes[there].astype(np.intp), return_inverse=True, return_counts=True
        )
        table = self.table(held, counts, len(codes), cells)
        out = np.full((len(codes), table.shape[1]), np.nan, order="F")
        for j in range(table.shape[1]):
            out[there, j] = table[number, j]
        return out

    def table(self, held: Labels, counts: Labels, records: int, cells: int = CELLS) -> Matrix:
        """Return the coordinates of some values, which so many of the records have."""
        most = most_coordinates(records, cells)
        if not len(held):
            return np.zeros((0, 1))
        if self.points is not None:
            return self.points[held]
        paths = self.paths[held]
        used = np.unique(paths[paths >= 0])
        number = np.full(len(self.lengths) + 1, -1, dtype=np.intp)
        number[used] = np.arange(len(used))
        paths = number[paths]
        lengths = self.lengths[used]
        if len(used) > most:
            return _with_shared(paths, lengths, counts, most)
        on = np.zeros((len(held), len(used) + 1), dtype=np.bool_)
        np.put_along_axis(on, paths, values=True, axis=1)
        return _merged(on[:, :-1], lengths)


def _merged(on: np.ndarray, lengths: Vector) -> Matrix:
    """Return a coordinate for each way in which edges part the values.

    An edge parts those below it from the others; several that part them alike are one longer edge.
    """
    # Which side of an edge is 0 does not matter for distances: the first value is.
    on = on ^ on[:1]
    sides: dict[bytes, int] = {}
    kept: list[int] = []
    total: list[float] = []
    for j in np.flatnonzero(on.any(axis=0)).tolist():
        key = np.packbits(on[:, j]).tobytes()
        if key in sides:
            total[sides[key]] += float(lengths[j])
        else:
            sides[key] = len(kept)
            kept.append(j)
            total.append(float(lengths[j]))
    if not kept:
        return np.zeros((len(on), 1))
    table: Matrix = on[:, kept] * np.sqrt(np.array(total))
    return table


def _with_shared(paths: Labels, lengths: Vector, counts: Labels, most: int) -> Matrix:
    """Return a table of so many columns, in which the edges that tell least apart share some."""
    shared = min(FEWEST, most // 2)
    edges = len(lengths)
    records = np.zeros(edges + 1)
    for column in paths.T:
        np.add.at(records, column, counts)
    share = records[:-1] / max(1, counts.sum())
    told = lengths * share * (1 - share)
    own = np.argsort(-told, kind="stable")[: most - shared]
    table = np.zeros((len(paths), most))
    place = np.full(edges + 1, -1, dtype=np.intp)
    place[own] = np.arange(len(own))
    # A random sign in each shared coordinate: the mean of the products of two edges is 0.
    signs = np.random.default_rng(edges).choice([-1.0, 1.0], size=(edges + 1, shared))
    signs *= np.sqrt(np.append(lengths, 0.0) / shared)[:, None]
    signs[own], signs[-1] = 0.0, 0.0
    for column in paths.T:
        rows = np.flatnonzero(place[column] >= 0)
        table[rows, place[column[rows]]] = np.sqrt(lengths[column[rows]])
        table[:, most - shared :] += signs[column]
    return table
