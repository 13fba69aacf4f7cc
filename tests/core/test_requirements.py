"""What is required is read alike wherever it is written."""

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.requirements import read_requirements
from polars_microagg.publishing.judgement import judged, release_requirements

KNOWN = ["k", "k_min", "rows", "dld", "sse"]
LINE = pl.DataFrame({"method": ["mdav"], "k": [3], "loss": [9.0], "dld": [12.5]})
PEOPLE = pl.DataFrame({"age": [23, 25, 47, 51]})


@pytest.mark.parametrize(
    ("text", "written", "bound"),
    [
        ("dld<=10", "dld<=10", 10.0),
        ("  dld <= 10 % ", "dld<=10", 10.0),
        ("dld<.5", "dld<0.5", 0.5),
        ("dld>-1.", "dld>-1", -1.0),
        ("dld == 12.5", "dld=12.5", 12.5),
        ("sse<=1e3", "sse<=1000", 1000.0),
        ("sse<=+2.5E-3", "sse<=0.0025", 0.0025),
        ("k=5", "k>=5", 5.0),
        ("k==5", "k>=5", 5.0),
        ("rows=1234567", "rows>=1234567", 1234567.0),  # all digits of it
        ("sse<=0.1234567890123", "sse<=0.1234567890123", 0.1234567890123),
        ("k_min=5", "k_min=5", 5.0),
        ("sse<=1e300", "sse<=1e+300", 1e300),
    ],
)
def test_it_is_written_so_that_it_is_read_alike_again(text, written, bound):
    (found,) = read_requirements(text, KNOWN)
    assert (str(found), found.bound) == (written, bound)
    assert read_requirements([written], KNOWN) == [found]


UNREADABLE = [
    "dld",
    "dld<=ten",
    "dld=<10",
    "dld<=1_0",
    "dld<=nan",
    "dld<=1e999",
    "dld<=10;",
    "k>=5%",
]
UNREADABLE += ["", "<=10", "dld<=10 dld<=5", "dld<=\u0661"]
DOORS = {
    "publish": lambda given: mg.publish(PEOPLE, "never.parquet", "age", 2, require=given),
    "recommend": lambda given: mg.recommend(LINE, require=given),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("text", UNREADABLE)
def test_what_cannot_be_read_is_one_sentence_at_every_door(text, door):
    need = r"must be a measure, a sign and a number, as in \"k=5\" or \"dld<=10\""
    with pytest.raises(mg.InvalidParameterError, match=f"^require=.*{need}"):
        DOORS[door]([text])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "given",
    [5, None, {"dld": 10}, {"dld<=10"}, b"dld<=10", True, iter(["dld<=10"])],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_text_and_no_list_is_one_sentence(given, door):
    with pytest.raises(mg.InvalidParameterError, match=r"a text such as \"dld<=10\", or a list"):
        DOORS[door](given)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("item", [5, None, ["dld<=10"], {"dld": 10}, b"dld<=10"], ids=repr)
def test_what_is_no_text_in_a_list_is_one_sentence(item, door):
    with pytest.raises(mg.InvalidParameterError, match="a measure, a sign and a number"):
        DOORS[door](["dld<=10", item])


@pytest.mark.parametrize("door", DOORS)
def test_an_unknown_measure_is_named_with_the_closest(door):
    said = "The measure 'dldd' of require is not known.*mean 'dld'"
    with pytest.raises(mg.InvalidParameterError, match=said) as caught:
        DOORS[door]("dldd<=10")
    assert (caught.value.parameter, caught.value.value) == ("require", "dldd")


def test_the_counts_of_a_release_are_known_where_one_is_published():
    assert [str(found) for found in release_requirements(("k=3", "rows>2"))] == ["k>=3", "rows>2"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("k_entities = 5", "k_entities>=5"),
        ("alike_min==5", "alike_min>=5"),
        ("l=2", "l>=2"),
        ("max_share <= .5", "max_share<=0.5"),
        ("max_share=0.5", "max_share=0.5"),
        ("t<0.3", "t<0.3"),
    ],
)
def test_what_privacy_models_count_is_known_where_a_release_is_judged(text, written):
    (found,) = release_requirements(text)
    assert str(found) == written
    assert release_requirements(written) == [found]
    measure = found.name
    with pytest.raises(mg.RequirementError, match=rf"{measure}.*\(found 0.9\)"):
        judged([found], {measure: 0.9})
    met = {"l": 2, "k_entities": 5, "alike_min": 7, "max_share": 0.5, "t": 0.25}[measure]
    assert judged([found], {measure: met})[0]["met"]


@pytest.mark.parametrize(
    "text", ["l>=2%", "k_entities>=5%", "alike_min=5 %", "max_share<=50%", "t<=3%"]
)
def test_what_is_no_percentage_is_none(text):
    with pytest.raises(mg.InvalidParameterError, match="a measure, a sign and a number"):
        release_requirements(text)


@pytest.mark.parametrize("text", ["max_share<=50", "t<=1.5", "l>=0", "t>=-1"])
def test_a_bound_that_says_nothing_is_refused(text):
    with pytest.raises(mg.InvalidParameterError, match=r"must be a bound (from 0 to|at least) 1"):
        release_requirements(text)


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("k_entities>=2", "entity"),
        ("alike_min>=2", "entity"),
        ("l>=2", "confidential"),
        ("t<=1", "confidential"),
    ],
)
def test_a_release_without_the_column_is_refused_before_it_is_made(text, lacks, tmp_path):
    with pytest.raises(mg.InvalidParameterError, match=f"given without {lacks}"):
        mg.publish(PEOPLE, tmp_path / "a.parquet", "age", 2, require=text)
    assert list(tmp_path.iterdir()) == []


def test_a_large_bound_is_verified_as_it_was_judged(tmp_path):
    told = mg.publish(PEOPLE, tmp_path / "a.parquet", "age", 2, require="sse<=1234567.25")
    assert told["config"]["require"] == ["sse<=1234567.25"]
