"""verify, anonymity and assess, which take tables larger than memory with memory=."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_microagg.analysis import anonymity as counting
from polars_microagg.analysis import assess as measuring
from polars_microagg.analysis.attacker import Known
from polars_microagg.analysis.coordinates import kinds_asked
from polars_microagg.analysis.counted_classes import options_of_models, settings_of_models
from polars_microagg.analysis.matched_rows import warn_of_order
from polars_microagg.core import registry
from polars_microagg.core.options import KEY_OPTIONS, MODEL_OPTIONS, group_size, whole_number
from polars_microagg.core.own_options import refuse_unknown
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.selection import (
    MASKED,
    ORIGINAL,
    Columns,
    Names,
    keys_of,
    named_options,
)
from polars_microagg.out_of_core.counts import class_sizes
from polars_microagg.out_of_core.given_tables import (
    budget_of,
    empty_of,
    refuse_files,
    tables_of,
)
from polars_microagg.out_of_core.measures import assessed
from polars_microagg.wording import Setting

__all__ = ["anonymity", "assess", "verify"]


def verify(
    frame: Any,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    entity: Names = None,
    entity_mode: str | None = None,
    confidential: Names = None,
    memory: int | str | None = None,
    **bounds: Any,
) -> None:
    """Check that at least k records, or entities, share each record, and raise if not.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        A masked table; a LazyFrame is collected.
    columns : str, selector, list, or list of lists
        The columns that were masked; each block of a list of lists is checked on its own.
    k : int
        Smallest class allowed, at least 2.
    strata : str, selector or list, optional
        Columns that were kept as strata: classes are counted within each.
    entity : str, selector or list, optional
        Columns that say whom a record is about: k then counts distinct entities, not records.
    entity_mode : {"rows", "mean", "alike"}, default "rows"
        With "alike", k entities must also have the same rows, and as many of each.
    confidential : str, selector or list, optional
        Columns that nobody is to learn from a class; needs one of the bounds.
    memory : int or str, optional
        Most memory to take, as bytes or like ``"500MB"``, for tables larger than that: `frame` may then
        be Parquet files, patterns or folders, too, and a LazyFrame is written into a temporary folder
        by its streaming engine. By default the table is held whole.
    **bounds : Any
        Bounds on them, as for `mask`: `l`, `max_share`, and `t` with `t_scale`.

    Raises
    ------
    NotAnonymousError
        Some class is smaller than k, or does not keep a bound.

    Notes
    -----
    Null is a value like any other: records that were emptied, whose masked columns and strata are
    all null, are a class, which has to have k records as well. 0.0 and -0.0 are two values, since a
    reader can tell them apart, also inside lists, arrays and structs; every NaN is the same one.

    Examples
    --------
    >>> verify(pl.DataFrame({"age": [30, 30, 41]}), ["age"], k=2)
    Traceback (most recent call last):
        ...
    polars_microagg.errors.NotAnonymousError: The table is not 2-anonymous on 'age': ...
    >>> visits = pl.DataFrame({"age": [30, 30], "who": ["u", "v"], "sick": ["no", "yes"]})
    >>> verify(visits, "age", k=2, entity="who", confidential="sick", l=2)
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "masked.parquet"
    >>> pl.DataFrame({"age": [30, 30, 41, 41]}).write_parquet(file)
    >>> verify(file, "age", k=2, memory="300MB")
    """
    people: dict[str, Any] = {
        "entity": entity,
        "entity_mode": entity_mode,
        "confidential": confidential,
    }
    refuse_unknown(verify, bounds, MODEL_OPTIONS)
    refuse_files(memory, frame=frame)
    if memory is None:
        counting.verify(frame, columns, k, strata=strata, **people, **bounds)
        return
    counting.plan_of(k, named_options(people, None), bounds)
    with tables_of(memory, frame=frame) as ((table,), limit):
        empty = empty_of(table)
        blocks = counting.selected(empty, columns)
        keys = keys_of(empty.schema, "strata", strata)
        for what in ("entity", "confidential"):
            people[what] = keys_of(empty.schema, what, people[what])
        plan = counting.plan_of(k, people, bounds)
        where: dict[str, Any] = {
            "entity": plan.entity,
            "confidential": plan.confidential,
            "plan": plan,
        }
        budget = budget_of(limit, [*blocks, keys, plan.entity, plan.confidential], table)
        found = class_sizes(table, blocks, keys, budget, **where)
        for one, block in zip(found, blocks, strict=True):
            one.hold(plan, block, keys)


def anonymity(
    frame: Any,
    columns: Columns,
    *,
    strata: Names = None,
    k: int | None = None,
    confidential: Names = None,
    entity: Names = None,
    memory: int | str | None = None,
    **options: Any,
) -> pl.DataFrame:
    """Count the classes of equal records, and what they tell about confidential columns.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        A table; a LazyFrame is collected.
    columns : str, selector, list, or list of lists
        What an intruder is thought to know; each block of a list of lists is counted on its own.
    strata : str, selector or list, optional
        More such columns: classes are counted within each stratum.
    k : int, optional
        Adds the sizes of the classes and the records in classes of fewer than k.
    confidential : str, selector or list, optional
        Columns that an intruder wants to learn: adds the sizes of the classes, and what each privacy
        model counts of such columns, as `l`, `max_share` and `t`.
    entity : str, selector or list, optional
        Columns that say whom a record is about: adds entities, k_entities and alike_min, and k
        counts entities, not records. Their null is an error.
    memory : int or str, optional
        Most memory to take, as bytes or like ``"500MB"``, for tables larger than that: `frame` may then
        be Parquet files, patterns or folders, too, and a LazyFrame is written into a temporary folder
        by its streaming engine. By default the table is held whole.
    **options : Any
        Options of the models, as for `mask`: `t_scale`.

    Returns
    -------
    polars.DataFrame
        One row: records, classes, k_min (the smallest class), k_prime (records divided by
        classes), uniques (records alone in their class). Null counts as a value. With `k` or
        `confidential` also size_q25, size_median, size_q75, size_max (of the classes, linear
        between ranks) and histogram (a list of sizes and the number of classes of each); then
        at_risk with `k`. With `entity`: entities (distinct), k_entities (the fewest in a class) and
        alike_min (the fewest that have the same rows, and as many of each). With `confidential` a
        column a model, of all classes and confidential columns the worst. Of several blocks one
        row each, that begins with the `columns` of the block.

    Notes
    -----
    `l` is the least number of distinct confidential values in a class (Machanavajjhala et al.,
    2007), `max_share` the greatest share of one value (Wong et al., 2006). A null is not counted,
    as it hides nobody among those whose values can be read; a class of nulls has 1 and 0. `t` is
    the greatest earth mover's distance, from 0 to 1, between the values of a class and those of
    all records (Li, Li and Venkatasubramanian, 2007): of numbers, decimals, dates, times and
    categories of an Enum by their order, of other types with all values equally far apart. Null is a
    value there, since a class may also tell that nothing is known of its records; it comes before
    all others in order.

    Examples
    --------
    >>> anonymity(pl.DataFrame({"age": [30, 30, 41]}), ["age"]).row(0)
    (3, 2, 1, 1.5, 1)
    >>> sick = pl.DataFrame({"age": [30, 30, 41, 41], "sick": ["no", "yes", "no", "no"]})
    >>> anonymity(sick, "age", confidential="sick").select("l", "max_share", "t").row(0)
    (1, 1.0, 0.25)
    >>> visits = sick.with_columns(who=pl.Series(["u", "v", "w", "w"]))
    >>> anonymity(visits, "age", entity="who").select("entities", "k_entities", "alike_min").row(0)
    (3, 1, 1)
    >>> anonymity(sick.lazy(), "age", memory="300MB").row(0)
    (4, 2, 2, 2.0, 0)
    """
    refuse_unknown(anonymity, options, settings_of_models())
    people: dict[str, Any] = {"confidential": confidential, "entity": entity}
    refuse_files(memory, frame=frame)
    if memory is None:
        return counting.anonymity(frame, columns, strata=strata, k=k, **people, **options)
    with tables_of(memory, frame=frame) as ((table,), limit):
        empty = empty_of(table)
        blocks = counting.selected(empty, columns)
        divided = keys_of(empty.schema, "strata", strata)
        where: dict[str, Any] = {
            what: keys_of(empty.schema, what, names) for what, names in people.items()
        }
        chosen = options_of_models("anonymity", options, where["confidential"])
        k = None if k is None else group_size(k)
        budget = budget_of(limit, [*blocks, divided, *where.values()], table)
        found = class_sizes(table, blocks, divided, budget, options=chosen, **where)
    rows = [one.row(k) for one in found]
    if len(rows) == 1:
        return rows[0]
    return pl.concat(rows).insert_column(0, pl.Series("columns", blocks))


def assess(
    original: Any,
    masked: Any,
    columns: Columns | None = None,
    *,
    metrics: str | Sequence[str] | None = None,
    known: Known = None,
    known_sample: int | None = None,
    by: Names = None,
    key: Names = None,
    strata: Names = None,
    entity: Names = None,
    seed: int = 0,
    by_column: bool = False,
    memory: int | str | None = None,
    **kinds: Any,
) -> pl.DataFrame:
    """Measure the loss and the risk of a release.

    Parameters
    ----------
    original, masked : polars.DataFrame or polars.LazyFrame
        The table before and after; LazyFrames are collected.
    columns : str, selector or list, optional
        Columns to measure; all numeric and temporal ones that both tables have by default, and those
        that are named as categories.
    metrics : str or list of str, optional
        Names of metrics; by default those that the papers report.
    known : str, int or list, optional
        What an intruder knows, for `dld`, `dld_entity`, `pld`, `dr`, `score`, `k_min` and `k_prime`: a
        list of columns; "all" of `columns` (the default); a whole number m, for all sets of m columns;
        "subsets", for all sets; or a list of lists of columns. A metric is then the average over
        the sets, `k_min` the least.
    known_sample : int, optional
        How many of the sets to draw at random without repetition; all by default.
    by : str, selector or list, optional
        Columns of `original` whose values divide the rows: one row of the result for each.
    key : str, selector or list, optional
        Columns that identify a row; rows are matched by position by default. The log has a warning if
        the tables seem to be in different orders then.
    strata : str, selector or list, optional
        Columns of `masked` that an attacker knows, such as the strata of a release: `dld`, `dld_entity`
        and `pld` compare records within them, and `k_min` and `k_prime` count classes within them, so
        that `dr` and `score` know them, too. `dld_without_strata` is `dld` without them.
    entity : str, selector or list, optional
        Columns of `original` that say whom a record is about: with them `dld_entity`, which counts persons,
        is among the metrics.
    seed : int, default 0
        Seed of `known_sample`, and of the sample that is drawn with `memory`.
    by_column : bool, default False
        Whether each column is measured, and known, by itself: one row for each, after its name.
    memory : int or str, optional
        Most memory to take, as bytes or like ``"500MB"``, for tables larger than that: tables may then
        be Parquet files, patterns or folders, too, and a LazyFrame is written into a temporary folder
        by its streaming engine. By default the table is held whole.
    **kinds : Any
        Which columns are categories, as for `mask`: ``nominal``, ``ordinal``, ``taxonomy`` and so on. Give
        those of the mask: tables do not tell them, and numbers that were masked as categories would be
        measured as numbers.

    Returns
    -------
    polars.DataFrame
        One row, or one for each value of `by` in order of appearance; one column a metric. Null
        where a metric is not defined: for `pld` above 20,000 records, or where no column varies.

    Raises
    ------
    InvalidDataError
        The rows cannot be matched, or an intruder knows a column without distances, such as one of
        strings, and a metric is not among `k_min` and `k_prime`, which only count.

    Notes
    -----
    Each metric is also a function of its own, with options and with its conventions in its help.
    The table of metrics in docs/methods.md says which are computed by default and which only where
    `metrics` names them.

    With `memory` rows are matched by position, all measured columns are known, and what neither
    sums nor ranks tell is refused. `dld` is that of 2000 records drawn by `seed`, each compared with
    all masked ones, and `dr` and `score` are made of it; `dld_low` and `dld_high` are an interval that
    holds the share of all records in 95 of 100 samples, `dld_sampled` is how many were drawn. Such a sample
    has some records of a person and not others, so `dld_entity` is null where there are more records.

    Examples
    --------
    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> after = pl.DataFrame({"age": [31, 31, 42, 42]})
    >>> assess(before, after, metrics=["loss", "dld", "k_min"])
    shape: (1, 3)
    ┌──────┬──────┬───────┐
    │ loss ┆ dld  ┆ k_min │
    │ ---  ┆ ---  ┆ ---   │
    │ f64  ┆ f64  ┆ i64   │
    ╞══════╪══════╪═══════╡
    │ 3.2  ┆ 50.0 ┆ 2     │
    └──────┴──────┴───────┘
    >>> large = assess(before.lazy(), after.lazy(), metrics=["loss", "dld"], memory="300MB")
    >>> large.row(0, named=True)
    {'loss': 3.2, 'dld': 50.0, 'dld_low': 50.0, 'dld_high': 50.0, 'dld_sampled': 4}
    """
    asked: dict[str, Any]
    whole: dict[str, Any] = {"known": known, "known_sample": known_sample, "by": by, "key": key}
    refuse_unknown(assess, kinds, KEY_OPTIONS)
    refuse_files(memory, original=original, masked=masked)
    if memory is None:
        asked = {"metrics": metrics, "strata": strata, "entity": entity, "seed": seed}
        asked["by_column"] = by_column
        return measuring.assess(original, masked, columns, **whole, **asked, **kinds)
    for name, value in (whole | {"by_column": by_column or None}).items():
        if value is not None:
            way = "Leave it out, or measure the table whole, without memory."
            raise InvalidParameterError.cannot("memory", Setting(name, value), way)
    entries = measuring.entries_of(metrics, entity)
    seed = whole_number("seed", seed, "a whole number of at least 0", 0)
    with tables_of(memory, original=original, masked=masked) as (tables, limit):
        before, after = tables
        empty = empty_of(before), empty_of(after)
        whose = keys_of(empty[0].schema, "entity", entity, ORIGINAL)
        within = keys_of(empty[1].schema, "strata", strata, MASKED)
        kinds, also = named_options(kinds, empty[0].schema), (*whose, *within)
        names = measuring.shared_columns(*empty, columns, also, kinds_asked(kinds, assess))
        taken = [entry.name for entry in entries]
        budget = budget_of(limit, [names, within], *tables)
        asked = {"metrics": taken, "kinds": kinds, "entity": whose, "strata": within, "seed": seed}
        row: dict[str, Any] = assessed(before, after, names, **asked, budget=budget)
    warn_of_order(*empty, names, [row.get("loss")])
    types = {
        name: pl.Int64() if e.whole else pl.Float64() for name, e in registry.metrics().items()
    }
    types |= {"dld_low": pl.Float64(), "dld_high": pl.Float64(), "dld_sampled": pl.Int64()}
    return pl.DataFrame([row], schema={name: types[name] for name in row})
