"""Sentences that are data first: what they are about, and the spelling of each door.

A sentence is a template and its fields. A field such as `Setting("nulls", "impute")` is written
``nulls='impute'`` in Python, ``nulls := 'impute'`` in SQL, and ``--nulls impute`` on the command line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Number
from typing import Any, Self

__all__ = [
    "COMMAND_LINE",
    "PYTHON",
    "SQL",
    "CommandLine",
    "Counted",
    "Given",
    "Hidden",
    "Listed",
    "Parameter",
    "PerDoor",
    "Sentence",
    "Setting",
    "Spelling",
    "Sql",
    "hint",
    "listed",
    "shown_path",
    "synonym",
    "written",
]

MOST = 10
"""Items of a list that are shown."""

SYNONYMS = {
    **dict.fromkeys(("by", "over", "group_by", "partition_by", "stratify"), ("strata",)),
    **dict.fromkeys(("id", "ids", "person", "patient"), ("entity", "key")),
    "on": ("key",),
    "sensitive": ("confidential",),
}
"""Names that other libraries give to parameters, and the parameters of the same meaning here."""


def shown_path(path: object) -> str:
    """Write a path for a message, without the values of keys, as those of folders of a partition.

    >>> shown_path("in/patient=Zelda/x.parquet")
    'in/patient=.../x.parquet'
    """
    return re.sub(r"(?<=[^/\\]=)[^/\\]*", "...", str(path))


@dataclass(frozen=True, repr=False)
class Hidden:
    """A value that messages leave out: all but its type if it may hold data, or the rest of a list."""

    name: str

    def __repr__(self) -> str:
        """Write what was left out."""
        return self.name


def _safe(got: object) -> Any:
    """Return the part of a value that may be shown."""
    if isinstance(got, list | tuple):
        rest = [Hidden("...")] if len(got) > MOST else []
        return (*map(_safe, got[:MOST]), *rest)
    plain = got is None or isinstance(got, str | Number | Hidden)
    return got if plain else Hidden(f"<{type(got).__name__}>")


@dataclass(frozen=True)
class Given:
    """A received value; if it may hold data, only its type is kept."""

    value: object

    def __post_init__(self) -> None:
        """Drop what may not be shown."""
        object.__setattr__(self, "value", _safe(self.value))


@dataclass(frozen=True)
class Setting:
    """A parameter with a value; `key` names one part of a value that has several."""

    name: str
    value: object
    key: str | None = None

    def __post_init__(self) -> None:
        """Drop what may not be shown."""
        object.__setattr__(self, "value", _safe(self.value))


@dataclass(frozen=True)
class Parameter:
    """The name of a parameter."""

    name: str


@dataclass(frozen=True)
class Listed:
    """Values in a list, at most ten of which are shown."""

    values: tuple[object, ...]


@dataclass(frozen=True)
class Counted:
    """A count that only the original shows, of so many that the release shows."""

    count: int
    of: int

    def __str__(self) -> str:
        """Write the count for the owner of the original."""
        return str(self.count)


@dataclass(frozen=True)
class PerDoor:
    """Words that differ between doors."""

    python: object
    sql: object
    command_line: object


class Spelling:
    """The spelling of Python; other doors override parts of it."""

    door = "python"

    def write(self, part: object) -> str:
        """Write a part of a sentence, or the whole of it.

        >>> [door.write(Setting("seed", 3)) for door in (PYTHON, SQL, COMMAND_LINE)]
        ['seed=3', 'seed := 3', '--seed 3']
        """
        match part:
            case Sentence():
                return part.told(self)
            case Setting():
                return self.setting(part)
            case Parameter():
                return self.parameter(part.name)
            case Given():
                return self.value(part.value)
            case Listed():
                return _joined(map(self.value, part.values))
            case PerDoor():
                return self.write(getattr(part, self.door))
        return str(part)

    def setting(self, setting: Setting) -> str:
        """Write a parameter with its value."""
        key = "" if setting.key is None else f"[{setting.key!r}]"
        return f"{self.parameter(setting.name)}{key}={self.value(setting.value)}"

    def parameter(self, name: str) -> str:
        """Write the name of a parameter."""
        return name

    def value(self, value: object) -> str:
        """Write a value."""
        if isinstance(value, tuple):
            return f"[{', '.join(map(self.value, value))}]"
        return repr(value)


class Sql(Spelling):
    """The spelling of SQL."""

    door = "sql"

    def setting(self, setting: Setting) -> str:
        """Write a named argument of a macro.

        >>> SQL.write(Setting("nulls", None)), SQL.write(Setting("known", ["age"]))
        ('nulls := NULL', "known := ['age']")
        """
        value = self.value(setting.value)
        if setting.key is not None:
            value = f"{{{self.value(setting.key)}: {value}}}"
        return f"{self.parameter(setting.name)} := {value}"

    def value(self, value: object) -> str:
        """Write a literal."""
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return "'" + _in_one_line(value).replace("'", "''") + "'"
        return super().value(value)


class CommandLine(Spelling):
    """The spelling of the command line."""

    door = "command_line"

    other_names = {"hash_key": "hash_key_file"}  # noqa: RUF012
    """Parameters that are options of another name."""

    def setting(self, setting: Setting) -> str:
        """Write an option as it is typed.

        >>> COMMAND_LINE.write(Setting("known", ["age", "net pay"]))
        "--known 'age,net pay'"
        >>> COMMAND_LINE.write(Setting("overwrite", True))
        '--overwrite'
        """
        name = self.parameter(setting.name)
        if setting.value is True and setting.key is None:
            return name
        key = "" if setting.key is None else f"{setting.key}="
        return f"{name} {shlex.quote(key + _typed(setting.value))}"

    def parameter(self, name: str) -> str:
        """Write the name of an option."""
        return "--" + self.other_names.get(name, name).replace("_", "-")


def _typed(value: object) -> str:
    if isinstance(value, tuple):
        items = map(_typed, value)
        return ",".join(f'"{item}"' if "," in item else item for item in items)
    return "none" if value is None else _in_one_line(str(value))


def _in_one_line(text: str) -> str:
    """Write what cannot be printed, such as a line feed, as Python does: a sentence is one line."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


PYTHON, SQL, COMMAND_LINE = Spelling(), Sql(), CommandLine()


class Sentence(str):
    """A sentence as Python writes it, together with its template and fields.

    The template has names of fields in braces; a field is a `Setting` and so on, another sentence,
    or any text or number.

    >>> way = Sentence("Use {setting}, or drop those rows.", setting=Setting("nulls", "impute"))
    >>> way
    "Use nulls='impute', or drop those rows."
    >>> way.told(COMMAND_LINE)
    'Use --nulls impute, or drop those rows.'
    """

    template: str
    fields: dict[str, Any]

    def __new__(cls, template: str, /, **fields: Any) -> Self:
        """Write the sentence as Python does."""
        self = super().__new__(cls, _told(template, fields, PYTHON))
        self.template, self.fields = template, fields
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return template and fields, for a sentence that is copied or sent to another process."""
        return _again, (type(self), self.template, self.fields)

    def told(self, door: Spelling) -> str:
        """Write the sentence in the spelling of a door."""
        return _told(self.template, self.fields, door)


def _told(template: str, fields: dict[str, Any], door: Spelling) -> str:
    return template.format(**{name: door.write(part) for name, part in fields.items()}).rstrip()


def _again(cls: type[Sentence], template: str, fields: dict[str, Any]) -> Sentence:
    return cls(template, **fields)


def _joined(shown: Iterable[str]) -> str:
    shown = list(shown)
    more = f" and {len(shown) - MOST} more" if len(shown) > MOST else ""
    return ", ".join(shown[:MOST]) + more


def listed(names: Iterable[object]) -> str:
    """Join names for a sentence, at most ten of them."""
    return _joined(map(repr, names))


def written(got: object) -> str:
    """Write a received value; if it may hold data, only its type."""
    return PYTHON.value(_safe(got))


def hint(name: object, known: Iterable[str], *, shown: bool = False) -> str:
    """Suggest the closest known name, or list the known names unless they are listed already."""
    known = list(known)
    words = {other.lower(): other for other in known if isinstance(other, str)}
    if close := get_close_matches(str(name).lower(), words, n=1):
        return f"Did you mean {words[close[0]]!r}?"
    choose = f"Choose from {listed(known)}." if known else "There is none to choose from."
    return "" if shown else choose


def synonym(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Suggest the known parameters that have the meaning of a name in other libraries.

    >>> synonym("by", ["strata", "seed"]), synonym("--id", ["--entity"], "--"), synonym("age", [])
    ("Did you mean 'strata'?", "Did you mean '--entity'?", '')
    """
    near = [prefix + word for word in SYNONYMS.get(name.removeprefix(prefix).replace("-", "_"), ())]
    known = list(known)
    there = [word for word in near if word in known]
    return f"Did you mean {' or '.join(map(repr, there))}?" if there else ""
