"""Errors of a release: it was not published, not finished, or the library broke its promise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from polars_microagg.errors.base import MicroaggError
from polars_microagg.wording import Sentence, Setting, shown_path

__all__ = [
    "GuaranteeError",
    "NotPublishedError",
    "OutputError",
    "RequirementError",
    "TargetExistsError",
    "WorkerError",
]

BUG = "This is a bug of polars_microagg: please report the call and the versions."


class NotPublishedError(MicroaggError):
    """No file was put in place; what was there before is still there."""

    @classmethod
    def unreadable(cls, what: object, why: object) -> Self:
        """Report what cannot be read at the moment; a second attempt may succeed."""
        return cls.of_fields("{what} cannot be read: {why}", what=repr(shown_path(what)), why=why)


class RequirementError(NotPublishedError):
    """A requirement on the release is not met."""

    @classmethod
    def unmet(cls, unmet: Iterable[str]) -> Self:
        """Refuse to publish a release that does not meet its requirements."""
        return cls.of_fields(
            "The release does not meet {unmet}. Nothing was published. {way}",
            unmet=" and ".join(unmet),
            way="Choose another method or k, or require what can be reached: compare shows what each "
            "method reaches.",
        )

    @classmethod
    def valueless(cls, requirement: object, name: str, rows: int, most: int) -> Self:
        """Refuse a requirement on a measure that has no value of so many rows."""
        return cls.of_fields(
            "{requirement} cannot be met: {name} has no value of more than {most} rows, and there are "
            "{rows}. Nothing was published. {way}",
            requirement=requirement,
            name=name,
            most=f"{most:,}",
            rows=f"{rows:,}",
            way="Leave it out, or require another measure.",
        )


class OutputError(NotPublishedError):
    """The file cannot be written."""

    @classmethod
    def of(cls, what: object, why: object) -> Self:
        """Report what cannot be written and why."""
        return cls.of_fields(
            "{what} cannot be written: {why} Nothing was published.", what=repr(str(what)), why=why
        )

    @classmethod
    def after_publishing(cls, what: object, why: str) -> Self:
        """Report what failed after the release was published."""
        return cls.of_fields("{what} is published, and {why}", what=what, why=why)

    @classmethod
    def demo_unshown(cls, folder: object) -> Self:
        """Report where the files of a demo are that could not be shown."""
        return cls.of_fields(
            "The files of the demo are in {folder}, and standard output could not be written.",
            folder=folder,
        )


class TargetExistsError(OutputError):
    """The target is there already and may not be replaced."""

    @classmethod
    def of(cls, what: object, why: object = "it is there already.") -> Self:
        """Refuse to replace what exists, and name the setting that allows it."""
        allow = Setting("overwrite", True)
        return super().of(what, Sentence("{why} Allow it with {setting}.", why=why, setting=allow))


class WorkerError(MicroaggError):
    """A process that did part of the work was ended, by the system or by somebody."""

    @classmethod
    def ended(cls) -> Self:
        """Report it; nothing of a result is returned or put in place."""
        return cls.of_fields(
            "A process that did part of the work was ended before it was done. Nothing was "
            "released. {way}",
            way=Sentence(
                "Give it more memory, or do all in one process, with {setting}.",
                setting=Setting("workers", 1),
            ),
        )


class GuaranteeError(MicroaggError):
    """A result breaks a guarantee: a bug of this package. Nothing is released."""

    @classmethod
    def small_class(cls, method: str, smallest: int, k: int, what: str = "record(s)") -> Self:
        """Report which promise was broken."""
        return cls.of_fields(
            "{method} made a class of {value} {what} where k={k} was promised. Nothing was "
            "released. {way}",
            method=method,
            value=smallest,
            what=what,
            k=k,
            way=BUG,
        )

    @classmethod
    def model(cls, method: str, bound: object, what: str, value: float) -> Self:
        """Report which model a class breaks."""
        return cls.of_fields(
            "{method} made a class in which {what} is {value} where {setting} was promised. Nothing "
            "was released. {way}",
            method=method,
            what=what,
            value=value,
            setting=bound,
            way=BUG,
        )

    @classmethod
    def unchecked(cls) -> Self:
        """Refuse to release anything while no privacy model is registered."""
        return cls.of_fields(
            "No privacy model is registered, so that nothing would be counted. Nothing was "
            "released. {way}",
            way=BUG,
        )

    @classmethod
    def shape(cls, method: str, got: int, need: int) -> Self:
        """Report that a result has the wrong length."""
        return cls.of_fields(
            "{method} labelled {value} of {need} records. Nothing was released. {way}",
            method=method,
            value=got,
            need=need,
            way=BUG,
        )
