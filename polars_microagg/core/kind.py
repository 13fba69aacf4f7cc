"""The register of kinds of columns, filled by a decorator in their own files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from polars_microagg.core.registry import discover, docstring

if TYPE_CHECKING:
    from polars_microagg.core.masked import Holders
    from polars_microagg.core.partition import Labels, Strata, Vector
    from polars_microagg.kernels.embedding import Embedding

__all__ = [
    "KeyOption",
    "Kind",
    "has_means",
    "is_embedded",
    "key_options",
    "kind",
    "kind_of",
    "kinds",
]


class Kind(Protocol):
    """A kind of column: which types are of it, its coordinates, and the value of a group.

    A class of a kind inherits from this, and writes what is other than here. Every door asks for the
    type that Polars has; DuckDB's BOOLEAN is Boolean and VARCHAR is String. Columns and types are those
    of Polars.
    """

    numeric: bool
    """True if values are numbers, which have differences, and not categories."""

    widens: bool
    """True if a group can get a value wider than those of its members, so that rare ones do no harm."""

    ordered: bool
    """True if values have an order, along which a method of one column can cut."""

    def takes(self, dtype: Any) -> bool:
        """Return whether columns of a type are of this kind without being named; by default none."""
        del dtype
        return False

    def can_take(self, dtype: Any) -> bool:
        """Return whether columns of a type can be of this kind where they are named; by default none."""
        del dtype
        return False

    def unit(self, dtype: Any) -> float:
        """Return the size of one unit of the coordinates."""
        del dtype
        return 1.0

    def refused(self, column: Any) -> int:
        """Count the values that have no coordinates and are not null."""
        del column
        return 0

    def coordinates(self, column: Any, strata: Strata | None) -> Vector:
        """Return a column as float64: NaN for null, and nothing finite for what is refused.

        With an `embedding` these are the codes of the values. Numbers that float64 cannot hold count from
        the smallest of their stratum; from 0 without strata.
        """

    def embedding(self, column: Any) -> Embedding | None:
        """Return the embedding of the codes of the values; None where the coordinates are numbers."""
        del column
        return None

    def classes(self, values: Any) -> tuple[list[str], Labels, Vector] | None:
        """Return the classes that distinct values are in, as `Embedding` has them, and their names first.

        None where a value is in no class that has a name.
        """
        del values
        return None

    def pair(self, original: Any, masked: Any) -> tuple[Vector, Vector, Embedding | None]:
        """Return a column before and after as float64 in the same units, NaN where null."""

    def values(self, column: Any, chosen: Any, dtype: Any) -> Any:
        """Return the value of each group in the type asked for: its own, or Float64.

        `chosen` are `Centres`; `Cells` where a method groups values, which takes numbers alone.
        """

    def fewest(self, column: Any, emitted: Any, holders: Holders) -> int:
        """Return of how many records, or entities, the rarest emitted value is true in its stratum.

        By default k for numbers, as a mean is not the value of anybody, and 0 for categories: a kind
        that does not count them releases none.
        """
        del column, emitted
        return holders.k if self.numeric else 0


@dataclass(frozen=True)
class KeyOption:
    """A parameter of calls that says of which kind columns are.

    `make` gives the kind of a column. Where the parameter maps columns to something, `make` takes
    what a column is mapped to, and `each` is its type. `takes` names the types of columns that can be.
    """

    name: str
    make: Callable[..., Kind]
    each: type | None
    doc: str
    takes: str


Registered = TypeVar("Registered", bound=type)

_KINDS: dict[str, Kind] = {}
_OPTIONS: dict[str, KeyOption] = {}


def kind(
    option: str = "", *, each: type | None = None, takes: str = "columns of other types"
) -> Callable[[Registered], Registered]:
    """Register a class as a kind of column, under its own name in small letters.

    `option` is the parameter of calls that names columns of this kind, "" for none, where only types
    decide; with `each` it maps columns to objects of that type, which the class is made from. `takes`
    says in words which types it takes.
    The first paragraph of the docstring of the class says what the parameter means.
    """

    def register(class_: Registered) -> Registered:
        name = class_.__name__.lower()
        if option:
            summary = docstring(class_).partition("\n\n")[0]
            _OPTIONS[option] = KeyOption(option, class_, each, summary, takes)
        if each is None:
            _KINDS[name] = class_()
        return class_

    return register


def kinds() -> Mapping[str, Kind]:
    """Return the registered kinds that need nothing but a column, by name in alphabetical order."""
    discover("kinds")
    return dict(sorted(_KINDS.items()))


def key_options() -> Mapping[str, KeyOption]:
    """Return the parameters of calls that say of which kind columns are, in alphabetical order."""
    discover("kinds")
    return dict(sorted(_OPTIONS.items()))


def kind_of(dtype: Any, name: str = "", asked: Mapping[str, Any] | None = None) -> Kind | None:
    """Return the kind of a column: the one that a call asks for, else that of its type, if any.

    `asked` has, by option, the names of columns or what they are mapped to.

    >>> import polars as pl
    >>> type(kind_of(pl.Date())).__name__, kind_of(pl.Binary())
    ('Moment', None)
    """
    discover("kinds")
    for option, columns in (asked or {}).items():
        if name in columns:
            entry = _OPTIONS[option]
            made: Kind = entry.make(columns[name]) if entry.each else entry.make()
            return made if made.can_take(dtype) else None
    # The latest first: a kind of one's own takes a type from those that are there already.
    return next((kind for kind in reversed(_KINDS.values()) if kind.takes(dtype)), None)


def has_means(kind: Kind | Callable[..., Kind]) -> bool:
    """Return whether groups of a kind get means of their numbers, which Float64 can hold.

    Categories have none, and the mean direction of times on a clock is a time.
    """
    numeric = bool(getattr(kind, "numeric", True))
    return numeric and not is_embedded(kind)


def is_embedded(kind: Kind | Callable[..., Kind]) -> bool:
    """Return whether the values of a kind are at points, and are no numbers along a line."""
    own = getattr(kind if isinstance(kind, type) else type(kind), "embedding", Kind.embedding)
    return own is not Kind.embedding
