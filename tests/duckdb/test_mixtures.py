"""Mixtures of numbers and categories through the macros, bit-equal to Python; adult with its trees."""

import re

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.duckdb.macros import identifier, literal
from tests.loop import rounds
from tests.reference import reference_path

LEVELS = [f"{letter}{number}" for letter in "abc" for number in range(3)]
TREE = {level: level[0] for level in LEVELS} | dict.fromkeys("abc", "*")
ORDER = ["so, so", "it's bad", "good"]
METHODS = ["mdav", "mdav", "vmdav", "md", "fixed_size", "k_ward", "lowloss", "cbfs", "univariate"]


def whole(rng, n):
    return rng.integers(0, 6, n)


def column(rng, n):
    """A column of some type, and the option that names it, if any does."""
    day = 86_400 * 10**9
    made = {
        "DOUBLE": (lambda: rng.normal(0, 9, n), [None]),
        "INTEGER": (lambda: pl.Series(whole(rng, n), dtype=pl.Int32), [None, "nominal", "ordinal"]),
        "BIGINT": (lambda: whole(rng, n), [None, "nominal", "ordinal"]),
        "DECIMAL(9,2)": (lambda: pl.Series(whole(rng, n)).cast(pl.Decimal(9, 2)), [None]),
        "DATE": (
            lambda: pl.Series(whole(rng, n), dtype=pl.Int32).cast(pl.Date),
            [None, "nominal", "ordinal"],
        ),
        "TIMESTAMP": (lambda: pl.Series(whole(rng, n) * 10**9).cast(pl.Datetime("us")), [None]),
        "TIME_NS": (lambda: pl.Series(rng.integers(0, day, n)).cast(pl.Time), [None, "circular"]),
        "VARCHAR": (lambda: rng.choice(LEVELS, n), [None, "ordinal", "taxonomy", "taxonomy"]),
        "BOOLEAN": (lambda: rng.random(n) < 0.3, [None, "ordinal"]),
        "ENUM": (
            lambda: pl.Series(rng.choice(ORDER, n), dtype=pl.Enum(ORDER)),
            [None, "nominal"],
        ),
    }
    draw, named = made[rng.choice([*made])]
    return pl.Series(draw()), named[rng.integers(len(named))]


def mixture(seed):
    """A table, the arguments of a call in Python, and the same in SQL."""
    rng = np.random.default_rng(seed)
    n, names = (
        int(rng.integers(12, 80)),
        ["x", "Y", "select", "it's", 'a "b"'][: rng.integers(1, 6)],
    )
    columns, options = {}, {"nulls": str(rng.choice(["pattern", "impute", "raise"]))}
    for name in names:
        made, option = column(rng, n)
        gaps = pl.Series(rng.random(n) < (0.1 if options["nulls"] != "raise" else 0))
        columns[name] = made.set(gaps, None) if not made.dtype.is_float() else made
        if option == "taxonomy":
            options.setdefault(option, {})[name] = mg.Taxonomy(TREE)
        elif option:
            options.setdefault(option, []).append(name)
    if rng.random() < 0.4:
        columns["stratum"] = pl.Series(rng.choice(["n", "s"], n))
        options |= {"strata": "stratum", "small_strata": str(rng.choice(["raise", "null", "drop"]))}
    if rng.random() < 0.4:
        options["column_weights"] = {name: float(rng.choice([0.5, 2.0, 3.0])) for name in names[:2]}
    options["center"] = str(rng.choice(["mean", "median"]))
    options["scale"] = str(rng.choice(["zscore", "minmax", "robust", "none"]))
    options["dtype"] = "float" if rng.random() < 0.2 else "keep"
    call = (str(rng.choice(METHODS)), names, int(rng.integers(2, 7)))
    return pl.DataFrame(columns), call, options


def in_sql(value):
    """Write an argument of a macro; a tree is the table `tree`."""
    if isinstance(value, dict):
        cells = (literal("tree" if isinstance(v, mg.Taxonomy) else v) for v in value.values())
        keys = ", ".join(map(literal, value))
        return f"MAP([{keys}], [{', '.join(cells)}])"
    return f"[{', '.join(map(literal, value))}]" if isinstance(value, list) else literal(value)


def put(con, frame):
    """Put a table into the database, where an Enum is an ENUM."""
    con.register("given", frame.with_columns(pl.col(pl.Enum).cast(pl.String)))
    words = ", ".join(map(literal, ORDER))
    enums = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Enum)]
    casts = ", ".join(f"{identifier(n)}::ENUM ({words}) AS {identifier(n)}" for n in enums)
    replaced = f" REPLACE ({casts})" if casts else ""
    con.execute(f"CREATE OR REPLACE TABLE mixture AS SELECT *{replaced} FROM given")


def told(call):
    """The table that a call gives, or the name of the error."""
    try:
        return call()
    except duckdb.InvalidInputException as error:
        return re.search(r"UDF: (\w+): ", str(error))[1]
    except mg.errors.MicroaggError as error:
        return type(error).__name__


def same(relation, frame):
    """A relation has the values and types of a frame, bit for bit."""
    found = relation.pl()
    assert found.columns == frame.columns
    for name, dtype in frame.schema.items():
        texts = found[name].cast(pl.String) if isinstance(dtype, pl.Enum) else found[name]
        one = texts.cast(dtype) if isinstance(dtype, pl.Enum) else texts
        assert one.dtype == dtype
        assert one.equals(frame[name], null_equal=True), name
        if isinstance(dtype, pl.Enum):
            kind = str(relation.types[relation.columns.index(name)])
            assert kind == f"ENUM({', '.join(map(literal, ORDER))})"
    return True


def as_python(con, seed):
    """Mask one mixture by a macro and by Arrow as in Python; return whether it was not refused."""
    frame, (method, names, k), options = mixture(seed)
    put(con, frame)
    given = ", ".join(f"{name} := {in_sql(value)}" for name, value in options.items())
    sql = f"FROM microagg.{method}('mixture', {in_sql(names)}, {k}, {given})"
    named = options | {"taxonomy": dict.fromkeys(options.get("taxonomy", {}), "tree")}
    expected = told(lambda: mg.mask(frame, names, k, method=method, **options))
    doors = (
        lambda: con.sql(sql),
        lambda: mgd.mask(con, "mixture", names, k, method=method, **named),
    )
    if isinstance(expected, str):
        assert [told(lambda door=door: door().fetchall()) for door in doors] == [expected] * 2, sql
        return False
    for door in doors:
        same(door(), expected)
    return True


@pytest.fixture
def trees(con):
    rows = ", ".join(f"({literal(child)}, {literal(parent)})" for child, parent in TREE.items())
    con.execute(f"CREATE TABLE tree AS FROM (VALUES {rows}) t(child, parent)")
    return con


def test_mixtures_are_masked_as_in_python(trees):
    masked = [as_python(trees, seed) for seed in range(rounds(64))]
    assert sum(masked) > len(masked) // 2


@pytest.mark.deep
def test_many_mixtures_are_masked_as_in_python(trees):
    masked = [as_python(trees, seed) for seed in range(100, 100 + rounds(400))]
    assert 0.5 < sum(masked) / len(masked) < 1


KEYS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]


def adult(con, rows):
    """Adult and its trees, in DuckDB and in Polars."""
    frame = pl.read_csv(reference_path("adult/adult.csv"), separator=";").head(rows)
    con.register("given", frame)
    con.execute("CREATE TABLE adult AS FROM given")
    trees = {}
    for name in KEYS:
        path = reference_path(f"adult/adult_hierarchy_{name}.csv")
        trees[name] = mg.Taxonomy.read(path)
        table = identifier(f"tree of {name}")
        con.execute(
            f"CREATE TEMP TABLE {table} AS FROM read_csv($path, header = false, delim = ';', "
            "all_varchar = true)",
            {"path": str(path)},
        )
    del trees["age"]
    return frame, trees


@pytest.mark.parametrize("rows", [1_500, pytest.param(30_162, marks=pytest.mark.deep)])
def test_adult_with_trees_from_tables(con, rows):
    frame, trees = adult(con, rows)
    assert frame.height == rows
    named = {name: identifier(f"tree of {name}") for name in trees}
    call = f"('adult', {in_sql(KEYS)}, 5, taxonomy := {in_sql(named)})"
    expected = mg.mdav(frame, KEYS, 5, taxonomy=trees)
    same(con.sql(f"FROM microagg.mdav{call}"), expected)
    same(mgd.mask(con, "adult", KEYS, 5, taxonomy=named), expected)
    con.register("masked", expected)
    sql = f"FROM microagg.assess('adult', 'masked', {in_sql(KEYS)}, metrics := ['sse', 'loss', 'k_min'],"
    found = con.sql(f"SELECT sse, loss, k_min {sql} taxonomy := {in_sql(named)})").fetchall()
    metrics = ["sse", "loss", "k_min"]
    assert found == mg.assess(frame, expected, KEYS, metrics=metrics, taxonomy=trees).rows()
