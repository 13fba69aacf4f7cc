"""The files of sql/ and their README say what is there and what happens."""

import re
from pathlib import Path

import duckdb
import pytest

from polars_microagg.core import registry
from polars_microagg.core.options import CHOICES, COMMON
from polars_microagg.duckdb.macros import identifier, literal, sql_text

README = (Path(__file__).parents[2] / "sql" / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```sql\n(?P<code>.*?)^```\n(?P<shown>(\n([|>][^\n]*\n)+)?)", re.M | re.S)
EXAMPLES = [match.groupdict() for match in BLOCK.finditer(README)]


def shown(con, code):
    """What the README shows below a statement: a table, or the sentence of an error."""
    if code.startswith("CREATE"):
        con.execute(code)
        return ""
    try:
        result = con.sql(code)
        rows = result.fetchall()
    except duckdb.InvalidInputException as error:
        return "> " + str(error).partition("UDF: ")[2].partition("\n")[0] + "\n"
    lines = [result.columns, ["---"] * len(result.columns), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def test_every_example_gives_what_is_shown(con):
    assert len(EXAMPLES) > 12
    for example in EXAMPLES:
        assert shown(con, example["code"]) == example["shown"].lstrip("\n"), example["code"]


def test_every_file_and_macro_is_described(con):
    for name in sql_text():
        assert f"`{name}.sql`" in README
    listed = """SELECT DISTINCT function_name FROM duckdb_functions()
        WHERE database_name = 'microagg' AND schema_name = 'main'"""
    public = {name for (name,) in con.sql(listed).fetchall()}
    assert not any(name.startswith("_") for name in public)
    described = {name for name in public if f"`{name}(" in README}
    assert public - described == set(registry.methods()) - {"mdav"}


def test_every_common_parameter_is_described():
    rows = set(re.findall(r"^\| `(\w+)` \| .* \|$", README.partition("## Checking")[0], re.M))
    assert rows == {"strata", *COMMON}
    for name, choices in CHOICES.items():
        assert f"| `{name}` | {' '.join(f'`{choice!r}`' for choice in choices)} |" in README


def test_the_aggregates_need_no_python():
    with duckdb.connect() as con:
        for name in ("measures", "losses") * 2:
            con.execute(sql_text()[name])
        query = "SELECT microagg.k_min(x), microagg.sse([x], [0]) FROM (VALUES (1), (3)) t(x)"
        assert con.sql(query).fetchall() == [(1, 10.0)]


@pytest.mark.parametrize("value", ["it's", "", "a\nb", None, True, False, 0, -3, 1e-6, 0.1, 1e300])
def test_values_are_written_as_sql(value):
    with duckdb.connect() as con:
        ((found,),) = con.sql(f"SELECT {literal(value)}").fetchall()
        assert found == value
        assert type(found) is type(value)


@pytest.mark.parametrize("name", ["a", 'a"b', '"', "a b; --", "select", "'"])
def test_names_are_quoted(name):
    with duckdb.connect() as con:
        assert con.sql(f"SELECT 1 AS {identifier(name)}").columns == [name]
