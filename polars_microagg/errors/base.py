"""The base of every error: fields, and the sentence that is written from them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from polars_microagg.wording import PYTHON, Given, Parameter, PerDoor, Sentence, Setting, Spelling

__all__ = ["MicroaggError"]


class MicroaggError(ValueError):
    """Base of every error of this library.

    Examples
    --------
    >>> from polars_microagg.errors import InvalidParameterError
    >>> error = InvalidParameterError.choice("nulls", "imputed", ["raise", "impute"])
    >>> error.parameter, error.value, error.way
    ('nulls', 'imputed', "Did you mean 'impute'?")
    >>> print(error)
    nulls='imputed' is not known; it must be one of 'raise', 'impute'. Did you mean 'impute'?
    """

    def __init_subclass__(cls) -> None:
        """Name each class as users import it."""
        cls.__module__ = MicroaggError.__module__

    @classmethod
    def of_fields(cls, template: str, /, **fields: Any) -> Self:
        """Make an error of its fields and of the template of its sentence.

        Parameters
        ----------
        template : str
            The sentence, with the names of fields in braces.
        **fields : Any
            The fields; of them `setting` or `parameter` is the parameter that is wrong, `value`
            what was received, `need` what is needed, and `way` the way out.
        """
        return cls(Sentence(template, **fields))

    @property
    def sentence(self) -> Sentence:
        """The message, which each door can write in its own spelling."""
        said = self.args[0] if self.args else ""
        # An error that was made again of its text alone has no other fields.
        return said if isinstance(said, Sentence) else Sentence("{text}", text=said)

    @property
    def fields(self) -> Mapping[str, Any]:
        """What the message is written from."""
        return MappingProxyType(self.sentence.fields)

    @property
    def parameter(self) -> str | None:
        """Name of the parameter that is wrong, as in Python."""
        found = self._subject()
        return None if found is None else found.name

    @property
    def value(self) -> Any:
        """What was received, as far as it may be shown."""
        found = self._subject()
        got = found if isinstance(found, Setting) else self.fields.get("value")
        return got.value if isinstance(got, Setting | Given) else got

    @property
    def need(self) -> str | None:
        """What is needed."""
        return self._text("need")

    @property
    def way(self) -> str | None:
        """The way out."""
        return self._text("way")

    def told(self, door: Spelling) -> str:
        """Write the message in the spelling of a door."""
        return door.write(self.sentence)

    def _subject(self) -> Setting | Parameter | None:
        found = self.fields.get("setting", self.fields.get("parameter"))
        while isinstance(found, PerDoor | Sentence):
            found = found.python if isinstance(found, PerDoor) else found.fields.get("setting")
        return found if isinstance(found, Setting | Parameter) else None

    def _text(self, name: str) -> str | None:
        found = self.fields.get(name)
        return None if found is None else PYTHON.write(found)


# As users import it, in tracebacks and pickles.
MicroaggError.__module__ = __name__.rpartition(".")[0]
