"""The macro `release`: every column has a role, and what has none is asked about."""

import duckdb
import pytest

import polars_microagg.duckdb as mgd

PATIENTS = """CREATE TABLE patients AS SELECT i AS id, i % 4 AS "Patient", (i * 7) % 40 AS age,
    (i * 13) % 900 AS income, i % 3 AS sick, (i * 7) % 40 AS age_1 FROM range(24) r(i)"""


@pytest.fixture
def patients(con):
    con.execute(PATIENTS)
    return con


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        (
            "keep := ['INCOME', 'sick'], drop := ['id', 'age_1', 'patient']",
            ["age", "income", "sick"],
        ),
        ("keep := 'sick', drop := ['income', 'ID', 'age_1'], entity := 'PATIENT'", ["age", "sick"]),
        (
            "keep := ['sick', 'patient'], drop := ['id', 'income', 'age_1'], entity := 'patient', "
            "entity_mode := 'rows'",
            ["Patient", "age", "sick"],
        ),
        (
            "drop := ['id', 'income', 'age_1', 'patient'], confidential := 'sick', l := 2",
            ["age", "sick"],
        ),
        (
            "strata := 'Sick', drop := ['id', 'income', 'age_1', 'patient'], method := 'md'",
            ["age", "sick"],
        ),
    ],
)
def test_what_comes_out(patients, given, columns):
    found = patients.sql(f"FROM microagg.release('patients', 'age', 3, {given})")
    assert found.columns == columns
    # The values are those of the macro that passes all columns through.
    likewise = [
        part for part in given.split(", ") if part.startswith(("entity :=", "l :=", "conf"))
    ]
    likewise += [part for part in given.split(", ") if part.startswith(("strata", "method"))]
    likewise += ["entity_mode := 'rows'"] * ("entity :=" in given)
    passed = patients.sql(
        f"""WITH clean AS (SELECT * EXCLUDE (age_1) FROM patients) SELECT {", ".join(columns)}
        FROM microagg.mask('clean', 'age', 3{"".join(f", {part}" for part in likewise)})"""
    )
    assert found.fetchall() == passed.fetchall()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("", "Each of 'id', 'Patient', 'income', 'sick', 'age_1' has no role, and no column"),
        (", keep := ['id', 'sick', 'age_1', 'patient']", "'income' has no role, .* keep := "),
        (", keep := 'id', drop := 'ID'", "'id' is in keep and in drop as well"),
        (", keep := 'age'", "'age' is in columns and in keep as well"),
        (", keep := 'idd'", "keep names 'idd', which is not a column .* Did you mean 'id'"),
        (", drop := 3", "drop := 3 was given; it must be a column name"),
        (
            ", keep := ['id', 'sick', 'income', 'age_1', 'patient'], entity := 'patient'",
            "entity_mode is not named",
        ),
        (
            ", keep := ['id', 'sick', 'income', 'age_1', 'patient']",
            "age_1.*same values|'age_1'",
        ),
    ],
)
def test_a_column_is_asked_about(patients, given, sentence):
    with pytest.raises(duckdb.InvalidInputException, match=f"Error: .*{sentence}"):
        patients.sql(f"FROM microagg.release('patients', 'age', 3{given})").fetchall()


def test_a_mistyped_option_of_any_kind_is_told_the_near_one(patients):
    for options, near in {"{'strta': 'sick'}": "strata", "{'sede': 1}": "seed"}.items():
        call = f"FROM microagg.mask('patients', 'age', 3, options := {options})"
        with pytest.raises(duckdb.InvalidInputException, match=f"Did you mean '{near}'"):
            patients.sql(call).fetchall()


def test_a_table_that_is_to_be_released_is_in_the_database():
    with mgd.register(duckdb.connect()) as con:
        con.execute(PATIENTS)
        con.execute(
            """CREATE TABLE released AS FROM microagg.release('patients', ['age', 'income'], 4,
            drop := ['id', 'age_1', 'patient'], keep := 'sick')"""
        )
        assert con.sql("FROM microagg.verify('released', ['age', 'income'], 4)").fetchall()


def test_a_confidential_column_without_a_bound_is_an_error_as_there_is_no_warning(con):
    con.execute("CREATE TABLE unbounded AS SELECT i AS age, i % 3 AS dx FROM range(12) t(i)")
    with pytest.raises(duckdb.Error, match="Give l or max_share or t as well"):
        con.sql("FROM microagg.release('unbounded', 'age', 3, confidential := 'dx')").fetchall()
    rows = con.sql("FROM microagg.release('unbounded', 'age', 3, confidential := 'dx', l := 2)")
    assert len(rows.fetchall()) == 12
    con.execute("DROP TABLE unbounded")
