"""A table with secrets, and what a refusal is."""

import datetime as dt
import re
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

import polars_microagg as mg

PEOPLE = pl.DataFrame(
    {
        "name": ["Zelda-Secret", "Yorick-Secret", "Xenia-Secret", "Walt-Secret", "Vera-Secret"],
        "income": [987654321.125, 41.4242, -777.5353, 271.8281, 314.1592],
        "age": [31337, 24601, 80486, 90210, 65537],
        "born": [dt.date(1871, 11, day) for day in (3, 5, 7, 11, 13)],
        "photo": [b"Zelda", b"Yorick", b"Xenia", b"Walt", b"Vera"],
        "debt": [Decimal("666.13"), Decimal("867.53"), Decimal("525.96"), None, None],
        "rate": [6.0221, float("nan"), float("inf"), 1.3806, None],
    }
)
SECRETS = [
    *("Zelda", "Yorick", "Xenia", "Walt", "Vera", "Secret"),
    *("98765432", "9.8765", "41.42", "777.53", "271.82", "314.15"),
    *("31337", "24601", "80486", "90210", "65537", "1871"),
    *("666.13", "66613", "867.53", "86753", "525.96", "52596", "6.0221", "1.3806"),
]


@contextmanager
def refused(error: type[Exception], text: str):
    """Expect this very error with this very text, and no data in it or in what led to it."""
    # Polars keeps the class and the text, and adds where in its plan that was.
    with pytest.raises(error, match=rf"\A{re.escape(text)}(\n\n|\Z)") as caught:
        yield
    assert caught.type is error
    said: BaseException | None = caught.value
    while said is not None:
        assert not [secret for secret in SECRETS if secret in f"{said} {said.args}"]
        said = said.__cause__ or said.__context__


@dataclass(frozen=True)
class Case:
    """A call that must be refused."""

    error: type[Exception]
    text: str
    columns: Any
    k: Any = 2
    options: dict[str, Any] = field(default_factory=dict)
    rows: int = 5


def on_a_frame(case: Case) -> None:
    mg.mask(PEOPLE[: case.rows], case.columns, case.k, method="mdav", **case.options)


def on_a_namespace(case: Case) -> None:
    PEOPLE[: case.rows].microagg.mdav(case.columns, case.k, **case.options)


def lazily(engine: Any) -> Callable[[Case], None]:
    def call(case: Case) -> None:
        lazy = PEOPLE[: case.rows].lazy()
        mg.mdav(lazy, case.columns, case.k, **case.options).collect(engine=engine)

    return call


def in_an_expression(case: Case) -> None:
    columns = [case.columns] if isinstance(case.columns, str) else case.columns
    frame = PEOPLE[: case.rows]
    frame.select(pl.struct(columns).microagg.mdav(case.k, **case.options))


UNDER_OVER = (
    "where .over(...) parts them, the frame function with strata= and small_strata= can empty or drop "
    "the small strata of all together."
)
"""What an expression adds to an error, as it cannot know whether it sees one stratum of several."""

every_door = pytest.mark.parametrize(
    "door",
    [
        pytest.param(on_a_frame, id="DataFrame"),
        pytest.param(on_a_namespace, id="namespace"),
        pytest.param(lazily("in-memory"), id="LazyFrame in-memory"),
        pytest.param(lazily("streaming"), id="LazyFrame streaming"),
        pytest.param(in_an_expression, id="Expr"),
    ],
)

DATA = {
    "nulls": Case(
        mg.MissingValuesError,
        "Column 'debt' has 2 null value(s). Use nulls='impute' to fill them with the centroid of "
        "their group, nulls='pattern' to keep them, or drop those rows first.",
        ["income", "debt"],
    ),
    "not finite": Case(
        mg.MissingValuesError,
        "Column 'rate' has 2 NaN or infinite value(s), which have no centroid. Replace them by "
        "null (pl.when(pl.col(x).is_finite()).then(pl.col(x)), in SQL CASE WHEN isfinite(x) THEN x END) "
        "or by a number, or drop those rows first.",
        ["income", "rate"],
        options={"nulls": "impute"},
    ),
    "too few": Case(
        mg.TooFewRecordsError,
        "k=7 needs at least 7 records, got 5. Lower k, or add records.",
        ["income", "age"],
        k=7,
    ),
    "too few of a pattern": Case(
        mg.TooFewRecordsError,
        "2 of 2 strata have fewer than k=4 records (the smallest has 2); with nulls='pattern', records that "
        "lack the same values are a stratum. Lower k, merge strata, fill nulls with nulls='impute', or use small_strata='null' to empty their masked cells and strata, or small_strata='drop' to "
        "leave their rows out.",
        ["income", "debt"],
        k=4,
        options={"nulls": "pattern"},
    ),
    "text": Case(
        mg.NotNumericError,
        "Column 'photo' is of type Binary, which has no centroid; numbers, dates, times and "
        "categories can be masked. Leave it out, cast it, or use it as a stratum.",
        ["photo", "income"],
    ),
}


K = (
    "k={} is not a group size; k must be an integer of at least 2. Give the smallest number of "
    "records that may share a value, for example k=5."
)
BLOCKS = "a column name, a selector, a list of them, or a list of lists"


def given(name, got, need):
    way = "Name columns." if name == "columns" else "Change it or leave it out for the default."
    return f"{name}={got} was given; it must be {need}. {way}"
