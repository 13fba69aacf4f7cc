"""What is wrong with a call is said in the spelling of SQL, and no value is in it."""

import re

import duckdb
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd

SECRETS = ["731", "8642.25", "Ms Secret", "1931-07-19", "hush", "97531"]
PEOPLE = """
SELECT i AS id, if(i % 2 = 0, 'north', 'south') AS region, 731 + i % 3 AS age, 8642.25 + i AS income,
    8642.25::DOUBLE + i AS wealth, 'Ms Secret' AS name, DATE '1931-07-19' AS born, true AS alive,
    'hush'::ENUM ('hush', 'hash') AS word, {'x': 97531} AS nested, [97531] AS several,
    INTERVAL 97531 SECOND AS span, 97531::HUGEINT AS huge, 'Ms Secret'::BLOB AS face,
    '00000000-0000-0000-0000-000000097531'::UUID AS code
FROM range(10) r(i)
"""


@pytest.fixture
def people(con):
    con.execute(f"CREATE TABLE people AS {PEOPLE}")
    return con


@pytest.fixture(scope="module")
def unchanged():
    """The same table in one database for all calls that fail before anything is made."""
    with mgd.register(duckdb.connect()) as con:
        con.execute(f"CREATE TABLE people AS {PEOPLE}")
        con.execute("CREATE TABLE none_of_them AS FROM people LIMIT 0")
        yield con


def refused(con, call, sentence, kind=None, error=duckdb.InvalidInputException):
    """The call is an error with this sentence, and with no value of a record."""
    with pytest.raises(error, match=re.escape(sentence)) as caught:
        con.sql(f"FROM microagg.{call}").fetchall()
    text = str(caught.value)
    assert not [secret for secret in SECRETS if secret in text]
    if kind:
        assert f"{kind}: " in text


K = "is not a group size; k must be an integer of at least 2. Give the smallest number of records"

BAD = {
    "mdav('people', ['age'], NULL)": f"k := NULL {K}",
    "mdav('people', ['age'], 1)": f"k := 1 {K}",
    "mdav('people', ['age'], 0)": f"k := 0 {K}",
    "mdav('people', ['age'], -3)": f"k := -3 {K}",
    "mdav('people', ['age'], 2.7)": f"k := 2.7 {K}",
    "mdav('people', ['age'], 5.0)": f"k := 5.0 {K}",
    "mdav('people', ['age'], 5::DOUBLE)": f"k := 5.0 {K}",
    "mdav('people', ['age'], '5')": f"k := '5' {K}",
    "mdav('people', ['age'], true)": f"k := true {K}",
    "mdav('people', ['age'], [5])": f"k := [5] {K}",
    "mdav('people', ['agee'], 5)": (
        "columns names 'agee', which is not a column of the table. Did you mean 'age'?"
    ),
    "mdav('people', ['age', 'age'], 5)": "columns lists 'age' more than once. Name each column once.",
    "mdav('people', ['age', 'AGE'], 5)": "columns lists 'age' more than once. Name each column once.",
    "mdav('people', [['age'], ['Age']], 5)": "columns lists 'age' more than once.",
    "mdav('people', [], 5)": "No column was given to mask; at least one is needed.",
    "mdav('people', NULL, 5)": "columns := NULL was given; it must be a column name, a list of them",
    "mdav('people', 5, 5)": "columns := 5 was given; it must be a column name, a list of them",
    "mdav('people', [1, 2], 5)": "columns := [1, 2] was given; it must be a column name",
    "mdav('people', [['age'], []], 5)": "No column was given to mask; at least one is needed.",
    "mdav('people', ['ag%'], 5)": "columns names 'ag%', which is not a column of the table.",
    "mdav('people', ['*'], 5)": "columns names '*', which is not a column of the table.",
    "mdav('people', 'age', 5, strata := 'regoin')": (
        "strata names 'regoin', which is not a column of the table. Did you mean 'region'?"
    ),
    "mdav('people', 'age', 5, strata := ['region', 'REGION'])": "strata lists 'region' more than once.",
    "mdav('people', 'age', 5, strata := ['AGE'])": "'age' is masked and is in strata as well",
    "mdav('people', 'age', 5, strata := 3)": "strata := 3 was given; it must be a column name or a list",
    "mdav('people', 'age', 5, scale := 'z')": "scale := 'z' is not known; it must be one of 'zscore'",
    "mdav('people', 'age', 5, center := NULL)": "center := NULL is not known; it must be one of 'mean'",
    "mdav('people', 'age', 5, nulls := 'drop')": "nulls := 'drop' is not known; it must be one of 'raise'",
    "mdav('people', 'age', 5, dtype := 'flaot')": "dtype := 'flaot' is not known; it must be one of",
    "mdav('people', 'age', 5, small_strata := 1)": "small_strata := 1 is not known; it must be one of",
    "mdav('people', 'age', 5, seed := -1)": "seed := -1 was given; it must be a whole number of at least 0",
    "mdav('people', 'age', 5, seed := 'x')": "seed := 'x' was given; it must be a whole number",
    "mdav('people', 'age', 5, refine := 1)": "refine := 1 was given; it must be true or false",
    "mask('people', 'age', 5, method := 'mdva')": "There is no method 'mdva'. Did you mean 'mdav'?",
    "mask('people', 'age', 5, method := NULL)": "There is no method NULL.",
    "mask('people', 'age', 5, options := {'gamma': 1})": "mdav has no option 'gamma'.",
    "mask('people', 'age', 5, options := {'scale': 'none'})": "Write it beside options, as in scale",
    "mask('people', 'age', 5, options := 7)": "options := 7 was given; it must be a struct of options",
    "fixed_size('people', 'age', 5, sort := 'nope')": "sort := 'nope' is not known; it must be one of",
    "groups('people', [['age'], ['income']], 5)": "groups of records for more than one block",
    "groups('people', 'age', 5, method := 'mic1d')": "cannot honour",
    "groups('people', ['age', 'income'], 5, method := 'univariate')": "for more than one block",
    "verify('people', 'agee', 5)": "columns names 'agee', which is not a column of the table.",
    "verify('people', 'age', 1)": f"k := 1 {K}",
    "verify('people', [['age'], ['id']], 2)": "This macro cannot honour several blocks of columns",
    "anonymity('people', [])": "No column was given",
    "assess('people', 'people', ['agee'])": "columns names 'agee', which is not a column of the table.",
    "assess('people', 'people', ['age'], known := 'nope')": "known names 'nope', which is not a column",
    "assess('people', 'people', ['age'], key := 'nope')": "key names 'nope', which is not a column",
}


@pytest.mark.parametrize("call", BAD)
def test_wrong_parameters(unchanged, call):
    refused(unchanged, call, BAD[call])
    refused(unchanged, call.replace("'people'", "'none_of_them'", 1), BAD[call])


@pytest.mark.parametrize("call", [call for call in BAD if "agee" in call or "strata := " in call])
def test_wrong_parameters_are_found_before_anything_runs(people, call):
    with pytest.raises(duckdb.InvalidInputException, match=re.escape(BAD[call])):
        people.sql(f"FROM microagg.{call}")


DATA = {
    "mdav('people', 'age', 11)": ("TooFewRecordsError", "k=11 needs at least 11 records, got 10."),
    "mdav('people', 'age', 6, strata := 'region')": (
        "TooFewRecordsError",
        "2 of 2 strata have fewer than k=6 records (the smallest has 5).",
    ),
    "mdav('people', 'face', 5)": ("NotNumericError", "Column 'face' is of type BLOB, which has no"),
    "mdav('people', 'code', 5)": ("NotNumericError", "Column 'code' is of type UUID, which has no"),
    "univariate('people', 'name', 5)": (
        "NotNumericError",
        "Column 'name' has categories, and univariate groups values by their size.",
    ),
    "mdav('people', 'wealth', 5, nominal := 'wealth')": (
        "NotNumericError",
        "Column 'wealth' is of type DOUBLE; nominal takes text",
    ),
    "mdav('people', 'born', 5, circular := 'BORN')": (
        "NotNumericError",
        "Column 'born' is of type DATE; circular takes times of day.",
    ),
    "mdav('people', 'word', 5, taxonomy := {'word': 'none_of_them'})": (
        "NotNumericError",
        "Column 'word' is of type ENUM; taxonomy",
    ),
    "mdav('people', 'nested', 5)": (
        "NotNumericError",
        "Column 'nested' is of type STRUCT, which has no",
    ),
    "mdav('people', 'several', 5)": (
        "NotNumericError",
        "Column 'several' is of type INTEGER[], which",
    ),
    "mdav('people', 'span', 5)": (
        "NotNumericError",
        "Column 'span' is of type INTERVAL, which has no",
    ),
    "groups('people', ['age', 'face'], 5)": ("NotNumericError", "Column 'face' is of type BLOB"),
    "verify('people', ['age', 'income'], 2)": (
        "NotAnonymousError",
        "The table is not 2-anonymous on 'age', 'income': 10 class(es) with 10 record(s) in all are "
        "smaller than k=2 (the smallest has 1).",
    ),
    "verify('people', 'age', 4, strata := 'region')": (
        "NotAnonymousError",
        "6 class(es) with 10 record(s) in all are smaller than k=4 (the smallest has 1).",
    ),
    "assess('people', 'people', ['age'], key := 'region')": (
        "InvalidDataError",
        "does not match the rows of original and masked one to one: 8 row(s) of original repeat a key",
    ),
    "assess('people', 'few', ['age'])": (
        "InvalidDataError",
        "original has 10 rows and masked has 3",
    ),
    "assess('people', 'few', ['age'], key := 'id')": (
        "InvalidDataError",
        "finds every row of masked, and original has 7 more. If rows were dropped, leave them out",
    ),
    "assess('people', 'people', ['face'])": ("NotNumericError", "Column 'face' is of type BLOB"),
    "assess('people', 'other', ['word'])": (
        "InvalidDataError",
        "'masked' cannot be read: it failed with",
    ),
}


@pytest.mark.parametrize("call", DATA)
def test_data_that_cannot_do_it(people, call):
    people.execute("CREATE TABLE few AS FROM people LIMIT 3")
    people.execute("CREATE TABLE other AS SELECT * REPLACE (name AS word) FROM people")
    people.execute("CREATE TABLE none_of_them AS FROM (VALUES ('hush', '*')) t(value, parent)")
    kind, sentence = DATA[call]
    refused(people, call, sentence, kind)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("NULL", "Column 'wealth' has 2 null value(s). Use nulls := 'impute'"),
        (
            "'nan'::DOUBLE",
            "Column 'wealth' has 2 NaN or infinite value(s), which have no centroid.",
        ),
        ("'inf'::DOUBLE", "Column 'wealth' has 2 NaN or infinite value(s)"),
        ("'-inf'::DOUBLE", "Column 'wealth' has 2 NaN or infinite value(s)"),
    ],
)
@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT"])
def test_values_without_a_centre(people, value, sentence, type_):
    people.execute(f"ALTER TABLE people ALTER wealth TYPE {type_}")
    people.execute(f"UPDATE people SET wealth = {value} WHERE id IN (3, 4)")
    refused(people, "mdav('people', ['age', 'wealth'], 3)", sentence, "MissingValuesError")
    with pytest.raises(mg.MissingValuesError, match=re.escape(sentence.replace(" := ", "="))):
        mgd.mask(people, "people", ["age", "wealth"], 3)


@pytest.mark.parametrize(
    "type_", ["DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_NS"]
)
@pytest.mark.parametrize("end", ["infinity", "-infinity"])
def test_days_without_end_have_no_centre(people, type_, end):
    people.execute(f"CREATE TABLE days AS SELECT id, born::{type_} AS day FROM people")
    people.execute(f"UPDATE days SET day = '{end}' WHERE id < 3")
    sentence = "Column 'day' has 3 NaN or infinite value(s), which have no centroid."
    refused(people, "mdav('days', 'day', 3)", sentence, "MissingValuesError")
    with pytest.raises(mg.MissingValuesError, match=re.escape(sentence)):
        mgd.mask(people, "days", "day", 3)


def test_names_that_begin_as_ours_do(people):
    for name in ("__mg_row", "__mg_0", "__MG_key", "__mg_"):
        people.execute(f'CREATE OR REPLACE TABLE taken AS SELECT *, 1 AS "{name}" FROM people')
        sentence = (
            f"The table already has a column '{name}', which the result needs. Rename that column"
        )
        for call in (
            "mdav('taken', 'age', 5)",
            "groups('taken', 'age', 5)",
            "verify('taken', 'age', 2)",
        ):
            refused(people, call, sentence)
        with pytest.raises(mg.InvalidParameterError, match=re.escape(sentence)):
            mgd.mask(people, "taken", "age", 5)


@pytest.mark.parametrize("name", ["microagg_group", "MicroAgg_Group"])
def test_the_name_of_the_group_is_taken(people, name):
    people.execute(f"CREATE TABLE grouped AS SELECT *, 1 AS {name} FROM people")
    refused(people, "groups('grouped', 'age', 5)", "already has a column 'microagg_group'")


@pytest.mark.parametrize("columns", [["AGE"], ["Age", "INCOME"], ["aGe", "id"]])
def test_wrong_case_works_as_in_duckdb_and_leaks_nothing(people, columns):
    lower = [name.lower() for name in columns]
    expected = people.sql("FROM microagg.mdav('people', $c, 5)", params={"c": lower})
    for masked in (
        people.sql("FROM microagg.mdav('PEOPLE', $c, 5, strata := [])", params={"c": columns}),
        mgd.mask(people, "People", columns, 5),
    ):
        assert masked.columns == people.table("people").columns
        assert masked.types == people.table("people").types
        assert masked.fetchall() == expected.fetchall()
        assert masked.count(lower[0]).fetchall() == [(10,)]


def test_wrong_case_of_a_stratum(people):
    counted = (
        "SELECT count(DISTINCT region || age) FROM microagg.mdav('people', 'age', 5, strata := {})"
    )
    assert people.sql(counted.format("['REGION']")).fetchall() == [(2,)]
    assert people.sql(counted.format("'Region'")).fetchall() == [(2,)]


def test_letters_that_are_not_ascii_keep_their_case(con):
    con.execute('CREATE TABLE t AS SELECT i AS "ä", i + 100 AS "Ä", i AS "ß" FROM range(6) r(i)')
    masked = con.sql("FROM microagg.mdav('t', ['Ä'], 3)")
    assert masked.columns == ["ä", "Ä", "ß"]
    assert masked.fetchall() == [(i, 101 if i < 3 else 104, i) for i in range(6)]
    refused(con, "mdav('t', ['SS'], 3)", "columns names 'SS', which is not a column of the table.")


def test_no_rows_are_no_rows(people):
    people.execute("CREATE TABLE none AS FROM people LIMIT 0")
    options = "strata := 'region'"
    masked = people.sql(f"FROM microagg.mdav('none', ['age', 'born', 'huge'], 5, {options})")
    assert masked.types == people.table("none").types
    assert masked.fetchall() == []
    floats = people.sql("FROM microagg.mdav('none', ['age', 'born'], 5, dtype := 'float')")
    assert [str(t) for t in floats.select("age", "born").types] == ["DOUBLE", "DOUBLE"]
    assert floats.fetchall() == []
    assert people.sql("FROM microagg.groups('none', 'age', 5)").fetchall() == []
    assert people.sql("FROM microagg.verify('none', 'age', 5)").fetchall() == [
        (0, 0, None, None, 0)
    ]
    arrow = mgd.mask(people, "none", ["age", "born", "huge"], 5, strata="region")
    assert arrow.types == people.table("none").types
    assert arrow.fetchall() == []


def test_options_and_names_of_the_arrow_path(people):
    for options, sentence in (
        ({"k": 1}, f"k=1 {K}"),
        ({"method": "mdva"}, "There is no method 'mdva'. Did you mean 'mdav'?"),
        ({"gamma": 1}, "mdav has no option 'gamma'."),
        ({"columns": "agee"}, "columns names 'agee', which is not a column of the table."),
        ({"strata": "regoin"}, "strata names 'regoin', which is not a column of the table."),
        ({"order_by": "nope"}, "order_by names 'nope', which is not a column of the table."),
        ({"strata": "AGE"}, "'age' is masked and is in strata as well"),
        ({"columns": ["age", "AGE"]}, "columns lists 'age' more than once."),
        ({"columns": None}, "columns=None was given; it must be a column name"),
    ):
        call = {"columns": "age", "k": 5} | options
        with pytest.raises(mg.InvalidParameterError, match=re.escape(sentence)):
            mgd.mask(people, "people", **call)
    for name in ("face", "code", "nested", "several", "span"):
        with pytest.raises(mg.NotNumericError, match=f"Column '{name}' is of type") as caught:
            mgd.mask(people, "people", name, 5)
        assert not [secret for secret in SECRETS if secret in str(caught.value)]


def test_an_unknown_parameter_is_an_error_of_duckdb(people):
    with pytest.raises(duckdb.BinderException, match="does not support the supplied arguments"):
        people.sql("FROM microagg.mdav('people', 'age', 5, strat := 'region')")
    with pytest.raises(duckdb.BinderException, match="does not support the supplied arguments"):
        people.sql("FROM microagg.mdav('people', 'age')")
