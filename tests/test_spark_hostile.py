"""Tables of Spark that are named, typed or failing so as to be taken for something else."""

import traceback

import pandas as pd
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg import spark as door
from tests.spark_sessions import ENGINES, INSTALLED, started

ROWS = 40

pytestmark = [pytest.mark.deep, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(
    scope="module",
    params=[pytest.param("classic", marks=pytest.mark.spark), "connect"],
)
def session(request):
    """A session of the classic kind in this process, or of Spark Connect to a server without Java."""
    if not ENGINES[request.param]:
        pytest.skip("needs pyspark, and Java 17 or pysail: pip install pysail 'pyspark[connect]'")
    with started(request.param) as made:
        yield made


@pytest.fixture
def setting(session):
    """Set what is set back after the test."""
    before = {}

    def put(name, value):
        before[name] = session.conf.get(name)
        session.conf.set(name, value)

    yield put
    for name, value in before.items():
        session.conf.set(name, value)


def table(session, **columns):
    """A table of columns written in SQL, beside an `id` and a text."""
    written = [f"{sql} AS {name}" for name, sql in columns.items()]
    return session.range(ROWS).selectExpr("id", *written, "cast(id % 3 AS string) AS note")


def columns_of(df):
    return [(field.name, field.dataType) for field in df.schema.fields]


def frame(df):
    """The records as Polars has them, by number as names may repeat in another case."""
    arrow = df.toArrow()
    numbered = arrow.rename_columns([f"c{j}" for j in range(arrow.num_columns)])
    return pl.DataFrame(numbered).sort("c0")


NAMES = [
    *(
        "",
        " ",
        "*",
        "a.b",
        "`a`",
        "a`b.c",
        "`",
        "note.x",
        "^a$",
        "a\nb",
        "a b;{}",
        "é😀",
        "x" * 2000,
    ),
    *("ID", "leaf", "LEAF", "Leaf", "records", "c1", "C0", "__mg_row", "'; DROP TABLE t --"),
]


@pytest.mark.parametrize("sensitive", ["false", "true"])
@pytest.mark.parametrize("even", [0, 1])
def test_a_name_changes_no_value_of_its_column_nor_of_others(session, setting, sensitive, even):
    setting("spark.sql.caseSensitive", sensitive)
    plain = table(session, **{f"n{j}": f"id * {j + 3} % 37" for j in range(len(NAMES))})
    named = plain.toDF("id", *NAMES, "note")
    masked = range(even, len(NAMES), 2)
    whole = pl.DataFrame(plain.toArrow())
    expected = mg.fit_leaves(whole, [f"n{j}" for j in masked], 5).mask(whole).sort("id")
    expected.columns = [f"c{j}" for j in range(expected.width)]
    result = door.protect(named, [NAMES[j] for j in masked], 5)
    assert columns_of(result) == columns_of(named)
    assert frame(result).equals(expected)
    door.verify(result, [NAMES[j] for j in masked], 5)
    with pytest.raises(mg.NotAnonymousError):
        door.verify(named, ["id"], 5)


def test_a_name_that_two_columns_have_is_refused(session):
    named = table(session, x="id").toDF("id", "a b", "a b")
    for call in (door.protect, door.fit, door.verify):
        with pytest.raises(mg.InvalidParameterError, match="two columns of the name 'a b'"):
            call(named, ["id"], 5)


KEPT = {
    "struct": "named_struct('x.y', id, '`', 'q', 'a', 1, 'A', array(named_struct('z.z', id)))",
    "map": "map('k', id)",
    "array": "array(id, null)",
    "binary": "cast(concat(cast(id AS string), '\\0') AS binary)",
    "decimal": "cast(id / 3 AS decimal(38, 18))",
    "local": "cast(timestamp_micros(id * 1234567) AS timestamp_ntz)",
    "moment": "timestamp_micros(1667109600123456 + id * 60000000)",  # an hour that New York has twice
    "moments": "named_struct('a', array(timestamp_micros(id)), 'b', map('k', timestamp_micros(-id)))",
    "nothing": "null",
    "truth": "id % 2 = 0",
    "single": "cast(id / 3 AS float)",
    "wild": "if(id % 3 = 0, double('nan'), if(id % 3 = 1, -double(0), double('-infinity')))",
    "span": "make_dt_interval(1, 2, 3, cast(id AS decimal(18, 6)))",
    "variant": "parse_json(concat('{\"a\": ', id, '}'))",
    "some": "nullif(id % 4, 0)",
}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_kept_columns_of_every_type_are_the_same_to_the_last_bit(session, setting, zone):
    setting("spark.sql.session.timeZone", zone)
    df = table(session, x="cast(id AS int)", **KEPT)
    result = door.protect(df, "x", 5)
    assert columns_of(result) == columns_of(df)
    # As Python objects, in which -0.0, null and NaN differ.
    kept = ["id", *KEPT]
    before, after = (sorted(map(repr, t.select(*kept).collect())) for t in (df, result))
    assert after == before


MASKED = {
    "byte": "cast(id AS byte)",
    "short": "cast(id * 7 % 31 AS short)",
    "int": "cast(id AS int)",
    "long": "id + 9007199254740993",
    "float": "cast(id / 3 AS float)",
    "double": "id / 3",
    "decimal": "cast(id / 3 AS decimal(38, 18))",
    "date": "date_add(date'1582-01-01', cast(id AS int))",
    "moment": "timestamp_micros(id * 1234567)",
    "local": "cast(timestamp_micros(id * 1234567) AS timestamp_ntz)",
    "span": "make_dt_interval(0, 0, 0, cast(id / 3 AS decimal(18, 6)))",
}


@pytest.mark.parametrize("dtype", ["keep", "float"])
def test_every_type_that_can_be_masked_is_as_on_one_machine(session, dtype):
    df = table(session, **MASKED).repartition(3)
    whole = pl.DataFrame(df.toArrow())
    expected = mg.fit_leaves(whole, list(MASKED), 5, dtype=dtype).mask(whole).sort("id")
    result = door.protect(df, list(MASKED), 5, dtype=dtype)
    if dtype == "keep":
        assert columns_of(result) == columns_of(df)
    got = pl.DataFrame(result.toArrow()).sort("id")
    assert got.equals(expected)
    assert got.schema == expected.schema


REFUSED = {
    "month": ("make_ym_interval(1, cast(id AS int))", "'month' is of type interval year to month"),
    "months": (
        "array(make_ym_interval(1, 2))",
        "'months' is of type array<interval year to month>",
    ),
    "inside": ("map('k', named_struct('a', make_ym_interval(1, 2)))", "'inside' is of type map<"),
    "calendar": ("make_interval(1, 2)", "'calendar' is of type interval,"),
    "twins": ("named_struct('a', id, 'a', 'q')", r"'twins' is of type struct<a:bigint,a:string>"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_spark_does_not_pass_to_python_is_refused_in_a_sentence(session, name):
    sql, said = REFUSED[name]
    df = table(session, x="cast(id AS int)", **{name: sql})
    leaves = mg.fit_leaves(pl.DataFrame({"x": range(ROWS)}, schema={"x": pl.Int32}), "x", 5)
    for columns in ("x", name):
        for more in ({}, {"leaves": leaves}):
            with pytest.raises(mg.InvalidDataError, match=said):
                door.protect(df, columns, 5, **more)
    door.verify(df.selectExpr("x % 2 AS x", name), "x", 5)


@pytest.mark.parametrize("sql", ["null", "binary('x')", "array(id)"])
def test_a_type_without_a_mean_is_refused_in_a_sentence(session, sql):
    with pytest.raises(mg.NotNumericError, match="'x' is of type"):
        door.protect(table(session, x=sql), "x", 5)


def test_wrong_calls_are_refused_in_sentences(session):
    df = table(session, x="id")
    for call in (door.protect, door.fit, door.verify):
        with pytest.raises(
            mg.InvalidParameterError, match="'Y', which is not a column of the table"
        ):
            call(df, ["Y"], 5)
        with pytest.raises(mg.InvalidParameterError, match="No column was given"):
            call(df, [], 5)
        with pytest.raises(mg.InvalidParameterError, match="'x' more than once"):
            call(df, ["x", "x"], 5)
        with pytest.raises(mg.InvalidParameterError, match="k=1 is not a group size"):
            call(df, ["x"], 1)
    with pytest.raises(mg.InvalidParameterError, match="leaves='str' was given"):
        door.protect(df, "x", 5, leaves="leaves.json")
    for empty in (df.limit(0), df.where("id < 0").repartition(5)):
        with pytest.raises(mg.TooFewRecordsError, match="got 0"):
            door.protect(empty, "x", 5)
        door.verify(empty, "x", 5)


def test_partitions_without_records_change_nothing(session):
    df = table(session, x="cast(id AS int)").where("id < 20")
    few = frame(door.protect(df, "x", 5))
    assert frame(door.protect(df.repartition(17), "x", 5)).equals(few)


def test_a_stream_is_refused_in_a_sentence(session):
    stream = session.readStream.format("rate").load()
    for call in (door.protect, door.fit, door.verify):
        with pytest.raises(mg.InvalidParameterError, match="df='a stream' was given"):
            call(stream, ["value"], 5)


def test_a_table_that_fails_shows_no_value_of_a_record(session):
    from pyspark.sql import functions as f

    def fails(value):
        if value == 33:
            raise ValueError(f"ssn {value}{value + 1}")
        return value

    base = table(session, x="cast(id AS int)")
    failing = [
        base.withColumn("x", f.udf(fails, "int")("x")),
        base.selectExpr("cast(if(id = 33, concat('ssn ', id, id + 1), '1') AS int) AS x"),
    ]
    leaves = mg.fit_leaves(pl.DataFrame({"x": range(ROWS)}, schema={"x": pl.Int32}), "x", 5)
    calls = [
        lambda df: door.fit(df, "x", 5),
        lambda df: door.protect(df, "x", 5),
        lambda df: door.protect(df, "x", 5, leaves=leaves),
        lambda df: door.verify(df, "x", 5),
    ]
    for df in failing:
        for call in calls:
            with pytest.raises(mg.InvalidDataError, match="'df' cannot be read") as caught:
                call(df)
            assert "3334" not in "".join(traceback.format_exception(caught.value))
            assert caught.value.__context__ is caught.value.__cause__ is None


FRAMES = {
    "polars": lambda: pl.DataFrame({"a": [1]}),
    "lazy": lambda: pl.LazyFrame({"a": [1]}),
    "arrow": lambda: pl.DataFrame({"a": [1]}).to_arrow(),
    "pandas": lambda: pd.DataFrame({"a": [1]}),
    "path": lambda: "people.parquet",
    "nothing": lambda: None,
}


@pytest.mark.skipif(not INSTALLED, reason="needs pyspark, whose frames it tells from others")
@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("call", [door.protect, door.fit, door.verify])
def test_a_frame_that_is_not_of_spark_is_refused_in_a_sentence(call, name):
    made = FRAMES[name]()
    said = rf"df='{type(made).__module__}.\w+' was given; it must be a Spark DataFrame"
    with pytest.raises(mg.InvalidParameterError, match=said):
        call(made, ["a"], 5)
