"""Errors of the command line: its arguments, the configuration, and the roles in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from polars_microagg.errors.data import InvalidDataError
from polars_microagg.errors.parameters import InvalidParameterError
from polars_microagg.wording import Parameter, Sentence, Setting, listed, synonym

__all__ = [
    "both_to_standard_output",
    "columns_and_k",
    "columns_without_role",
    "foreign_option",
    "looks_like_an_option",
    "needed",
    "needs_a_command",
    "needs_a_value",
    "no_columns",
    "no_original",
    "not_by_commas",
    "not_installed",
    "not_of_csv",
    "one_table",
    "one_too_many",
    "only_with_an_original",
    "option_unknown",
    "report_without_manifest",
    "same_file",
    "separator_of_the_original",
    "several_roles",
    "takes_no_value",
    "unknown_choice",
    "unknown_key",
    "unlike_toml",
    "unreadable_configuration",
    "without_a_manifest_to_ask",
    "without_an_option",
    "wrong_arguments",
    "wrong_key",
]

HELP = "See {program} --help."
ROLES = "--columns, --strata, --entity, --confidential, --keep or --drop"


# --- Words ------------------------------------------------------------------------------------


def wrong_arguments(program: str, message: str) -> InvalidParameterError:
    """Pass on what the parser itself found, with the way to the help of a command."""
    return InvalidParameterError.of_fields(f"{{message}} {HELP}", message=message, program=program)


def needed(program: str, what: str, *, help_too: bool = False) -> InvalidParameterError:
    """Report that an argument was left out."""
    return InvalidParameterError.of_fields(
        f"{{program}} needs {{need}}, and none was given. {HELP if help_too else ''}",
        program=program,
        need=what,
    )


def needs_a_command(program: str, commands: Iterable[str]) -> InvalidParameterError:
    """Report that the command was left out."""
    return InvalidParameterError.of_fields(
        f"{{program}} needs {{need}}. {{way}} {HELP}",
        program=program,
        need="a command first",
        way=f"There are {', '.join(commands)}.",
    )


def unknown_choice(
    program: str, what: str, got: object, known: Sequence[str]
) -> InvalidParameterError:
    """Refuse a command, or a word of a closed list, that there is not."""
    return InvalidParameterError.of_fields(
        f"{{program}} has no {{what}} {{value}}. {{way}} {HELP}",
        program=program,
        what=what,
        value=repr(got),
        way=_meant(str(got), known) or f"There are {', '.join(known)}.",
    )


def takes_no_value(program: str, option: str) -> InvalidParameterError:
    """Refuse a value for a switch."""
    return InvalidParameterError.of_fields(
        f"{{option}} takes no value, and one was given. {HELP}", option=option, program=program
    )


def needs_a_value(program: str, option: str) -> InvalidParameterError:
    """Report that the value of an option was left out."""
    return InvalidParameterError.of_fields(
        f"{{option}} needs a value, and none was given. {HELP}", option=option, program=program
    )


def looks_like_an_option(program: str, option: str, got: str) -> InvalidParameterError:
    """Refuse a value that looks like an option, and show how to write it."""
    return InvalidParameterError.of_fields(
        f"{{option}} was given {{value}}, which looks like an option. {{way}} {HELP}",
        option=option,
        value=repr(got),
        way=f"If it is a file, write ./{got}; any other value goes behind =, as in {option}={got}.",
        program=program,
    )


def option_unknown(program: str, got: str, known: Iterable[str]) -> InvalidParameterError:
    """Refuse an option that the command does not have."""
    known = list(known)
    way = synonym(got, known, "--") or _meant(got.replace("_", "-"), known)
    if not way and "." in got:
        way = f"If it is a file, write ./{got}."
    said = "{program} has no option {value}. {way}" + " " * bool(way) + HELP
    return InvalidParameterError.of_fields(said, program=program, value=repr(got), way=way)


def one_too_many(program: str, got: str) -> InvalidParameterError:
    """Refuse a second table, or anything else typed after the first."""
    return InvalidParameterError.of_fields(
        f"{{program}} does not take {{value}} as well. {HELP}", program=program, value=repr(got)
    )


def one_table(program: str, got: str) -> InvalidParameterError:
    """Refuse a second table, and say which option takes the one before masking."""
    return InvalidParameterError.of_fields(
        f"{{program}} takes one table, and {{value}} was given as well. {{way}} {HELP}",
        program=program,
        value=repr(got),
        way="Name the one before masking with --original.",
    )


def without_an_option(program: str, got: str) -> InvalidParameterError:
    """Refuse a word that may be the name of a column."""
    return InvalidParameterError.of_fields(
        f"{{program}} was given {{value}} without an option before it. {{way}} {HELP}",
        program=program,
        value=repr(got),
        way=f"Names of columns go with commas between them into {ROLES}.",
    )


def _meant(name: str, known: Iterable[str]) -> str:
    """Suggest the closest; dashes, which all options begin with, do not make them alike."""
    words = {word.lstrip("-"): word for word in known}
    close = get_close_matches(name.lstrip("-"), words, n=1)
    return f"Did you mean {words[close[0]]!r}?" if close else ""


def both_to_standard_output() -> InvalidParameterError:
    """Refuse two results for one stream."""
    return InvalidParameterError.of_fields(
        "--json and -o - both write to standard output. {way}",
        way="Give -o a file, or name the manifest.",
    )


def foreign_option(method: str, name: str, having: Sequence[str]) -> InvalidParameterError:
    """Refuse an option of other methods, and name them."""
    return InvalidParameterError.of_fields(
        "{method} has no option {parameter}; {having} {has} it. {way}",
        method=method,
        parameter=Parameter(name),
        having=", ".join(having),
        has="has" if len(having) == 1 else "have",
        way="Leave it out, or take another --method.",
    )


def not_by_commas(text: str) -> InvalidParameterError:
    """Refuse names that cannot be split at commas."""
    return InvalidParameterError.of_fields(
        "a list={value} was given; it must be {need}. {way}",
        value=repr(text),
        need="names with commas between them, each whole one in double quotes or none",
        way="Change it or leave it out for the default.",
    )


# --- What belongs together --------------------------------------------------------------------


def without_a_manifest_to_ask() -> InvalidParameterError:
    """Require columns if no manifest has them."""
    return InvalidParameterError.of_fields(
        "risk needs {need}, as there is no manifest beside the table to take them from. {way}",
        need="--columns",
        way="Name them, as in --columns age,income.",
    )


def only_with_an_original() -> InvalidParameterError:
    """Refuse options of measures for one table alone."""
    return InvalidParameterError.of_fields(
        "--known, --key and --metrics are for measures of a release against its original. {way}",
        way="Add --original.",
    )


def no_original() -> InvalidParameterError:
    """Require the table before masking, without which a report cannot be written."""
    return InvalidParameterError.of_fields(
        "report needs {need}: it is compared with the release, and none of its records is shown.",
        need="--original, the table before",
    )


def report_without_manifest() -> InvalidParameterError:
    """Require the manifest of a stream."""
    return InvalidParameterError.of_fields(
        "A stream has no manifest beside it. {way}", way="Name it with --manifest."
    )


def not_installed(what: str, package: str, way: str) -> InvalidParameterError:
    """Name the package without which something cannot be done, and the command that installs it."""
    return InvalidParameterError.of_fields(
        "{what} needs {need}, which is not installed. {way}", what=what, need=package, way=way
    )


def separator_of_the_original() -> InvalidParameterError:
    """Refuse a separator for a release."""
    return InvalidParameterError.of_fields(
        "--separator is of the original. {way}", way="Add --original."
    )


def columns_and_k() -> InvalidParameterError:
    """Require what a check without a manifest needs."""
    return InvalidParameterError.of_fields(
        "verify needs {need}, or the manifest that has both.", need="--columns and --k together"
    )


def not_of_csv(place: object) -> InvalidParameterError:
    """Refuse a separator for a table that is not a CSV file."""
    return InvalidParameterError.of_fields(
        "--separator is for CSV, and {place} is none. {way}",
        place=repr(str(place)),
        way="Leave it out.",
    )


def same_file(place: object, one: str, other: str) -> InvalidParameterError:
    """Refuse a call in which one file would take the place of another."""
    return InvalidParameterError.of_fields(
        "{place} is both {one} and {other}, and one of them would be lost. {way}",
        place=repr(str(place)),
        one=one,
        other=other,
        way="Name another file.",
    )


# --- The configuration, and roles -------------------------------------------------------------


def unreadable_configuration(path: object, why: str) -> InvalidParameterError:
    """Refuse a configuration that cannot be read."""
    return InvalidParameterError.of_fields(
        "{path} cannot be read: {why}", path=repr(str(path)), why=why
    )


def unlike_toml(path: object, where: str) -> InvalidParameterError:
    """Refuse a configuration in another language."""
    why = f"it is not TOML ({where}). Text and names go in double quotes."
    return unreadable_configuration(path, why)


def unknown_key(name: str, known: Iterable[str]) -> InvalidParameterError:
    """Refuse a key that no configuration has."""
    known = list(known)
    close = get_close_matches(name, known, n=1)
    start = "Write one to start from with microagg init."
    return InvalidParameterError.of_fields(
        "The key {value} of the configuration is not known. {way}",
        value=repr(name),
        way=synonym(name, known) or (f"Did you mean {close[0]!r}?" if close else start),
    )


def wrong_key(name: str, value: object, need: str) -> InvalidParameterError:
    """Refuse a key with a value of another type; no option would show all that is wrong with some."""
    error = InvalidParameterError.kind(name, value, need)
    if name != "input" and not isinstance(value, bool | str):
        return error
    as_it_is = Sentence("{text}", text=str(Sentence("{it}", it=Setting(name, value))))
    return InvalidParameterError.of_fields(
        error.sentence.template, **{**error.fields, "setting": as_it_is}
    )


def no_columns() -> InvalidParameterError:
    """Require columns to mask."""
    return InvalidParameterError.of_fields(
        "No column was given to mask. {way}",
        way="Name them with --columns, as in --columns age,income, or let microagg init guess.",
    )


def several_roles(names: Sequence[str]) -> InvalidParameterError:
    """Refuse a column of two roles."""
    return InvalidParameterError.of_fields(
        "{names} has more than one role. {way}",
        names=_columns(names),
        way=f"Name it once, in {ROLES}.",
    )


def columns_without_role(names: Sequence[str], config: object) -> InvalidDataError:
    """Refuse columns that have no role."""
    asks = f" Where {config} asks about it, answer there." if config else ""
    return InvalidDataError.of_fields(
        "{names} has no role, and nothing is passed through by default. {way}",
        names=_columns(names),
        way=f"Add it to {ROLES}.{asks}",
    )


def _columns(names: Sequence[str]) -> str:
    return ("Column " if len(names) == 1 else "Each of ") + listed(names)
