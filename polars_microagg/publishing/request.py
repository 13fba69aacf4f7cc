"""What is asked of a release, checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl

from polars_microagg.analysis.anonymity import keys_of, selected
from polars_microagg.core.options import COMMON, group_size
from polars_microagg.core.registry import methods
from polars_microagg.core.requirements import Requirement
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.frames.safe_collect import schema_of
from polars_microagg.frames.selection import refuse_repeated
from polars_microagg.publishing.judgement import possible, release_requirements

__all__ = ["ReleaseRequest"]

SHORTEST = 16
"""Bytes of a key; a shorter one can be guessed, and with it the input."""


@dataclass(frozen=True)
class ReleaseRequest:
    """What is asked of a release, checked before anything is read."""

    columns: Any
    k: int
    method: str | None = "mdav"
    options: dict[str, Any] = field(default_factory=dict)
    require: tuple[Requirement, ...] = ()
    dropped: tuple[str, ...] = ()
    hash_key: bytes | None = None

    @classmethod
    def of(
        cls,
        columns: object,
        k: object,
        method: object,
        options: dict[str, Any],
        *,
        require: Any = (),
        dropped: Sequence[str] = (),
        hash_key: bytes | None = None,
    ) -> Self:
        """Check all that can be checked without a table."""
        if method is None:
            k = group_size(k)
            if own := [name for name in options if name != "strata"]:
                raise InvalidParameterError.option("publish without a method", own[0], ["strata"])
        else:
            k = MaskRequest.of(method, columns, k, options).plan.k
        if hash_key is not None and len(hash_key) < SHORTEST:
            need = f"a key of at least {SHORTEST} bytes"
            raise InvalidParameterError.kind("hash_key", f"{len(hash_key)} bytes", need)
        for name, value in options.items():
            if isinstance(value, float) and not np.isfinite(value):
                raise InvalidParameterError.kind(name, value, "finite, as a manifest is JSON")
        asked = tuple(release_requirements(require))
        possible(asked, None if method is None else k)
        return cls(columns, k, method, options, asked, tuple(dropped), hash_key)  # type: ignore[arg-type]

    def blocks(self, frame: pl.DataFrame | pl.LazyFrame) -> list[list[str]]:
        """Columns whose equal values are counted together."""
        if self.method is None:
            blocks = selected(frame, self.columns)
            refuse_repeated([name for block in blocks for name in block])
            return blocks
        request = MaskRequest.of(self.method, self.columns, self.k, self.options)
        plan = request.kernel(schema_of(frame)).plan
        if plan.groups_cells:
            return [[name] for block in plan.blocks for name in block]
        return [list(block) for block in plan.blocks]

    def strata(self, frame: pl.DataFrame | pl.LazyFrame) -> list[str]:
        """Columns that keep records apart."""
        return list(keys_of(frame, "strata", self.options.get("strata")))

    def config(self, frame: pl.DataFrame) -> dict[str, Any]:
        """The whole configuration, with the defaults that hold."""
        own = {}
        if self.method is not None:
            own = {name: o.default for name, o in methods()[self.method].options.items()}
            own = {**COMMON, "order_by": None, **own}
        return {
            **own,
            **{name: _plain(value) for name, value in self.options.items()},
            "method": self.method,
            "k": self.k,
            "columns": self.blocks(frame),
            "strata": self.strata(frame),
            "require": [str(requirement) for requirement in self.require],
        }


def _plain(value: Any) -> Any:
    """Write an option as JSON can hold it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | None) else str(value)
