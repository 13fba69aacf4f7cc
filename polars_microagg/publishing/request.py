"""The request of a release, checked before anything is read, and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from polars_microagg.core.options import (
    COMMON,
    KEY_OPTIONS,
    VALUELESS,
    group_size,
    keys_asked,
    names_of,
)
from polars_microagg.core.plan import Plan
from polars_microagg.core.refusals import refuse_unnamed_mode
from polars_microagg.core.registry import methods
from polars_microagg.core.requirements import Requirement
from polars_microagg.errors import InvalidParameterError
from polars_microagg.errors.release import only_masking
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.frames.selection import (
    Schema,
    blocks_of,
    keys_of,
    named_options,
    refuse_repeated,
    resolve,
    selects,
)
from polars_microagg.publishing.column_kinds import written
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.judgement import (
    possible,
    refuse_uncounted,
    refuse_valueless,
    release_requirements,
)
from polars_microagg.publishing.privacy_models import PROMISES, masking_options

__all__ = ["ReleaseRequest"]

SHORTEST = 16
"""Bytes of a key; a shorter one can be brute-forced, and with it the input."""


@dataclass(frozen=True)
class ReleaseRequest:
    """The request of a release, checked before anything is read.

    `masking` is the checked call of the method; None if the table is masked already. `promise` is the
    plan whose rule the release has to keep, also in the latter case.
    """

    columns: Any
    k: int
    masking: MaskRequest | None
    promise: Plan
    options: dict[str, Any] = field(default_factory=dict)
    require: tuple[Requirement, ...] = ()
    hash_key: bytes | None = None
    late: tuple[Callable[[dict[str, Any]], Any], dict[str, Any]] | None = None
    """Makes the request anew from its options, in which selectors wait for the table."""

    @classmethod
    def of(
        cls,
        columns: object,
        k: object,
        method: object,
        options: dict[str, Any],
        *,
        require: Any = (),
        hash_key: bytes | None = None,
    ) -> Self:
        """Check everything that can be checked without a table.

        `columns` may be None if they can be named only with the table; `on` names them then.
        """
        masking, late = None, None
        if any(map(selects, options.values())):
            late = partial(cls.of, columns, k, method, require=require, hash_key=hash_key), options
            options = named_options(options, None)
        for name in ("entity", "confidential"):
            if name in options:
                options = {**options, name: list(names_of(name, options[name])) or None}
        asked = masking_options(options)
        if method is None:
            size = group_size(k)
            known = [
                "strata",
                *(name for name in PROMISES if name != "max_rows_per_entity"),
                *KEY_OPTIONS,
            ]
            if own := [name for name in options if name not in known]:
                takes = [entry.name for entry in methods().values() if own[0] in entry.options]
                raise only_masking(own[0], takes)
            counted = (*PROMISES, *KEY_OPTIONS)
            promise = Plan.make("mdav", k, **{n: v for n, v in asked.items() if n in counted})
        elif columns is None:
            promise = Plan.make(method, k, **asked)
            masking, size = MaskRequest(promise, [], (), ()), promise.k
        else:
            masking = MaskRequest.of(method, columns, k, asked)
            promise, size = masking.plan, masking.plan.k
        if hash_key is not None and len(hash_key) < SHORTEST:
            need = f"a key of at least {SHORTEST} bytes"
            raise InvalidParameterError.kind("hash_key", f"{len(hash_key)} bytes", need)
        for name, value in options.items():
            if isinstance(value, float) and not np.isfinite(value):
                raise InvalidParameterError.kind(name, value, "finite, as a manifest is JSON")
        required = tuple(release_requirements(require))
        possible(required, None if masking is None else size)
        return cls(columns, size, masking, promise, options, required, hash_key, late)

    def named(self, schema: Schema) -> Self:
        """Return the request with the columns of a table in place of selectors."""
        if self.late is None:
            return self
        again, options = self.late
        made: Self = again(named_options(options, schema))
        return made

    def bounded(self) -> set[str]:
        """Return the privacy models that groups must satisfy, and the measures that are required."""
        models = {name for name, limit in self.promise.models.items() if limit is not None}
        return models | {required.name for required in self.require}

    def on(
        self,
        roles: ColumnRoles,
        order_by: Sequence[str] = (),
        kinds: Mapping[str, Any] | None = None,
    ) -> Self:
        """Name the columns of a table in a request that was checked without them."""
        blocks = [list(block) for block in roles.blocks]
        columns = blocks if len(blocks) > 1 else roles.mask
        named: dict[str, Any] = {"strata": list(roles.strata), "order_by": list(order_by)}
        named |= {"entity": list(roles.entity), "confidential": list(roles.confidential)}
        kinds = self.promise.kinds if kinds is None else keys_asked(kinds)
        named |= {
            name: names if isinstance(names, Mapping) else list(names)
            for name, names in kinds.items()
        }
        options = {**self.options, **{name: names for name, names in named.items() if names}}
        counted = roles.confidential if self.promise.confidential else ()
        promise = replace(
            self.promise,
            entity=tuple(roles.entity),
            confidential=tuple(counted),
            kinds={name: names for name, names in kinds.items() if names},
        )
        masking = self.masking and replace(
            self.masking,
            plan=promise,
            blocks=blocks_of(columns),
            strata=tuple(roles.strata),
            order_by=tuple(order_by),
        )
        return replace(self, columns=columns, options=options, masking=masking, promise=promise)

    def refuse_unnamed_mode(self, roles: ColumnRoles) -> None:
        """Refuse an entity that is released, where it is not said what its rows become."""
        if roles.followed:
            refuse_unnamed_mode(self.promise)

    def refuse_unmeasured(self, rows: int) -> None:
        """Refuse requirements on what is not counted or measured of a release of so many rows."""
        refuse_uncounted(self.require, self.options)
        if not self.promise.drops:  # then there may be fewer rows
            refuse_valueless(self.require, rows)

    @property
    def method(self) -> str | None:
        """Return the name of the method; None if the table is masked already."""
        return None if self.masking is None else self.masking.plan.method.name

    @property
    def kinds(self) -> Mapping[str, Any]:
        """Return the options that say of which kind columns are."""
        return self.promise.kinds

    def blocks(self, schema: Schema) -> list[list[str]]:
        """Return the columns whose equal values are counted together."""
        if self.masking is None:
            blocks = [
                [n for i in block for n in resolve(i, schema)] for block in blocks_of(self.columns)
            ]
            if not all(blocks):
                raise InvalidParameterError.no_columns()
            refuse_repeated([name for block in blocks for name in block])
            self.promise.bind(blocks)
            return blocks
        plan = self.masking.masker(schema, unread=True).plan
        if plan.groups_cells:
            return [[name] for block in plan.blocks for name in block]
        return [list(block) for block in plan.blocks]

    def strata(self, schema: Schema) -> list[str]:
        """Return the columns that keep records apart."""
        return self._named("strata", schema)

    def entity(self, schema: Schema) -> list[str]:
        """Return the columns that say whose a record is."""
        return self._named("entity", schema)

    def confidential(self, schema: Schema) -> list[str]:
        """Return the columns that nobody should learn of a person."""
        return self._named("confidential", schema)

    def _named(self, what: str, schema: Schema) -> list[str]:
        """Return the columns that an option names, looked up in a table."""
        return list(keys_of(schema, what, self.options.get(what)))

    def config(self, blocks: list[list[str]], strata: list[str]) -> dict[str, Any]:
        """Return the whole configuration, with the defaults that hold."""
        own: dict[str, Any] = {}
        if self.masking is None and set(PROMISES).intersection(self.options):
            own = {name: COMMON[name] for name in PROMISES}
        if self.masking is not None:
            options = self.masking.plan.method.options
            own = {name: option.default for name, option in options.items()}
            own = {**COMMON, "order_by": None, **own}
        asked = {**own, **{name: _plain(value) for name, value in self.options.items()}}
        return {
            **{name: value for name, value in asked.items() if name not in VALUELESS},
            **({"entity_mode": self.promise.entity_mode or "rows"} if self.promise.entity else {}),
            "method": self.method,
            "k": self.k,
            "columns": blocks,
            "strata": strata,
            "require": [str(requirement) for requirement in self.require],
        }


def _plain(value: Any) -> Any:
    """Convert an option into a value that JSON can hold."""
    value = written(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | None) else str(value)
