"""Errors of objects that are no tables and no connections, and of tables of DuckDB."""

from __future__ import annotations

import math
from collections.abc import Sequence

from polars_microagg.errors.data import InvalidDataError
from polars_microagg.errors.parameters import InvalidParameterError
from polars_microagg.wording import Listed, Parameter, PerDoor, Sentence, Setting, listed

__all__ = [
    "beyond_memory",
    "copy_of_masked",
    "indexed",
    "no_order",
    "not_a_connection",
    "not_a_frame",
    "not_a_table",
    "several_maskings",
]


def _type_of(value: object) -> str:
    """Name the type of an object, with the library that it is from.

    >>> _type_of([]), _type_of(Parameter("k"))
    ('list', 'polars_microagg.Parameter')
    """
    library = type(value).__module__.partition(".")[0]
    return f"{library}.{type(value).__name__}".removeprefix("builtins.")


def not_a_frame(what: str, frame: object) -> InvalidParameterError:
    """Refuse an object that Polars cannot take for a table."""
    native = "Pass the table inside of it, as in {parameter}.to_native()."
    way = native if hasattr(frame, "to_native") else "Convert it, as in pl.DataFrame({parameter})."
    return InvalidParameterError.of_fields(
        "{parameter} is of type {value}; it must be {need}. {way}",
        parameter=Parameter(what),
        value=_type_of(frame),
        need="a polars DataFrame or LazyFrame, or a table that exports Arrow",
        way=Sentence(way, parameter=Parameter(what)),
    )


def indexed(what: str, names: list[object]) -> InvalidParameterError:
    """Refuse a frame of pandas with an index that the result would lose."""
    named = [name for name in names if name is not None]
    return InvalidParameterError.of_fields(
        "{parameter} is a pandas DataFrame with an index of its own{names}; {need}. {way}",
        parameter=Parameter(what),
        names=f", {listed(named)}" if named else "",
        need="the result has no index",
        way="Make it a column with reset_index(), or remove it with its option drop.",
    )


def not_a_connection(con: object) -> InvalidParameterError:
    """Refuse an object that is not a connection."""
    return InvalidParameterError.of_fields(
        "con is of type {value}; it must be {need}. {way}",
        value=_type_of(con),
        need="a connection of duckdb",
        way="Give one, as in duckdb.connect().",
    )


def not_a_table(what: str, source: object) -> InvalidParameterError:
    """Refuse an object that does not name a table."""
    return InvalidParameterError.of_fields(
        "{what} is of type {value}; it must be {need}. {way}",
        what=what,
        value=_type_of(source),
        need="the name of a table, a relation, or a table that exports Arrow",
        way="Pass the table inside of it, as in frame.to_native()."
        if hasattr(source, "to_native")
        else "Give one, as in 'patients' or con.sql('FROM patients').",
    )


def copy_of_masked(copy: str, name: str) -> InvalidParameterError:
    """Refuse to release a masked column a second time, unmasked."""
    return InvalidParameterError.of_fields(
        "Column {copy} holds the values of the masked column {name}, as where a query has two columns "
        "of the name {name} and DuckDB renames one of them. It would come out as it is, so nothing was "
        "released. {way}",
        copy=repr(copy),
        name=repr(name),
        way="Leave it out, as in SELECT * EXCLUDE, mask it, or rename it to keep it.",
    )


def no_order() -> InvalidParameterError:
    """Refuse to match rows by position in a database that keeps tables in no order."""
    by_id = Setting("key", "id")
    both = Sentence("{by_id} (in SQL key := 'id')", by_id=by_id)
    return InvalidParameterError.of_fields(
        "Without key, rows are matched by position, and this database keeps tables in no order: "
        "preserve_insertion_order is false. {way}",
        way=Sentence(
            "Name columns that identify a row, as in {example}, or SET preserve_insertion_order = true "
            "if both tables were written in one order.",
            example=PerDoor(both, by_id, by_id),
        ),
    )


def several_maskings(columns: Sequence[str]) -> InvalidDataError:
    """Refuse a query in which one call masks other records at each of its uses."""
    return InvalidDataError.of_fields(
        "The query reads one masking of {columns} in several places, and the source has other records, or "
        "another order, at each of them. Parts of several maskings do not keep k. {way}",
        columns=Listed(tuple(columns)),
        way="Write the masked rows to a table and read that, read them once with WITH masked AS "
        "MATERIALIZED (FROM ...), or give the source an ORDER BY without ties. If the query has two CTEs "
        "of one name, rename one of them.",
    )


def beyond_memory(
    rows: int, columns: int, need: int, allowed: int, method: str, time: str
) -> InvalidDataError:
    """Refuse to mask more at once than the memory that DuckDB may take.

    `time` is how long the method takes with enough memory, or empty if that is short or unknown.
    """
    return InvalidDataError.of_fields(
        "Masking {rows} rows of {columns} column(s) at once takes about {need} beside the table, and "
        "memory_limit of this connection is {allowed}. Nothing was released. {way}{time}",
        rows=rows,
        columns=columns,
        need=_amount(need),
        allowed=_amount(allowed),
        way=Sentence(
            "Allow more, as in SET memory_limit = '{enough}', or mask the table out of core with {it}.",
            # DuckDB rounds what it is given.
            enough=_amount(need + need // 20),
            it=PerDoor(
                "mg.publish('file.duckdb::t', 'out.duckdb::t', ..., memory='2GB')",
                "the command microagg protect, which takes a table as file.duckdb::t",
                "microagg protect file.duckdb::t -o out.duckdb::t --memory 2GB",
            ),
        ),
        time=time and f" With enough memory {method} takes about {time} on one processor.",
    )


def _amount(size: int) -> str:
    """Write an amount of memory, rounded up to two digits.

    >>> _amount(1_234_000_000), _amount(81), _amount(10_000_000)
    ('1300MB', '1MB', '10MB')
    """
    megabytes = max(1, math.ceil(size / 10**6))
    step = 10 ** max(0, len(str(megabytes)) - 2)
    return f"{-(-megabytes // step) * step}MB"
