"""Tables of DuckDB as a source: which types come out, and that no value is another."""

import duckdb
import pytest

import polars_microagg as mg
from polars_microagg.errors import InvalidDataError
from polars_microagg.publishing.formats.files import Location
from tests.loop import share

INSTANT = "TIMESTAMP '2020-01-01 00:00:00.5' + INTERVAL (i) SECOND"
TYPES = {
    "DATE": ("DATE '2020-01-01' + i::INT", "DATE"),
    "TIMESTAMP": (INSTANT, "TIMESTAMP"),
    "TIMESTAMP_S": (f"({INSTANT})::TIMESTAMP_S", "TIMESTAMP_MS"),
    "TIMESTAMP_MS": (f"({INSTANT})::TIMESTAMP_MS", "TIMESTAMP_MS"),
    "TIMESTAMP_NS": (f"({INSTANT})::TIMESTAMP_NS", "TIMESTAMP_NS"),
    "TIMESTAMPTZ": (f"({INSTANT})::TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"),
    "TIME": ("TIME '00:00:00.5' + INTERVAL (i) SECOND", "TIME_NS"),
    "TIME_NS": ("(TIME '00:00:00.5' + INTERVAL (i) SECOND)::TIME_NS", "TIME_NS"),
    "HUGEINT": ("i::HUGEINT - 99999999999999999999999999999999999999", "DECIMAL(38,0)"),
    "UUID": ("uuid()", "VARCHAR"),
    "JSON": ("'{\"a\": 1}'::JSON", "VARCHAR"),
    "ENUM": ("(CASE WHEN i < 3 THEN 'a' ELSE 'b' END)::ENUM('a', 'b')", "ENUM('a', 'b')"),
    "ENUM[]": ("[(CASE WHEN i < 3 THEN 'a' ELSE 'b' END)::ENUM('a', 'b')]", "VARCHAR[]"),
    "MAP": ("MAP {'a': i}", "MAP(VARCHAR, BIGINT)"),
}
"""What a type is made of here, and what it is in a table that was released."""


@pytest.fixture
def table(tmp_path):
    def make(value):
        with duckdb.connect(str(tmp_path / "in.duckdb")) as con:
            con.execute(f"CREATE TABLE t AS SELECT i AS a, {value} AS v FROM range(6) r(i)")
        return Location.of(f"{tmp_path}/in.duckdb::t")

    return make


@pytest.mark.parametrize("name", share(TYPES, 3))
def test_a_kept_column_has_its_values_and_the_type_that_the_page_says(name, table, tmp_path):
    value, after = TYPES[name]
    frame = table(value).read()
    mg.publish(frame, f"{tmp_path}/out.duckdb::t", "a", 3, keep="v")
    with duckdb.connect(str(tmp_path / "out.duckdb")) as con:
        con.execute(f"ATTACH '{tmp_path}/in.duckdb' AS before (READ_ONLY)")
        assert con.sql("DESCRIBE t").fetchall()[1][1] == after
        same = "SELECT bool_and(b.v::VARCHAR::{0} = o.v::VARCHAR::{0}) FROM before.t b POSITIONAL JOIN t o"
        kind = after if name != "MAP" else "VARCHAR"
        assert con.sql(same.format(kind)).fetchall() == [(True,)]


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("'12:00:00+02'::TIMETZ", "TIME WITH TIME ZONE"),
        ("['12:00:00+02'::TIMETZ]", "TIME WITH TIME ZONE"),
        ("{'z': '12:00:00+02'::TIMETZ}", "STRUCT"),
        ("170141183460469231731687303715884105727::HUGEINT", "HUGEINT"),
        ("-100000000000000000000000000000000000000::HUGEINT", "HUGEINT"),
        ("340282366920938463463374607431768211455::UHUGEINT", "UHUGEINT"),
    ],
)
def test_what_would_come_back_as_another_value_is_refused(value, named, table):
    with pytest.raises(InvalidDataError, match=f"column 'v' of type {named}"):
        table(value).read()
