"""Plan: what one call does, checked when the call is typed; the only judge of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from polars_microagg.core import registry
from polars_microagg.core.model import Groups, Model, broken_by, models_of
from polars_microagg.core.options import CHOICES, COMMON, check_option, group_size, whole_number
from polars_microagg.core.partition import (
    Cells,
    Labels,
    Masked,
    Matrix,
    Strata,
    ValueMasking,
    Vector,
)
from polars_microagg.core.registry import Method
from polars_microagg.errors import (
    BrokenPromiseError,
    InvalidParameterError,
    UnknownMethodError,
)
from polars_microagg.kernels.cell_masking import cells
from polars_microagg.kernels.centre import centres
from polars_microagg.kernels.local.local_search import refined
from polars_microagg.kernels.missing import completed
from polars_microagg.kernels.scale import scaled
from polars_microagg.progress import Callback, current, progress
from polars_microagg.wording import Parameter, Sentence, Setting

__all__ = ["Plan"]

LOCKSTEP = 256
"""Strata up to this size are grouped side by side where the method can."""


@dataclass(frozen=True)
class Plan:
    """A method with its k and options, bound to columns once their names are known.

    Examples
    --------
    >>> Plan.make("mdav", 5, center="median").center
    'median'
    """

    method: Method
    k: int
    options: Mapping[str, Any] = field(default_factory=dict)
    scale: str = "zscore"
    center: str = "mean"
    nulls: str = "raise"
    small_strata: str = "raise"
    dtype: str = "keep"
    refine: bool = False
    seed: int = 0
    blocks: tuple[tuple[str, ...], ...] = ()
    report: Callback | None = None

    @classmethod
    def make(cls, method: object, k: object, /, **options: object) -> Self:
        """Check a call and freeze it.

        Parameters
        ----------
        method : str
            Name of a registered method.
        k : int
            Smallest group size, at least 2.
        **options : object
            Common options and those of the method.

        Returns
        -------
        Plan
            The checked plan, not yet bound to columns.

        Raises
        ------
        InvalidParameterError
            A parameter is unknown or outside its range.
        """
        known = registry.methods()
        if not isinstance(method, str) or method not in known:
            raise UnknownMethodError.of(method, known)
        entry = known[method]
        common = COMMON | {name: value for name, value in options.items() if name in COMMON}
        for name, choices in CHOICES.items():
            if not isinstance(common[name], str) or common[name] not in choices:
                raise InvalidParameterError.choice(name, common[name], choices)
        own = {name: value for name, value in options.items() if name not in COMMON}
        for name, value in own.items():
            if name not in entry.options:
                known_options = [*entry.options, "strata", "order_by", *COMMON]
                raise InvalidParameterError.option(method, name, known_options)
            check_option(entry.options[name], value)
        common["seed"] = whole_number("seed", common["seed"], "a whole number of at least 0", 0)
        plan = cls(entry, group_size(k), own, **common, report=current())
        plan._refuse_what_would_be_ignored()
        return plan

    @property
    def groups_cells(self) -> bool:
        """Whether the method mixes values of several columns and makes no groups of records."""
        return self.method.unit == "value" and not self.method.columnwise

    @property
    def models(self) -> tuple[Model, ...]:
        """What every group must satisfy."""
        return models_of({"k": self.k})

    def keep_promise(self, groups: Groups) -> None:
        """Hold groups of records, or classes of emitted ones, against what the call promises.

        Raises
        ------
        BrokenPromiseError
            A group does not satisfy a model of privacy; nothing may be released.
        """
        if model := broken_by(self.models, groups):
            raise model.broken(self.method.name, groups)

    def _refuse_what_would_be_ignored(self) -> None:
        if not isinstance(self.refine, bool):
            raise InvalidParameterError.switch("refine", self.refine)
        if self.refine and self.method.unit == "value":
            what = "{setting}, which exchanges records"
            self._refuse("refine", Sentence(what, setting=Setting("refine", True)))
        if self.groups_cells and self.center != "mean":
            self._refuse("center", Setting("center", self.center))
        if self.groups_cells and self.nulls == "impute":
            way = Sentence(
                "Use {pattern}, or drop those rows first.", pattern=Setting("nulls", "pattern")
            )
            raise InvalidParameterError.cannot(self.method.name, Setting("nulls", "impute"), way)

    def _refuse(self, name: str, what: object) -> NoReturn:
        """Refuse an option of all methods that this one cannot honour."""
        way = Sentence("Leave {parameter} out.", parameter=Parameter(name))
        raise InvalidParameterError.cannot(self.method.name, what, way)

    def bind(self, blocks: Sequence[Sequence[str]]) -> Self:
        """Name the columns that are masked together.

        Parameters
        ----------
        blocks : sequence of sequence of str
            Blocks of columns, each masked on its own.

        Returns
        -------
        Plan
            The same plan for these columns.

        Raises
        ------
        InvalidParameterError
            An option names a column that is not among those masked.
        """
        for name, value in self.options.items():
            option = self.method.options[name]
            if option.axis and value not in option.choices:
                for block in blocks:
                    if value not in block:
                        raise InvalidParameterError.choice(name, value, [*option.choices, *block])
        if self.method.columnwise:
            blocks = [[name] for block in blocks for name in block]
        return replace(self, blocks=tuple(tuple(block) for block in blocks))

    def slices(self) -> Iterator[slice]:
        """Columns of each block."""
        ends = np.cumsum([0, *map(len, self.blocks)]).tolist()
        return map(slice, ends[:-1], ends[1:])

    def patterns(self, x: Matrix, strata: Strata) -> Strata:
        """Strata whose records are grouped together, of one null pattern if nulls stay."""
        if self.nulls != "pattern" or not np.isnan(x).any() or not len(strata.sizes):
            return strata
        return strata.by_pattern(x)

    def mask(
        self, x: Matrix, factors: Vector, strata: Strata, whole: Sequence[bool] = ()
    ) -> Iterator[Masked]:
        """Group the records and find the centres, block by block.

        Parameters
        ----------
        x : array of shape (n, p)
            The columns of all blocks, in order: finite values in original units, NaN where
            absent.
        factors : array of shape (p,)
            Size of one unit of each column.
        strata : Strata
            Rows that may be grouped together, without those that are suppressed.
        whole : sequence of bool, optional
            Columns that are emitted in whole steps.

        Yields
        ------
        Masked
            The masked values of one block.

        Raises
        ------
        BrokenPromiseError
            The method made a group smaller than k; nothing is released.
        """
        for block, columns in zip(self.blocks, self.slices(), strict=True):
            if self.groups_cells:
                yield from self._mask_cells(
                    block, x[:, columns], factors[columns], strata, whole[columns]
                )
            else:
                labels, groups = self._labels(block, x[:, columns], factors[columns], strata)
                wide = strata if self.nulls == "impute" else None
                yield Masked(
                    block, labels, centres(x[:, columns], labels, groups, self.center, wide)
                )

    def _labels(
        self, block: tuple[str, ...], x: Matrix, factors: Vector, strata: Strata
    ) -> tuple[Labels, int]:
        """Number the groups of all strata; -1 where a record is in none."""
        labels = np.full(len(x), -1, dtype=np.intp)
        strata = self.patterns(x, strata)
        if not len(strata.sizes):
            return labels, 0
        # Records without any value are alike as they are: a group that no method needs to find.
        bare = _without_values(x[strata.firsts])
        if self.nulls == "pattern" and bare.any():
            grouped, groups = self._labels(block, x, factors, strata.only(~bare))
            plain = strata.only(bare)
            grouped[plain.order] = groups + np.repeat(np.arange(bare.sum()), plain.sizes)
            return grouped, groups + int(bare.sum())
        self._refuse_too_many(int(strata.sizes.max()))
        part = x if len(strata.sizes) == 1 and len(strata.order) == len(x) else x[strata.order]
        ready, zero = part, self.method.absolute
        if self.method.scaled:
            ready = scaled(part, self.scale, factors, strata.sizes, zero=zero)
        # Records of one null pattern are grouped by the columns that they have.
        firsts = np.cumsum(strata.sizes) - strata.sizes
        present = ~np.isnan(ready[firsts]) if self.nulls == "pattern" else None
        if np.isnan(ready).any():
            parts = np.split(ready, np.cumsum(strata.sizes)[:-1])
            ready = np.concatenate([completed(part) for part in parts])
        with progress(self.report):
            grouped, groups = self._grouped(ready, strata.sizes, self._arguments(block), present)
        self.keep_promise(Groups(np.bincount(grouped, minlength=groups)))
        if self.refine:
            grouped, groups = refined(ready, grouped, strata.sizes, self.k)
        labels[strata.order] = grouped
        return labels, groups

    def _grouped(
        self,
        x: Matrix,
        sizes: Labels,
        arguments: Mapping[str, Any],
        present: npt.NDArray[np.bool_] | None,
    ) -> tuple[Labels, int]:
        """Run the method on each stratum; the groups of later ones get later numbers."""
        starts = np.cumsum(sizes) - sizes
        grouped, groups = np.empty(len(x), dtype=np.intp), 0
        small = sizes <= (LOCKSTEP if self.method.lockstep else 0)
        if self.method.lockstep and small.sum() > 1:
            rows = np.repeat(small, sizes)
            grouped[rows], groups = self.method.lockstep(x[rows], sizes[small], **arguments)
            starts, sizes = starts[~small], sizes[~small]
            present = present if present is None else present[~small]
        by_name = any(option.axis for option in self.method.options.values())
        for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            part = x[start : start + size]
            if present is not None and not present[i].all() and not by_name:
                part = np.asfortranarray(part[:, present[i]])
            partition = self.method.function(part, **arguments)
            if len(partition.labels) != size:
                raise BrokenPromiseError.shape(self.method.name, len(partition.labels), size)
            grouped[start : start + size] = partition.labels + groups
            groups += len(partition)
        return grouped, groups

    def _arguments(self, block: tuple[str, ...]) -> dict[str, Any]:
        arguments: dict[str, Any] = {"k": self.k}
        for name, value in self.options.items():
            option = self.method.options[name]
            named = option.axis and value not in option.choices
            arguments[name] = block.index(value) if named else value
        return arguments | ({"seed": self.seed} if self.method.seeded else {})

    def _refuse_too_many(self, records: int) -> None:
        limit = self.method.limit
        if limit is not None and records > limit:
            raise InvalidParameterError.too_many(self.method.name, records, limit, self.method.cost)

    def _mask_cells(
        self,
        block: tuple[str, ...],
        x: Matrix,
        factors: Vector,
        strata: Strata,
        whole: Sequence[bool],
    ) -> Iterator[Masked]:
        """Mask with a method that groups the values of all columns together."""

        def masked(part: Matrix) -> Matrix:
            result: ValueMasking = self.method.function(part, **self._arguments(block))
            if result.values.shape != part.shape:
                raise BrokenPromiseError.shape(self.method.name, len(result.values), len(part))
            return result.values

        parts = self.patterns(x, strata)
        self._refuse_too_many(int(parts.sizes.max(initial=0)))
        parts = parts.only(~_without_values(x[parts.firsts]))
        labels = np.arange(len(x))
        for name, column in zip(block, cells(x, factors, whole, parts, masked).T, strict=True):
            yield Masked((name,), np.where(np.isnan(column), -1, labels), (Cells(column, parts),))


def _without_values(x: Matrix) -> npt.NDArray[np.bool_]:
    """Whether each record has no value at all."""
    return np.asarray(np.isnan(x).all(axis=1))
