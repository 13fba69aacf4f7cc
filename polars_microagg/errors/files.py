"""Errors of files: their content, with the line, and their names."""

from __future__ import annotations

from collections.abc import Iterable

from polars_microagg.errors.data import InvalidDataError
from polars_microagg.errors.parameters import InvalidParameterError
from polars_microagg.wording import SQL, Parameter, PerDoor, Sentence, shown_path

__all__ = [
    "bad_header",
    "bad_names",
    "changed_while_read",
    "compressed_target",
    "like_numbers",
    "no_manifest",
    "no_manifest_beside",
    "no_such_file",
    "no_table_named",
    "not_utf8",
    "other_format",
    "other_schema",
    "other_separator",
    "packed",
    "ragged",
    "stream_beside",
    "two_readings_of_dates",
    "unknown_ending",
    "wrong_cells",
]


def not_utf8(line: int) -> InvalidDataError:
    """Name the line where a text ceases to be UTF-8."""
    return InvalidDataError.of_fields(
        "line {line} has bytes that are not UTF-8, perhaps of Latin-1. {way}",
        line=line,
        way="Save it as UTF-8, as with iconv -f latin1 -t utf-8.",
    )


def ragged(line: str, cells: str, width: int) -> InvalidDataError:
    """Name the first line with another number of cells than the header."""
    return InvalidDataError.of_fields(
        "{line} has {value} cell(s) and not the {need} of the header. {way}",
        line=line,
        value=cells,
        need=width,
        way="Complete it, or put cells with a separator or a line break in quotes.",
    )


def bad_header() -> InvalidDataError:
    """Refuse a header that cannot be split."""
    return InvalidDataError.of_fields(
        "its header is no line of CSV. {way}", way="Write the header again."
    )


def bad_names() -> InvalidDataError:
    """Refuse a header in which a name is that of two columns."""
    return InvalidDataError.of_fields(
        "its header names a column twice or none. {way}", way="Name each column once."
    )


def other_separator(mark: str, typed: str) -> InvalidDataError:
    """Refuse a table of one column that is one of several with another separator, as `typed` in a shell."""
    return InvalidDataError.of_fields(
        "it looks separated by {value}, and would be a single column. {way}",
        value=typed,
        way=PerDoor(
            f"Give pl.read_csv(path, separator={mark!r}), or separator=',' if it is one column.",
            f"Read it with read_csv(path, delim = {SQL.value(mark)}), or delim = ',' if it is one column.",
            f"Add --separator {typed}, or --separator , if it is one column.",
        ),
    )


def changed_while_read(what: object) -> InvalidDataError:
    """Refuse a file of which a later pass has other text than the pass that found its types."""
    return InvalidDataError.unreadable(
        what, "it changed while it was read. Read it again, or copy it first and read the copy."
    )


def packed(packer: str, way: str) -> InvalidDataError:
    """Refuse a compressed file where it is not unpacked."""
    return InvalidDataError.of_fields(
        "it is compressed with {packer}. {way}", packer=packer, way=way
    )


def other_format(what: str, way: str) -> InvalidDataError:
    """Refuse a file that is of another format than its ending says."""
    return InvalidDataError.of_fields("it is {value}. {way}", value=what, way=way)


def other_schema(what: object, first: str) -> InvalidDataError:
    """Refuse a file that is not like the first of several."""
    return InvalidDataError.unreadable(
        what, f"it has other columns or types than {shown_path(first)}. Name files of one schema."
    )


def two_readings_of_dates(name: str) -> InvalidDataError:
    """Refuse dates whose day is ambiguous."""
    return InvalidDataError.of_fields(
        "Column {column} has dates such as DD/MM/YYYY, of which nobody can tell the day from the "
        "month. {way}",
        column=repr(name),
        way="Write them as YYYY-MM-DD, or leave the column out of --columns.",
    )


def like_numbers(name: str) -> InvalidDataError:
    """Refuse to take numbers that cannot be read for categories."""
    return InvalidDataError.of_fields(
        "Column {column} looks like numbers with other marks than a point; {need}. {way}",
        column=repr(name),
        need="they would be masked as categories",
        way=Sentence(
            "Write them as 1234.5, or name the column in {nominal}.", nominal=Parameter("nominal")
        ),
    )


def wrong_cells(name: str, count: int, kind: str, line: int, path: object) -> InvalidDataError:
    """Refuse a column with cells that cannot be read as its type."""
    return InvalidDataError.of_fields(
        "Column {column} has {count} cell(s) that are no {kind}, the first of them on line {line} of "
        "{path}. {way}",
        column=repr(name),
        count=count,
        kind=kind,
        line=line,
        path=repr(shown_path(path)),
        way="Correct them, leave them empty, or take the column out of --columns.",
    )


def no_table_named(text: str, file: str) -> InvalidParameterError:
    """Return an error that requires the table of a DuckDB file."""
    return InvalidParameterError.of_fields(
        "{value} names no table of the file. {way}",
        value=repr(text),
        way=f"Write it behind, as in {file}::table.",
    )


def unknown_ending(text: str, ending: str, known: Iterable[str]) -> InvalidParameterError:
    """Refuse a file whose ending is not that of a format."""
    return InvalidParameterError.of_fields(
        "{text} has the ending {value}, which is of no known format; it must be one of {need}. {way}",
        text=repr(text),
        value=repr(ending),
        need=", ".join(known),
        way="Name a file of another ending.",
    )


def compressed_target(place: object, plain: str) -> InvalidParameterError:
    """Refuse to write a compressed file."""
    return InvalidParameterError.of_fields(
        "{place} cannot be written, as compressed files are only read. {way}",
        place=repr(str(place)),
        way=f"Write {plain!r}, or Parquet, which is compressed.",
    )


def no_such_file(path: object) -> InvalidDataError:
    """Return the error of a file that is not there."""
    why = "there is no such file. Check the name and the folder."
    return InvalidDataError.unreadable(path, why)


def no_manifest() -> InvalidDataError:
    """Return an error that requires the manifest of a stream."""
    return InvalidDataError.of_fields(
        "A stream has no manifest beside it. {way}", way="Name it with --manifest."
    )


def stream_beside() -> InvalidDataError:
    """Refuse a stream as the second of two releases."""
    return InvalidDataError.of_fields(
        "The release beside is a stream, which has no manifest. {way}",
        way="Write it to a file, with its manifest beside it.",
    )


def no_manifest_beside(path: object) -> InvalidDataError:
    """Refuse a second release without its manifest."""
    why = "there is no such manifest, and of two releases each needs its own. Put it there."
    return InvalidDataError.unreadable(path, why)
