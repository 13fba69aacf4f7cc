"""The checked plan of one call: its method, k and options. Columns are checked against a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from polars_microagg.core import registry
from polars_microagg.core.attributes import Attribute
from polars_microagg.core.entities import EntityRule, mask_entities
from polars_microagg.core.grouping import group_strata
from polars_microagg.core.masked import Cells, Holders, Masked
from polars_microagg.core.mixtures import group_mixture
from polars_microagg.core.options import checked_options, group_size
from polars_microagg.core.partition import (
    Grouping,
    Labels,
    Matrix,
    Members,
    Strata,
    ValueMasking,
    Vector,
)
from polars_microagg.core.refusals import refuse_what_would_be_ignored
from polars_microagg.core.registry import Method
from polars_microagg.core.rule import Rule
from polars_microagg.errors import (
    GuaranteeError,
    InvalidParameterError,
    UnknownMethodError,
)
from polars_microagg.errors.categories import not_masked
from polars_microagg.kernels.cell_masking import cells
from polars_microagg.kernels.centre import centres
from polars_microagg.kernels.embedding import Embedding
from polars_microagg.kernels.local.local_search import refined
from polars_microagg.kernels.local.repair import annealed, repaired
from polars_microagg.kernels.missing import completed
from polars_microagg.kernels.scale import scaled
from polars_microagg.processes.crew import crew, shared
from polars_microagg.progress import Callback, current, progress, stage
from polars_microagg.wording import Setting

__all__ = ["Plan"]

REFINING = 1.5e-4
"""Seconds of one processor that a refinement takes for each record."""


@dataclass(frozen=True)
class Plan:
    """A method with its k and options, bound to columns once their names are known.

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
    entity: tuple[str, ...] = ()
    entity_mode: str | None = None
    max_rows_per_entity: int | None = None
    confidential: tuple[str, ...] = ()
    models: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, Any] = field(default_factory=dict)
    column_weights: Mapping[str, float] = field(default_factory=dict)
    blocks: tuple[tuple[str, ...], ...] = ()
    progress_callback: Callback | None = None
    workers: int | None = None

    @classmethod
    def make(cls, method: object, k: object, /, **options: object) -> Self:
        """Check a call and freeze it: a method by name, k, options of all methods and its own.

        The plan is not yet bound to columns.
        """
        known = registry.methods()
        if not isinstance(method, str) or method not in known:
            raise UnknownMethodError.of(method, known)
        entry = known[method]
        own, common = checked_options(entry, options)
        plan = cls(
            entry,
            group_size(k),
            own,
            **common,
            progress_callback=current(),
        )
        refuse_what_would_be_ignored(plan)
        return plan

    @property
    def groups_cells(self) -> bool:
        """Return whether the method groups values of several columns and makes no groups of records."""
        return self.method.unit == "value" and not self.method.columnwise

    @property
    def merges_rows(self) -> bool:
        """Return whether the rows of an entity are masked as one."""
        return bool(self.entity) and self.entity_mode in ("mean", "alike")

    @property
    def thorough(self) -> bool:
        """Return whether groups that satisfy a rule are searched for from every start."""
        return True

    @property
    def drops(self) -> bool:
        """Return whether rows may be left out."""
        return self.small_strata == "drop" or self.max_rows_per_entity is not None

    def rule(self, entity: Attribute | None = None, confidential: Sequence[Attribute] = ()) -> Rule:
        """Return what every group must satisfy, counted on these columns of its records."""
        rule = Rule.of({**self.models, "k": self.k}, entity, confidential)
        # Without a model every release would pass.
        if not any(bound.model.name == "k" for bound in rule.bounds):
            raise GuaranteeError.unchecked()
        return rule

    def keep_promise(self, groups: Members, rule: Rule) -> None:
        """Refuse groups of records, or classes of emitted ones, that break what the call promises.

        It raises GuaranteeError, and nothing is released.
        """
        if bound := rule.broken(groups):
            name, worst = bound.model.name, bound.worst(groups)
            if name == "k":
                what = "record(s)" if bound.attribute is None else bound.model.what
                raise GuaranteeError.small_class(self.method.name, int(worst), self.k, what)
            raise GuaranteeError.model(
                self.method.name, Setting(name, bound.limit), bound.model.what, worst
            )

    def bind(self, blocks: Sequence[Sequence[str]]) -> Self:
        """Return the same plan for these blocks of columns, each masked on its own.

        An option that names a column must name one of each block.
        """
        for name, value in self.options.items():
            option = self.method.options[name]
            if option.axis and value not in option.choices:
                for block in blocks:
                    if value not in block:
                        raise InvalidParameterError.choice(name, value, [*option.choices, *block])
        masked = [name for block in blocks for name in block]
        for parameter, columns in (*self.kinds.items(), ("column_weights", self.column_weights)):
            for name in columns:
                if name not in masked:
                    raise not_masked(parameter, name, masked)
        if self.method.columnwise:
            blocks = [[name] for block in blocks for name in block]
        return replace(self, blocks=tuple(tuple(block) for block in blocks))

    def slices(self) -> Iterator[slice]:
        """Return the slice of columns of each block."""
        ends = np.cumsum([0, *map(len, self.blocks)]).tolist()
        return map(slice, ends[:-1], ends[1:])

    def patterns(self, x: Matrix, strata: Strata) -> Strata:
        """Return strata of records that may be grouped: of one null pattern if nulls stay."""
        if self.nulls != "pattern" or not np.isnan(x).any() or not len(strata.sizes):
            return strata
        return strata.by_pattern(x)

    def mask(
        self,
        x: Matrix,
        factors: Vector,
        strata: Strata,
        whole: Sequence[bool] = (),
        rule: Rule | None = None,
        embeddings: Sequence[Embedding | None] = (),
        chosen: Sequence[bool] = (),
    ) -> Iterator[Masked]:
        """Group the records and find the centres, one block after the other.

        `x` (n, p) has the columns of all blocks in order: finite values in original units, NaN
        where null. `factors` (p,) are the sizes of one unit of each column, `whole` says which
        columns are emitted in whole steps. `strata` are without suppressed rows. `rule` is what the
        groups must satisfy; by default k records. `embeddings` says of each column where its codes lie, or
        None if it has numbers; `chosen` whether the value of a group is chosen, not computed.
        """
        rule = rule or self.rule()
        embeddings, chosen = embeddings or [None] * x.shape[1], chosen or [False] * x.shape[1]
        holders = Holders(strata, rule.entity_codes if self.entity else None, self.k)
        for block, columns in zip(self.blocks, self.slices(), strict=True):
            if self.groups_cells:
                yield from self._mask_cells(
                    block, x[:, columns], factors[columns], strata, whole[columns]
                )
            elif self.merges_rows:
                own = x[:, columns], factors[columns], strata, whole[columns]
                yield mask_entities(self, block, *own, rule, embeddings[columns], chosen[columns])
            else:
                part = x[:, columns], factors[columns], strata, rule
                if any(embeddings[columns]):
                    groups = group_mixture(self, block, *part, embeddings[columns])
                else:
                    groups = self.group(block, *part)
                wide = strata if self.nulls == "impute" else None
                made = centres(x[:, columns], groups, self.center, wide, holders)
                yield Masked(block, groups, made)

    def group(
        self,
        block: tuple[str, ...],
        x: Matrix,
        factors: Vector,
        strata: Strata,
        rule: Rule | EntityRule,
        joint: Labels | None = None,
        spans: Vector | None = None,
    ) -> Grouping:
        """Group the records of all strata.

        Coordinates with the same number in `joint` (q,) are of one column of categories, of which the
        largest distance is in `spans`; -1 is a column of numbers.
        """
        strata = self.patterns(x, strata)
        if not len(strata.sizes):
            return Grouping.by_label(np.full(len(x), -1, dtype=np.intp), 0)
        # Records without any value are alike as they are: a group that no method needs to find.
        bare = _without_values(x[strata.firsts])
        if self.nulls == "pattern" and bare.any():
            rest = strata.only(~bare)
            grouped = self.group(block, x, factors, rest, rule, joint, spans)
            plain, labels = strata.only(bare), grouped.labels
            labels[plain.order] = grouped.count + np.repeat(np.arange(bare.sum()), plain.sizes)
            return Grouping.by_label(labels, grouped.count + int(bare.sum()))
        self._refuse_too_many(int(strata.sizes.max()))
        # Rows stratum by stratum from now on. One stratum of all rows is in that order already, and
        # is not copied: `Strata.whole` and stable sorting list it in ascending order.
        whole = len(strata.sizes) == 1 and len(strata.order) == len(x)
        part = x if whole else x[strata.order]
        ready, zero = part, self.method.absolute
        if self.method.scaled:
            ready = scaled(part, self.scale, factors, strata.sizes, joint, spans, zero=zero)
        if self.column_weights:
            ready = ready * np.sqrt([self.column_weights.get(name, 1.0) for name in block])
        # Records of one null pattern are grouped by the columns that they have.
        firsts = np.cumsum(strata.sizes) - strata.sizes
        present = ~np.isnan(ready[firsts]) if self.nulls == "pattern" else None
        # A method takes complete matrices. Under "impute" nulls are filled, under "pattern" their
        # columns are left out by `group_strata`; filling is for methods that need all columns by name.
        # Each stratum is completed from its own records, so that no stratum depends on another.
        if np.isnan(ready).any():
            parts = np.split(ready, np.cumsum(strata.sizes)[:-1])
            ready = np.concatenate([completed(part) for part in parts])
        with crew(self.workers):
            grouped = self._searched(block, ready, strata, rule, present)
        # Back from the order of the strata to the order of the rows.
        return grouped if whole else grouped.rows(strata.order, len(x))

    def _searched(
        self,
        block: tuple[str, ...],
        x: Matrix,
        strata: Strata,
        rule: Rule | EntityRule,
        present: npt.NDArray[np.bool_] | None,
    ) -> Grouping:
        """Group records that lie stratum by stratum, so that the rule holds, and refine."""
        arguments = self._arguments(block)
        with progress(self.progress_callback):
            grouped = group_strata(self.method, x, strata.sizes, arguments, present)
        # Checked before the refinement, which keeps what holds but repairs nothing; the batch
        # counts again on the values that are emitted.
        self.keep_promise(Members(strata.order[:0], grouped.sizes), self.rule())
        grouped = self._improved(x, grouped, strata)
        beyond = rule.take(strata.order).beyond_size()
        if beyond is not None:
            longer = partial(annealed, k=self.k) if self.refine else None
            if self.method.search is not None:
                longer = partial(self.method.search, **arguments)
            with progress(self.progress_callback):
                tick = stage("privacy models", len(x))
                own = x, grouped.labels, strata.sizes, self.k, beyond, longer, tick
                found = repaired(*own, thorough=self.thorough)
                grouped = Grouping.by_label(*found)
        if self.refine:
            each = shared(REFINING * len(x))
            with progress(self.progress_callback):
                tick = stage("refine", len(x))
            found = refined(x, grouped.labels, strata.sizes, self.k, beyond, each=each, tick=tick)
            grouped = Grouping.by_label(*found)
        return grouped

    def _improved(self, x: Matrix, groups: Grouping, strata: Strata) -> Grouping:
        """Return groups of records that lie stratum by stratum as they are; leaves improve them."""
        del x, strata
        return groups

    def _arguments(self, block: tuple[str, ...]) -> dict[str, Any]:
        """Return the options of the method, names of columns as positions in the block."""
        arguments: dict[str, Any] = {"k": self.k}
        for name, value in self.options.items():
            option = self.method.options[name]
            named = option.axis and value not in option.choices
            if named and block.count(value) > 1:
                need = "a column of one coordinate, such as one of numbers or an ordinal one"
                raise InvalidParameterError.kind(name, value, need)
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
                raise GuaranteeError.shape(self.method.name, len(result.values), len(part))
            return result.values

        parts = self.patterns(x, strata)
        self._refuse_too_many(int(parts.sizes.max(initial=0)))
        parts = parts.only(~_without_values(x[parts.firsts]))
        labels = np.arange(len(x))
        for name, column in zip(block, cells(x, factors, whole, parts, masked).T, strict=True):
            own = Grouping.by_label(np.where(np.isnan(column), -1, labels), len(x))
            yield Masked((name,), own, (Cells(column, parts),))


def _without_values(x: Matrix) -> npt.NDArray[np.bool_]:
    """Return which records have no value at all."""
    return np.asarray(np.isnan(x).all(axis=1))
