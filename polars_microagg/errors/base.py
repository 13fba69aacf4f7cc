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
        """Make an error from its fields and the template of its sentence.

        The template has names of fields in braces. Of the fields, `setting` or `parameter` is the
        parameter that is wrong, `value` what was received, `need` what is needed, and `way` the way
        out.
        """
        return cls(Sentence(template, **fields))

    @property
    def sentence(self) -> Sentence:
        """Return the message, which each door can write in its own spelling."""
        said = self.args[0] if self.args else ""
        # An error that was rebuilt from its text alone has no other fields.
        return said if isinstance(said, Sentence) else Sentence("{text}", text=said)

    @property
    def fields(self) -> Mapping[str, Any]:
        """Return the fields that the message is written from."""
        return MappingProxyType(self.sentence.fields)

    @property
    def parameter(self) -> str | None:
        """Return the name of the parameter that is wrong, as in Python."""
        subject = self._subject()
        return None if subject is None else subject.name

    @property
    def value(self) -> Any:
        """Return what was received, as far as it may be shown."""
        subject = self._subject()
        got = subject if isinstance(subject, Setting) else self.fields.get("value")
        return got.value if isinstance(got, Setting | Given) else got

    @property
    def need(self) -> str | None:
        """Return what is needed."""
        return self._text("need")

    @property
    def way(self) -> str | None:
        """Return the way out."""
        return self._text("way")

    def told(self, door: Spelling) -> str:
        """Write the message in the spelling of a door."""
        return door.write(self.sentence)

    def _subject(self) -> Setting | Parameter | None:
        """Return the parameter that is wrong, with its value if that is known."""
        part: object = self.sentence
        while isinstance(part, PerDoor | Sentence):
            if isinstance(part, PerDoor):
                part = part.python
            else:
                part = part.fields.get("setting", part.fields.get("parameter"))
        return part if isinstance(part, Setting | Parameter) else None

    def _text(self, name: str) -> str | None:
        """Return a field as Python writes it."""
        part = self.fields.get(name)
        return None if part is None else PYTHON.write(part)


# As users import it, in tracebacks and pickles.
MicroaggError.__module__ = __name__.rpartition(".")[0]
