"""The persons of the records of a release, whom warnings count where they are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from polars_microagg.frames.attributes import entity_of

__all__ = ["Persons"]


@dataclass(frozen=True)
class Persons:
    """The number of the person of each record, and the columns of the entity that tell them apart.

    `mean` says whether the records of a person were masked as one, their mean.
    """

    entity: tuple[str, ...]
    numbers: pl.Series
    mean: bool = False

    @classmethod
    def of(
        cls, entity: Sequence[str], mode: str | None, *tables: pl.DataFrame | None
    ) -> Persons | None:
        """Number the persons by the first of these tables that has all columns of the entity.

        >>> Persons.of(["id"], None, pl.DataFrame({"id": ["b", "a", "b"]})).numbers.to_list()
        [0, 1, 0]
        """
        for table in tables:
            if table is not None and entity and {*entity} <= {*table.columns}:
                columns = [table.get_column(name) for name in entity]
                numbers = pl.Series(entity_of(columns, entity).codes)
                return cls(tuple(entity), numbers, mode == "mean")
        return None

    def filter(self, chosen: pl.Series) -> Persons:
        """Return the persons of some of the records."""
        return replace(self, numbers=self.numbers.filter(chosen))
