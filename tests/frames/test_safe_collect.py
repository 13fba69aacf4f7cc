"""A table that cannot be read fails without the values of its records, at every door that reads."""

import traceback

import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pytest

import polars_microagg as mg
from polars_microagg.report.facts import Facts

SECRET = "Zelda-Secret"
GOOD = pl.DataFrame({"age": [23, 25, 47, 51], "pay": [1.0, 2.0, 3.0, 4.0]})
NAMES = pl.LazyFrame({"age": ["23", "25", SECRET, "51"], "pay": [1.0, 2.0, 3.0, 4.0]})


class Own(Exception):
    """An error of a function of the user."""


def failing(kind):
    def fail(*_):
        raise kind(f"no age: {SECRET}")

    return fail


def each(kind):
    age = pl.col("age").map_elements(failing(kind), return_dtype=pl.Int64)
    return NAMES.with_columns(age)


def broken_csv(folder):
    path = folder / "people.csv"
    path.write_text("age,pay\n" + "23,1\n" * 200 + f"{SECRET},2\n")
    return pl.scan_csv(path)


def broken_parquet(folder):
    path = folder / "people.parquet"
    NAMES.collect().write_parquet(path, compression="uncompressed")
    content = bytearray(path.read_bytes())
    at = content.index(SECRET.encode())
    content[at - 8 : at] = b"\xff" * 8
    path.write_bytes(content)
    return pl.scan_parquet(path).with_columns(pl.col("age").cast(pl.Int64))


def stream(_):
    def batches():
        yield pa.record_batch({"age": [1], "pay": [1.0]})
        raise ValueError(SECRET)

    schema = pa.schema([("age", pa.int64()), ("pay", pa.float64())])
    return pa.RecordBatchReader.from_batches(schema, batches())


def relation(_):
    duckdb = pytest.importorskip("duckdb")
    names = f"SELECT unnest(['23', '{SECRET}']) AS age, 1.0 AS pay"
    return duckdb.connect().sql(f"SELECT age::INTEGER AS age, pay FROM ({names})")


PLANS = {
    "strict cast": (lambda _: NAMES.with_columns(pl.col("age").cast(pl.Int64)), "InvalidOperation"),
    "date": (lambda _: NAMES[2:3].with_columns(pl.col("age").str.to_date("%Y")), "Invalid"),
    "function of a value": (lambda _: each(Own), "Own"),
    "error of the system with data": (lambda _: each(FileNotFoundError), "FileNotFoundError"),
    "function of the table": (lambda _: GOOD.lazy().map_batches(failing(KeyError)), "KeyError"),
    "column that is not there": (lambda _: NAMES.filter(age=SECRET).select("x"), "ColumnNotFound"),
    "csv": (broken_csv, "ComputeError"),
    "parquet": (broken_parquet, ""),
    "stream": (stream, ""),
    "relation": (relation, ""),
}
DOORS = {
    "publish": lambda t, to: mg.publish(t, to / "out.parquet", "age", 2, keep=cs.all()),
    "publish with an original": lambda t, to: mg.publish(
        GOOD, to / "out.parquet", "age", 2, keep="pay", method=None, original=t
    ),
    "assess": lambda t, _: mg.assess(t, GOOD, "age"),
    "assess, masked": lambda t, _: mg.assess(GOOD, t, "age"),
    "one measure": lambda t, _: mg.loss(t, GOOD, "age"),
    "verify": lambda t, _: mg.verify(t, "age", 2),
    "anonymity": lambda t, _: mg.anonymity(t, "age", confidential="pay"),
    "compare": lambda t, _: mg.compare(t, "age", methods="mdav", ks=2),
    "lower_bound": lambda t, _: mg.lower_bound(t, "age", 2),
    "fit_leaves": lambda t, _: mg.fit_leaves(t, "age", 2),
    "leaves": lambda t, _: mg.fit_leaves(GOOD, "age", 2).mask(t),
    "plot": lambda t, _: GOOD.microagg.plot.distributions(t, "age"),
    "report": lambda t, _: Facts.of(t, GOOD, "age", 2, None),
}


def said(error):
    """All that a log may get of an error: its traceback, and what it was raised from."""
    text = "".join(traceback.format_exception(error))
    while error is not None:
        text += f"{error!r} {error.args}"
        error = error.__cause__ or error.__context__
    return text


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("plan", PLANS)
def test_no_value_is_in_the_error_and_its_class_is(plan, door, tmp_path):
    make, kind = PLANS[plan]
    with pytest.raises(mg.InvalidDataError, match=rf"cannot be read: it failed with {kind}") as got:
        DOORS[door](make(tmp_path), tmp_path)
    assert SECRET not in said(got.value)
    assert "collect the table on its own" in str(got.value)
    assert not (tmp_path / "out.parquet").exists()


def test_the_plans_do_hold_the_value(tmp_path):
    """Else nothing would be shown above."""
    without = {"parquet", "stream", "relation"}  # a stream is read by no plan
    for make, _ in (PLANS[plan] for plan in PLANS if plan not in without):
        with pytest.raises(Exception, match=r"(?s).*") as got:
            make(tmp_path).collect()
        assert SECRET in said(got.value)


def test_the_column_is_named_if_it_is_one_of_the_table():
    cast = NAMES.with_columns(pl.col("age").cast(pl.Int64))
    with pytest.raises(mg.InvalidDataError, match="InvalidOperationError at column 'age'"):
        mg.assess(cast, GOOD)
    relations = relation(None).project("pay, age AS age")
    with pytest.raises(mg.InvalidDataError, match="ConversionException at column 'age'"):
        mg.assess(relations, GOOD)
    named = NAMES.select(pl.col("age").alias(SECRET)).cast(pl.Int64).rename({SECRET: "age"})
    with pytest.raises(mg.InvalidDataError, match=r"InvalidOperationError\. The text") as got:
        mg.assess(named, GOOD)
    assert SECRET not in said(got.value)


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path):
    """A scheduler tries again; the path is that of the plan."""
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '.*absent\.parquet'"):
        mg.publish(pl.scan_parquet(tmp_path / "absent.parquet"), tmp_path / "o.parquet", "age", 2)


def test_an_error_of_the_system_keeps_its_number_and_not_its_text(tmp_path):
    def fail(_):
        raise PermissionError(13, SECRET, SECRET)

    plan = GOOD.lazy().map_batches(fail)
    with pytest.raises(PermissionError, match="Permission denied, while 'frame' was read") as got:
        mg.publish(plan, tmp_path / "o.parquet", "age", 2, keep="pay")
    assert SECRET not in said(got.value)


def test_a_mask_in_the_plan_keeps_its_error_and_not_the_plan(tmp_path):
    text = mg.mdav(NAMES.filter(age=SECRET), "age", 2)
    with pytest.raises(mg.TooFewRecordsError, match="k=2 needs at least 2 records") as got:
        mg.publish(text, tmp_path / "o.parquet", "age", 2, method=None, keep="pay")
    assert SECRET not in said(got.value)
    assert "\n" not in str(got.value)


def test_what_is_no_error_of_the_table_is_left_alone():
    for kind in (MemoryError, KeyboardInterrupt):
        with pytest.raises(kind):
            mg.assess(NAMES.map_batches(failing(kind)), GOOD)


@pytest.mark.parametrize("source", [stream, relation])
def test_a_mask_of_a_table_that_fails_on_its_way_in_says_no_value(source):
    with pytest.raises(mg.InvalidDataError, match="'frame' cannot be read") as got:
        mg.mdav(source(None), "age", 2)
    assert SECRET not in said(got.value)
