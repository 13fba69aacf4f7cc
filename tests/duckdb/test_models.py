"""Entities and confidential columns at the doors of DuckDB: the groups of Polars, and no class that tells."""

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.core import registry
from tests.loop import rounds, share

COUNTED = {
    "VARCHAR": "['ab', 'AB', '', 'c''d', 'é'][1 + c % 5]",
    "UUID": "('00000000-0000-0000-0000-00000000000' || c % 5)::UUID",
    "ENUM": "['low', 'it''s high', 'a, b', 'x'][1 + c % 4]::level",
    "BIGINT": "9007199254740993 - c % 5",
    "UTINYINT": "c % 5",
    "HUGEINT": "c % 5 - 170141183460469231731687303715884105727",
    "UHUGEINT": "340282366920938463463374607431768211455::UHUGEINT - (c % 5)::UHUGEINT",
    "DECIMAL(9,2)": "(c % 5 - 2)::DECIMAL(9, 2)",
    "DECIMAL(38,10)": "(c % 5)::DECIMAL(38, 10) + 123456789012345678.0000000001",
    "DOUBLE": "list_extract(['0', '-0', 'nan', '-nan', '-inf', '2.5'], 1 + c % 6)::DOUBLE",
    "FLOAT": "list_extract(['0', '-0', 'nan', 'inf', '2.5'], 1 + c % 5)::FLOAT",
    "DATE": "DATE '1970-01-02' - (c % 5)::INTEGER",
    "TIME": "TIME '10:00' + to_seconds(c % 5)",
    "TIMESTAMP": "TIMESTAMP '1969-12-31 23:59:59.999998' + to_microseconds(c % 5)",
    "TIMESTAMP_S": "(TIMESTAMP '2024-01-01' + to_seconds(c % 5))::TIMESTAMP_S",
    "TIMESTAMP_NS": "make_timestamp_ns(1704067200123456789 + c % 5)",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ '2024-03-31 00:30:00+00' + to_seconds(c % 5)",
    "BOOLEAN": "c % 3 = 0",
    "INTERVAL": "to_days(c % 5)",
    "JSON": "('[' || c % 4 || ']')::JSON",
    "BLOB": "list_extract(['a', 'b', '\\x00']::BLOB[], 1 + c % 3)",
    "STRUCT": "{'a': c % 3, 'b': ['x']}",
}
"""A type of DuckDB: a value of it for each whole number c."""

BOUNDS = {"l": [2, 3], "max_share": [0.5, 0.75], "t": [0.4, 0.6]}

LEVELS = ["low", "it's high", "a, b", "x"]


def table(con, rng, entity="VARCHAR", confidential="VARCHAR", rows=None):
    """A random table `visits`: a and b to mask, an entity, a confidential column and strata."""
    con.execute("CREATE OR REPLACE TYPE level AS ENUM ('low', 'it''s high', 'a, b', 'x')")
    n = rows or int(rng.integers(12, 160))
    drawn = pl.DataFrame(
        {
            "a": rng.integers(0, 40, n),
            "b": rng.normal(size=n).round(1),
            "e": rng.integers(0, max(4, n // int(rng.integers(1, 5))), n),
            "c": rng.integers(0, 1000, n),
            "none": rng.random(n) < rng.choice([0, 0.3]),
            "s": rng.integers(0, 2, n),
        }
    )
    con.register("drawn", drawn)
    # Entities of a type with few values are told apart by a second column.
    con.execute(
        f"""CREATE OR REPLACE TABLE visits AS SELECT a, b, CASE WHEN s = 0 THEN s END AS s, e AS person,
        (SELECT {COUNTED[entity]} FROM (SELECT e AS c)) AS kind_of_person,
        CASE WHEN NOT "none" THEN {COUNTED[confidential]} END AS dx FROM drawn"""
    )
    con.unregister("drawn")


def frame_of(con):
    """The same rows in Polars: types that Arrow would change are cast as Polars has them."""
    casts = {"HUGEINT": pl.Int128(), "UHUGEINT": pl.UInt128(), "ENUM": pl.Enum(LEVELS)}
    casts["INTERVAL"] = pl.String()
    relation = con.table("visits")
    wide = {
        name: dtype
        for name, type_ in zip(relation.columns, map(str, relation.types), strict=True)
        for start, dtype in casts.items()
        if type_.startswith(start)
    }
    texts = ", ".join(f"{name}::VARCHAR AS {name}" for name in wide)
    frame = (relation.select(f"* REPLACE ({texts})") if wide else relation).pl()
    return frame.with_columns(pl.col(name).cast(dtype) for name, dtype in wide.items())


def sql_of(options):
    """Options of Python as parameters of a macro."""

    def value(it):
        if isinstance(it, (list, tuple)):
            return "[" + ", ".join(map(value, it)) + "]"
        return f"'{it}'" if isinstance(it, str) else "NULL" if it is None else str(it).lower()

    return "".join(f", {name} := {value(it)}" for name, it in options.items())


def result_of(call):
    """What a door gives: its masked values, or the sentence of its error."""
    try:
        return call().select("a", "b")
    except mg.MicroaggError as error:
        return f"{type(error).__name__}: {error}"
    except duckdb.InvalidInputException as error:
        return str(error).partition("UDF: ")[2].partition("\n")[0]


def alike(expected, found):
    """Both are the same values, or the same refusal in two spellings."""
    if isinstance(expected, str) or isinstance(found, str):
        assert isinstance(expected, str), found
        assert isinstance(found, str), expected
        kind = expected.partition(":")[0]
        return kind == found.partition(":")[0] and expected.count(".") == found.count(".")
    return expected.equals(found)


def three_doors(con, columns, k, method, options):
    """The result of Polars, after the macro and the Arrow path were compared with it."""
    frame = frame_of(con)
    ours = result_of(lambda: mg.mask(frame, columns, k, method=method, **options))
    named = sql_of({"method": method} | options)
    query = f"SELECT a, b FROM microagg.mask('visits', {columns}, {k}{named})"
    assert alike(ours, result_of(lambda: con.sql(query).pl())), query
    by_arrow = result_of(
        lambda: mgd.mask(con, "visits", columns, k, method=method, **options).select("a, b").pl()
    )
    assert alike(ours, by_arrow), query
    return ours


@pytest.mark.parametrize("type_", share(COUNTED, 3, 0))
def test_each_type_is_counted_as_polars_counts_it(con, type_):
    rng, masked = np.random.default_rng([*type_.encode()]), 0
    for i in range(rounds(8)):
        table(con, rng, type_, type_)
        options = {"entity": ["person", "kind_of_person"], "entity_mode": "rows"}
        options |= {"confidential": ["dx"], ("l", "t", "max_share")[i % 3]: (2, 0.4, 0.6)[i % 3]}
        masked += not isinstance(three_doors(con, ["a", "b"], 3, "mdav", options), str)
    assert masked


RECORDS = sorted(name for name, entry in registry.methods().items() if entry.unit == "record")


def drawn_options(rng):
    """Options of a call that says what each class must hold."""
    options = {"entity": str(rng.choice(["person", "kind_of_person"]))}
    options["entity_mode"] = str(rng.choice(["rows", "rows", "mean", "alike"]))
    options |= {"confidential": ["dx"]} if rng.random() < 0.7 else {}
    if "confidential" in options:
        chosen = rng.choice(sorted(BOUNDS), int(rng.integers(1, 3)), replace=False)
        options |= {str(name): BOUNDS[name][int(rng.integers(2))] for name in chosen}
        options |= {"t_scale": "ranks"} if "t" in chosen and rng.random() < 0.5 else {}
    options |= {"strata": ["s"]} if rng.random() < 0.5 else {}
    options |= {"refine": True} if rng.random() < 0.3 else {}
    options |= {"small_strata": str(rng.choice(["raise", "null", "drop"]))}
    if (
        options["entity_mode"] == "alike"
        and options["small_strata"] != "null"
        and rng.random() < 0.5
    ):
        options["max_rows_per_entity"] = 2
    return options


def broken(con, masked, k, options):
    """Classes of emitted records that break what was asked, counted in plain SQL."""
    con.register("masked", masked)
    classes = f"""
        WITH classes AS (
            SELECT DENSE_RANK() OVER (ORDER BY a, b{", s" if options.get("strata") else ""}) AS class, *
            FROM masked
        )"""
    found = f"{classes} SELECT count(*) FROM (FROM classes SELECT class GROUP BY class HAVING "
    least = f"count(DISTINCT {options['entity']}) < {k}"
    if "l" in options:
        least += f" OR greatest(count(DISTINCT dx), 1) < {options['l']}"
    bad = con.sql(f"{found}{least})").fetchall()[0][0]
    if "max_share" in options:
        bad += con.sql(
            f"""{classes}, known AS (
                SELECT class, count(*) AS n FROM classes WHERE dx IS NOT NULL GROUP BY class, dx
            ) SELECT count(*) FROM (
                SELECT max(n) / sum(n) AS share FROM known GROUP BY class
            ) WHERE share > {options["max_share"]}"""
        ).fetchall()[0][0]
    if "t" in options:
        # The values are texts, so all are equally far apart: half the sum of differences.
        bad += con.sql(
            f"""{classes}, every AS (FROM (SELECT DISTINCT class FROM classes) CROSS JOIN (
                SELECT dx, count(*) / (SELECT count(*) FROM masked) AS q FROM masked GROUP BY dx
            )), shares AS (
                SELECT class, q,
                    (SELECT count(*) FROM classes AS c
                        WHERE c.class = every.class AND c.dx IS NOT DISTINCT FROM every.dx)
                    / (SELECT count(*) FROM classes AS c WHERE c.class = every.class) AS p
                FROM every
            ) SELECT count(*) FROM (
                SELECT sum(abs(p - q)) / 2 AS far FROM shares GROUP BY class
            ) WHERE far > {options["t"]} + 1e-9"""
        ).fetchall()[0][0]
    return bad


# That every method holds the models is tried without DuckDB, too.
@pytest.mark.parametrize("method", share(RECORDS, 3))
def test_no_class_that_is_released_breaks_what_was_asked(con, method):
    rng, released = np.random.default_rng([*method.encode()]), 0
    for _ in range(rounds(8)):
        table(con, rng)
        k, options = int(rng.integers(2, 5)), drawn_options(rng)
        by_polars = three_doors(con, ["a", "b"], k, method, options)
        if isinstance(by_polars, str):
            continue
        for masked in (
            con.sql(f"FROM microagg.{method}('visits', ['a', 'b'], {k}{sql_of(options)})").pl(),
            mgd.mask(con, "visits", ["a", "b"], k, method=method, **options).pl(),
        ):
            assert broken(con, masked, k, options) == 0
            released += 1
    assert released
