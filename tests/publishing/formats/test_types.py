"""Every type into every format: it comes back as it was, or one sentence says what to do."""

import datetime as dt
import math
import re
from decimal import Decimal

import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from polars_microagg.frames.columns import can_mask
from polars_microagg.publishing.formats.files import Location

N = 12
DAYS = [dt.datetime(2024, 3, 1 + i, 3, 4, 5, 678901) for i in range(N)]
FORMATS = ("parquet", "csv", "arrow", "arrows", "ndjson", "duckdb::t")
ENUM = pl.Enum([f"category-{i}" for i in range(3)])


def column(values, dtype):
    return pl.Series("x", values, dtype=dtype)


def small(dtype):
    return column(range(N), dtype)


WHOLE = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
LARGE = (pl.Int128, pl.UInt128)
STEPS = [
    *(f"{kind} {unit}" for kind in ("Datetime", "Duration") for unit in ("ms", "us", "ns")),
    "Datetime zone",
]


def step(what):
    kind, _, unit = what.partition(" ")
    if unit == "zone":
        return pl.Series("x", DAYS).dt.replace_time_zone("Europe/Vienna")
    if kind == "Datetime":
        return column(DAYS, pl.Datetime(unit))
    return column([day - DAYS[0] for day in DAYS], pl.Duration(unit))


COLUMNS = {
    **{str(dtype): small(dtype) for dtype in (*WHOLE, *LARGE)},
    **{str(dtype): column([i / 8 for i in range(N)], dtype) for dtype in (pl.Float32, pl.Float64)},
    "Float16": column([i / 8 for i in range(N)], pl.Float16),
    "Int128 large": column([2**100 + i for i in range(N)], pl.Int128),
    "UInt128 large": column([2**127 + i for i in range(N)], pl.UInt128),
    "Decimal": column([Decimal(i) / 4 for i in range(N)], pl.Decimal(10, 2)),
    "Decimal large": column([Decimal(10**37 + i) for i in range(N)], pl.Decimal(38, 0)),
    "NaN": column([math.nan, math.inf, *[0.5] * (N - 2)], pl.Float64),
    "Boolean": column([i % 2 == 0 for i in range(N)], pl.Boolean),
    "String": column([None, "", 'a"b,\n', "\0", *"é" * (N - 4)], pl.String),
    "Binary": column([bytes([i, 255]) for i in range(N)], pl.Binary),
    "Date": column([day.date() for day in DAYS], pl.Date),
    "Time": column([day.time() for day in DAYS], pl.Time),
    **{name: step(name) for name in STEPS},
    "Categorical": column([f"c{i % 3}" for i in range(N)], pl.Categorical),
    "Enum": column([f"category-{i % 3}" for i in range(N)], ENUM),
    "List": column([[i, None] for i in range(N)], pl.List(pl.Int64)),
    "List Int128": column([[i] for i in range(N)], pl.List(pl.Int128)),
    "Array": column([[i, i] for i in range(N)], pl.Array(pl.Int64, 2)),
    "Array empty": column([[]] * N, pl.Array(pl.Int64, 0)),
    "Struct": column([{"a": i, "b": "z"} for i in range(N)], pl.Struct({"a": pl.Int64, "b": pl.String})),
    "Struct empty": column([{}] * N, pl.Struct([])),
    "Struct Enum": column([{"a": "category-1"}] * N, pl.Struct({"a": ENUM})),
    "Null": column([None] * N, pl.Null),
    "Object": column([object() for _ in range(N)], pl.Object),
}  # fmt: skip
if hasattr(pl, "Map"):
    COLUMNS["Map"] = column([{"a": i} for i in range(N)], pl.Map(pl.String, pl.Int64))

NESTED = {"List", "List Int128", "Array", "Array empty", "Struct", "Struct empty", "Struct Enum", "Map"}  # fmt: skip
SPANS = {"Duration ms", "Duration us", "Duration ns"}
REFUSED = {
    "parquet": {"Object", "Struct empty"},
    "csv": {"Object", "Binary", *SPANS, *NESTED},
    "arrow": {"Object", "Array empty"},
    "arrows": {"Object", "Array empty"},
    "ndjson": {"Object", "Binary", "NaN", "UInt128 large"},
    "duckdb::t": {
        *("Object", "Array empty", "Float16", "Int128", "Int128 large", "List Int128", "UInt128"),
        *("UInt128 large", *SPANS),
    },
}
"""What cannot come back; everything else has to."""


def frame(names):
    table = pl.DataFrame({"age": [float(i) for i in range(N)]})
    return table.with_columns(COLUMNS[name].alias(name) for name in names)


def plain(value):
    """A value in words that do not depend on what a format makes of its type."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | Decimal):
        return float(value) if isinstance(value, float) else Decimal(value)
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat() if value.tzinfo else value.isoformat()
    return value if value is None or isinstance(value, str) else str(value)


def read_as(value, like):
    """The text of a value as the value that it was."""
    if not isinstance(value, str) or isinstance(like, str):
        return plain(value)
    if isinstance(like, dt.datetime):
        value = re.sub(r"(\.\d{6})\d{3}", r"\1", value.replace(" ", "T"))
        value = re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", value)
        return plain(dt.datetime.fromisoformat(value))
    if isinstance(like, dt.time):
        return plain(dt.time.fromisoformat(value[:15]))
    return (
        plain(type(like)(value))
        if isinstance(like, int | float | Decimal) and not isinstance(like, bool)
        else value
    )


def came_back(found, expected):
    if found.dtype == expected.dtype:
        return found.equals(expected)
    pairs = list(zip(found.to_list(), expected.to_list(), strict=True))
    return str([read_as(a, b) for a, b in pairs]) == str([plain(b) for _, b in pairs])


UNREAD = {"ndjson": {*SPANS, "Map"}}
"""Durations are text in ISO 8601 there, and an object of JSON is read as a struct."""


@pytest.mark.parametrize("form", FORMATS)
def test_whatever_a_format_can_hold_comes_back_from_it(form, tmp_path):
    held = [name for name in COLUMNS if name not in REFUSED[form]]
    table = frame(held)
    mg.publish(table, f"{tmp_path}/o.{form}", "age", 3, keep=cs.all())
    read = Location.of(f"{tmp_path}/o.{form}").read()
    assert read.columns == table.columns
    others = [name for name in held if name not in UNREAD.get(form, ())]
    assert [name for name in others if not came_back(read[name], table[name])] == []


def test_ndjson_keeps_the_order_of_many_columns(tmp_path):
    table = frame(["Int64"]).with_columns(pl.lit(i).alias(f"c{i}") for i in range(50))
    mg.publish(
        table.with_columns(pl.lit(0).alias("^c.*$")), tmp_path / "o.ndjson", "age", 3, keep=cs.all()
    )
    read = Location.of(tmp_path / "o.ndjson").read()
    assert read.columns == [*table.columns, "^c.*$"]


@pytest.mark.parametrize(
    ("form", "name"), [(f, name) for f in FORMATS for name in sorted(REFUSED[f])]
)
def test_what_a_format_cannot_hold_is_one_sentence(form, name, tmp_path):
    where = f"'{tmp_path}/o.{form}' cannot be written: "
    with pytest.raises(mg.OutputError, match="cannot hold|and back") as caught:
        mg.publish(frame(["Int64", name]), f"{tmp_path}/o.{form}", "age", 3, keep=cs.all())
    said = str(caught.value)
    assert said.startswith(f"{where}column {name!r} is of type ")
    assert re.search(
        r"\. Drop or cast it first(, or write Parquet)?\. Nothing was published\.$", said
    )
    assert "category-" not in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", FORMATS)
def test_whatever_can_be_masked_and_held_is_k_anonymous_in_the_file(form, tmp_path):
    unheld = REFUSED[form] | {"NaN", "String"} | (SPANS if form == "ndjson" else set())
    names = [n for n in COLUMNS if can_mask(COLUMNS[n].dtype) and n not in unheld]
    mg.publish(frame(names), f"{tmp_path}/o.{form}", [[name] for name in names], 3, keep=cs.all())
    read = Location.of(f"{tmp_path}/o.{form}").read()
    fewest = {
        name: min(read.group_by(pl.col(f"^{re.escape(name)}$")).len()["len"]) for name in names
    }
    assert min(fewest.values()) >= 3
    assert len(fewest) >= 14


def test_masked_durations_cannot_be_read_from_ndjson(tmp_path):
    with pytest.raises(mg.OutputError, match="not what was written, in column 'Duration us'"):
        mg.publish(
            frame(["Duration us"]), tmp_path / "o.ndjson", ["age", "Duration us"], 3, keep=cs.all()
        )
    assert not list(tmp_path.iterdir())


def test_the_categories_of_an_enum_are_in_no_manifest_and_no_message(tmp_path):
    table = frame(["Struct Enum", "Enum"]).rename({"Struct Enum": "x", "Enum": "y"})
    mg.publish(table, tmp_path / "o.parquet", "age", 3, keep=cs.all())
    told = (tmp_path / "o.parquet.manifest.json").read_text()
    assert '"x": "Struct({' in told
    assert "category-" not in told
    for name, masked, words in (
        ("x", mg.mdav, "is of type .*Enum"),
        ("y", mg.mic1d, "has categories"),
    ):
        with pytest.raises(mg.NotNumericError, match=f"'{name}' {words}") as caught:
            masked(table, name, 3)
        assert "category-" not in str(caught.value)
    # Masked by its own categories, it tells how many cells lost a rare one, and of none which.
    mg.publish(table, tmp_path / "o.parquet", ["age", "y"], 3, keep="x")
    told = (tmp_path / "o.parquet.manifest.json").read_text()
    assert '"categories"' in told
    assert "category-" not in told


def test_a_file_of_duckdb_that_was_there_stays_when_a_table_is_refused(tmp_path):
    path = tmp_path / "o.duckdb"
    mg.publish(frame(["Int64"]), f"{path}::old", "age", 3, keep=cs.all())
    with pytest.raises(mg.OutputError, match="column 'Int128'"):
        mg.publish(frame(["Int128"]), f"{path}::new", "age", 3, keep=cs.all())
    assert Location.of(f"{path}::old").read().height == N
    with pytest.raises(mg.RequirementError, match="loss"):
        mg.publish(
            frame(["Int64"]), tmp_path / "p.duckdb::t", "age", 3, keep=cs.all(), require="loss<=0"
        )
    assert {item.name for item in tmp_path.iterdir()} == {"o.duckdb", "o.duckdb.old.manifest.json"}


@pytest.mark.parametrize(
    ("made", "named"),
    [("INTERVAL 3 HOUR", "INTERVAL"), ("union_value(n := 1)", "UNION")],
)
def test_a_type_of_duckdb_that_polars_lacks_is_named(made, named, tmp_path):
    import duckdb

    with duckdb.connect(str(tmp_path / "in.duckdb")) as con:
        con.execute(f"CREATE TABLE t AS SELECT 1 AS age, {made} AS x")
    with pytest.raises(mg.InvalidDataError, match=f"column 'x' is of type {named}, which Polars"):
        Location.of(tmp_path / "in.duckdb::t").read()


def test_numbers_of_duckdb_that_would_become_negative_are_refused(tmp_path):
    import duckdb

    with duckdb.connect(str(tmp_path / "in.duckdb")) as con:
        con.execute("CREATE TABLE t AS SELECT unnest([NULL, 1::UHUGEINT << 126]) AS x")
    assert Location.of(tmp_path / "in.duckdb::t").read()["x"].to_list() == [None, 2**126]
    with duckdb.connect(str(tmp_path / "in.duckdb")) as con:
        con.execute("INSERT INTO t VALUES (1::UHUGEINT << 127)")
    with pytest.raises(mg.InvalidDataError, match="column 'x' of type UHUGEINT has numbers past"):
        Location.of(tmp_path / "in.duckdb::t").read()
