"""`microagg verify A --beside B` where a release counts persons: whose the rows of both are."""

import datetime as dt
import json
import random
from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

ROWS = 120


@pytest.fixture
def visits():
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "visit": range(ROWS),
            "patient": [f"p{i // 6}" for i in range(ROWS)],
            "age": np.repeat(rng.integers(18, 90, ROWS // 6), 6),
            "income": rng.lognormal(10, 0.5, ROWS).round(),
        }
    )


def persons_in_smallest(frames, tables):
    """The fewest persons who share the values of both releases, counted plainly."""
    seen = {}
    for row in zip(*(t.select("age", "income").rows() for t in tables), frames, strict=True):
        seen.setdefault(row[:-1], set()).add(row[-1])
    return min(map(len, seen.values()))


@pytest.mark.parametrize("keeps", [("patient", "patient"), ("patient", None), (None, "patient")])
def test_persons_are_counted_where_a_release_counts_them(visits, tmp_path, microagg, keeps):
    tables = []
    for name, k, kept in zip("ab", (3, 4), keeps, strict=True):
        columns = ["visit", "age", "income", "patient"]
        options = {
            "entity": "patient",
            "keep": ["visit", *([kept] if kept else [])],
            "entity_mode": "rows",
        }
        mg.publish(
            visits.select(columns), tmp_path / f"{name}.parquet", ["age", "income"], k, **options
        )
        tables.append(pl.read_parquet(tmp_path / f"{name}.parquet"))
    least = persons_in_smallest(visits["patient"], tables)
    assert least < 3
    done = microagg(
        "verify", tmp_path / "a.parquet", "--beside", tmp_path / "b.parquet", "--key", "visit"
    )
    assert done.code == 4
    assert f"fewer than k=3 persons, the smallest of {least}\n" in done.out


@pytest.mark.parametrize("mode", ["rows", "alike"])
def test_persons_have_the_same_rows_where_a_release_says_so(tmp_path, microagg, mode):
    """Persons 0 to 7 with two visits: the first tells one bit of each in a, the second the others in b."""
    visit = pl.col("visit")
    people = pl.DataFrame({"patient": [*range(8)] * 2, "visit": range(16)})
    first, bit, others = visit < 8, visit % 2, visit % 8 // 2
    asked = {"entity": "patient", "keep": ["visit", "patient"], "entity_mode": mode, "method": None}
    for name, age in (
        ("a", pl.when(first).then(bit).otherwise(50)),
        ("b", pl.when(first).then(1).otherwise(others)),
    ):
        mg.publish(people.with_columns(age=age), tmp_path / f"{name}.parquet", "age", 2, **asked)
    call = ["verify", tmp_path / "a.parquet", "--beside", tmp_path / "b.parquet", "--key", "visit"]
    done = microagg(*call)
    if mode == "rows":
        assert done.code == 0
        assert "the smallest class has 2 persons\n" in done.out
    else:
        assert done.code == 4
        assert "8 persons have the same rows as fewer than k=2 persons\n" in done.out


def test_persons_of_whom_no_release_tells_are_not_checked(visits, tmp_path, microagg):
    for name in "ab":
        mg.publish(
            visits,
            tmp_path / f"{name}.parquet",
            ["age", "income"],
            3,
            entity="patient",
            keep="visit",
        )
    call = ["verify", tmp_path / "a.parquet", "--beside", tmp_path / "b.parquet", "--json"]
    told = json.loads(microagg(*call).out)["checks"][-1]
    assert told["holds"]
    assert not told["checked"]
    assert "the releases do not tell whose all rows are" in told["says"]


@pytest.fixture
def judged(tmp_path, microagg):
    """Release two tables as they are, by a role each, and say what is said of both."""

    def of(one, other, roles, *, k=2, key=("--key", "visit"), forms=("parquet", "parquet")):
        places = []
        for name, table, role, form in zip("ab", (one, other), roles, forms, strict=True):
            places.append(tmp_path / f"{name}.{form}")
            mg.publish(table, places[-1], "age", k, method=None, **role)
        done = microagg("verify", places[0], "--beside", places[1], *key, "--json")
        assert done.code in (0, 4), done.err
        told = json.loads(done.out)["checks"][-1]
        assert told["holds"] == (done.code == 0)
        return told

    return of


def role(entity, mode, *keep, **others):
    return {"entity": entity, "entity_mode": mode, "keep": list(keep), **others}


def plainly(one, other, mode):
    """The fewest persons of a class, or with the same rows, of two tables of the same persons."""
    seen = [
        {visit: (who, age) for visit, who, age in t.select("visit", "patient", "age").rows()}
        for t in (one, other)
    ]
    rows = defaultdict(list)
    for visit in seen[0].keys() | seen[1].keys():
        met = [table.get(visit) for table in seen]
        who = next(m[0] for m in met if m)
        rows[who].append(tuple(None if m is None else m[1] for m in met))
    classes = defaultdict(set)
    for who, own in rows.items():
        for row in own:
            classes[row].add(who)
    fewest = min(map(len, classes.values()))
    if mode == "alike":
        fewest = min(
            fewest, *Counter(tuple(sorted(own, key=repr)) for own in rows.values()).values()
        )
    return fewest


@pytest.mark.parametrize("mode", ["rows", "alike"])
@pytest.mark.parametrize("seed", range(12))
def test_persons_are_those_of_a_plain_count(seed, mode, judged):
    """Of six persons with two visits; of which the second release lacks some, has others, and other names."""
    draw = random.Random(seed)
    people = pl.DataFrame({"visit": range(12), "patient": [i % 6 for i in range(12)]})

    def drawn(table):
        pairs = [0, 0, 1, 1, 2, 2]
        draw.shuffle(pairs)
        groups = [pairs, pairs] if mode == "alike" else [pairs, draw.sample(pairs, 6)]
        age = [groups[v // 6][p] if v < 12 else 7 for v, p in table.rows()]
        return table.with_columns(age=pl.Series(age, dtype=pl.Int64))

    one = drawn(people)
    more = pl.DataFrame({"visit": range(12, 18), "patient": range(6)})
    table = pl.concat([people, more]) if seed % 2 else people.filter(pl.col("visit") < 6)
    other = drawn(table) if seed % 4 else drawn(table).with_columns(age=pl.lit(3, pl.Int64))
    expected = plainly(one, other, mode)
    if seed % 3 == 1:
        other = other.with_columns(patient=pl.format("who{}", pl.col("patient") * 5 % 6))
    elif seed % 3 == 2:
        other = other.rename({"patient": "pid"})
    name = other.columns[1]
    roles = role("patient", mode, "visit", "patient"), role(name, mode, "visit", name)
    for pair in ((one, other), (other, one)):
        told = judged(*pair, roles if pair[0] is one else roles[::-1])
        assert told["checked"]
        assert told["holds"] == (expected >= 2), (told, expected)


BITS = [p % 2 for p in range(8)]
FIRST = pl.DataFrame({"visit": range(8), "patient": range(8), "house": 0, "age": BITS})
SECOND = pl.concat(
    [
        FIRST.with_columns(age=pl.lit(7, pl.Int64)),
        FIRST.with_columns(visit=pl.col("visit") + 8, age=pl.col("patient") // 2),
    ]
)


@pytest.mark.parametrize(
    "named",
    [
        pl.col("patient"),
        pl.col("patient").cast(pl.Float64),
        pl.col("patient").cast(pl.Decimal(10, 2)),
        pl.format("00{}", "patient").alias("patient"),
        pl.format("x{}", 7 - pl.col("patient")).alias("patient"),
    ],
)
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_person_by_two_names_is_one(named, form, judged):
    """A row of both says who is who; each person alone has a bit of the first and two of the second."""
    asked = role("patient", "alike", "visit", "patient", drop="house")
    told = judged(FIRST, SECOND.with_columns(named), (asked, asked), forms=("parquet", form))
    assert not told["holds"]
    assert "8 persons have the same rows as fewer than k=2 persons" in told["says"]


@pytest.mark.parametrize("entity", [["patient", "house"], ["house", "patient"]])
def test_columns_of_persons_are_the_same_in_any_order(entity, judged):
    # Rows of both say it of 0 and 2 only, and of the others the names: 4 and 1 are alike in the second.
    first = role(["patient", "house"], "alike", "visit", "patient", "house")
    alone = FIRST.with_columns(visit=pl.col("visit") + 10, age=pl.Series([0, 1, 0, 2, 1, 3, 2, 3]))
    second = pl.concat([alone, FIRST[0:3:2].with_columns(age=pl.lit(9, pl.Int64))])
    told = judged(FIRST, second, (first, role(entity, "rows", "visit", "patient", "house")))
    assert "4 persons have the same rows as fewer than k=2 persons" in told["says"]


def test_each_release_counts_its_own_persons(judged):
    """A visit is a person of the second release, and half of one of the first."""
    table = pl.DataFrame({"visit": range(16), "patient": [i // 2 for i in range(16)]})
    one = table.with_columns(age=pl.col("visit") // 4)
    other = table.with_columns(age=(pl.col("visit") // 2 + 1) // 2 % 4)
    roles = (
        role("patient", "rows", "visit", "patient"),
        role("visit", "rows", "visit", drop="patient"),
    )
    for told in (judged(one, other, roles), judged(other, one, roles[::-1])):
        assert "16 rows are in classes of fewer than k=2 persons, the smallest of 1" in told["says"]


def test_rows_of_unknown_persons_do_not_hide_the_others(judged):
    table = pl.DataFrame({"visit": range(16), "patient": [f"p{i // 2}" for i in range(16)]})
    one = table.with_columns(age=pl.col("visit") // 4)
    other = table.with_columns(age=(pl.col("visit") // 2 + 1) // 2 % 4)
    more = pl.DataFrame({"visit": [100, 101], "patient": ["x", "y"], "age": [99, 99]})
    hidden, shown = (
        {"entity": "patient", "keep": "visit"},
        role("patient", "rows", "visit", "patient"),
    )
    told = judged(pl.concat([one, more]), other, (hidden, shown))
    assert "16 rows are in classes of fewer than k=2 persons" in told["says"]
    told = judged(pl.concat([one, more]), one, (hidden, shown))
    assert told["holds"]
    assert not told["checked"]


@pytest.mark.parametrize(
    "people",
    [
        [bytes([255, i // 2]) for i in range(24)],
        [dt.timedelta(seconds=i // 2) for i in range(24)],
        [[i // 2] for i in range(24)],
        [0.0, -0.0, *(float(i // 2) for i in range(2, 24))],
    ],
    ids=["binary", "duration", "list", "zeros"],
)
def test_persons_of_any_type(people, judged):
    table = pl.DataFrame({"visit": range(24), "age": [i // 4 for i in range(24)], "who": people})
    asked = role("who", "rows", "visit", "who")
    assert (
        judged(table, table, (asked, asked))["says"]
        == "side by side, the smallest class has 2 persons"
    )
    other = table.with_columns(age=(pl.col("visit") + 2) // 4 % 6)
    assert "the smallest of 1" in judged(table, other, (asked, asked))["says"]
