"""The namespace keeps no table alive."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import polars_microagg as mg

from .doors import NARROW

CALLS: dict[str, Callable[[Any], object]] = {
    "mdav": lambda frame: frame.microagg.mdav(["a", "b"], 3),
    "mask": lambda frame: frame.microagg.mask("a", 3),
    "groups": lambda frame: frame.microagg.groups(["a", "b"], 3),
    "verify": lambda frame: frame.microagg.verify("zero", 3),
    "anonymity": lambda frame: frame.microagg.anonymity("a"),
    "assess": lambda frame: frame.microagg.assess(frame, "a", metrics="k_min"),
    "twice": lambda frame: (frame.microagg.mdav("a", 3), frame.microagg.mdav("b", 3)),
    "shown": lambda frame: (repr(frame.microagg), frame.microagg._repr_html_()),
    "a name for the namespace": lambda frame: _by_name(frame.microagg),
    "a wrong call": lambda frame: _wrongly(frame),
}


def _by_name(namespace: Any) -> object:
    return namespace.mdav("a", 3), namespace.mask("b", 3)


def _wrongly(frame: Any) -> None:
    try:
        frame.microagg.mdav("a", 1)
    except mg.InvalidParameterError:
        return
    pytest.fail("k=1 was accepted")


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("lazy", [False, True], ids=["DataFrame", "LazyFrame"])
@pytest.mark.parametrize("name", CALLS)
def test_the_namespace_does_not_keep_the_frame_alive(name: str, lazy: bool) -> None:
    frame: Any = NARROW.with_columns(zero=0)
    frame = frame.lazy() if lazy else frame
    frame_is = weakref.ref(frame)
    CALLS[name](frame)
    del frame
    assert frame_is() is None
