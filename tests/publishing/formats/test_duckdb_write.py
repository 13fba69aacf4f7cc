"""Tables of DuckDB files: views that read the target, targets that are views, and new files."""

import duckdb
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats.duckdb_write import through
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.check import check
from tests.loop import share

PEOPLE = pl.DataFrame({"age": range(20), "income": [3.0 * i for i in range(20)], "x": ["a"] * 20})
MASKED = ["age", "income"]


@pytest.fixture
def target(tmp_path):
    mg.publish(PEOPLE, f"{tmp_path}/a.duckdb::t", MASKED, 5, keep=cs.all())
    return Location.of(f"{tmp_path}/a.duckdb::t")


def run(place, *statements):
    with duckdb.connect(str(place.path)) as con:
        return [con.execute(statement).fetchall() for statement in statements][-1]


def state(place):
    """The rows and the manifest, which agree, and the names in the folder."""
    assert all(finding.holds for finding in check(place))
    names = sorted(path.name for path in place.path.parent.iterdir())
    return place.read().rows(), place.record.read_bytes(), names


def test_a_view_goes_on_reading_the_table_that_is_replaced(target):
    run(target, "CREATE SCHEMA s; CREATE VIEW s.v AS SELECT age, x FROM main.t")
    run(target, "CREATE VIEW w AS SELECT max(age) AS oldest FROM s.v")
    told = mg.publish(PEOPLE.head(12), str(target), MASKED, 4, keep=cs.all(), dtype="float")
    assert told["rows"]["out"] == 12
    state(target)
    assert run(target, "FROM w") == [(target.read()["age"].max(),)]


@pytest.mark.parametrize("frame", [PEOPLE.drop("x"), PEOPLE.rename({"x": "y"})])
def test_a_view_that_would_no_longer_work_stops_the_release(frame, target):
    run(target, "CREATE SCHEMA s; CREATE VIEW s.v AS SELECT age, x FROM main.t")
    before = state(target)
    with pytest.raises(mg.OutputError, match="the view 's.v' reads it, and would no longer work"):
        mg.publish(frame, str(target), MASKED, 4, keep=cs.all())
    assert state(target) == before
    assert len(run(target, "FROM s.v")) == 20
    run(target, "DROP VIEW s.v")
    mg.publish(frame, str(target), MASKED, 4, keep=cs.all())
    assert state(target) != before


def test_a_view_that_works_no_more_before_stops_nothing(target):
    run(target, "CREATE TABLE gone AS SELECT 1 AS a", "CREATE VIEW v AS FROM gone, t")
    run(target, "DROP TABLE gone")
    mg.publish(PEOPLE.drop("x"), str(target), MASKED, 4, keep=cs.all())
    state(target)


@pytest.mark.parametrize("same", [True, False])
def test_a_target_that_is_a_view_is_refused_and_gets_no_manifest(same, target):
    """Also where the view shows the very rows that would be released."""
    run(target, "CREATE VIEW v AS FROM t")
    before = state(target)
    frame = PEOPLE if same else PEOPLE.head(12)
    for name in ("v", "V"):
        for overwrite in (True, False):
            with pytest.raises(mg.OutputError, match="it is a view, and a release is a table"):
                mg.publish(
                    frame, f"{target.path}::{name}", MASKED, 5, keep=cs.all(), overwrite=overwrite
                )
    assert state(target) == before
    assert len(run(target, "FROM v")) == 20


def test_a_table_that_others_refer_to_is_kept_with_its_manifest(tmp_path):
    place = Location.of(f"{tmp_path}/a.duckdb::pk")
    run(
        place,
        "CREATE TABLE pk (a DOUBLE, id INT PRIMARY KEY)",
        "INSERT INTO pk VALUES (1, 1), (1, 2), (5, 3), (5, 4)",
    )
    run(place, "CREATE TABLE fk (id INT REFERENCES pk(id))")
    rows = place.read()
    with pytest.raises(mg.OutputError, match="another table refers to this one"):
        mg.publish(rows, str(place), "a", 2, keep=cs.all(), method=None)
    assert place.read().equals(rows)
    assert [path.name for path in tmp_path.iterdir()] == ["a.duckdb"]


def test_a_table_of_another_schema_is_not_in_the_way(target):
    run(target, "CREATE SCHEMA s; CREATE TABLE s.people AS SELECT 1 AS a")
    place = Location.of(f"{target.path}::people")
    mg.publish(PEOPLE, str(place), MASKED, 5, keep=cs.all(), overwrite=False)
    state(place)
    assert run(target, "FROM s.people") == [(1,)]


@pytest.mark.parametrize(
    ("schema", "table"),
    share([("zz", "we ird"), ("two words", "t"), ("a.b", "c"), ("zz", "a.b"), ("domain", "t")], 2),
)
def test_a_schema_and_its_table_may_have_any_name(target, schema, table):
    run(target, f'CREATE SCHEMA "{schema}"; CREATE TABLE "{schema}"."{table}" AS SELECT 1 AS a')
    place = Location.of(f"{target.path}::{schema}.{table}")
    assert place.read().to_dict(as_series=False) == {"a": [1]}
    mg.publish(PEOPLE, str(place), MASKED, 5, keep=cs.all())
    assert len(run(target, f'FROM "{schema}"."{table}"')) == 20
    new = Location.of(f"{target.path}::{schema}.another one")
    mg.publish(PEOPLE, str(new), MASKED, 5, keep=cs.all())
    tables = "SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL"
    assert run(target, tables) == sorted([("main", "t"), (schema, table), (schema, "another one")])


def test_a_table_of_main_with_a_dot_in_its_name_goes_first(target):
    run(target, 'CREATE SCHEMA zz; CREATE TABLE zz."we ird" AS SELECT 1 AS a')
    run(target, 'CREATE TABLE main."zz.we ird" AS SELECT 2 AS a')
    assert Location.of(f"{target.path}::zz.we ird").read().item() == 2
    assert Location.of(f"{target.path}::main.we ird") == Location.of(f"{target.path}::we ird")


def test_a_file_that_was_made_for_a_release_goes_with_it(tmp_path):
    with pytest.raises(mg.TooFewRecordsError, match="needs at least 5"):
        mg.publish(PEOPLE.head(3), f"{tmp_path}/new.duckdb::t", MASKED, 5, keep=cs.all())
    with pytest.raises(mg.RequirementError, match="rows>=100"):
        mg.publish(
            PEOPLE, f"{tmp_path}/new.duckdb::t", MASKED, 5, keep=cs.all(), require="rows=100"
        )
    assert not list(tmp_path.iterdir())
    mg.publish(PEOPLE, f"{tmp_path}/new.duckdb::t", MASKED, 5, keep=cs.all())
    state(Location.of(f"{tmp_path}/new.duckdb::t"))


@pytest.mark.parametrize(
    "values",
    [["b", "a"], ["", "'", "''", '"', "\n", "ENUM('a')"], ["a", "A"], [str(i) for i in range(300)]],
)
def test_an_enum_comes_back(values):
    table = pl.DataFrame({"^*$": [None, values[-1]], "*": values[:2]}).cast(pl.Enum(values))
    back = through(table)
    assert back.schema == table.schema
    assert back.equals(table)
    assert through(table.clear()).schema == table.schema


def test_what_no_enum_can_hold_is_text():
    for values in ([], ["a\0b", "c"]):
        table = pl.DataFrame({"a": [None, *values]}).cast(pl.Enum(values))
        back = through(table)
        assert back.equals(table.cast(pl.String))
