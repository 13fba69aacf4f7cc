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


def test_a_release_that_is_not_what_it_says_is_not_counted(register, tmp_path, microagg):
    for name in "ab":
        released(register, f"{name}.parquet", tmp_path)
    a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pl.read_parquet(b).drop("age").write_parquet(b)
    for one, other in ((a, b), (b, a)):
        done = microagg("verify", one, "--beside", other)
        assert done.code == 4
        assert f"not counted, as {b} is not what its manifest says: " in done.out


def test_the_seal_of_the_second_release_is_checked(register, tmp_path, microagg):
    """Who has no key writes a manifest of a lower k, and takes the seal away."""
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef0123456789abcdef")
    for name in "ab":
        asked = {"keep": "id", "hash_key": key.read_bytes()}
        mg.publish(register, tmp_path / f"{name}.parquet", ["age", "income"], 4, **asked)
    record = tmp_path / "b.parquet.manifest.json"
    manifest = json.loads(record.read_text())
    unsealed = {"seal": None, "input": {**manifest["input"], "of": None, "hmac_sha256": None}}
    record.write_text(json.dumps(manifest | unsealed))
    call = ["verify", tmp_path / "a.parquet", "--beside", tmp_path / "b.parquet", "--key", "id"]
    assert "is not what its manifest says: " not in microagg(*call).out
    done = microagg(*call, "--hash-key-file", key)
    assert done.code == 4
    assert "b.parquet is not what its manifest says: " in done.out
    assert "seal" in done.out.splitlines()[-3]


def test_the_first_manifest_may_be_elsewhere(register, tmp_path, microagg):
    for name in "ab":
        released(register, f"{name}.parquet", tmp_path)
    a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
    record = tmp_path / "other.json"
    (tmp_path / "a.parquet.manifest.json").rename(record)
    done = microagg("verify", a, "--manifest", record, "--beside", b, "--key", "id")
    assert done.code == 0, done.err


def test_what_one_masks_and_the_other_keeps_is_counted(tmp_path, microagg):
    table = pl.DataFrame({"id": range(40), "age": range(40), "pay": [1] * 20 + [9] * 20})
    a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
    mg.publish(table, a, "age", 20, keep="id", drop="pay")
    mg.publish(table, b, "pay", 20, keep=["id", "age"])
    for one, other in ((a, b), (b, a)):
        done = microagg("verify", one, "--beside", other, "--key", "id")
        assert done.code == 4
        assert "40 rows are in classes of fewer than k=20, the smallest of 1\n" in done.out


@pytest.mark.parametrize("roles", [{}, {"entity": "id", "entity_mode": "rows"}])
def test_rows_that_say_that_they_are_in_another_order_need_a_key(roles, tmp_path, microagg):
    table = pl.DataFrame({"id": range(8), "age": [0] * 4 + [1] * 4, "pay": [0, 1] * 4})
    a, b = tmp_path / "a.csv", tmp_path / "b.parquet"
    mg.publish(table, a, "age", 4, keep="id", drop="pay", method=None, **roles)
    mg.publish(
        table.sort("pay", maintain_order=True),
        b,
        "pay",
        4,
        keep="id",
        drop="age",
        method=None,
        **roles,
    )
    done = microagg("verify", a, "--beside", b)
    assert done.code == 3
    assert "Both releases have 'id', and not the same value row by row" in done.err
    assert microagg("verify", a, "--beside", b, "--key", "id").code == 4


def test_text_is_not_cut_to_find_a_key(tmp_path, microagg):
    a, b = tmp_path / "a.csv", tmp_path / "b.parquet"
    for place, key in ((a, [f"{i}.5" for i in range(24)]), (b, range(24))):
        table = pl.DataFrame({"id": pl.Series(key), "age": [0] * 24})
        mg.publish(table, place, "age", 2, keep="id", method=None)
    done = microagg("verify", a, "--beside", b, "--key", "id")
    assert done.code == 3
    assert "None of 24 rows" in done.err


def test_keys_that_cannot_be_compared_are_refused_without_their_values(tmp_path, microagg):
    names = ["Zelda", "Link"]
    for place, key in (
        ("a", [[0], [1]]),
        ("b", ["0", "1"]),
        ("c", pl.Series(names, dtype=pl.Enum(names))),
    ):
        table = pl.DataFrame({"id": pl.Series(key), "age": [0, 0]})
        mg.publish(table, tmp_path / f"{place}.parquet", "age", 2, keep="id", method=None)
    a, b, c = (tmp_path / f"{place}.parquet" for place in "abc")
    done = microagg("verify", a, "--beside", b, "--key", "id")
    assert done.code == 3
    assert "is of type List(Int64) and String, which cannot be compared" in done.err
    done = microagg("verify", b, "--beside", c, "--key", "id")
    assert done.code == 3
    assert "(String and Enum)" in done.err
    assert "Zelda" not in done.err


def test_blocks_that_keep_no_k_together_are_named(register, tmp_path, microagg):
    mg.publish(register, tmp_path / "a.parquet", [["age"], ["income"]], 4, keep="id")
    a = tmp_path / "a.parquet"
    done = microagg("verify", a, "--beside", a, "--key", "id")
    assert done.code == 4
    assert "a.parquet, masked in blocks, has classes of 1 by itself" in done.out
