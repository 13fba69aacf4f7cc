"""Which cases the quick loop runs, and how many are drawn; `--deep` runs all that are not drawn."""

import pytest
from hypothesis import settings

__all__ = ["axes", "covering", "every_case", "left_out", "rounds", "share", "tries"]

QUICK, DEEP, THOROUGH = 5, 10, 30
"""Examples of a law that asks for no other number: in the quick loop, under `--deep`, and by hand."""


def tries(examples):
    """Settings for a test with its own number of examples by hand: as much more or less."""
    return settings(max_examples=max(3, round(examples * settings().max_examples / THOROUGH)))


def every_case():
    """Return whether all cases are run, as under `--deep`."""
    return settings().max_examples >= DEEP


def rounds(number):
    """Return how often a test that draws its own cases does so.

    A quarter under `--deep`, an eighth in the quick loop; of few cases, up to six and three, twice as many.
    """
    if settings().max_examples >= THOROUGH:
        return number
    of, least = (4, 6) if every_case() else (8, 3)
    return max(-(-number // of), min(-(-2 * number // of), least))


def share(cases, of, first=0):
    """Cases of which the quick loop tries one in so many; a tuple is one value for each parameter.

    Tests that walk one list by several doors begin at others, so that together they try all of it.
    """
    deep = pytest.mark.deep
    return [
        case
        if number % of == first
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=deep)
        for number, case in enumerate(cases)
    ]


def axes(item):
    """Which value a case has on each axis: one axis for each parametrisation and fixture."""
    values = {name: id(value) for name, value in item.callspec.params.items()}
    case = {}
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        names = tuple(name.strip() for name in names)
        case[names] = tuple(values.pop(name) for name in names)
    return case | {(name,): (value,) for name, value in values.items()}


def covering(cases):
    """Whether each case of a product is taken: every value of every axis is in one that is.

    Cases with the most new values come first, so that the axes are walked side by side: of m by n
    cases max(m, n) are taken. A test with one axis is a list of cases, and keeps them all.
    """
    seen = set()
    taken = [len(case) < 2 for case in cases]
    for new in range(max(map(len, cases)), 0, -1):
        for number, case in enumerate(cases):
            if len(case.items() - seen) == new:
                taken[number] = True
                seen.update(case.items())
    return taken


def left_out(items):
    """What the quick loop leaves to `--deep`: what is marked deep, and the rest of each product.

    A test that is marked whole keeps its product.
    """
    products = {}
    left = []
    for item in items:
        if item.get_closest_marker("deep"):
            left.append(item)
        elif hasattr(item, "callspec") and not item.get_closest_marker("whole"):
            products.setdefault(item.nodeid.split("[")[0], []).append(item)
    for cases in products.values():
        taken = covering([axes(case) for case in cases])
        left += [case for case, kept in zip(cases, taken, strict=True) if not kept]
    return left
