"""Strata, nulls, blocks and roles on Spark: what one machine makes, and refused before there is a result."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg import spark as door
from tests.spark_sessions import ENGINES
from tests.test_spark_hostile import pytestmark, session

__all__ = ["pytestmark", "session"]

ROOT = Path(__file__).parents[1]


def visits(n=700, seed=0):
    """Records in a few large strata and many small ones, with holes, ties and names with dots."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "id": np.arange(n),
            "a.b": rng.normal(size=n).round(1),
            "pay": rng.integers(0, 5, n),
            "job": [["cook", "clerk", "smith"][v] for v in rng.integers(0, 3, n)],
            "s.t": [f"s{v}" for v in rng.geometric(0.2, n)],
            "zero": rng.choice([0.0, -0.0], n),
            "who": [f"p{v}" for v in rng.integers(0, n // 2, n)],
            "sick": [["flu", "ok", "gout", None][v] for v in rng.integers(0, 4, n)],
        }
    )
    return frame.with_columns(pl.when(pl.Series(rng.random(n) > 0.1)).then("a.b").alias("a.b"))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("strata") / "in.parquet"
    visits().write_parquet(path)
    return path


STRATA = {"size": 60, "strata": "s.t", "nulls": "impute"}
ROWS = {"entity": "who", "entity_mode": "rows"}
CALLS = {
    "dropped": (["a.b", "pay"], {**STRATA, "small_strata": "drop"}),
    "emptied by pattern": (
        ["a.b", "pay"],
        {"size": 60, "strata": ["s.t", "zero"], "nulls": "pattern", "small_strata": "null"},
    ),
    "refused": (["a.b", "pay"], STRATA),
    "blocks": ([["a.b"], ["pay", "job"]], {**STRATA, "small_strata": "null", "dtype": "float"}),
    "blocks of kinds": (
        [["pay", "a.b"], ["job", "zero"]],
        {
            "size": 60,
            "nulls": "impute",
            "nominal": "pay",
            "ordinal": "job",
            "column_weights": {"job": 3},
        },
    ),
    "ordered by what a block masks": (
        [["a.b"], ["pay"], ["job"]],
        {**STRATA, "small_strata": "drop", "order_by": ["pay", "id"]},
    ),
    "patterns of blocks": ([["a.b"], ["pay"]], {"size": 60, "nulls": "pattern"}),
    "values": (["a.b", "pay"], {**STRATA, "small_strata": "drop", "method": "univariate"}),
    "persons": (["a.b", "pay"], {**STRATA, **ROWS, "small_strata": "null"}),
    "persons refused": (["a.b", "pay"], {**STRATA, **ROWS}),
    "secrets": (
        ["a.b", "job"],
        {**STRATA, "small_strata": "null", "confidential": "sick", "l": 2, "t": 0.5},
    ),
    "secrets refused": (["a.b"], {**STRATA, "confidential": "sick", "max_share": 0.3}),
    "secrets of strata refused": (["a.b"], {**STRATA, "confidential": "sick", "l": 3}),
}


BOTH = {"emptied by pattern", "blocks", "blocks of kinds", "persons refused", "secrets"}
"""Those that are tried on Spark of the classic kind, too."""


def outcome(call):
    """The result of a call, or the sentence by which it is refused."""
    try:
        return call()
    except mg.MicroaggError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", CALLS)
def test_leaves_rows_types_and_refusals_are_those_of_one_machine(session, file, tmp_path, name):
    if "connect" not in type(session).__module__ and name not in BOTH:
        pytest.skip("tried on Spark Connect, in a tenth of the time")
    columns, options = CALLS[name]
    path = tmp_path / "one.parquet"
    leaves = outcome(lambda: mg.protect_parquet(file, path, columns, 4, **options))
    df = session.read.parquet(str(file)).repartition(5)
    # What is refused is refused here, not when the result is used.
    masked = outcome(lambda: door.protect(df, columns, 4, **options))
    assert ("refused" in name) == isinstance(leaves, str)
    if isinstance(leaves, str):
        assert masked == leaves
        return
    assert door.fit(df, columns, 4, **options) == leaves
    one, many = pl.read_parquet(path), pl.DataFrame(masked.toArrow()).sort("id")
    # As Python objects, in which -0.0 is not 0.0.
    assert (many.schema, repr(many.rows())) == (one.schema, repr(one.rows()))
    again = door.protect(df, columns, 4, leaves=leaves)
    assert pl.DataFrame(again.toArrow()).sort("id").equals(one)
    own = {k: v for k, v in options.items() if k in ("entity", "confidential", "l", "t")}
    blocks = [list(one.columns) for one in ([leaves] if isinstance(leaves, mg.Leaves) else leaves)]
    door.verify(masked, blocks, 4, strata=options.get("strata"), **own)


def test_columns_that_may_be_emptied_may_be_null_afterwards(session):
    df = session.range(200).selectExpr("id", "coalesce(id % 40, 0) AS age", "if(id < 5, 1, 0) AS s")
    assert not df.schema["age"].nullable
    told = {}
    for small in ("null", "drop", "raise"):
        masked = door.protect(df, "age", 4, strata="s", small_strata=small)
        assert masked.count() == 200
        told[small] = [masked.schema[name].nullable for name in ("id", "age", "s")]
    if "connect" not in type(session).__module__:
        assert told.pop("drop") == told.pop("raise") == [False, False, False]
        assert told["null"][0] is False
    # After a function of Python, pysail says of every column that it may be null.
    assert all(of[1:] == [True, True] for of in told.values())


def test_emptied_rows_are_counted_over_all_leaves_before_there_is_a_result(session):
    # Two strata of two records each, in different leaves: four rows are emptied.
    key = "if(id < 200, concat('s', id div 40), if(id < 202, 'p', 'q')) AS s"
    df = session.range(204).selectExpr("id", key, "id * 7 % 31 AS x").repartition(3)
    call = {"size": 20, "strata": "s", "small_strata": "null"}
    assert door.protect(df, "x", 4, **call).where("s IS NULL AND x IS NULL").count() == 4
    with pytest.raises(mg.TooFewRecordsError, match="would empty 4 record"):
        door.protect(df, "x", 5, **call)
    with pytest.raises(mg.TooFewRecordsError, match="2 of 7 strata have fewer than k=4 records"):
        door.protect(df, "x", 4, **{**call, "small_strata": "raise"})


@pytest.mark.parametrize("of", ["persons", "shares", "secrets"])
def test_models_of_emptied_rows_are_counted_over_all_leaves(session, tmp_path, of):
    # Emptied together: eight rows of two strata, of six persons, who have the flu or a cold.
    few = "id >= 200"
    df = session.range(208).selectExpr(
        "id",
        "id * 7 % 31 AS x",
        f"if({few}, concat('t', id % 2), concat('s', id div 40)) AS s",
        f"if({few}, concat('w', least(id, 205)), concat('p', id)) AS who",
        f"if({few}, if(id % 2 = 0, 'flu', 'cold'), if(id % 3 = 0, 'flu', 'ok')) AS sick",
    )
    pl.DataFrame(df.toArrow()).sort("id").write_parquet(tmp_path / "in.parquet")
    call = {"size": 20, "strata": "s", "small_strata": "null"}
    # One of the six has three of the eight rows.
    shares = [(6, {**ROWS, "max_entity_share": share}) for share in (0.375, 0.37)]
    persons = {"persons": [(6, ROWS), (7, ROWS)], "shares": shares}
    secret = {"confidential": "sick"}
    secrets = {"secrets": [(5, {**secret, "l": 2}), (5, {**secret, "max_share": 0.4})]}
    told = []
    for k, model in (persons | secrets)[of]:
        files = tmp_path / "in.parquet", tmp_path / "out.parquet"
        one = outcome(lambda: mg.protect_parquet(*files, "x", k, **call, **model))  # noqa: B023
        many = outcome(lambda: door.protect(df, "x", k, **call, **model))  # noqa: B023
        told.append(isinstance(one, str))
        if told[-1]:
            assert many == one
        else:
            assert many.where("s IS NULL AND x IS NULL").count() == 8
    assert told == [False, True]


def test_columns_have_the_roles_of_a_release(session, file):
    df = session.read.parquet(str(file))
    call = {**STRATA, **ROWS, "small_strata": "drop", "order_by": "id"}
    whole = pl.DataFrame(door.protect(df, "a.b", 4, **call).toArrow()).sort("id")
    roles = {"keep": ["job", "zero"], "drop": ["id", "sick", "pay"]}
    few = door.protect(df, "a.b", 4, **roles, **call)
    assert few.columns == ["a.b", "job", "s.t", "zero"]
    released = pl.DataFrame(few.toArrow())
    # What is dropped still tells equal records apart, so no bit changes.
    assert sorted(map(repr, released.rows())) == sorted(map(repr, whole.select(few.columns).rows()))
    followed = door.protect(df, "a.b", 4, keep=["who", "job", "zero"], drop=roles["drop"], **call)
    assert followed.columns == ["a.b", "job", "s.t", "zero", "who"]
    with pytest.raises(mg.InvalidParameterError, match="'zero'.* no role|no role.*'zero'"):
        door.protect(df, "a.b", 4, keep=["job"], drop=roles["drop"], **call)
    with pytest.raises(mg.InvalidParameterError, match="'a.b'"):
        door.protect(df, "a.b", 4, keep="a.b", drop=roles["drop"], **call)


def test_leaves_of_other_blocks_or_calls_are_refused(session, file):
    df, frame = session.read.parquet(str(file)), visits()
    call = {**STRATA, "small_strata": "drop"}
    one, other = (mg.fit_leaves(frame, name, 4, **call) for name in ("a.b", "pay"))
    loose = mg.fit_leaves(frame, "pay", 4, **(call | {"strata": "zero"}))
    assert door.protect(df, [["a.b"], ["pay"]], 4, leaves=[one, other]).columns == df.columns
    for columns, leaves in (
        ([["a.b"], ["pay"]], one),
        ([["a.b"], ["pay"]], [other, one]),
        ("a.b", [one, other]),
        ([["a.b"], ["pay"]], [one, loose]),
        ("a.b", []),
    ):
        with pytest.raises(mg.InvalidParameterError, match="leaves="):
            door.protect(df, columns, 4, leaves=leaves)


VERIFIED = [
    ("y", 5, {}),
    ("y", 80, {}),
    ("zero", 4, {}),
    ("w", 4, {}),
    ("y", 5, {"strata": "s.t"}),
    ("y", 5, {"strata": "job"}),
    ("y", 8, {"entity": "e"}),
    ("y", 7, {**ROWS, "entity": "e"}),
    ("y", 5, {"confidential": "sick", "l": 4}),
    ("y", 5, {"confidential": ["sick", "job"], "max_share": 0.3}),
    ("y", 5, {"confidential": "sick", "t": 0.1}),
    ("y", 5, {"confidential": "e", "t": 0.05, "t_scale": "ranks", "entity": "who"}),
    ("y", 3, {"entity": "e", "strata": "job", "confidential": "sick", "l": 3}),
    ([["y"], ["id"]], 2, {}),
    ("w", 4, {"confidential": "sick", "l": 2}),
    ("y", 5, {"entity": "a.b"}),
    ("y", 5, {"share": 2}),
    ("y", 5, {"l": 2}),
    ("y", 5, {"strata": "t"}),
]


def test_verify_counts_what_one_machine_counts(session):
    frame = visits().with_columns(
        y=pl.col("id") // 50,
        w=pl.when(pl.col("id") < 3).then(-0.0).otherwise(0.0),
        e=pl.col("id") % 7,
    )
    df = session.createDataFrame(frame.to_arrow()).repartition(3)
    told = set()
    for columns, k, options in VERIFIED:
        one = outcome(lambda: mg.verify(frame, columns, k, **options))  # noqa: B023
        assert outcome(lambda: door.verify(df, columns, k, **options)) == one, options  # noqa: B023
        told.add(str(one)[:30])
    assert len(told) > 5
    with pytest.raises(mg.InvalidParameterError, match="cannot honour entity_mode='alike'"):
        door.verify(df, "y", 5, entity="e", entity_mode="alike")


@pytest.mark.parametrize("engine", [pytest.param("classic", marks=pytest.mark.spark), "connect"])
def test_the_example_releases_what_it_says(engine, tmp_path):
    if not ENGINES[engine]:
        pytest.skip("needs pyspark, and Java 17 or pysail: pip install pysail 'pyspark[connect]'")
    command = [sys.executable, ROOT / "examples" / "etl_spark.py", tmp_path, "--rows", "3000"]
    done = subprocess.run(
        command + ["--remote"] * (engine == "connect"),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    before, after = (
        pl.read_parquet(tmp_path / name)
        for name in ("patients_spark.parquet", "patients_spark_masked/*.parquet")
    )
    masked = ["age", "income", "weight", "visits"]
    mg.verify(after, masked, k=5, strata="region.code")
    assert after.height == before.height == 3000
    assert after.columns == [name for name in before.columns if name != "patient_id"]
    assert not after["region.code"].is_in(["Ellen", "Furt"]).any()
    assert after["weight"].null_count() == after["region.code"].null_count() == 6
