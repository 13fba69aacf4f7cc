"""`microagg verify A --beside B`: what two releases of the same people tell together."""

import json

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

ROWS = 120


@pytest.fixture
def register():
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(ROWS)],
            "age": rng.integers(18, 90, ROWS),
            "income": rng.lognormal(10, 0.5, ROWS).round(),
        }
    )


def released(frame, name, folder, k=4, **options):
    """A release that keeps the pseudonym, and its masked values."""
    mg.publish(frame, folder / name, ["age", "income"], k, keep="id", **options)
    return mg.mdav(frame, ["age", "income"], k=k, **options)


def counted(one, other):
    """The rows in classes of fewer than four, counted plainly: who share the values of both releases."""
    pairs = list(
        zip(one.select("age", "income").rows(), other.select("age", "income").rows(), strict=True)
    )
    return sum(pairs.count(pair) < 4 for pair in pairs), min(map(pairs.count, pairs))


@pytest.mark.parametrize("key", [[], ["--key", "id"]])
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_two_maskings_tell_more_than_each(register, tmp_path, microagg, key, form):
    one = released(register, "a.parquet", tmp_path)
    other = released(register, f"b.{form}", tmp_path, k=5)
    few, least = counted(one, other)
    assert few > 50
    call = ["verify", tmp_path / "a.parquet", "--beside", tmp_path / f"b.{form}", *key]
    done = microagg(*call)
    assert done.code == 4
    assert f"{few} rows are in classes of fewer than k=4, the smallest of {least}" in done.out
    assert "a.parquet is what its manifest says" in done.out
    assert "together do not keep k" in done.out
    told = json.loads(microagg(*call, "--json").out)
    assert not told["holds"]
    assert [one["check"] for one in told["checks"] if not one["holds"]] == ["beside"]


def test_the_same_values_again_in_any_order_and_new_people_are_no_harm(
    register, tmp_path, microagg
):
    masked = released(register, "a.parquet", tmp_path)
    new = register.with_columns(id=pl.format("q{}", "id")).head(40)
    grown = pl.concat([masked, mg.mdav(new, ["age", "income"], k=4)]).sample(
        fraction=1, shuffle=True, seed=1
    )
    mg.publish(grown, tmp_path / "b.parquet", ["age", "income"], 4, keep="id", method=None)
    call = ["verify", tmp_path / "a.parquet", "--beside", tmp_path / "b.parquet"]
    done = microagg(*call, "--key", "id")
    assert done.code == 0
    assert "side by side, the smallest class has" in done.out
    assert "together keep k" in done.out
    # By their order rows of tables of other lengths do not belong together.
    alone = microagg(*call)
    assert alone.code == 3
    assert "Name a column that identifies a row in both with --key." in alone.err


def test_who_is_in_one_release_only_is_told_by_that(register, tmp_path, microagg):
    masked = released(register, "a.parquet", tmp_path)
    # One of a class is left out, and is alone among those who are not in the second release.
    mg.publish(masked[1:], tmp_path / "b.parquet", "age", 2, keep=["id", "income"], method=None)
    done = microagg(
        "verify", tmp_path / "a.parquet", "--beside", tmp_path / "b.parquet", "--key", "id"
    )
    assert done.code == 4
    assert "the smallest of 1" in done.out


def test_what_is_refused(register, tmp_path, microagg):
    released(register, "a.parquet", tmp_path)
    masked = released(register, "b.parquet", tmp_path)
    masked.write_parquet(tmp_path / "c.parquet")
    a, b, c = (tmp_path / f"{name}.parquet" for name in "abc")
    for words, code, said in [
        (["--key", "id"], 2, "--key id was given without --beside"),
        (["--beside", b, "--memory", "2GB"], 2, "cannot honour --memory 2GB"),
        (["--beside", b, "--columns", "age", "--k", "3"], 2, "cannot honour --columns age"),
        (["--beside", b, "--key", "age"], 3, "row(s) of a release repeat a --key"),
        (["--beside", b, "--key", "zip"], 3, "--key names 'zip'"),
        (["--beside", c, "--key", "id"], 3, "c.parquet.manifest.json' cannot be read"),
        (["--beside", c], 3, "of two releases each needs its own"),
        (["--beside", "-"], 3, "Write it to a file, with its manifest beside it"),
        (["--beside", tmp_path / "d.parquet"], 3, "there is no such file"),
    ]:
        done = microagg("verify", a, *words)
        assert done.code == code, done.err
        assert said in done.err


KEYS = pl.Series("id", range(ROWS))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (KEYS, KEYS.cast(pl.Float64)),
        (KEYS, KEYS.cast(pl.Decimal(10, 2))),
        (KEYS, KEYS.cast(pl.UInt8)),
        (KEYS, KEYS.cast(pl.String)),
        (KEYS, KEYS.cast(pl.String).str.zfill(6)),
        (KEYS.cast(pl.String), KEYS.cast(pl.String).cast(pl.Categorical)),
        (KEYS.cast(pl.Datetime("ms")), KEYS.cast(pl.Datetime("ms")).cast(pl.Datetime("ns"))),
        (KEYS.cast(pl.Date), KEYS.cast(pl.Date).cast(pl.Datetime("us"))),
    ],
)
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_key_is_found_in_any_type(register, tmp_path, microagg, one, other, form):
    first, second = register.with_columns(one), register.with_columns(other)
    few, least = counted(
        released(first, "a.parquet", tmp_path), released(second, f"b.{form}", tmp_path, k=5)
    )
    call = ["verify", tmp_path / "a.parquet", "--beside", tmp_path / f"b.{form}", "--key", "id"]
    done = microagg(*call)
    assert done.code == 4, done.err
    assert f"{few} rows are in classes of fewer than k=4, the smallest of {least}\n" in done.out


def test_rows_that_do_not_match_are_told_and_none_is_refused(register, tmp_path, microagg):
    released(register, "a.parquet", tmp_path)
    others = register.with_columns(id=pl.format("q{}", "id"))
    half = pl.concat([register.head(60), others.tail(40)])
    released(half, "b.parquet", tmp_path)
    released(others, "c.parquet", tmp_path)
    a, b, c = (tmp_path / f"{name}.parquet" for name in "abc")
    assert (
        "60 of 120 and 100 rows are in both"
        in microagg("verify", a, "--beside", b, "--key", "id").out
    )
    done = microagg("verify", a, "--beside", c, "--key", "id")
    assert done.code == 3
    assert "None of 120 rows of a release has the --key of one of 120 rows" in done.err


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
    assert "the releases do not tell whose the rows are" in told["says"]


def test_a_release_that_is_not_what_it_says_is_not_counted(register, tmp_path, microagg):
    for name in "ab":
        released(register, f"{name}.parquet", tmp_path)
    a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pl.read_parquet(b).drop("age").write_parquet(b)
    for one, other in ((a, b), (b, a)):
        done = microagg("verify", one, "--beside", other)
        assert done.code == 4
        assert f"not counted, as {b} is not what its manifest says" in done.out
