"""Every door gives the same bits: frames, expressions, SQL macros and the Arrow path."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from operator import attrgetter

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.core import registry
from tests.loop import share

K = 3
N = 72
MIXED = ["i8", "f64", "day", "dec", "i64"]
"""Masked together; `others` below are masked in a second block of calls."""
OTHERS = ["f32", "at", "u64", "money", "u16"]

METHODS = list(registry.methods().values())
QUICK = ("mdav", "individual_ranking", "mic1d")
"""One that groups records, one that groups columns one by one, and one that groups cells.

What the plan does beside a method is the same for all that group alike.
"""

every_method = pytest.mark.parametrize("method", share(METHODS, 3), ids=attrgetter("name"))
each_unit = pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, id=method.name, marks=[pytest.mark.deep] * (method.name not in QUICK))
        for method in METHODS
    ],
)


@pytest.fixture(scope="module")
def con():
    with mgd.register(duckdb.connect()) as con:
        yield con


def table(nulls=0.0):
    """Values with ties and long tails, in every type that can be masked in all doors."""
    rng = np.random.default_rng(7)
    few = rng.integers(0, 9, N)
    start, year = datetime(2024, 2, 28, 23, 59, 59, 999_999), date(2024, 2, 28)
    frame = pl.DataFrame(
        {
            "id": np.arange(N),
            "region": pl.Series(["n", "s", None])[rng.integers(0, 3, N)],
            "i8": pl.Series(few - 4, dtype=pl.Int8),
            "f64": np.round(np.exp(rng.normal(0, 3, N)), 3),
            "day": [year + timedelta(int(v)) for v in few * 11],
            "dec": pl.Series([Decimal(int(v)) / 100 for v in few * 7 - 20], dtype=pl.Decimal(9, 2)),
            "i64": 2**60 + rng.integers(0, 50, N),
            "f32": pl.Series(rng.normal(0, 1e3, N), dtype=pl.Float32),
            "at": [start + timedelta(microseconds=int(v)) for v in rng.integers(0, 10**12, N)],
            "u64": pl.Series([2**64 - 1 - int(v) for v in few * 3], dtype=pl.UInt64),
            "money": pl.Series(
                [Decimal(int(v)).scaleb(-3) for v in rng.integers(0, 10**18, N)]
            ).cast(pl.Decimal(38, 3)),
            "u16": pl.Series(rng.integers(0, 60_000, N), dtype=pl.UInt16),
            "note": [f"note {v}" for v in few],
        }
    )
    if not nulls:
        return frame
    # Whole patterns of nulls, each of many records, so that every policy can work with them.
    gone = rng.integers(0, 3, N)
    return frame.with_columns(
        pl.when(pl.Series(gone != j)).then(pl.col(name)).alias(name)
        for j, name in enumerate([MIXED[0], MIXED[3]])
    )


def bits(frame):
    """Everything in a frame that can be told apart, down to the sign of zero."""
    contents = []
    for column in frame.get_columns():
        steps = column.to_physical()
        floats = steps.fill_null(0).to_numpy().tobytes() if steps.dtype.is_float() else None
        values = steps.is_null().to_list() if floats else steps.to_list()
        contents.append((column.name, column.dtype, values, floats))
    return contents


def unnested(expression, frame, columns):
    """A struct expression put back in the place of its fields."""
    masked = frame.select(expression.alias("m"))["m"].struct.unnest()
    return frame.with_columns(masked[name] for name in columns)


def doors(con, method, frame, columns, strata=None, **options):
    """The same call at every door: a name and a frame each."""
    masked = {"DataFrame": mg.mask(frame, columns, K, method=method.name, strata=strata, **options)}
    function = getattr(mg, method.name)
    lazy = frame.lazy().pipe(function, columns, K, strata=strata, **options)
    for engine in ("in-memory", "streaming"):
        masked[engine] = lazy.collect(engine=engine)
    namespace = getattr(frame.lazy().microagg, method.name)
    masked["namespace"] = namespace(columns, K, strata=strata, **options).collect()
    if "small_strata" not in options:  # an expression can empty no key, and drop no row
        expression = getattr(pl.struct(columns).microagg, method.name)(K, **options)
        if strata:
            expression = expression.over(strata)
        masked["expression"] = unnested(expression, frame, columns)
    con.register("people", frame)
    values = {
        name: value for name, value in {"strata": strata, **options}.items() if value is not None
    }
    given = "".join(f", {name} := ${name}" for name in values)
    for query in (
        f"FROM microagg.{method.name}('people', $columns, {K}{given})",
        f"FROM microagg.mask('people', $columns, {K}, method := '{method.name}'{given})",
    ):
        masked[query.partition("(")[0]] = con.sql(query, params={"columns": columns, **values}).pl()
    arrow = mgd.mask(con, "people", columns, K, method=method.name, strata=strata, **options)
    masked["arrow"] = arrow.pl()
    return masked


def assert_same(masked):
    expected = bits(masked["DataFrame"])
    for door, frame in masked.items():
        assert bits(frame) == expected, door


@every_method
@pytest.mark.parametrize(
    ("columns", "strata"), [(MIXED, None), (OTHERS, ["region"])], ids=["mixed", "others by stratum"]
)
def test_all_doors_agree(con, method, columns, strata):
    frame = table()
    masked = doors(con, method, frame, columns, strata)
    assert_same(masked)
    untouched = [name for name in frame.columns if name not in columns]
    assert bits(masked["arrow"].select(untouched)) == bits(frame.select(untouched))
    assert masked["arrow"].schema == frame.schema


@pytest.mark.whole
@each_unit
@pytest.mark.parametrize("nulls", ["impute", "pattern"])
def test_all_doors_agree_on_nulls(con, method, nulls):
    if nulls == "impute" and method.unit == "value" and not method.columnwise:
        pytest.skip("cells are grouped, so there is no record to impute")
    frame = table(nulls=0.3)
    assert frame["i8"].null_count() > K
    assert_same(doors(con, method, frame, MIXED, ["region"], nulls=nulls, small_strata="null"))


@each_unit
def test_all_doors_agree_on_float_centres(con, method):
    options = {"dtype": "float", "scale": "robust"}
    assert_same(doors(con, method, table(), MIXED + OTHERS, ["region"], **options))


@each_unit
def test_all_doors_agree_on_medians(con, method):
    if method.unit == "value" and not method.columnwise:
        pytest.skip("the centre of cells is their mean")
    assert_same(doors(con, method, table(), MIXED, scale="none", center="median", seed=3))


@pytest.mark.whole
@each_unit
@pytest.mark.parametrize("policy", ["null", "drop"])
def test_all_doors_agree_where_a_stratum_is_too_small(con, method, policy):
    small = pl.when(pl.col("id") < 1).then(pl.lit("one"))
    small = small.when(pl.col("id") < 2).then(pl.lit("two")).when(pl.col("id") < 3)
    frame = table().with_columns(region=small.then(pl.lit("three")).otherwise("region"))
    assert_same(doors(con, method, frame, ["i8", "f64"], ["region"], small_strata=policy))


@each_unit
def test_all_doors_agree_on_groups(con, method):
    if method.unit == "value":
        pytest.skip("values are grouped, not records")
    columns = MIXED[:1] if method.columnwise else MIXED
    frame = table()
    options = {"method": method.name, "strata": ["region"]}
    grouped = mg.groups(frame, columns, K, **options)
    con.register("people", frame)
    query = f"FROM microagg.groups('people', $c, {K}, method := $m, strata := ['region'])"
    assert bits(con.sql(query, params={"c": columns, "m": method.name}).pl()) == bits(grouped)


def test_blocks_agree(con):
    frame = table()
    blocks = [["f64", "i8"], ["dec"]]
    expected = bits(mg.mdav(frame, blocks, K))
    con.register("people", frame)
    query = f"FROM microagg.mdav('people', [['f64', 'i8'], ['dec']], {K})"
    assert bits(con.sql(query).pl()) == expected
    assert bits(mgd.mask(con, "people", blocks, K).pl()) == expected


def test_the_order_of_the_columns_asked_for_is_the_same_everywhere(con):
    frame = table()
    for columns in (MIXED, MIXED[::-1]):
        assert_same(doors(con, registry.methods()["mdav"], frame, columns))


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.deep), 8])
def test_many_rows_agree_whatever_the_threads(threads):
    rng = np.random.default_rng(1)
    n = 150_000
    frame = pl.DataFrame(
        {
            "id": np.arange(n),
            "stratum": rng.integers(0, 5_000, n),
            "a": rng.integers(0, 1_000, n),
            "b": rng.normal(size=n),
        }
    )
    options = {"strata": ["stratum"], "small_strata": "null"}
    expected = mg.mdav(frame, ["a", "b"], 5, **options)
    with mgd.register(duckdb.connect()) as con:
        con.execute("SET threads = $n", {"n": threads})
        con.register("frame", frame)
        con.execute("CREATE TABLE people AS FROM frame")
        call = "microagg.mdav('people', ['a', 'b'], 5, strata := 'stratum', small_strata := 'null')"
        assert con.sql(f"FROM {call}").pl().equals(expected)
        con.execute(f"CREATE TABLE masked AS FROM {call}")
        assert con.table("masked").pl().equals(expected)
        assert mgd.mask(con, "people", ["a", "b"], 5, **options).pl().equals(expected)
