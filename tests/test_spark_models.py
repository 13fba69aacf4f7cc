"""Privacy models on Spark: the same leaves and bits as on one machine, and what is refused."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.leaves import spark_merging
from tests.leaves.model_counts import held
from tests.models import spark_hostile
from tests.test_spark import read
from tests.test_spark_hostile import pytestmark, session

__all__ = ["pytestmark", "session"]

COLUMNS = ["age", "income"]
CALLS = {
    "entity": {"entity": ["who"], "entity_mode": "rows"},
    "share of a person": {"entity": ["who"], "entity_mode": "rows", "max_entity_share": 0.4},
    "l": {"confidential": ["sick"], "l": 3},
    "share and t": {"confidential": ["sick", "wage"], "max_share": 0.6, "t": 0.3},
    "all": {
        "entity": ["who", "day"],
        "entity_mode": "rows",
        "confidential": ["wage", "sick"],
        "l": 2,
        "t": 0.4,
        "t_scale": "ranks",
    },
}


def visits(n=3000, seed=0):
    """Visits of people, of which neighbours in age have the same sickness."""
    rng = np.random.default_rng(seed)
    age = np.sort(rng.integers(18, 95, n))
    near = np.where(rng.random(n) < 0.7, age // 20, rng.integers(0, 5, n))
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "age": age,
            "income": np.round(rng.lognormal(3, 1, n), 1),
            "who": [f"p{v}" for v in np.arange(n) // 80],
            "day": pl.Series(rng.integers(0, 3, n), dtype=pl.Int32).cast(pl.Date),
            "sick": pl.Series([[None, "flu", "cold", "ok", "rare"][v] for v in near]),
            "wage": age // 10 + rng.integers(0, 5, n),
        }
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "visits.parquet"
    visits().write_parquet(path, row_group_size=400)
    return path


@pytest.mark.parametrize("name", CALLS)
def test_the_same_leaves_and_bits_as_on_one_machine(session, file, tmp_path, name):
    from polars_microagg.spark import fit, protect

    options = {"size": 60, **CALLS[name]}
    leaves = mg.protect_parquet(file, tmp_path / "one.parquet", COLUMNS, 5, **options)
    plain = mg.fit_leaves(visits(), COLUMNS, 5, size=60)
    assert len(leaves) < len(plain)
    mixed = session.read.parquet(str(file)).repartition(5)
    assert fit(mixed, COLUMNS, 5, **options).to_json() == leaves.to_json()
    protect(mixed, COLUMNS, 5, **options).write.parquet(str(tmp_path / "many"))
    written = read(tmp_path / "many")
    assert written.equals(pl.read_parquet(tmp_path / "one.parquet"))
    assert not held(tmp_path / "many" / "*.parquet", COLUMNS, 5, {"wage": "wage"}, **CALLS[name])
    few = mixed.where("id % 3 = 0")
    again = pl.DataFrame(protect(few, COLUMNS, 5, leaves=leaves).toArrow()).sort("id")
    assert again.equals(leaves.mask(visits().filter(pl.col("id") % 3 == 0)))


def test_what_cannot_be_held_is_refused_before_anything_is_masked(session, file, monkeypatch):
    from polars_microagg.spark import protect

    df = session.read.parquet(str(file))
    with pytest.raises(mg.InvalidDataError, match=r"l=5 cannot be reached: .* of 'sick' is 4"):
        protect(df, COLUMNS, 5, confidential="sick", l=5)
    two = df.where("who in ('p1', 'p9')")
    with pytest.raises(mg.TooFewRecordsError, match="k=5 needs at least 5 entities, got 2"):
        protect(two, COLUMNS, 5, entity="who", entity_mode="rows")
    holes = df.selectExpr("age", "income", "nullif(who, 'p1') AS who")
    with pytest.raises(mg.InvalidDataError, match="'who' has 80 null"):
        protect(holes, COLUMNS, 5, entity="who", entity_mode="rows")
    with pytest.raises(mg.InvalidParameterError, match="entity_mode is not named"):
        protect(df, COLUMNS, 5, entity="who")
    with pytest.raises(mg.InvalidParameterError, match="'whom', which is not a column"):
        protect(df, COLUMNS, 5, entity="whom", entity_mode="rows")
    monkeypatch.setattr(spark_merging, "VALUES", 4)
    with pytest.raises(mg.InvalidParameterError, match="at most 4 different values"):
        protect(df, COLUMNS, 5, confidential="sick", l=2)


def test_text_is_told_apart_by_its_bytes_whatever_its_collation(session):
    from polars_microagg.spark import protect, verify

    if "connect" in type(session).__module__:
        pytest.skip("pysail knows no collations")
    plain = session.range(60).selectExpr(
        "id", "id % 11 AS age", "element_at(array('flu', 'Flu', 'ok'), int(id % 3) + 1) AS sick"
    )
    loose = plain.withColumn("sick", plain.sick.cast("string collate UTF8_LCASE"))
    for options in (
        {"confidential": "sick", "l": 3},
        {"confidential": "sick", "l": 2, "t": 0.3},
        {"entity": "sick", "entity_mode": "rows"},
    ):
        masked = [protect(df, "age", 3, size=12, **options) for df in (plain, loose)]
        assert masked[1].schema == loose.schema
        one, other = (pl.DataFrame(df.toArrow()).sort("id") for df in masked)
        assert one.equals(other)
    two = session.range(2).selectExpr("collate(if(id = 0, 'a', 'A'), 'UTF8_LCASE') AS t")
    for df in (two, two.selectExpr("array(named_struct('t', t)) AS t")):
        with pytest.raises(mg.NotAnonymousError, match="2 class"):
            verify(df, "t", 2)


def test_what_comes_out_of_hostile_tables_holds_and_is_that_of_one_machine(session):
    said, tables = [], 40 if "connect" in type(session).__module__ else 12
    counts = spark_hostile.run(session, tables, say=said.append)
    assert not counts["violations"], said
    assert min(counts["released"], counts["refused"]) > tables / 4
