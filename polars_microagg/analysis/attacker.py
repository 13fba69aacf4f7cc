"""The attributes that an intruder is thought to know."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from polars_microagg.core.options import whole_number
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.selection import MASKED, keys_of

__all__ = ["Attack", "Known", "attacker"]

Known: TypeAlias = "str | int | pl.Expr | Sequence[str | pl.Expr] | Sequence[Sequence[str]] | None"
"""Columns; "all"; "subsets"; how many columns at a time; or a list of lists of columns."""

Attack: TypeAlias = tuple[list[str], list[tuple[int, ...]]]
"""Columns, and sets of positions among them."""

MOST = 65_536
"""Sets of columns that are measured without a sample."""


def attacker(
    known: Any, sample: int | None, seed: int, columns: list[str], masked: pl.DataFrame
) -> Attack:
    """Read `known` and `known_sample`: columns, and ascending sets of positions among them.

    `columns` are those measured; `known` may name others of `masked`.

    >>> attacker(1, None, 0, ["a", "b"], pl.DataFrame({"a": [1], "b": [2]}))
    (['a', 'b'], [(0,), (1,)])
    """
    if sample is not None:
        sample = whole_number("known_sample", sample, "a whole number of at least 1", 1)
    seed = whole_number("seed", seed, "a whole number of at least 0", 0)
    word = known if isinstance(known, str) and known not in masked.schema else None
    if known is None or word == "all":
        return columns, [tuple(range(len(columns)))]
    if word == "subsets":
        return columns, _drawn(list(range(1, len(columns) + 1)), len(columns), sample, seed)
    if isinstance(known, int | np.integer) and not isinstance(known, bool):
        size = whole_number("known", known, f"from 1 to the {len(columns)} columns measured", 1)
        if size > len(columns):
            need = f"a whole number from 1 to the {len(columns)} column(s) measured"
            raise InvalidParameterError.kind("known", known, need)
        return columns, _drawn([size], len(columns), sample, seed)
    if _nested(known):
        sets = [keys_of(masked.schema, "known", list(names), MASKED) for names in known]
        if not all(sets):
            raise InvalidParameterError.kind("known", known, "no empty list of columns")
        names = list(dict.fromkeys(name for chosen in sets for name in chosen))
        return names, [tuple(sorted(map(names.index, chosen))) for chosen in sets]
    listed = list(keys_of(masked.schema, "known", known, MASKED))
    if not listed:
        raise InvalidParameterError.kind("known", known, "at least one column, or 'all' of them")
    return listed, [tuple(range(len(listed)))]


def _nested(known: object) -> bool:
    return (
        isinstance(known, Sequence)
        and not isinstance(known, str)
        and bool(known)
        and all(isinstance(item, Sequence) and not isinstance(item, str) for item in known)
    )


def _drawn(lengths: list[int], p: int, sample: int | None, seed: int) -> list[tuple[int, ...]]:
    """Return all sets of these sizes, or a sample of them without repetition."""
    counts = [math.comb(p, length) for length in lengths]
    total = sum(counts)
    if sample is None and total > MOST:
        need = f"given: there are {total} sets of columns, more than {MOST}"
        raise InvalidParameterError.kind("known_sample", sample, need)
    if total <= MOST:
        every = [s for length in lengths for s in itertools.combinations(range(p), length)]
        if sample is None or sample >= total:
            return every
        rng = np.random.default_rng(seed)
        return [every[i] for i in np.sort(rng.choice(total, sample, replace=False))]
    rng = np.random.default_rng(seed)
    drawn: set[tuple[int, ...]] = set()
    # Too many to list, so sets are drawn one by one: first the size, in proportion to the number of
    # sets of that size, then the columns. Sets drawn twice are drawn again.
    shares = np.array(counts, dtype=np.float64) / total
    while len(drawn) < min(sample or 0, total):
        length = int(rng.choice(lengths, p=shares))
        drawn.add(tuple(sorted(int(i) for i in rng.choice(p, length, replace=False))))
    return sorted(drawn)
