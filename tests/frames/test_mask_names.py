"""Names of columns that mean something to polars, or to the library."""

from __future__ import annotations

import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from tests.frames.doors import TABLE, everywhere, same
from tests.loop import share

# Names that mean something to polars, or to us.

HOSTILE = [
    *(
        "*",
        "^a$",
        "^.*$",
        "^",
        "",
        " ",
        "'",
        '"',
        "`",
        "a.b",
        "a,b",
        "a\nb",
        "é",
        "表",
        "🙂",
        "col",
    ),
    *("__microagg__", "__microagg___", "microagg_group", "0", "1", "2", "s0", "row", "value"),
    *("stratum", "size", "empty", "literal", "len", "index", "struct", "A" * 200),
]


def renamed(name: str, column: str, frame: pl.DataFrame = TABLE) -> pl.DataFrame:
    return pl.DataFrame({name if old == column else old: frame[old] for old in frame.columns})


@pytest.mark.parametrize("role", ["masked", "stratum", "order", "untouched"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_column_may_have_any_name(name: str, role: str) -> None:
    column, options = {
        "masked": ("a", {"strata": "region", "order_by": "c"}),
        "stratum": ("region", {"strata": "region", "order_by": "c"}),
        "order": ("c", {"strata": "region", "order_by": "c"}),
        "untouched": ("id", {"strata": "region", "order_by": "c"}),
    }[role]
    expected = renamed(name, column, mg.mdav(TABLE, ["a", "b"], 3, **options))
    frame = renamed(name, column)
    named = {what: name if value == column else value for what, value in options.items()}
    columns = [name if column == "a" else "a", "b"]
    same(everywhere(frame, columns, 3, "mdav", **named), expected)
    mg.verify(expected, columns, 3, strata=named["strata"])
    numbered = mg.groups(TABLE, ["a", "b"], 3, name="number", **options)
    for kind in (frame, frame.lazy()):
        got = mg.groups(kind, columns, 3, name="number", **named).lazy().collect()
        same(got, renamed(name, column, numbered))


@pytest.mark.parametrize("name", share(HOSTILE, 3))
def test_a_column_of_any_name_can_be_selected_measured_and_checked(name: str) -> None:
    plain = mg.mdav(TABLE, ["a", "b"], 3)
    for column, selector in (("a", cs.integer() - cs.by_name("id")), ("b", cs.float() - cs.last())):
        names = [name if old == column else old for old in ("a", "b")]
        frame, masked = renamed(name, column), renamed(name, column, plain)
        columns = [selector, "b"] if column == "a" else ["a", selector]
        same(mg.mdav(frame, columns, 3), masked)
        assert mg.anonymity(masked, names).equals(mg.anonymity(plain, ["a", "b"]))
        assert mg.assess(frame, masked, names).equals(mg.assess(TABLE, plain, ["a", "b"]))
        by_key = mg.assess(frame, masked.reverse(), names, key="id")
        assert by_key.equals(mg.assess(TABLE, plain, ["a", "b"]))
        with pytest.raises(mg.NotAnonymousError, match="not 3-anonymous"):
            mg.verify(frame, names, 3)


@pytest.mark.parametrize("name", HOSTILE)
def test_the_column_of_groups_may_have_any_name(name: str) -> None:
    numbers = mg.groups(TABLE, ["a", "b"], 3)["microagg_group"]
    for frame in (TABLE, TABLE.lazy()):
        got = mg.groups(frame, ["a", "b"], 3, name=name).lazy().collect()
        assert got.columns == [*TABLE.columns, name]
        assert got.get_column(name).equals(numbers)


def test_an_option_that_names_a_column_follows_it_into_its_block() -> None:
    for name in HOSTILE:
        same(
            mg.fixed_size(renamed(name, "a"), ["b", name], 3, sort=name),
            renamed(name, "a", mg.fixed_size(TABLE, ["b", "a"], 3, sort="a")),
        )
    with pytest.raises(mg.InvalidParameterError, match=r"sort='c' is not known.*'a', 'b'"):
        mg.fixed_size(TABLE, ["a", "b"], 3, sort="c")
    with pytest.raises(mg.InvalidParameterError, match=r"sort='a' is not known.*'b'"):
        mg.fixed_size(TABLE, [["a"], ["b"]], 3, sort="a")
