"""Spark gives the bits of one machine, in one process and in several, even if one is killed."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from tests.spark_sessions import SETTINGS, started

ROOT = Path(__file__).parents[1]
COLUMNS = ["age", "income", "born", "debt"]
CALL = {"size": 400, "strata": "region.of", "small_strata": "null", "nulls": "impute"}
"""Large strata and small ones in leaves that they share; those of fewer than k are emptied."""

pytestmark = [
    pytest.mark.deep,
    pytest.mark.spark,
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark") is None, reason="needs pyspark: pip install '.[spark]'"
    ),
    pytest.mark.skipif(
        shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="needs Java 17"
    ),
    pytest.mark.filterwarnings("ignore"),
]


def people(n, seed=0):
    """Records with ties in the masked columns, which only the others tell apart, in many strata."""
    rng = np.random.default_rng(seed)
    regions = [None, "n", "s", *(f"r{j}" for j in range(40))]
    share = np.array([0.2, 0.3, 0.35, *[0.15 / 40] * 40])
    share[-8:] = 0.0004
    frame = pl.DataFrame(
        {
            "id": np.arange(n),
            "age": pl.Series(rng.integers(18, 95, n), dtype=pl.Int16),
            "income": np.round(rng.lognormal(3, 1, n)),
            "born": pl.Series(rng.integers(-9000, -8900, n), dtype=pl.Int32).cast(pl.Date),
            "debt": pl.Series(rng.integers(0, 3, n)).cast(pl.Decimal(9, 2)),
            "note": pl.Series([f"note {v}" for v in rng.integers(0, 9, n)]),
        }
    )
    codes = rng.choice(len(regions), n, p=share / share.sum())
    there = pl.Series(rng.random(n) > 0.02)
    region = pl.Series("region.of", [regions[code] for code in codes])
    return frame.with_columns(region, debt=pl.when(there).then("debt"))


@pytest.fixture(scope="module")
def spark():
    with started("classic") as session:
        yield session


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same records in one file, and shuffled in three with other row groups."""
    folder = tmp_path_factory.mktemp("spark")
    frame = people(6000)
    frame.write_parquet(folder / "one.parquet")
    mixed = frame.sample(fraction=1, shuffle=True, seed=1)
    (folder / "many").mkdir()
    for number, part in enumerate(mixed.iter_slices(2345)):
        part.write_parquet(folder / "many" / f"{number}.parquet", row_group_size=333)
    return folder


@pytest.fixture(scope="module")
def expected(files):
    """What one machine makes of it."""
    leaves = mg.protect_parquet(files / "one.parquet", files / "masked.parquet", COLUMNS, 5, **CALL)
    masked = pl.read_parquet(files / "masked.parquet")
    emptied = masked.filter(pl.col("age").is_null())
    assert emptied.height >= 5
    assert emptied["region.of"].null_count() == emptied.height
    assert 1 < len(leaves.large) < masked["region.of"].n_unique()
    return leaves, masked


def read(path):
    return pl.read_parquet(f"{path}/*.parquet").sort("id")


def test_the_same_bits_however_the_table_is_cut_up(spark, files, expected, tmp_path):
    from polars_microagg.spark import protect, verify

    leaves, masked = expected
    one = protect(spark.read.parquet(str(files / "one.parquet")), COLUMNS, 5, **CALL)
    one.write.parquet(str(tmp_path / "one"))
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "777")
    mixed = spark.read.parquet(str(files / "many")).repartition(7)
    protect(mixed, COLUMNS, 5, leaves=leaves).write.parquet(str(tmp_path / "many"))
    for name in ("one", "many"):
        written = read(tmp_path / name)
        assert written.equals(masked)
        assert written.schema == masked.schema
    again = spark.read.parquet(str(tmp_path / "many"))
    verify(again, COLUMNS, 5, strata="region.of")
    sizes = masked.group_by(*COLUMNS, "region.of").len()["len"]
    few = sizes.filter(sizes < 9)
    text = rf"{len(few)} class\(es\) with {few.sum()} record\(s\) in all are smaller than k=9 \(the smallest has {few.min()}\)"
    with pytest.raises(mg.NotAnonymousError, match=text):
        verify(again, COLUMNS, 9, strata="region.of")


def test_leaves_are_fitted_to_the_same_sample(spark, files, expected):
    from polars_microagg.spark import fit

    mixed = spark.read.parquet(str(files / "many")).repartition(5)
    assert fit(mixed, COLUMNS, 5, **CALL).to_json() == expected[0].to_json()


def test_floats_and_small_leaves(spark, files):
    from polars_microagg.spark import protect

    df = spark.read.parquet(str(files / "one.parquet"))
    leaves = mg.fit_leaves(people(6000), ["age", "income"], 5, size=100, dtype="float")
    few = df.where("id < 150")
    masked = protect(few, ["age", "income"], 5, leaves=leaves).toArrow()
    frame = pl.DataFrame(masked)
    mg.verify(frame, ["age", "income"], k=5)
    assert frame.height == 150
    assert frame.schema["age"] == frame.schema["income"] == pl.Float64


def test_what_is_refused_is_refused_before_anything_is_masked(spark, files):
    from polars_microagg.spark import fit, protect

    df = spark.read.parquet(str(files / "one.parquet"))
    with pytest.raises(mg.InvalidParameterError, match="Did you mean 'income'"):
        protect(df, ["incom"], 5)
    with pytest.raises(mg.NotNumericError, match="'note'"):
        protect(df.selectExpr("cast(note AS binary) AS note"), ["note"], 5)
    with pytest.raises(mg.TooFewRecordsError, match="k=5 needs at least 5 records, got 4"):
        protect(df.limit(4), ["age"], 5)
    holes = df.selectExpr(
        "id", "nullif(age, 20) AS age", "if(id < 3, double('nan'), income) AS income"
    )
    with pytest.raises(mg.MissingValuesError, match="'income' has 3 NaN"):
        fit(holes, ["income"], 5)
    with pytest.raises(mg.MissingValuesError, match=r"'age' has \d+ null"):
        fit(holes, ["age"], 5)
    with pytest.raises(mg.InvalidParameterError, match="method='vmdav' beside leaves"):
        protect(df, ["age"], 5, leaves=mg.fit_leaves(people(50), "age", 5), method="vmdav")


CLUSTER = """
import json, os, signal, sys, threading, time
from pathlib import Path
from pyspark.sql import SparkSession
import polars_microagg as mg
from polars_microagg.spark import protect

source, out, settings = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
builder = SparkSession.builder.master("local-cluster[2,1,2048]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
leaves = mg.Leaves.from_json(Path(sys.argv[4]).read_text())
ours = spark.sparkContext.applicationId

def executors():
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().split(bytes(1))
        except OSError:
            continue
        if ours.encode() in command and any(c.endswith(b"ExecutorBackend") for c in command):
            yield int(entry.name)

def kill():
    while not any(out.glob("_temporary/0/_temporary/*/*.parquet")):
        time.sleep(0.01)
    os.kill(next(executors()), signal.SIGKILL)
    killed.append(True)

killed = []
masked = protect(spark.read.parquet(source).repartition(6), %s, 5, leaves=leaves)
threading.Thread(target=kill, daemon=True).start()
masked.write.parquet(str(out))
print("killed", len(killed))
spark.stop()
"""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finds its executor in /proc")
def test_an_executor_killed_while_it_writes_loses_no_row_and_changes_no_bit(
    files, expected, tmp_path
):
    leaves, masked = expected
    (tmp_path / "leaves.json").write_text(leaves.to_json())
    settings = SETTINGS | {"spark.sql.adaptive.enabled": "false"}
    arguments = [files / "many", tmp_path / "out", json.dumps(settings), tmp_path / "leaves.json"]
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER % COLUMNS, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ
        | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
        },
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "killed 1" in done.stdout
    assert read(tmp_path / "out").equals(masked)
