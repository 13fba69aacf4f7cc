"""A namespace that is shown says what it can do, and nothing of its table."""

import importlib
import re

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core import registry

FRAME = pl.DataFrame({"secret": [731, 732, 911], "salary": [4411.5, 4412.5, 4413.5]})


@pytest.mark.parametrize(
    ("namespace", "head"),
    [
        (lambda: FRAME.microagg, "<microagg of a DataFrame>, as in .mdav(columns, k)"),
        (lambda: FRAME.lazy().microagg, "<microagg of a LazyFrame>, as in .mdav(columns, k)"),
        (lambda: pl.col("secret").microagg, "<microagg of an expression>, as in .mdav(k)"),
        (lambda: FRAME.microagg.plot, "<microagg.plot of a DataFrame>"),
    ],
)
def test_what_it_shows(namespace, head):
    text, html = repr(namespace()), namespace()._repr_html_()
    public = {name for name in dir(namespace()) if not name.startswith("_")}
    first, _, rest = text.partition("\n")
    assert first == head
    assert set(re.findall(r"\w+(?=,|\n|$)", rest.replace("\n    ", " "))) == public
    assert set(re.findall(r"<tr><td><code>(\w+)</code>", html)) == public
    assert max(map(len, text.splitlines())) <= 88
    assert not re.search("secret|salary|731|4411", text + html)
    assert all(said for said in re.findall(r"left'>(.*?)</td>", html))


def test_methods_are_shown_with_what_they_do(toys):
    for entry in registry.methods().values():
        assert entry.summary.rstrip(".") in FRAME.microagg._repr_html_().replace("&#x27;", "'")
    assert "<code>mask</code>" in FRAME.microagg._repr_html_()
    assert "`" not in FRAME.microagg._repr_html_()


def test_results_are_frames_which_a_notebook_shows_as_tables():
    masked = mg.mdav(FRAME, ["secret", "salary"], k=3)
    compared = mg.compare(FRAME, ["secret", "salary"], methods="mdav", ks=3)
    for result in (
        mg.anonymity(masked, ["secret", "salary"]),
        mg.assess(FRAME, masked, ["secret", "salary"]),
        mg.recommend(compared, require="k>=3"),
        compared,
    ):
        assert isinstance(result, pl.DataFrame)
        shown = re.findall(r"<th>(\w+)</th>", result._repr_html_())
        assert shown == result.columns


@pytest.mark.parametrize("name", ["", ".duckdb", ".report"])
def test_completion_lists_public_names_and_no_modules(name):
    package = importlib.import_module(f"polars_microagg{name}")
    assert dir(package) == sorted(package.__all__)
    assert not [one for one in dir(package) if isinstance(getattr(package, one), type(re))]
