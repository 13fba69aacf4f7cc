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
    ]:
        done = microagg("verify", a, *words)
        assert done.code == code, done.err
        assert said in done.err
