"""Taxonomies without a list of values, and those of files."""

import json
import math
import random
from fractions import Fraction

import polars as pl
import pytest

import polars_microagg as mg
from tests.reference import reference_path
from tests.test_taxonomy import refused

# --- Prefixes ----------------------------------------------------------------------------------


def test_prefixes_are_worked_by_hand():
    tree = mg.Taxonomy.prefix(5, [3, 2])
    assert (tree.root, tree.depth, repr(tree)) == ("*", 3, "Taxonomy(prefixes, 3 levels)")
    assert tree.path("12345") == ("12345", "123**", "12***", "*")
    assert tree.path("123**") == ("123**", "12***", "*")
    assert tree.path("12***") == ("12***", "*")
    assert tree.path("Ü日🙂 é")[1] == "Ü日🙂**"
    names, paths, _ = tree.nodes(["12345", "12***", "12399"])
    assert names == ["12***", "123**", "12345", "12399"]
    assert paths.tolist() == [[0, 1, 2], [0, -1, -1], [0, 1, 3]]
    for other in ("1234", "123456", "1234*", "1****", "*****", "1*345", "**345", "123*"):
        assert not tree.knows(other), other


@pytest.mark.parametrize("length", [1, 0, -5, 5.0, "5", True, None])
def test_a_length_that_is_none_is_refused(length):
    refused("it must be a whole number of at least 2", mg.Taxonomy.prefix, length, [1])


@pytest.mark.parametrize("kept", [[], [5], [6], [0], [3, 3], [2, 3], [3.0], [True], ["3"], "32", None, 3, [10**30]])  # fmt: skip
def test_characters_that_do_not_fall_are_refused(kept):
    refused("it must be falling whole numbers below 5 and above 0", mg.Taxonomy.prefix, 5, kept)


# --- Intervals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("37", ("35-39", "30-39", "20-39")),
        ("40", ("40-44", "40-49", "40-59")),
        ("0", ("0-4", "0-9", "0-19")),
        ("-1", ("-5 to -1", "-10 to -1", "-20 to -1")),
        ("+37.0", ("35-39", "30-39", "20-39")),
        ("4e1", ("40-44", "40-49", "40-59")),
        ("35-39", ("30-39", "20-39")),
        ("-5 to -1", ("-10 to -1", "-20 to -1")),
        ("20-39", ()),
        ("9007199254740993", ("9007199254740990-9007199254740994", "9007199254740990-9007199254740999", "9007199254740980-9007199254740999")),
    ],
)  # fmt: skip
def test_intervals_of_whole_numbers_are_worked_by_hand(value, path):
    tree = mg.Taxonomy.intervals([5, 10, 20])
    assert tree.path(value) == (value, *path, "*")
    assert (tree.root, tree.depth, repr(tree)) == ("*", 4, "Taxonomy(intervals, 4 levels)")


@pytest.mark.parametrize(
    "value",
    [
        *("37.5", "1e-1", "", ".", "-", "e5", "nan", "inf", "1_000", "1/3", " 37", "37\n", "٣٧", "0x10", "1,5"),
        *("1e999999999", "9" * 5000, "36-40", "35-38", "35-49", "035-39", "39-35", "-5--1", "35 to 39", "[35, 40)", "**"),
    ],
)  # fmt: skip
def test_what_is_no_whole_number_is_not_in_it(value):
    assert not mg.Taxonomy.intervals([5, 10, 20]).knows(value)


def test_intervals_of_other_numbers_are_worked_by_hand():
    tenth = mg.Taxonomy.intervals([0.1, 0.5, 2], start=-0.3)
    assert tenth.path("0.3") == ("0.3", "[0.3, 0.4)", "[0.2, 0.7)", "[-0.3, 1.7)", "*")
    assert tenth.path("-0.30001")[1:] == ("[-0.4, -0.3)", "[-0.8, -0.3)", "[-2.3, -0.3)", "*")
    assert tenth.path("[0.2, 0.7)") == ("[0.2, 0.7)", "[-0.3, 1.7)", "*")
    assert tenth.path(".7")[1:3] == ("[0.7, 0.8)", "[0.7, 1.2)")
    for other in ("[0.2, 0.6)", "[0.25, 0.75)", "[0.20, 0.7)", "[0.2,0.7)", "0-1", "[0.25, 0.35)"):
        assert not tenth.knows(other), other
    assert mg.Taxonomy.intervals([0.25, 2]).path("1.6") == ("1.6", "[1.5, 1.75)", "[0, 2)", "*")
    broken = mg.Taxonomy.intervals([5, 10], whole=False)
    assert broken.path("39.99") == ("39.99", "[35, 40)", "[30, 40)", "*")
    assert mg.Taxonomy.intervals([5.0], start=2).path("1") == ("1", "-3 to 1", "*")
    assert mg.Taxonomy.intervals([1], whole=False).path(".5") == (".5", "[0, 1)", "*")


def test_intervals_hold_their_number_and_lie_in_each_other():
    draw = random.Random(3)
    tree = mg.Taxonomy.intervals([0.25, 0.5, 7.5], start=0.125)
    for _ in range(500):
        value = repr(draw.choice([draw.uniform(-50, 50), draw.gauss(0, 1e-7), draw.gauss(0, 1e20)]))
        low, high = -math.inf, math.inf
        for name in tree.path(value)[-2:0:-1]:
            near, far = (Fraction(end) for end in name[1:-1].split(", "))
            assert low <= near <= Fraction(value) < far <= high
            low, high = near, far
        assert high - low == Fraction("0.25")


@pytest.mark.parametrize(
    ("message", "given"),
    [
        *(("widths=", {"widths": widths}) for widths in ([], [5, 12], [10, 5], [5, 5], [0, 5], [-5], [0.1, 0.25], [math.nan], [math.inf], [True], ["5"], "5", 5, None, [1e-300], [10**400])),
        ("Leave out the first", {"widths": [1, 5]}),
        *(("start=", {"widths": [5], "start": start}) for start in ("0", None, math.nan, True)),
        ("whole=1", {"widths": [5], "whole": 1}),
        ("not whole", {"widths": [0.5, 5], "whole": True}),
        ("not whole", {"widths": [5], "start": 0.5, "whole": True}),
    ],
)  # fmt: skip
def test_wrong_widths_are_refused(message, given):
    refused(message, mg.Taxonomy.intervals, **given)


# --- Files -------------------------------------------------------------------------------------

LEVELS = {
    "age": (100, 4),
    "education": (16, 3),
    "marital-status": (7, 2),
    "native-country": (41, 2),
    "occupation": (14, 2),
    "race": (5, 1),
    "salary-class": (2, 1),
    "sex": (2, 1),
    "workclass": (8, 2),
}


@pytest.mark.parametrize("name", LEVELS)
def test_hierarchies_of_adult_are_read_as_they_are(name):
    tree = mg.Taxonomy.read(reference_path(f"adult/adult_hierarchy_{name}.csv"))
    values, depth = LEVELS[name]
    plural = "s" if depth > 1 else ""
    assert repr(tree) == f"Taxonomy({values} values, {depth} level{plural})"
    table = pl.read_csv(reference_path("adult/adult.csv"), separator=";", infer_schema=False)
    column = [value for value in table[name].unique() if value not in (None, "?")]
    names, paths, _ = tree.nodes(column)
    assert paths.shape == (len(column), depth)
    assert set(column) <= set(names)


TREE = mg.Taxonomy({"a": "A", "b": "A", "A": "*", "c": "*"})


@pytest.mark.parametrize(
    "text",
    [
        "a;A;*\nb;A;*\nc;*;*\n",
        "a;A;*\nb;A;*\nc;*;*",
        "a;A;*\r\nb;A;*\r\nc;*;\r\n",
        "a;A;*\rb;A;*\rc;*\r",
        "\ufeffa;A;*\nb;A;*\nc;*\n",
        "\n\na;A;*\n;;\n\nb;A;*\n\nc;*\n\n",
        "a,A,*\nb,A,*\nc,*,\n",
        "a\tA\t*\nb\tA\t*\nc\t*\n",
        '"a";"A";"*"\n"b";A;*\n"c";*\n',
        '\ufeff"a","A","*"\r\n"b",A,*\r\n"c",*\r\n',
    ],
)
def test_a_file_is_read_however_it_was_written(text, tmp_path):
    file = tmp_path / "tree.csv"
    file.write_bytes(text.encode())
    assert mg.Taxonomy.read(file) == TREE
    assert mg.Taxonomy.read(str(file)) == TREE


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        ('"a;b";"say ""x""";*\n', "a;b", ('say "x"', "*")),
        ('"a\nb";c;*\n', "a\nb", ("c", "*")),
        ('5" pipe;pipes;*\n', '5" pipe', ("pipes", "*")),
        ("[0, 20[;[0, 40[;*\n[20, 40[;[0, 40[;*\n", "[0, 20[", ("[0, 40[", "*")),
        ("a;b,x,*\nc;d,y,*\n", "a;b", ("x", "*")),
        ("{a;b}\n", "{a", ("b}",)),
        ("日本;アジア;全\n", "日本", ("アジア", "全")),
        (" a; b;*\n", " a", (" b", "*")),
    ],
)
def test_names_of_files_are_kept_as_they_are(text, name, path, tmp_path):
    file = tmp_path / "tree.csv"
    file.write_bytes(text.encode())
    assert mg.Taxonomy.read(file).path(name) == (name, *path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a;\xff;*\n", "it is not UTF-8 text"),
        ("a;b\n".encode("utf-16"), "it is not UTF-8 text"),
        (b'"a;b;*\nc;b;*\n', "it has a quote that is not closed"),
        (b'"a"x;b;*\n', "it has a quote that is not closed"),
        (b"a\nb\n", "it has a row without a semicolon"),
        (b"a;*\nb\n", "it has a row without a semicolon"),
        (b"x" * 200_000 + b";*\n", "a cell without end"),
        (None, "No such file"),
    ],
)
def test_a_file_without_rows_is_refused(data, message, tmp_path):
    file = tmp_path / "tree.csv"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(mg.InvalidDataError, match=message) as caught:
        mg.Taxonomy.read(file)
    assert "tree.csv' cannot be read" in str(caught.value)
    with pytest.raises(mg.InvalidDataError, match="cannot be read"):
        mg.Taxonomy.read(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", b";;\n"])
def test_an_empty_file_has_no_value(data, tmp_path):
    (tmp_path / "tree.csv").write_bytes(data)
    refused("has no value", mg.Taxonomy.read, tmp_path / "tree.csv")


# --- JSON --------------------------------------------------------------------------------------


def test_forms_are_written_as_they_are():
    assert mg.Taxonomy.prefix(5, [3, 2]).to_json() == (
        '{"kept": [3, 2], "length": 5, "taxonomy": "prefix", "version": 1}'
    )
    assert mg.Taxonomy.intervals([0.5, 2]).to_dict() == {
        "version": 1, "taxonomy": "intervals", "widths": [0.5, 2], "start": 0, "whole": False,
    }  # fmt: skip
    weighed = mg.Taxonomy({"a": "b"}, lengths={"a": 0.1})
    assert json.loads(weighed.to_json()) == weighed.to_dict()
    assert weighed.to_dict()["lengths"] == {"a": 0.1}


GOOD = {"version": 1, "taxonomy": "parents", "parents": {"a": "b"}}
OTHER = "it must be what Taxonomy.to_json or to_dict wrote"


@pytest.mark.parametrize(
    ("message", "text"),
    [
        *((OTHER, text) for text in ("", "{", "[]", "null", "3", '"a"', "[" * 100_000, None, 3, b"\xff")),
        *((OTHER, json.dumps(GOOD | more)) for more in ({"version": 2}, {"taxonomy": "tree"}, {"taxonomy": ["parents"]}, {"more": 1}, {"kept": [3]})),
        (OTHER, json.dumps({"version": 1, "taxonomy": "parents"})),
        (OTHER, '{"version": 1, "taxonomy": "prefix", "length": 5, "length": 6, "kept": [3]}'),
        ("a mapping of names to parents", json.dumps(GOOD | {"parents": [["a", "b"]]})),
        ("cycle", json.dumps(GOOD | {"parents": {"a": "b", "b": "a"}})),
        ("'a' has two parents", '{"version": 1, "taxonomy": "parents", "parents": {"a": "b", "a": "c"}}'),
        ("a finite number above 0", '{"version": 1, "taxonomy": "parents", "parents": {"a": "b"}, "lengths": {"a": NaN}}'),
        ("falling", '{"version": 1, "taxonomy": "prefix", "length": 5, "kept": [3, 4]}'),
        ("multiple", '{"version": 1, "taxonomy": "intervals", "widths": [2, 3], "start": 0, "whole": true}'),
    ],
)  # fmt: skip
def test_altered_json_is_refused(message, text, tmp_path):
    refused(message, mg.Taxonomy.from_json, text)
    if isinstance(text, str):
        (tmp_path / "tree.json").write_text(text)
        refused(message, mg.Taxonomy.read, tmp_path / "tree.json")
