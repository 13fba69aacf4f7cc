"""Trees of categories: what is one, what is read and written, and what is refused."""

import copy
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import polars_microagg as mg

PETS = {"cat": "mammal", "dog": "mammal", "mammal": "animal", "eel": "animal"}
EACH = [
    mg.Taxonomy(PETS),
    mg.Taxonomy(PETS, lengths={"eel": 2.5}),
    mg.Taxonomy.prefix(5, [3, 2]),
    mg.Taxonomy.intervals([5, 10, 20]),
    mg.Taxonomy.intervals([0.1, 0.5, 2], start=-0.3),
    mg.Taxonomy.intervals([5, 10], whole=False),
]
each = pytest.mark.parametrize("tree", EACH, ids=repr)


def refused(message, make, *given, **more):
    with pytest.raises(mg.InvalidParameterError) as caught:
        make(*given, **more)
    assert message in str(caught.value), str(caught.value)
    assert caught.value.way


# --- The tree ----------------------------------------------------------------------------------


def test_a_tree_is_worked_by_hand():
    tree = mg.Taxonomy(PETS, lengths={"eel": 2.5, "cat": 1})
    assert (tree.root, tree.depth, repr(tree)) == ("animal", 2, "Taxonomy(3 values, 2 levels)")
    assert tree.path("dog") == ("dog", "mammal", "animal")
    assert tree.path("mammal") == ("mammal", "animal")
    assert tree.path("animal") == ("animal",)
    assert [tree.knows(name) for name in ("eel", "mammal", "animal", "Eel", "")] == [True] * 3 + [False] * 2  # fmt: skip
    names, paths, lengths = tree.nodes(["eel", "dog", "eel", "animal", "mammal"])
    assert names == ["eel", "mammal", "dog"]
    assert paths.tolist() == [[0, -1], [1, 2], [0, -1], [-1, -1], [1, -1]]
    assert lengths.tolist() == [2.5, 1, 1]
    assert (paths.dtype, lengths.dtype) == (np.intp, np.float64)


@each
def test_nodes_depend_on_the_set_of_values_alone(tree):
    values = ["eel", "cat", "dog"] if tree.knows("eel") else ["12345", "12399", "99999"]
    names, paths, lengths = tree.nodes(values)
    for order in ([2, 0, 1], [1, 1, 2, 0]):
        again, other, weights = tree.nodes([values[i] for i in order])
        assert again == names
        assert other.tolist() == paths[order].tolist()
        assert weights.tolist() == lengths.tolist()
    for value, places in zip(values, paths, strict=True):
        assert (*(names[i] for i in places[::-1] if i >= 0), tree.root) == tree.path(value)
    assert paths.shape == (3, tree.depth)
    assert len(set(names)) == len(names) == len(lengths) == paths.max() + 1


@each
def test_no_value_is_no_row(tree):
    names, paths, lengths = tree.nodes([])
    assert (names, paths.shape, lengths.shape) == ([], (0, tree.depth), (0,))


@each
@pytest.mark.parametrize("value", ["secret-31337", "", "**", "12 345", None, 3, b"12345", ["cat"]])
def test_what_is_not_in_it_is_counted_and_not_shown(tree, value):
    assert not tree.knows(value)
    with pytest.raises(mg.InvalidDataError, match=r"^1 distinct value\(s\) are not in this") as one:
        tree.path(value)
    assert "31337" not in str(one.value)
    if not isinstance(value, list):
        known = "cat" if tree.knows("cat") else "12345"
        with pytest.raises(mg.InvalidDataError, match=r"^2 distinct value\(s\)"):
            tree.nodes([value, "secret-31338", known, value])


def test_the_column_of_values_is_named():
    error = mg.InvalidDataError.not_in_taxonomy("education", 3)
    assert str(error).startswith(
        "3 distinct value(s) of column 'education' are not in its taxonomy"
    )


@each
def test_every_node_on_a_path_has_the_rest_as_its_path(tree):
    path = tree.path("cat" if tree.knows("cat") else "12345")
    for i, name in enumerate(path):
        assert tree.path(name) == path[i:]


# --- Equal, kept and unchangeable --------------------------------------------------------------


@each
def test_a_taxonomy_survives_a_journey(tree, tmp_path):
    tree.write(tmp_path / "tree.json")
    (tmp_path / "tree.txt").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "tree.json").read_bytes())
    for again in (
        *(pickle.loads(pickle.dumps(tree, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)),
        *(copy.copy(tree), copy.deepcopy(tree)),
        *(mg.Taxonomy.from_json(tree.to_json()), mg.Taxonomy.from_dict(tree.to_dict())),
        *(mg.Taxonomy.read(tmp_path / "tree.json"), mg.Taxonomy.read(str(tmp_path / "tree.txt"))),
    ):
        assert again == tree
        assert hash(again) == hash(tree)
        assert (again.to_json(), repr(again)) == (tree.to_json(), repr(tree))
    assert sum(tree == other for other in EACH) == 1
    assert tree != "tree"


def test_equal_is_what_holds_the_same_tree():
    assert mg.Taxonomy(PETS) == mg.Taxonomy(dict(reversed(PETS.items())), lengths={"eel": 1.0})
    assert mg.Taxonomy(PETS) != mg.Taxonomy(PETS | {"cow": "mammal"})
    assert mg.Taxonomy.intervals([5, 10.0]) == mg.Taxonomy.intervals(np.array([5, 10]), whole=True)
    assert mg.Taxonomy.prefix(3, (2, 1)) == mg.Taxonomy.prefix(np.int64(3), np.array([2, 1]))


def test_a_pickle_is_equal_in_another_process(tmp_path):
    """Where texts have other hashes."""
    (tmp_path / "tree").write_bytes(pickle.dumps(EACH[1]))
    code = (
        "import pickle, sys, pathlib, polars_microagg as mg\n"
        "tree = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        f"other = mg.Taxonomy({PETS!r}, lengths={{'eel': 2.5}})\n"
        "print({tree: 'found'}[other])"
    )
    command = [sys.executable, "-c", code, tmp_path / "tree"]
    root = Path(__file__).parents[1]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=root, env=os.environ | {"PYTHONHASHSEED": "7"}
    )  # fmt: skip
    assert done.stdout == "found\n"


def test_it_does_not_change_with_what_it_was_made_of():
    given = dict(PETS)
    tree = mg.Taxonomy(given)
    given["cat"] = "animal"
    tree.to_dict()["parents"]["cat"] = "animal"
    assert tree == mg.Taxonomy(PETS)
    assert tree.path("cat") == ("cat", "mammal", "animal")
    with pytest.raises(AttributeError):
        tree.root = "cat"
    with pytest.raises(AttributeError):
        del tree._form


# --- Names that make no tree -------------------------------------------------------------------

LENGTHS = [0, -1, float("nan"), float("inf"), 10**400, True, "1", None]
WRONG = [
    ("has no value", {}, {}),
    ("has 2 roots, 'a', 'b'", {"x": "b", "y": "a"}, {}),
    ("cycle: 'b', 'c' lead", {"a": "b", "b": "c", "c": "b"}, {}),
    ("cycle: 'b' lead", {"a": "r", "b": "b"}, {}),
    ("cycle: 'r' lead", {"a": "r", "r": "r"}, {}),
    ("A name of the taxonomy is of type int", {1: "a"}, {}),
    ("parent of 'a' of the taxonomy is of type NoneType", {"a": None}, {}),
    ("a mapping of names to parents", [("a", "b")], {}),
    ("a mapping of names to parents", "abc", {}),
    ("lengths='catt' is not known", PETS, {"catt": 1.0}),
    ("lengths='animal' is not known", PETS, {"animal": 1.0}),
    ("a mapping of names to numbers", PETS, [1.0]),
    *(("it must be a finite number above 0", PETS, {"cat": length}) for length in LENGTHS),
]


@pytest.mark.parametrize(("message", "parents", "lengths"), WRONG)
def test_what_is_no_tree_is_refused(message, parents, lengths):
    refused(message, mg.Taxonomy, parents, lengths=lengths)


def test_any_text_is_a_name():
    odd = [
        "",
        " ",
        "\ud800",
        "Ünïcödé",
        "U\u0308",
        "日本",
        "🙂",
        "a;b",
        'a"b',
        "a\nb",
        "\x00",
        "'",
        "{",
        "*",
    ]
    tree = mg.Taxonomy(dict.fromkeys(odd, "root"))
    assert all(tree.path(name) == (name, "root") for name in odd)
    assert mg.Taxonomy.from_json(tree.to_json()) == tree == pickle.loads(pickle.dumps(tree))
    assert tree.nodes(odd)[0] == sorted(odd)


# --- Many names --------------------------------------------------------------------------------


def quick(make):
    """The fastest of three, as the machine may be busy."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        made = make()
        times.append(time.perf_counter() - begin)
    assert min(times) < 1, times
    return made


def test_fifty_thousand_values_take_less_than_a_second():
    values = [f"v{i}" for i in range(50_000)]
    rows = [(name, f"c{i // 10}", f"d{i // 200}", "*") for i, name in enumerate(values)]
    tree = quick(lambda: mg.Taxonomy.from_table(rows))
    assert repr(tree) == "Taxonomy(50000 values, 3 levels)"
    assert quick(lambda: mg.Taxonomy(tree.to_dict()["parents"])) == tree
    names, paths, _ = quick(lambda: tree.nodes(values[:8000]))
    assert len(names) == 8000 + 800 + 40
    assert paths.shape == (8000, 3)


def test_a_path_may_be_long():
    tree = quick(lambda: mg.Taxonomy({f"n{i}": f"n{i + 1}" for i in range(20_000)}))
    assert (tree.depth, len(tree.path("n0")), repr(tree)) == (20_000, 20_001, "Taxonomy(1 value, 20000 levels)")  # fmt: skip
    refused("cycle", mg.Taxonomy, {f"n{i}": f"n{(i + 1) % 20_000}" for i in range(20_000)})


# --- Tables ------------------------------------------------------------------------------------

ROWS = [("cat", "mammal", "animal"), ("dog", "mammal", "animal"), ("eel", "animal", None)]


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        tuple(map(list, ROWS)),
        [("cat", "mammal", "animal", ""), (), ("dog", "mammal"), ("eel", "eel", "animal", "animal")],
        [*ROWS, ("animal",), ("", None)],
        pl.DataFrame(ROWS, orient="row", schema=["a", "b", "c"]),
        pl.DataFrame(ROWS, orient="row", schema=["a", "b", "c"]).with_columns(pl.all().cast(pl.Categorical)),
        pa.Table.from_pylist([dict(zip("abc", row, strict=True)) for row in ROWS]),
        pd.DataFrame(ROWS),
        pd.DataFrame(ROWS).replace({None: np.nan}),
        pd.DataFrame(ROWS, dtype="string"),
    ],
    ids=lambda table: type(table).__name__,
)  # fmt: skip
def test_a_table_of_paths_is_a_tree(table):
    assert mg.Taxonomy.from_table(table) == mg.Taxonomy(PETS)


@pytest.mark.parametrize(
    ("message", "table"),
    [
        ("Row 2 of the taxonomy gives a name another parent", [("cat", "pet", "*"), ("cat", "mammal", "*")]),
        ("Row 2 of the taxonomy gives a name another parent", [("Other", "Services", "*"), ("Misc", "Other", "*")]),
        ("has 2 roots", [("x", "a"), ("y", "b")]),
        ("has 2 roots", [("x", "a"), ("z",)]),
        ("cycle", [("a", "b", "a")]),
        ("cycle", [("a", "b"), ("b", "a")]),
        ("Row 2 of the taxonomy has no value in its first cell", [("x", "a"), ("", "a")]),
        ("Row 1 of the taxonomy has an empty cell between", [("x", None, "a")]),
        ("Row 1 of the taxonomy is of type str", ["ab", "cb"]),
        ("Row 1 of the taxonomy is of type int", [3]),
        ("A name in row 2 of the taxonomy is of type int", [("a", "*"), (31337, "*")]),
        ("A name in row 1 of the taxonomy is of type bool", [("a", True)]),
        ("has no value", []),
        ("has no value", [("a", "a")]),
        ("has no value", pl.DataFrame()),
        ("a data frame, an Arrow table or a list of rows", pl.LazyFrame({"a": ["b"]})),
        ("a data frame, an Arrow table or a list of rows", "adult.csv"),
        ("a data frame, an Arrow table or a list of rows", None),
    ],
)  # fmt: skip
def test_a_table_that_is_no_tree_is_refused(message, table):
    refused(message, mg.Taxonomy.from_table, table)


def test_a_value_may_be_named_as_a_class():
    tree = mg.Taxonomy.from_table([("Other", "Other", "*"), ("Misc", "Other", "*")])
    assert tree.path("Misc") == ("Misc", "Other", "*")
    assert tree.path("Other") == ("Other", "*")
    names, paths, _ = tree.nodes(["Other", "Misc"])
    assert (names, paths.tolist()) == (["Other", "Misc"], [[0, -1], [0, 1]])
