"""A tree of categories: values, the classes they are in, wider classes, and one root."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Vector
from polars_microagg.core.taxonomy_forms import (
    Form,
    Intervals,
    Prefixes,
    form_of,
    loaded,
    nodes_of,
    path_of,
)
from polars_microagg.core.taxonomy_parents import Parents
from polars_microagg.core.taxonomy_tables import parents_of, rows_of, rows_of_csv, text_of_file
from polars_microagg.errors import InvalidDataError

__all__ = ["Taxonomy"]


class Taxonomy:
    """A tree of categories: values at the leaves, under ever wider classes up to one root.

    It is given as the parent of each name, read from a table or from a file of ARX, or made of
    prefixes or of intervals. A taxonomy does not change, and two with the same tree are equal.

    Parameters
    ----------
    parents : mapping of str to str
        The parent of each name but the root. Names without children are the values.
    lengths : mapping of str to float, optional
        The length of the edge above a name, finite and above 0; 1 for each that is not listed.

    Raises
    ------
    InvalidParameterError
        If the names make no tree: none at all, several roots or a cycle; if a name is not text, or
        a length is out of range.

    See Also
    --------
    Taxonomy.read : The tree of a file.
    Taxonomy.prefix : Zip codes.
    Taxonomy.intervals : Numbers.

    Examples
    --------
    >>> import polars_microagg as mg
    >>> pets = mg.Taxonomy({"cat": "mammal", "dog": "mammal", "mammal": "animal", "eel": "animal"})
    >>> pets
    Taxonomy(3 values, 2 levels)
    >>> pets.path("cat"), pets.path("eel")
    (('cat', 'mammal', 'animal'), ('eel', 'animal'))
    """

    __slots__ = ("_form",)
    _form: Form

    def __init__(
        self, parents: Mapping[str, str], *, lengths: Mapping[str, float] | None = None
    ) -> None:
        object.__setattr__(self, "_form", Parents(parents, lengths))

    @classmethod
    def from_table(cls, table: Any) -> Self:
        """Read a table with one row a value: the value, its parent, and so on up to the root.

        Parameters
        ----------
        table : data frame, Arrow table or sequence of sequences of str
            Cells after the root may be empty or null. Equal names side by side are one node.

        Raises
        ------
        InvalidParameterError
            If the rows make no tree, as where a name has two parents.

        Examples
        --------
        >>> import polars as pl
        >>> table = pl.DataFrame({"value": ["cat", "eel"], "class": ["mammal", "*"], "all": ["*", None]})
        >>> Taxonomy.from_table(table).path("cat")
        ('cat', 'mammal', '*')
        """
        return cls(parents_of(rows_of(table)))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        r"""Read a file: a hierarchy of ARX as it is, or JSON that `write` wrote.

        Parameters
        ----------
        path : str or Path
            CSV in UTF-8 without header, one row a value as in `from_table`, cells between
            semicolons, commas or tabs; or JSON.

        Raises
        ------
        InvalidDataError
            If the file cannot be read.
        InvalidParameterError
            If what it holds is no tree.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "race.csv")
        ...     _ = file.write_text("White;*\nBlack;*\n")
        ...     Taxonomy.read(file)
        Taxonomy(2 values, 1 level)
        """
        text = text_of_file(path)
        # No row of a CSV is an object of JSON, but a name may begin with a brace.
        if Path(path).suffix.lower() == ".json" or (
            text.startswith("{") and isinstance(loaded(text), dict)
        ):
            return cls.from_json(text)
        return cls.from_table(rows_of_csv(text, path))

    @classmethod
    def prefix(cls, length: int, kept: Sequence[int]) -> Self:
        """Make the tree of texts of one length that share their first characters, as zip codes.

        There is no list of values: every text of that length without a star is one.

        Parameters
        ----------
        length : int
            Characters of a value.
        kept : sequence of int
            How many of them each class keeps, from the narrowest to the widest.

        Raises
        ------
        InvalidParameterError
            If `kept` does not fall from below `length` to above 0.

        Examples
        --------
        >>> zips = Taxonomy.prefix(5, [3, 2])
        >>> zips.path("12345")
        ('12345', '123**', '12***', '*')
        >>> zips.knows("1234")
        False
        """
        return cls._of(Prefixes(length, kept))

    @classmethod
    def intervals(
        cls, widths: Sequence[float], *, start: float = 0, whole: bool | None = None
    ) -> Self:
        """Make the tree of numbers, written as text, in wider and wider intervals.

        There is no list of values: every number is one, or every whole number.

        Parameters
        ----------
        widths : sequence of float
            Width of the intervals, from the narrowest to the widest; each a multiple of the one before.
        start : float
            Lower end of one of the widest intervals.
        whole : bool, optional
            Whether only whole numbers are values, and intervals are written ``35-39``; otherwise
            ``[35, 40)``. By default, if widths and start are whole.

        Raises
        ------
        InvalidParameterError
            If a width is no multiple of the one before.

        Examples
        --------
        >>> Taxonomy.intervals([5, 10, 20]).path("37")
        ('37', '35-39', '30-39', '20-39', '*')
        >>> Taxonomy.intervals([0.5, 2]).path("1.75")
        ('1.75', '[1.5, 2)', '[0, 2)', '*')
        """
        return cls._of(Intervals(widths, start, whole))

    @property
    def root(self) -> str:
        """The name of the root."""
        return self._form.root

    @property
    def depth(self) -> int:
        """The length of the longest path from a value to the root, in edges."""
        return self._form.depth

    def path(self, value: str) -> tuple[str, ...]:
        """Return the names from a value, or a class, up to the root.

        Raises
        ------
        InvalidDataError
            If it is not in the taxonomy.

        Examples
        --------
        >>> Taxonomy.prefix(5, [3, 2]).path("123**")
        ('123**', '12***', '*')
        """
        path = path_of(self._form, value)
        if path is None:
            raise InvalidDataError.not_in_taxonomy(None, 1)
        return path

    def knows(self, value: str) -> bool:
        """Return whether a text is the name of a value, of a class or of the root.

        Examples
        --------
        >>> Taxonomy.intervals([5, 10]).knows("37.5")
        False
        """
        return path_of(self._form, value) is not None

    def nodes(self, values: Sequence[str]) -> tuple[list[str], npt.NDArray[np.intp], Vector]:
        """Return all nodes on the paths of values but the root, and the path of each value.

        Nodes are in order of depth and then of name, whatever the order of the values.

        Parameters
        ----------
        values : sequence of str
            Names in the taxonomy.

        Returns
        -------
        names : list of str
            Names of the nodes.
        paths : array of shape (values, depth)
            Positions in `names` on the path of each value, from the top down; -1 after its end.
        lengths : array of shape (nodes,)
            Length of the edge above each node.

        Raises
        ------
        InvalidDataError
            If values are not in the taxonomy, with their number.

        Examples
        --------
        >>> pets = Taxonomy({"cat": "mammal", "mammal": "animal", "eel": "animal"})
        >>> names, paths, lengths = pets.nodes(["cat", "eel"])
        >>> names, lengths
        (['eel', 'mammal', 'cat'], array([1., 1., 1.]))
        >>> paths
        array([[ 1,  2],
               [ 0, -1]])
        """
        return nodes_of(self._form, values)

    def to_dict(self) -> dict[str, Any]:
        """Return the taxonomy as lists, texts and numbers, which `from_dict` takes.

        Examples
        --------
        >>> Taxonomy.prefix(5, [3, 2]).to_dict()
        {'version': 1, 'taxonomy': 'prefix', 'length': 5, 'kept': [3, 2]}
        """
        return self._form.to_dict()

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Read what `to_dict` returned.

        Examples
        --------
        >>> Taxonomy.from_dict({"version": 1, "taxonomy": "prefix", "length": 5, "kept": [3, 2]})
        Taxonomy(prefixes, 3 levels)
        """
        return cls._of(form_of(written))

    def to_json(self) -> str:
        """Write the taxonomy as JSON; equal ones are equal text.

        Examples
        --------
        >>> Taxonomy({"cat": "animal"}).to_json()
        '{"parents": {"cat": "animal"}, "taxonomy": "parents", "version": 1}'
        """
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Examples
        --------
        >>> Taxonomy.from_json(Taxonomy.prefix(5, [3]).to_json())
        Taxonomy(prefixes, 2 levels)
        """
        return cls._of(form_of(loaded(text)))

    def write(self, path: str | Path) -> None:
        """Write the taxonomy as JSON to a file, which `read` reads.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "zip.json")
        ...     Taxonomy.prefix(5, [3]).write(file)
        ...     Taxonomy.read(file)
        Taxonomy(prefixes, 2 levels)
        """
        Path(path).write_text(f"{self.to_json()}\n", encoding="utf-8")

    @classmethod
    def _of(cls, form: Form) -> Self:
        made = cls.__new__(cls)
        object.__setattr__(made, "_form", form)
        return made

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a taxonomy does not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a taxonomy does not change")

    def __eq__(self, other: object) -> bool:
        return self._form.key == other._form.key if isinstance(other, Taxonomy) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._form.key)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return f"Taxonomy({self._form.short}, {self.depth} level{'s' * (self.depth != 1)})"
