"""The same charts in a notebook, from aggregates only."""

import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from tests.report.release import COLUMNS, compared, tables

alt = pytest.importorskip("altair", reason="needs altair: pip install '.[test]'")


def every_chart():
    original, masked = tables()
    plot = original.microagg.plot
    return {
        "distributions": plot.distributions(masked, COLUMNS, k=5),
        "loss": plot.loss(masked, COLUMNS),
        "correlations": plot.correlations(masked, COLUMNS),
        "linkage": plot.linkage(masked, COLUMNS, k=5),
        "class_sizes": masked.microagg.plot.class_sizes(COLUMNS, k=5, strata="region"),
        "risk_utility": plot.risk_utility(compared(), masked=masked, columns=COLUMNS),
    }


def drawn(chart):
    """Every cell of the data of a chart."""

    def rows(node):
        if isinstance(node, dict):
            for key, value in node.items():
                yield from value if key == "values" and isinstance(value, list) else rows(value)
        elif isinstance(node, list):
            for item in node:
                yield from rows(item)

    return [row for row in rows(chart.to_dict()) if isinstance(row, dict)]


def test_every_chart_is_valid_and_has_words():
    for name, chart in every_chart().items():
        assert isinstance(chart, alt.TopLevelMixin), name
        assert drawn(chart), name
        described = json.dumps(chart.to_dict())
        assert re.search(r'"description": "\w[^"]{20,}"', described), name


def test_categories_are_drawn_as_bars_and_no_rare_one_is_named():
    jobs = ["cook"] * 12 + ["smith"] * 6 + ["astronaut", "jester"] + ["clerk"] * 10
    before = pl.DataFrame({"job": jobs, "age": range(30), "well": [True, False] * 15})
    before = before.with_columns(
        grade=pl.Series(["low", "top"] * 15, dtype=pl.Enum(["low", "mid", "top"]))
    )
    after = before.microagg.mdav(["age", "job", "well", "grade"], k=5)
    for columns in ("job", ["age", "job"], "well", "grade", "^.*$"):
        chart = before.microagg.plot.distributions(after, pl.col(columns), k=5)
        written = json.dumps(chart.to_dict())
        assert "astronaut" not in written
        assert "jester" not in written
    rows = drawn(before.microagg.plot.distributions(after, "job", k=5))
    expected = {
        (n / 28, (after["job"] == job).sum() / 30) for job, n in (("cook", 12), ("smith", 6))
    }
    assert expected <= {(row["before"], row["after"]) for row in rows}
    assert "before as wide bars" in json.dumps(
        before.microagg.plot.distributions(after, "job", k=5).to_dict()
    )


def test_no_record_is_in_a_chart():
    original, _ = tables()
    values = {float(v) for name in COLUMNS for v in original[name]}
    some = 0
    for chart in every_chart().values():
        rows = drawn(chart)
        numbers = {float(v) for row in rows for v in row.values() if isinstance(v, int | float)}
        assert not numbers & values
        assert len(rows) < original.height / 2
        some += len(numbers)
    assert some > 100
    leaky = alt.Chart(alt.Data(values=[{"x": original["income"][0]}])).mark_point()
    assert {float(row["x"]) for row in drawn(leaky)} & values


def test_what_is_drawn_is_what_is_measured():
    original, masked = tables()
    charts = every_chart()
    losses = {row["loss"] for row in drawn(charts["loss"])}
    assert losses == {mg.loss(original, masked, [name]) for name in COLUMNS}
    found = {row["y"] for row in drawn(charts["linkage"]) if "x" in row}
    assert found == {mg.dld(original, masked, COLUMNS, known=m) for m in (1, 2, 3)}
    bars = [row for row in drawn(charts["class_sizes"]) if "x2" in row]
    assert sum(row["y"] for row in bars) == original.height
    assert min(row["x"] for row in bars) == 5 - 0.45
    changes = {row["text"] for row in drawn(charts["correlations"]) if "kind" in row}
    before, after = (
        np.corrcoef(table.select(COLUMNS).to_numpy().T) for table in (original, masked)
    )
    expected = (after - before)[np.tril_indices(3, -1)]
    assert changes == {f"{c:+.2f}" if abs(c) >= 0.005 else "0" for c in expected}


def test_the_release_is_on_the_map():
    original, masked = tables()
    loss, dr = mg.assess(original, masked, COLUMNS, metrics=["loss", "dr"]).row(0)
    rows = drawn(every_chart()["risk_utility"])
    marked = {(r["x"], r["y"]) for r in rows if r.get("text") == "this release"}
    assert marked == {(loss, dr)}
    plain = original.microagg.plot.risk_utility(compared())
    points = {(r["x"], r["y"]) for r in drawn(plain)}
    assert points == set(compared().select("loss", "dr").rows())


def test_groups_below_k_have_a_colour_of_their_own():
    masked = pl.DataFrame({"a": [1, 1, 2, 3, 3, 3]})
    bars = [r for r in drawn(masked.microagg.plot.class_sizes("a", k=3)) if "x2" in r]
    colours = {round(row["x"] + 0.45): row["colour"] for row in bars}
    assert colours[1] == colours[2] != colours[3]


def test_lazy_frames_and_all_columns():
    original, masked = tables()
    chart = original.lazy().microagg.plot.loss(masked.lazy())
    assert chart.to_dict() == original.microagg.plot.loss(masked, COLUMNS).to_dict()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p, t: p.loss(t.head(3)), mg.InvalidDataError, "masked has 3"),
        (lambda p, t: p.loss(t, ["incom"]), mg.InvalidParameterError, "Did you mean 'income'"),
        (lambda p, t: p.loss(t.drop("debt"), ["debt"]), mg.InvalidParameterError, "'debt'"),
        (lambda p, t: p.class_sizes("income", k=1), mg.InvalidParameterError, "k=1"),
        (lambda p, t: p.correlations(t, ["ward"]), mg.NotNumericError, "'ward'"),
    ],
)
def test_what_does_not_fit_is_named(call, error, message):
    original, masked = tables()
    with pytest.raises(error, match=message):
        call(original.microagg.plot, masked)


@pytest.mark.parametrize(
    ("missing", "call"),
    [
        ("altair", "people.microagg.plot.class_sizes('age', k=2)"),
        ("jinja2", "report_html(people, people, 'age', k=2)"),
    ],
)
def test_a_missing_package_is_named_with_the_command(missing, call):
    code = f"""
import sys
sys.modules[{missing!r}] = None
import polars as pl, polars_microagg
from polars_microagg.report import report_html
people = pl.DataFrame({{"age": [1, 1, 2, 2]}})
try:
    {call}
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install jinja2 altair vl-convert-python" in done.stdout
