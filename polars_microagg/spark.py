"""The same leaves on Spark: masked there bit for bit as on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polars_microagg.core.kind import has_means
from polars_microagg.core.options import KEY_OPTIONS, group_size
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.frames.selection import Columns, Names, blocks_of
from polars_microagg.leaves.fit import (
    bound_blocks,
    fit_leaves,
    names_in,
    require_leaves,
    require_no_options,
    require_same_call,
    sample_size,
)
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.options import (
    leaf_options,
    leaf_request,
    leaf_size,
    refuse_patterns,
    with_kinds_of,
)
from polars_microagg.leaves.references import Reference
from polars_microagg.leaves.refusals import refuse_few
from polars_microagg.leaves.rules import refuse_nameless
from polars_microagg.leaves.spark_batches import BlockMarker, SampleFilter, block_masker
from polars_microagg.leaves.spark_classes import verify_classes
from polars_microagg.leaves.spark_merging import merged_for_spark, references_of
from polars_microagg.leaves.spark_strata import settle_strata
from polars_microagg.leaves.spark_table import Absent, SparkTable
from polars_microagg.publishing.column_roles import OtherColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

__all__ = ["fit", "protect", "verify"]


def protect(
    df: DataFrame,
    columns: Columns,
    k: int,
    *,
    leaves: Leaves | Sequence[Leaves] | None = None,
    keep: Names = None,
    drop: Names = None,
    **options: Any,
) -> DataFrame:
    """Mask columns of a Spark DataFrame leaf by leaf.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The table.
    columns : str, selector, list, or list of lists
        What to mask; columns of several lists are masked each on their own.
    k : int
        Smallest group size, at least 2.
    leaves : Leaves or list of Leaves, optional
        Where to cut, from `fit` or from another engine, one for each block of columns; fitted to `df`
        by default.
    keep, drop : str, selector or list, optional
        What comes out as it is, and what does not come out, as for `polars_microagg.publish`: once either
        is given, every column needs a role, and an entity comes out only if it is kept. By default
        all columns come out.
    **options : Any
        As for `fit`, unless there are leaves.

    Returns
    -------
    pyspark.sql.DataFrame
        Same columns and types, in any order of rows. Where to cut is settled when this is called,
        by two or three jobs, one for each column of categories, and some more with privacy models and
        with strata; the table is masked when the result is used.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, or one that leaves cannot honour.
    InvalidDataError
        Nulls that the call does not take, NaN or infinities, a type without centroid, fewer than k
        records, small strata that are not suppressed, a type that Spark cannot pass to Python, or a
        table that fails when it is read.

    Notes
    -----
    Names are taken as they are written, their case included, whatever Spark is set to.

    One leaf is in memory at a time in each Python worker. The values do not depend on how `df`
    is partitioned, nor on the order of its rows, and are those of `protect_parquet` for the same
    leaves and records. Small strata are counted in the whole table before there is a result. Every leaf
    is checked as it is masked: a class that is smaller than k or breaks a privacy model is an
    error of the job that writes. If `df` is not the same each time it is read, write it down first.

    If `df` itself fails, the errors raised here do not show its words, which may hold values of
    records. Those of the job that writes, and all of Spark's logs, are Spark's and do.

    The executors need this package, and Polars with it.
    """
    table = SparkTable.of(df)
    others = None if keep is None and drop is None else OtherColumns.of(keep, drop)
    if leaves is None:
        method, size, cut = (options.pop(*each) for each in FITTING.items())
        request = leaf_request(method, k, options)
        request = bound_blocks(table.empty(), replace(request, blocks=blocks_of(columns)))
        released = _released(table, request, others)
        blocks = _fitted(table, request, size, cut)
    else:
        given: Any = leaves
        blocks = list(given) if isinstance(given, list | tuple) and given else [given]
        request = _same_call(table, blocks, columns, k, options)
        released = _released(table, request, others)
        _, references = _counted(table, request)
        blocks = [merged_for_spark(table, each, references) for each in blocks]
    settle_strata(table, blocks)
    return _masked(table, blocks, released)


def fit(
    df: DataFrame,
    columns: Columns,
    k: int,
    *,
    size: int | None = None,
    cut: str = "best",
    method: str = "mdav",
    **options: Any,
) -> Leaves | tuple[Leaves, ...]:
    """Decide where to cut a Spark DataFrame, from a sample that does not depend on partitions.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The table.
    columns : str, selector, list, or list of lists
        What is masked, and where the table is cut.
    k : int
        Smallest group size, at least 2.
    size : int, optional
        Records of a leaf.
    cut : str, default "best"
        As for `polars_microagg.fit_leaves`.
    method : str, default "mdav"
        Name of a method that groups records.
    **options : Any
        ``strata``, ``small_strata``, ``nulls``, ``order_by``, ``scale``, ``seed``, ``center``, ``dtype``,
        ``refine``, the kinds of columns, ``column_weights``, the privacy models and the options of the
        method, as for `polars_microagg.fit_leaves`.

    Returns
    -------
    Leaves, or tuple of Leaves
        Those with fewer than k records merged; of several lists of columns one for each.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, or one that leaves cannot honour.
    InvalidDataError
        Nulls that the call does not take, NaN or infinities, a type without centroid, fewer than k
        records, a type that Spark cannot pass to Python, or a table that fails when it is read.
    """
    table = SparkTable.of(df)
    request = leaf_request(method, k, options)
    request = bound_blocks(table.empty(), replace(request, blocks=blocks_of(columns)))
    made = _fitted(table, request, size, cut)
    return tuple(made) if len(made) > 1 else made[0]


def verify(
    df: DataFrame,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    entity: Names = None,
    entity_mode: str | None = None,
    confidential: Names = None,
    **bounds: Any,
) -> None:
    """Check that at least k records, or entities, share each record, and raise if not.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        A masked table, best read again from where it was written.
    columns : str, selector, list, or list of lists
        The columns that were masked; each of several lists is checked on its own.
    k : int
        Smallest class allowed, at least 2.
    strata : str or list of str, optional
        Columns that were kept as strata: classes are counted within each.
    entity : str or list of str, optional
        Columns that say whom a record is about: k then counts distinct entities, not records.
    entity_mode : {"rows", "mean"}, default "rows"
        How the entities were masked; that they have the same rows cannot be counted here.
    confidential : str or list of str, optional
        Columns that nobody is to learn from a class; needs one of the bounds.
    **bounds : Any
        Bounds on them, as for `polars_microagg.verify`: ``l``, ``max_share``, and ``t`` with ``t_scale``.

    Raises
    ------
    NotAnonymousError
        Some class is smaller than k, or does not keep a bound.
    InvalidParameterError
        A parameter is wrong.
    InvalidDataError
        The table fails when it is read.
    """
    people = {"entity": entity, "entity_mode": entity_mode, "confidential": confidential}
    verify_classes(SparkTable.of(df), columns, k, strata, people, bounds)


FITTING: dict[str, Any] = {"method": "mdav", "size": None, "cut": "best"}
"""Parameters of `fit` with their defaults, which are no options of a plan."""


def _same_call(
    table: SparkTable, blocks: Sequence[Leaves], columns: Columns, k: int, options: dict[str, Any]
) -> MaskRequest:
    """Return the call of leaves that were fitted before, and refuse another one."""
    for each in blocks:
        require_leaves(each)
    first, k = blocks[0], group_size(k)
    require_no_options(first, options)
    empty = table.empty()
    names = replace(first.request, blocks=blocks_of(columns)).masker(empty.schema).plan.blocks
    if len(names) != len(blocks):
        need = f"one of each list of columns, of which there are {len(names)}"
        raise InvalidParameterError.kind("leaves", f"{len(blocks)} of them", need)
    for each, own in zip(blocks, names, strict=True):
        require_same_call(each, [names_in(empty, list(own), each.request)], k)
        each.kinds(empty.schema)
        if _but_for_kinds(each) != _but_for_kinds(first):
            need = "leaves that one call of fit has made"
            raise InvalidParameterError.kind("leaves", repr(each), need)
    plan = replace(with_kinds_of([each.plan for each in blocks]), blocks=tuple(names))
    refuse_patterns(plan)
    return replace(first.request, plan=plan, blocks=[list(block) for block in names])


def _but_for_kinds(leaves: Leaves) -> dict[str, Any]:
    """Return the options of leaves that are the same for all blocks of a call."""
    own_columns = (*KEY_OPTIONS, "column_weights")
    own = {name: value for name, value in leaves.options.items() if name not in own_columns}
    return {**own, "method": leaves.method}


def _counted(table: SparkTable, request: MaskRequest) -> tuple[int, tuple[Reference, ...]]:
    """Refuse what no leaves can take; return the records, and the counts of the confidential columns."""
    plan = request.plan
    names = [name for block in plan.blocks for name in block]
    absent = Absent.of(table, names, plan.entity)
    refuse_few(absent.records, plan.k)
    refuse_nameless(absent.nameless)
    references = references_of(table, plan, absent.records)
    absent.refuse(table, table.empty().schema, plan)
    return absent.records, references


def _fitted(table: SparkTable, request: MaskRequest, size: int | None, cut: str) -> list[Leaves]:
    """Return the leaves of each block."""
    from pyspark.sql.types import StructType

    plan = request.plan
    size = leaf_size(size, plan)
    records, references = _counted(table, request)
    # Chosen by hash, so the sample and with it the leaves do not depend on partitions.
    share = sample_size(records, size) / records
    masked = [name for block in plan.blocks for name in block]
    named = [*masked, *request.strata, *plan.entity, *plan.confidential, *request.order_by]
    kept = list(dict.fromkeys(named))
    places = [table.names.index(name) for name in kept]
    fields = StructType([table.field(name) for name in kept])
    sample = table.read(table.df.mapInArrow(SampleFilter(places, share), fields))
    sample.columns = kept
    own: dict[str, Any] = {"records": records, "size": size, "cut": cut}
    own |= {"method": plan.method.name}
    blocks = [
        fit_leaves(sample, list(block), plan.k, **own, **leaf_options(request, block))
        for block in plan.blocks
    ]
    return [merged_for_spark(table, leaves, references) for leaves in blocks]


def _released(table: SparkTable, request: MaskRequest, others: OtherColumns | None) -> list[str]:
    """Return the columns that come out: all of them, unless some are kept or dropped by name."""
    if others is None:
        return list(table.names)
    plan = request.plan
    named = plan.blocks, request.strata, plan.entity, plan.confidential
    return others.roles(table.empty().schema, *named).released(table.names)


def _masked(table: SparkTable, blocks: Sequence[Leaves], released: Sequence[str]) -> DataFrame:
    """Return the table masked block after block, each leaf on its own."""
    from pyspark.sql.types import LongType, StructField, StructType

    request = blocks[0].request
    masked = [name for leaves in blocks for name in leaves.columns]
    needed = {*released, *masked, *request.keys, *request.plan.confidential, *request.order_by}
    kept = [name for name in table.names if name in needed]
    ordering = [name for name in request.order_by if name in masked]
    fields = {name: table.field(name) for name in kept}
    marks = [f"leaf{j}" for j in range(len(blocks))] + ["ties"]
    beside = [StructField(name, LongType(), nullable=False) for name in marks]
    beside += [
        StructField(f"order{j}", table.field(name).dataType) for j, name in enumerate(ordering)
    ]
    places = ([table.names.index(name) for name in each] for each in (kept, ordering))
    marker = BlockMarker(tuple(blocks), table.names, *places)
    made = table.df.mapInArrow(marker, StructType([*fields.values(), *beside]))
    for number, leaves in enumerate(blocks):
        last = number + 1 == len(blocks)
        fields |= _masked_fields(table, leaves)
        out = [fields[name] for name in released] if last else [*fields.values(), *beside]
        masker = block_masker(leaves, kept, ordering, released if last else None)
        made = made.groupBy(f"leaf{number}").applyInArrow(masker, StructType(out))
    return made.toDF(*released)


def _masked_fields(table: SparkTable, leaves: Leaves) -> dict[str, StructField]:
    """Return the fields of columns that masking a block changes."""
    from pyspark.sql.types import DoubleType, StructField

    plan, fields = leaves.plan, {}
    for name, kind in leaves.kinds(table.empty().schema).items():
        field = table.field(name)
        if not kind.numeric or plan.small_strata == "null":
            # Where no category may be emitted, and where rows are emptied, there is null.
            field = StructField(field.name, field.dataType)
        if plan.dtype == "float" and has_means(kind):
            field = StructField(field.name, DoubleType())
        fields[name] = field
    if plan.small_strata == "null":
        for name in leaves.request.strata:
            fields[name] = StructField(table.field(name).name, table.field(name).dataType)
    return fields
