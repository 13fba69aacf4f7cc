"""The page of a release: what it says, and that it needs and gives away nothing."""

import functools
import itertools
import re

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.charts.histograms import histogram
from polars_microagg.report import report_html
from tests.report.release import COLUMNS, Page, compared, leaks, outside, tables

pytest.importorskip("altair", reason="needs altair: pip install '.[test]'")
pytest.importorskip("vl_convert", reason="needs vl-convert-python: pip install '.[test]'")


@functools.cache
def page():
    """The page that most tests look at."""
    told = {"seed": 0, "output": {"sha256": "0123"}}
    return page_of(compared=compared(), settings={"method": "mdav"}, manifest=told)


def page_of(**options):
    original, masked = tables()
    given = {"k": 5, "strata": "region"} | options
    return report_html(original, masked, given.pop("columns", COLUMNS), **given)


def test_it_needs_nothing_from_outside():
    assert outside(page()) == []
    assert not re.search(r"https?:|//\w", page())


@pytest.mark.deep
@pytest.mark.parametrize(
    "bad",
    [
        "<script>1</script>",
        "<img src=x>",
        '<a href="http://a.b">',
        '<p onclick="x">',
        "<style>@import 'x'</style>",
        '<rect fill="url(http://a.b)">',
        "<iframe></iframe>",
    ],
)
def test_the_search_for_what_is_outside_bites(bad):
    assert outside(page().replace("</main>", f"{bad}</main>"))


def test_no_original_value_is_on_it():
    original, _ = tables()
    assert leaks(page(), original, COLUMNS) == set()
    for value in (
        original["income"][3],
        f"{original['income'][3]:,}",
        f"{original['debt'][7]:.1f}",
    ):
        assert leaks(page().replace("</main>", f"<p>{value}.</p></main>"), original, COLUMNS)


def test_no_original_value_is_on_the_page_of_an_unmasked_table():
    original, _ = tables()
    found = report_html(original, original, COLUMNS, k=5)
    assert "Do not release this table" in found
    assert leaks(found, original, COLUMNS) == set()


def test_a_screen_reader_finds_its_way():
    read = Page(page())
    assert read.open == []
    assert read.crossed == []
    assert read.all("html")[0]["lang"] == "en"
    for landmark in ("header", "main", "footer", "h1", "title"):
        assert len(read.all(landmark)) == 1
    levels = [int(tag[1]) for tag, _, _ in read.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    ids = [a["id"] for _, a, _ in read.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert all(a["aria-labelledby"] in ids for a in read.all("section"))
    assert all(a["href"].removeprefix("#") in ids for a in read.all("a"))
    assert all(a["scope"] in ("row", "col") for a in read.all("th"))
    assert len(read.all("caption")) == len(read.all("table"))
    drawings = read.all("svg")
    assert len(drawings) == 1 + 2 + len(COLUMNS) + 4
    assert all(a["role"] == "img" and len(a["aria-label"]) > 10 for a in drawings)


def test_every_colour_of_a_chart_has_one_for_the_dark():
    read = Page(page())
    drawn = {
        (name, attributes[name])
        for tag, attributes, within in read.elements
        for name in ("fill", "stroke")
        if "svg" in within and attributes.get(name, "none") not in ("none", "transparent")
    }
    themed = set(re.findall(r'\.chart \[(fill|stroke)="(#\w+)"\]', read.styles))
    assert len(drawn) > 8
    assert drawn <= themed


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_stands_out(mode):
    both = re.findall(r":root \{(.*?)\}", Page(page()).styles, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#\w+)", both[mode == "dark"]))
    pairs = [(a, b) for a in ("ink", "quiet", "link") for b in ("card", "page")]
    pairs += [("ink", b) for b in colours if re.match(r"shade|.*-soft", b)]
    for front, back in [*pairs, ("mark", "card")]:
        low, high = sorted(luminance(colours[c]) for c in (front, back))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (front, back)


def headline(page):
    return re.search(r"<h1>(.*?)</h1>", page)[1]


def unmet(met):
    told = {"requirement": "dld<=1", "found": 4.25, "met": met}
    return {"verdict": {"requirements": [{"requirement": "k>=5", "found": 5, "met": True}, told]}}


@pytest.mark.parametrize(
    ("options", "title", "words"),
    [
        (
            {},
            "Nobody stands alone in the masked columns",
            "at least 4 others within each <b>region</b>",
        ),
        ({"k": 7}, "Do not release this table", "groups of fewer than 7 alike"),
        ({"warnings": ["x"]}, "Nobody stands alone, but read a warning first", "<li>x</li>"),
        pytest.param(
            {"warnings": ["x", "y"]},
            "Nobody stands alone, but read 2 warnings first",
            "<li>y</li>",
            marks=pytest.mark.deep,
        ),
        pytest.param(
            {"manifest": unmet(True)},
            "Nobody stands alone in the masked columns",
            "What was required",
            marks=pytest.mark.deep,
        ),
        (
            {"manifest": unmet(False)},
            "Do not release this table",
            "not met: <b>dld&lt;=1</b> (found 4.25)",
        ),
        (
            {"columns": [["income", "wealth"], ["debt"]]},
            "Nobody stands alone, one set of columns at a time",
            "Across the sets",
        ),
    ],
)
def test_the_verdict(options, title, words):
    found = page_of(**options)
    assert headline(found) == title
    assert words in found
    assert found.index("<h1>") < found.index("<h2")


def test_the_map_recommends_by_what_was_required():
    told = [{"requirement": text, "found": 1, "met": True} for text in ("rows>=1", "dld<=12")]
    found = page_of(compared=compared(), manifest={"verdict": {"requirements": told}})
    rounded = compared().with_columns(pl.col("loss", "dld").round(0))
    reason = mg.recommend(rounded, require="dld<=12", k=5)["reason"].item()
    assert "Lowest loss with dld <= 12 %" in reason
    assert reason in Page(found).text
    assert "Lowest loss" not in page()


def test_the_map_recommends_nothing_below_the_k_of_the_release():
    assert mg.recommend(compared(), require="dld<=100")["k"].item() == 3
    told = {"verdict": {"requirements": [{"requirement": "dld<=100", "found": 1, "met": True}]}}
    text = Page(page_of(compared=compared(), manifest=told)).text
    assert "Lowest loss with dld <= 100 %: mdav, k=5 " in text
    told = {"verdict": {"requirements": [{"requirement": "loss<=0.01", "found": 1, "met": False}]}}
    assert "Nearest: mdav, k=5 " in Page(page_of(compared=compared(), manifest=told)).text


def test_the_verdict_counts_what_is_too_small():
    original = pl.DataFrame({"a": [1, 2, 3, 4, 5, 6, 7]})
    masked = pl.DataFrame({"a": [1, 1, 1, 4, 4, 6, 9]})
    found = report_html(original, masked, "a", k=3)
    assert "4 records are in 3 groups of fewer than 3 alike (the smallest group has 1)" in found


def test_one_in_k_is_said_only_where_it_is_a_limit():
    assert "a chance of only 1 in 5" in page()
    assert "1 in 5" not in page_of(columns=[["income", "wealth"], ["debt"]])
    assert "1 in 7" not in page_of(k=7)


def test_groups_are_counted_within_strata():
    original = pl.DataFrame({"a": [1, 2, 3, 4, 5, 6], "s": list("xxxxyy")})
    masked = original.with_columns(a=pl.Series([2, 2, 2, 5, 5, 5]))
    assert (
        headline(report_html(original, masked, "a", k=3))
        == "Nobody stands alone in the masked columns"
    )
    found = report_html(original, masked, "a", k=3, strata="s")
    assert headline(found) == "Do not release this table"
    assert "3 records are in 2 groups of fewer than 3 alike (the smallest group has 1)" in found


def test_the_numbers_of_a_histogram_can_be_read():
    original, masked = tables()
    bins = histogram(original["debt"], masked["debt"], 5)
    rows = re.findall(r'<th scope="row">([^<]*)</th><td>([^<]*)</td><td>([^<]*)</td></tr>', page())
    risen = pl.col("before", "after").cum_sum() * 100 / original.height
    both = bins.select(risen.round(0))
    both = both.select(pl.all() - pl.all().shift(1, fill_value=0))
    for label, *shares in zip(bins["label"], *both.get_columns(), strict=True):
        assert (label, *(f"{v:.1f} %" if v else "0 %" for v in shares)) in rows, label


def test_suppressed_records_are_counted_apart():
    original = pl.DataFrame({"a": [1, 2, 3, 4, 5, 90, 80], "s": ["x"] * 5 + ["y", "z"]})
    masked = mg.mdav(original, "a", k=2, strata="s", small_strata="null")
    found = report_html(original, masked, "a", k=2, strata="s")
    assert headline(found) == "Nobody stands alone in the masked columns"
    text = "7 records in 3 groups, of 2.3 on average. None is in a group below 2. 2 records without"
    assert text in found


def test_the_numbers_are_those_of_assess():
    original, masked = tables()
    found = mg.assess(original, masked, COLUMNS, metrics=["loss", "dld"]).row(0, named=True)
    text = Page(page()).text
    assert f"{100 - round(found['loss'], 1):.1f} %" in text
    assert f"{found['dld']:.1f} %" in text
    pairs = mg.assess(original, masked, COLUMNS, metrics=["dld"], known=2)["dld"].item()
    assert f"{pairs:.0f}.0 %" in text


def test_lazy_tables_give_the_same_page_and_empty_ones_a_page():
    original, masked = tables()
    told = {"seed": 0, "output": {"sha256": "0123"}}
    given = {"compared": compared(), "settings": {"method": "mdav"}, "manifest": told}
    lazy = report_html(original.lazy(), masked.lazy(), COLUMNS, k=5, strata="region", **given)
    assert lazy == page()
    empty = report_html(original.clear(), masked.clear(), COLUMNS, k=5)
    assert headline(empty) == "There is nothing to release"


def test_constant_null_and_extreme_columns_are_reported():
    original = pl.DataFrame(
        {"a": [7] * 12, "b": [1, None] * 6, "c": [1e300, -1e300] * 6, "d": [2**62, 5] * 6}
    )
    found = report_html(original, original, list("abcd"), k=3)
    assert outside(found) == []
    assert headline(found) == "Nobody stands alone in the masked columns"
    assert "nan" not in Page(found).text


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"masked": lambda t: t.head(3)}, mg.InvalidDataError, "3000 rows and masked has 3"),
        ({"masked": lambda t: t.drop("debt")}, mg.InvalidParameterError, "'debt'"),
        ({"columns": ["mark"]}, mg.NotNumericError, "'mark' is of type Binary"),
        (
            {"columns": ["ward"], "nominl": "ward"},
            mg.InvalidParameterError,
            "Did you mean 'nominal'",
        ),
        ({"k": 1}, mg.InvalidParameterError, "k=1"),
        ({"strata": "rigion"}, mg.InvalidParameterError, "Did you mean 'region'"),
    ],
)
def test_what_does_not_fit_is_named(change, error, message):
    original, masked = tables()
    original, masked = (t.with_columns(mark=pl.lit(b"x")) for t in (original, masked))
    masked = change.pop("masked", lambda t: t)(masked)
    with pytest.raises(error, match=message):
        report_html(original, masked, change.pop("columns", COLUMNS), **({"k": 5} | change))
