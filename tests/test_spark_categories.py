"""Columns of categories on Spark: the same leaves and bits as on one machine, and what is refused."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from tests.leaves.mixtures import PREFIXES, emitted_rarely, table
from tests.test_spark import read
from tests.test_spark_hostile import pytestmark, session

__all__ = ["pytestmark", "session"]

TREES = {"taxonomy": {"zip": PREFIXES}}
CALLS = {
    "texts": (["sex", "job", "rich"], {}),
    "named": (["code", "day", "job"], {"nominal": ["code"], "ordinal": ["day", "job"]}),
    "a tree": (["zip", "age"], {**TREES, "column_weights": {"zip": 3}}),
    "a tree's median": (["zip", "rich"], {**TREES, "center": "median", "dtype": "float"}),
    "entities": (["job", "zip", "age"], {**TREES, "entity": "who", "entity_mode": "rows"}),
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Records of types that Spark has."""
    path = tmp_path_factory.mktemp("categories") / "in.parquet"
    frame = table(np.random.default_rng(8), 2000).drop("kind", "level", "hour")
    frame.write_parquet(path, row_group_size=300)
    return path


@pytest.mark.parametrize("name", CALLS)
def test_the_same_leaves_and_bits_as_on_one_machine(session, file, tmp_path, name):
    from polars_microagg.spark import fit, protect, verify

    columns, options = CALLS[name]
    options = {"size": 100, **options}
    leaves = mg.protect_parquet(file, tmp_path / "one.parquet", columns, 4, **options)
    one = pl.read_parquet(tmp_path / "one.parquet")
    assert len(leaves) > 3
    mixed = session.read.parquet(str(file)).repartition(5)
    assert fit(mixed, columns, 4, **options).to_json() == leaves.to_json()
    masked = protect(mixed, columns, 4, **options)
    assert [f.dataType for f in masked.schema if f.name not in ("age", *columns)] == [
        f.dataType for f in mixed.schema if f.name not in ("age", *columns)
    ]
    masked.write.parquet(str(tmp_path / "many"))
    written = read(tmp_path / "many")
    assert written.equals(one)
    assert written.schema == one.schema
    verify(session.read.parquet(str(tmp_path / "many")), columns, 4)
    before = pl.read_parquet(file)
    assert not emitted_rarely(before, written, columns, 4, options)
    few = mixed.where("id % 3 = 0")
    again = pl.DataFrame(protect(few, columns, 4, leaves=leaves).toArrow()).sort("id")
    assert again.equals(leaves.mask(before.filter(pl.col("id") % 3 == 0)))


def test_what_is_refused_is_refused_before_anything_is_masked(session, file):
    from polars_microagg.spark import fit, protect

    df = session.read.parquet(str(file))
    odd = df.selectExpr("if(id % 900 = 1, 'x', zip) AS zip")
    with pytest.raises(mg.InvalidDataError, match="1 distinct value.* 'zip' are not in its tax"):
        fit(odd, ["zip"], 4, **TREES)
    holes = df.selectExpr("if(id % 900 = 1, null, job) AS job")
    with pytest.raises(mg.MissingValuesError, match="'job' has 3 null.* Use nulls='impute'"):
        protect(holes, ["job"], 4)
    names = df.selectExpr("cast(id AS string) AS name")
    with pytest.raises(
        mg.InvalidDataError, match="2000 of 2000 values in categories that fewer than 4 "
    ):
        protect(names, ["name"], 4)
    texts = df.selectExpr("age", "cast(id div 2 AS string) AS pay", "id div 2 AS who")
    for who in ({}, {"entity": "who", "entity_mode": "rows"}):
        with pytest.raises(mg.InvalidDataError) as whole:
            mg.mdav(texts.toPandas().pipe(pl.from_pandas), ["age", "pay"], k=4, **who)
        with pytest.raises(mg.InvalidDataError) as error:
            protect(texts, ["age", "pay"], 4, **who)
        assert str(error.value) == str(whole.value)
        assert "cast them" in str(error.value)
    # One leaf of a small table knows nothing of its columns.
    leaves = mg.fit_leaves(pl.read_parquet(file), ["job"], 4, size=100)
    with pytest.raises(mg.NotNumericError, match="fitted to another kind of column"):
        protect(df.selectExpr("age AS job"), ["job"], 4, leaves=leaves)


def test_a_column_without_nulls_may_get_them(session, tmp_path):
    from polars_microagg.spark import protect

    job = "coalesce(concat('job ', if(id < 140, id div 3, -1)), '') AS job"
    df = session.range(300).selectExpr("id", job, "id % 2 = 0 AS even")
    assert not df.schema["job"].nullable
    masked = protect(df, ["job", "even"], 5, size=50)
    assert masked.schema["job"].nullable
    # Jobs below 140 have three records each, and come out as none or as the common one.
    source, target = tmp_path / "jobs.parquet", tmp_path / "masked.parquet"
    pl.from_pandas(df.toPandas()).write_parquet(source)
    mg.protect_parquet(source, target, ["job", "even"], 5, size=50)
    empty = pl.read_parquet(target)["job"].null_count()
    assert 0 < empty <= 140
    assert masked.where("job IS NULL").count() == empty
    assert masked.where("even IS NULL").count() == 0
