"""Progress callbacks, bound when a call is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias

from polars_microagg.bars import LONG, Bar, notebook
from polars_microagg.errors import InvalidParameterError

__all__ = ["Callback", "current", "part", "progress", "stage", "steps_of", "ticker", "whole"]

Callback: TypeAlias = Callable[[int, int, str], object]
"""Called with what is done, what there is to do in all, and the name of the work."""

_callback: ContextVar[Callback | Literal["unasked"] | None] = ContextVar(
    "polars_microagg.progress", default="unasked"
)

SHARES = 100
"""The callback is called about so many times for one piece of work."""


def progress(callback: Callback | Literal["bar"] | None) -> AbstractContextManager[None]:
    """Call a function as the work of the calls typed in this block goes on.

    Parameters
    ----------
    callback : callable, "bar" for a bar of text, or None for nobody
        Called as ``callback(done, total, what)``: `what` is the name of a method, and `done` of
        `total` the share of its work that is over. What may follow has names of its own: "privacy models"
        is the search for groups that satisfy those of `entity` and `confidential`, "refine" that of
        ``refine=True``. Of several strata `total` are the records of all. Methods that take no time do
        not call it. The bar is on standard error, and in a
        notebook an output of the cell.

    Returns
    -------
    context manager
        The block in which calls are typed.

    Raises
    ------
    InvalidParameterError
        The callback cannot be called.

    Notes
    -----
    The callback is fixed when a call is typed: a LazyFrame made in the block reports when it is
    collected, wherever that is, and perhaps from another thread. What the callback raises stops
    the work, and nothing is returned. Outside of any block nobody is told, but a notebook shows a bar
    where work takes longer than some seconds; ``progress(None)`` shows none.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> people = pl.DataFrame({"age": range(1000)})
    >>> told = []
    >>> with mg.progress(lambda done, total, what: told.append((done, total, what))):
    ...     masked = mg.mdav(people, "age", k=5)
    >>> told[-1]
    (1000, 1000, 'mdav')
    """
    if callback == "bar":
        return _showing(Bar())
    if callback is not None and not callable(callback):
        need = "a function to call as callback(done, total, what), 'bar', or None"
        raise InvalidParameterError.kind("callback", callback, need)
    return _telling(callback)


@contextmanager
def _telling(callback: Callback | None) -> Iterator[None]:
    token = _callback.set(callback)
    try:
        yield
    finally:
        _callback.reset(token)


@contextmanager
def _showing(bar: Bar) -> Iterator[None]:
    """Show a bar, and leave no part of it before what is written next, such as an error."""
    try:
        with _telling(bar):
            yield
    finally:
        bar.clear()


def steps_of(tick: Callable[[int], None], start: int = 0) -> AbstractContextManager[None]:
    """Count the work of methods called in this block as steps of the method that calls them.

    `tick` is called with what is done, `start` before it included. Nobody is called where nobody listens.
    """

    def passed_on(done: int, *_: object) -> None:
        tick(start + done)

    return progress(None if current() is None else passed_on)


def current() -> Callback | None:
    """Find the callback of the block that this is in; outside None, or the bar of a notebook."""
    callback = _callback.get()
    if callback == "unasked":
        return Bar(LONG) if notebook() else None
    return callback


def ticker(what: str, total: int) -> Callable[[int], None]:
    """Return the function that a method calls with what is done, as often as it likes.

    It calls back about every hundredth of `total`, and at the end.

    >>> with progress(print):
    ...     tick = ticker("sums", 200)
    >>> for done in (1, 2, 3, 200):
    ...     tick(done)
    2 200 sums
    200 200 sums
    """
    return _ticker(current(), what, total)


def stage(what: str, total: int) -> Callable[[float], None]:
    """Return the function to call with the share that is done of work after that of a method.

    Its first call says that the work begins.

    >>> with progress(print):
    ...     tick = stage("refine", 200)
    >>> for share in (0, 0.5, 1):
    ...     tick(share)
    0 200 refine
    100 200 refine
    200 200 refine
    """
    tick = _ticker(current(), what, total, told=-total)
    return lambda share: tick(int(share * total))


def _ticker(
    callback: Callback | None, what: str, total: int, told: int = 0
) -> Callable[[int], None]:
    """Return what `ticker` does, for a callback."""
    if callback is None:
        return _ignore

    def tick(done: int) -> None:
        nonlocal told
        if done - told >= max(1, total // SHARES) or (done >= total and told < total):
            told = done
            callback(min(done, total), total, what)

    return tick


@contextmanager
def whole(total: int) -> Iterator[None]:
    """Report the end of work that is told of in parts, by `part`, if the last of them did not."""
    callback, last = current(), None

    def noted(done: int, total: int, what: str) -> None:
        nonlocal last
        last = done, what
        callback(done, total, what)  # type: ignore[misc]

    with progress(callback and noted):
        yield
    if callback and last is not None and last[0] < total:
        callback(total, total, last[1])


def part(start: int, records: int, total: int) -> AbstractContextManager[None]:
    """Report the work in this block as that on some records, from `start` on, of `total` in all.

    >>> with progress(print):
    ...     with part(50, 50, 100):
    ...         ticker("sums", 10)(5)
    75 100 sums
    """
    callback, before = current(), start

    def told(done: int, of: int, what: str) -> None:
        nonlocal before
        now = start + records * done // max(of, 1)
        if now * SHARES // total > before * SHARES // total:
            callback(now, total, what)  # type: ignore[misc]
        before = max(now, before)

    return progress(callback and told)


def _ignore(done: int) -> None:
    pass
