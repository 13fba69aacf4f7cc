"""Classes of equal records of tables larger than memory, and what privacy models count in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import polars as pl

from polars_microagg.analysis.counted_classes import confidential_models, options_of_models
from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.released_strata import class_keys
from polars_microagg.frames.selection import as_frame, by_name
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.leaves.references import Reference, Tally
from polars_microagg.leaves.rules import SEEDS, refuse_nameless
from polars_microagg.out_of_core.aligned import Kept, aligned, require_aligned
from polars_microagg.out_of_core.class_sizes import ClassSizes, Worst, worst_in, worst_of_rows
from polars_microagg.out_of_core.grouped import MOST, Grouped, comparable, summed
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.workspace import working_folder

__all__ = ["class_sizes", "entity_hashes", "own_folder", "recounted"]

ENTITY = [f"entity{seed}" for seed in SEEDS]
MULTISET = [f"class{seed}" for seed in SEEDS]


def class_sizes(
    source: ParquetSource,
    blocks: Sequence[Sequence[str]],
    strata: Sequence[str],
    budget: MemoryBudget,
    *,
    folder: Path | None = None,
    entity: Sequence[str] = (),
    confidential: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    plan: Plan | None = None,
    beside: ParquetSource | None = None,
    kept_rows: Kept = None,
    report: Callable[[int], object] = lambda _: None,
) -> list[ClassSizes]:
    """Count the classes of each block of columns within strata, exactly, in bounded memory.

    `entity` and `confidential` are columns of `source`, or of `beside`, whose `kept_rows` are the rows
    of `source`. Models have the `options`, and bounds, of `plan` if there is one. What does not fit
    into memory waits in `folder`, a temporary one by default. `report` is told how many records of `source`
    were read, each time.
    """
    models = options_of_models("class_sizes", options or {}, confidential)
    models |= dict(plan.models) if plan else {}
    counted = [*entity, *confidential]
    if beside is not None and counted:
        require_aligned(beside, source, kept_rows)
    references = _references(beside or source, kept_rows if beside else None, confidential, budget)
    with own_folder(folder) as place:
        several = len(blocks) * (1 + len(confidential) + bool(entity))
        most, rows = max(1, budget.part // max(1, several)), source.rows
        made = [
            _Block(place, number, names, strata, most, rows, bool(entity), references, models)
            for number, names in enumerate(blocks)
        ]
        needed = list(dict.fromkeys([*(name for names in blocks for name in names), *strata]))
        for frame, others in _read(source, beside, budget.batch, needed, counted, kept_rows):
            codes = _codes(others, entity, references)
            for block in made:
                block.add(frame, codes)
            report(frame.height)
        return [block.result() for block in made]


def recounted(
    plan: Plan,
    source: ParquetSource,
    blocks: Sequence[Sequence[str]],
    strata: Sequence[str],
    budget: MemoryBudget,
    **where: Any,
) -> tuple[list[ClassSizes], ClassSizes]:
    """Count what a plan promises in the classes of each block, and of all masked columns together.

    Both have what `Recount` asks of classes. `where` is as for `class_sizes`.
    """
    whole = [name for names in blocks for name in names]
    sets = blocks if len(blocks) == 1 else [*blocks, whole]
    counted = class_sizes(source, sets, strata, budget, plan=plan, **where)
    return counted[: len(blocks)], counted[-1]


@contextmanager
def own_folder(folder: Path | None) -> Iterator[Path]:
    """Yield a folder for files that are gone afterwards: within this one, or a temporary one.

    A temporary one that a killed run left is removed by the next that needs one.
    """
    if folder is None:
        with working_folder(Path(gettempdir(), "microagg")) as own:
            yield own
        return
    with TemporaryDirectory(prefix="microagg-", dir=folder) as made:
        yield Path(made)


def _read(
    source: ParquetSource,
    beside: ParquetSource | None,
    size: int,
    names: list[str],
    counted: list[str],
    kept_rows: Kept,
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield the columns of classes, and those that are counted in them."""
    if beside is not None and counted:
        for others, frame in aligned(beside, source, size, (counted, names), kept_rows):
            yield frame, others
        return
    for batch in source.batches(size, list(dict.fromkeys([*names, *counted]))):
        frame = as_frame(batch)
        yield frame, frame


def _references(
    source: ParquetSource, kept_rows: Kept, names: Sequence[str], budget: MemoryBudget
) -> list[Reference]:
    """Count the values of confidential columns in the whole table."""
    if not names:
        return []
    tallies = [Tally(partial(_refuse_many, name, budget)) for name in names]
    start = 0
    for batch in source.batches(budget.batch, list(names)):
        frame, stop = as_frame(batch), start + batch.num_rows
        if kept_rows is not None:
            frame = frame.filter(pl.Series(kept_rows[start:stop]))
        start = stop
        for tally, name in zip(tallies, names, strict=True):
            tally.add(frame.get_column(name))
    empty = source.empty
    for tally, name in zip(tallies, names, strict=True):
        tally.add(empty.get_column(name))
    return [tally.reference(name) for tally, name in zip(tallies, names, strict=True)]


def _refuse_many(name: str, budget: MemoryBudget, size: int) -> None:
    """Refuse a confidential column whose distinct values do not fit into memory."""
    if size > budget.values:
        need = (
            f"more: the different values of {name!r} alone take more than is for them; round them"
        )
        raise InvalidParameterError.kind("memory", budget.memory, need)


def _codes(
    frame: pl.DataFrame, entity: Sequence[str], references: Sequence[Reference]
) -> pl.DataFrame:
    """Return what models count, as numbers: two hashes of the entity, and codes of values."""
    refuse_nameless((name, frame.get_column(name).null_count()) for name in entity)
    columns = {}
    if entity:
        ids = _ids(frame, entity)
        columns = {n: ids.hash_rows(seed=s) for n, s in zip(ENTITY, SEEDS, strict=True)}
    for j, reference in enumerate(references):
        columns[f"value{j}"] = reference.codes(frame.get_column(reference.name))
    return pl.DataFrame(columns)


def entity_hashes(frame: pl.DataFrame, entity: Sequence[str]) -> pl.Series:
    """Return a hash of the person of each record, the same wherever it is read."""
    return _ids(frame, entity).hash_rows(seed=SEEDS[0])


def _ids(frame: pl.DataFrame, entity: Sequence[str]) -> pl.DataFrame:
    """Return the columns that say whose the records are, under other names."""
    return comparable(frame.select(by_name(n).alias(str(j)) for j, n in enumerate(entity)))


class _Block:
    """The classes of one set of columns, as they are counted."""

    def __init__(
        self,
        folder: Path,
        number: int,
        names: Sequence[str],
        strata: Sequence[str],
        most: int,
        rows: int,
        people: bool,
        references: Sequence[Reference],
        options: Mapping[str, Any],
    ) -> None:
        self.names, self.people, self.references = list(names), people, references
        self.columns = list(dict.fromkeys([*names, *strata]))
        self.options, self.most, self.rows, self.folder = options, most, rows, folder
        self.name = f"block{number}"
        self.keys: list[str] = []
        self.sizes: Grouped | None = None
        self.alike: Grouped | None = None
        self.values: list[Grouped] = []

    def _start(self, keys: list[str]) -> None:
        """Make room for rows, whose keys have these names."""
        self.keys = keys
        own = [*keys, *ENTITY] if self.people else keys
        self.sizes = Grouped(self.folder, f"{self.name}-sizes", own, self.most, self.rows)
        if self.people:
            self.alike = Grouped(self.folder, f"{self.name}-alike", ENTITY, self.most, self.rows)
        for j in range(len(self.references)):
            name, own = f"{self.name}-value{j}", [*keys, "code"]
            self.values.append(Grouped(self.folder, name, own, self.most, self.rows, keys))

    def add(self, frame: pl.DataFrame, codes: pl.DataFrame) -> None:
        """Count the records of a batch."""
        keys = comparable(frame.select(class_keys(self.columns, frame.schema)))
        keys.columns = [f"key{j}" for j in range(keys.width)]
        if self.sizes is None:
            self._start(keys.columns)
        ones = pl.repeat(1, keys.height, dtype=pl.Int64, eager=True).alias("size")
        ids = codes.select(ENTITY).get_columns() if self.people else []
        self.sizes.add(pl.DataFrame([*keys.get_columns(), *ids, ones]))  # type: ignore[union-attr]
        if self.alike is not None:
            # Sums of hashes know a multiset, however its members come.
            hashes = [
                keys.hash_rows(seed=s).alias(n) for n, s in zip(MULTISET, (2, 3), strict=True)
            ]
            self.alike.add(pl.DataFrame([*ids, *hashes, ones.alias("rows")]))
        for j, grouped in enumerate(self.values):
            code = codes.get_column(f"value{j}").alias("code")
            grouped.add(pl.DataFrame([*keys.get_columns(), code, ones]))

    def result(self) -> ClassSizes:
        """Return what was counted; then nothing can be added."""
        if self.sizes is None:
            return ClassSizes.empty(self.names, self.people, self._hidden())
        counted = ["size", "entities"] if self.people else ["size"]
        table = pl.DataFrame(schema=dict.fromkeys([*counted, "classes"], pl.Int64))
        rows_of = dict[str, Worst]()
        for part in self._by_class():
            if self.people:
                rows_of = _farther(rows_of, worst_of_rows(part, self.options))
            one = part.select(*counted, pl.lit(1, pl.Int64).alias("classes"))
            table = summed(pl.concat([table, one]), counted)
        return ClassSizes(
            self.names,
            table.sort(counted),
            *self._of_entities(),
            self._of_values(),
            self._hidden(),
            rows_of,
        )

    def _hidden(self) -> tuple[str, ...]:
        return tuple(reference.name for reference in self.references)

    def _by_class(self) -> Iterator[pl.DataFrame]:
        """Yield the records of each class; its entities, and the records of the most frequent, if counted."""
        if not self.people:
            yield from self.sizes.results()  # type: ignore[union-attr]
            return
        # First the records of each entity in each class, then both are added up by class: a class may
        # have more entities than fit into memory.
        one = pl.lit(1, pl.Int64).alias("entities")
        of = Grouped(self.folder, f"{self.name}-classes", self.keys, self.most, self.rows)
        for part in self.sizes.results():  # type: ignore[union-attr]
            of.add(part.select(*self.keys, "size", one, pl.col("size").alias(MOST)))
        yield from of.results()

    def _of_entities(self) -> tuple[int | None, pl.DataFrame]:
        """Return the entities, and how many multisets of classes so many of them have."""
        table = pl.DataFrame(schema=dict.fromkeys(["entities", "multisets"], pl.Int64))
        if self.alike is None:
            return None, table
        keys, one = [*MULTISET, "rows"], pl.lit(1, pl.Int64)
        same = Grouped(self.folder, f"{self.name}-multisets", keys, self.most, self.rows)
        entities = 0
        for part in self.alike.results():
            entities += part.height
            same.add(part.select(*keys, one.alias("entities")))
        for part in same.results():
            found = part.select("entities", one.alias("multisets"))
            table = summed(pl.concat([table, found]), ["entities"])
        return entities, table.sort("entities")

    def _of_values(self) -> dict[str, dict[str, Worst]]:
        """Return the worst number of each model of each confidential column."""
        found: dict[str, dict[str, Worst]] = {name: {} for name in confidential_models()}
        for reference, grouped in zip(self.references, self.values, strict=True):
            for part in grouped.results():
                before = {
                    n: own[reference.name] for n, own in found.items() if reference.name in own
                }
                own = worst_in(part, self.keys, reference, self.options)
                for name, worst in _farther(before, own).items():
                    found[name][reference.name] = worst
        return found


def _farther(before: Mapping[str, Worst], more: Mapping[str, Worst]) -> dict[str, Worst]:
    """Return what is true of the classes of both, by model."""
    return {n: before[n].with_(worst) if n in before else worst for n, worst in more.items()}
