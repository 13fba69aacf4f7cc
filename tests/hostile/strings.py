"""Random hostile strings as names and as values: the same bits as under plain ones, or our own error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.publishing.manifest.check import check
from tests.duckdb.test_hostile import NAMES as QUERIES
from tests.hostile.doors import error_of
from tests.laws import bits
from tests.publishing.test_hostile import NAMES as PLACES

PIECES = [
    *(
        "\0",
        "\n",
        "\r\n",
        "'",
        '"',
        "''",
        '""',
        "`",
        "\\",
        "🦆",
        "é",
        "e\u0301",
        "\u202e",
        "\u00a0",
        ";",
        "--",
    ),
    *(
        "__mg_",
        "__mg_row",
        "__microagg_",
        "*",
        "^a$",
        "^.*$",
        "(?i)",
        "[",
        "{0}",
        "%s",
        "$1",
        ".",
        "a",
        "A",
    ),
]


def draw(rng: np.random.Generator) -> str:
    """A string out of those that were tried one by one, or one put together."""
    kind = int(rng.integers(3))
    if kind < 2:
        known = (QUERIES, PLACES)[kind]
        return known[int(rng.integers(len(known)))]
    return "".join(PIECES[int(i)] for i in rng.integers(0, len(PIECES), int(rng.integers(0, 5))))


def several(rng: np.random.Generator, count: int) -> list[str]:
    """Strings that differ in more than case."""
    drawn: dict[str, str] = {}
    while len(drawn) < count:
        text = draw(rng)
        drawn.setdefault(text.casefold(), text)
    return list(drawn.values())


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def trial(seed: int, folder: Path) -> list[str]:
    """Mask a table under hostile names at every door, and publish it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    values, parts = several(rng, 3), rng.integers(0, 3, n) * (rng.random() < 0.5)
    columns: dict[str, Any] = {"a": rng.integers(0, 50, n), "b": rng.normal(size=n).round(2)}
    texts = pl.Series([values[int(part)] for part in parts], dtype=pl.String)
    plain = pl.DataFrame(columns | {"s": parts, "kept": np.arange(n)})
    names = several(rng, 4)
    a, b, s, _ = names
    named = plain.with_columns(s=texts).rename(dict(zip(plain.columns, names, strict=True)))
    said = f"columns {names!r}, strata {values!r}"
    try:
        expected = mg.mdav(plain, ["a", "b"], 3, strata="s")
    except mg.TooFewRecordsError:
        return []
    expected = expected.with_columns(s=texts).rename(dict(zip(plain.columns, names, strict=True)))
    doors = {
        "function": lambda: mg.mdav(named, [a, b], 3, strata=s),
        "lazy": lambda: mg.mdav(named.lazy(), [a, b], 3, strata=s).collect(engine="streaming"),
        "publish": lambda: published(named, [a, b], s, folder / f"{seed}.parquet"),
        "mgd.mask": lambda: in_duckdb(named, names, [a, b], s, draw(rng), macro=False),
        "macro": lambda: in_duckdb(named, names, [a, b], s, draw(rng), macro=True),
    }
    wrong = []
    for door, work in doors.items():
        try:
            got = work()
        except (mg.MicroaggError, Impossible) as error:
            # Files and databases may refuse a name; a function has no reason to.
            if door in ("function", "lazy"):
                wrong.append(f"{door} refuses with {type(error).__name__}: {said}")
            continue
        except Exception as error:
            if error_of(error) == "InvalidParameterError":  # a macro refuses in DuckDB's error
                continue
            wrong.append(f"{door} fails with {type(error).__name__} {str(error)[:200]!r}: {said}")
            continue
        if bits(got) != bits(expected):
            wrong.append(f"{door} gives another table: {said}")
    return wrong


class Impossible(Exception):
    """DuckDB itself has no such table, or does not hand it on."""


def in_duckdb(
    frame: pl.DataFrame,
    names: list[str],
    masked: list[str],
    strata: str,
    table: str,
    *,
    macro: bool,
) -> pl.DataFrame:
    with mgd.register(duckdb.connect()) as con:
        con.execute("CREATE TABLE canary AS SELECT 42 AS alive")
        con.register("handed", frame.rename({name: f"c{j}" for j, name in enumerate(names)}))
        written = ", ".join(f"c{j} AS {quoted(name)}" for j, name in enumerate(names))
        try:
            con.execute(f"CREATE TABLE {quoted(table)} AS SELECT {written} FROM handed")
            read = con.table(quoted(table)).pl().columns
        except (duckdb.Error, pl.exceptions.DuplicateError) as error:
            raise Impossible from error
        if read != names:  # Arrow cuts a name at a NUL
            raise Impossible
        if macro:
            query = "FROM microagg.mdav($source, $columns, 3, strata := $strata)"
            given = {"source": quoted(table), "columns": masked, "strata": [strata]}
            found = con.sql(query, params=given).pl()
        else:
            found = mgd.mask(con, quoted(table), masked, 3, strata=strata).pl()
        assert con.execute("FROM canary").fetchall() == [(42,)]
        return found


def published(frame: pl.DataFrame, masked: list[str], strata: str, target: Path) -> pl.DataFrame:
    before = {path.name for path in target.parent.iterdir()}
    kept = [name for name in frame.columns if name not in (*masked, strata)]
    mg.publish(frame, target, masked, 3, strata=strata, keep=kept)
    added = {path.name for path in target.parent.iterdir()} - before
    assert added == {target.name, f"{target.name}.manifest.json"}, added
    assert all(finding.holds for finding in check(target)), [
        f for f in check(target) if not f.holds
    ]
    return pl.read_parquet(target)
