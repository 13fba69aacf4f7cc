"""Releases of tables that are said not to fit into memory: the same guarantees, by leaves and on disk."""

import json

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.out_of_core.workspace import ENDING
from polars_microagg.publishing import memory
from polars_microagg.publishing.large import release as large
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.manifest.schema import misfits
from tests.loop import share

KEY = b"0123456789abcdef"
N = 3000


def table(rows=N, seed=0):
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": [f"i{i}" for i in range(rows)],
            "who": draw.integers(0, rows // 2, rows),
            "age": draw.integers(18, 90, rows),
            "pay": draw.lognormal(10, 0.5, rows),
            "sex": draw.choice(["f", "m"], rows),
            "dx": draw.choice(["a", "b", "c", "d"], rows),
            "city": ["Z"] * 3 + list(draw.choice(["A", "B", "C"], rows - 3)),
        }
    )


PEOPLE = table()
ROLES = {"keep": ["sex"], "drop": ["id", "who", "dx", "city"]}
SOURCES = ("parquet", "csv", "ndjson", "arrow", "arrows", "duckdb", "folder", "pattern")
TARGETS = ("o.parquet", "o.csv", "o.ndjson", "o.arrow", "o.arrows", "o.duckdb::t")


@pytest.fixture(autouse=True)
def small_memory(monkeypatch):
    """No table fits: a process is said to take more than any memory before it reads anything."""
    monkeypatch.setattr(memory, "BASE", 10**15)


def written(people, folder, form):
    """Write a table in a format; what names it as a source."""
    place = folder / f"in.{form}"
    if form == "parquet":
        people.write_parquet(place)
    elif form == "csv":
        people.write_csv(place)
    elif form == "ndjson":
        people.write_ndjson(place)
    elif form == "arrow":
        people.write_ipc(place)
    elif form == "arrows":
        people.write_ipc_stream(place)
    elif form == "duckdb":
        with duckdb.connect(str(place)) as con:
            con.register("given", people.to_arrow())
            con.execute("CREATE TABLE t AS FROM given")
        return f"{place}::t"
    else:
        place = folder / "parts"
        place.mkdir(exist_ok=True)
        people[:1000].write_parquet(place / "1.parquet")
        people[1000:].write_parquet(place / "2.parquet")
        return place if form == "folder" else f"{place}/*.parquet"
    return place


def counted(path, names):
    """The smallest class, as DuckDB counts it."""
    keys = ", ".join(names)
    query = f"SELECT min(n) FROM (SELECT count(*) n FROM '{path}' GROUP BY {keys})"
    return duckdb.sql(query).fetchall()[0][0]


def left_behind(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def released(frame, path, columns=("age", "pay"), **options):
    return mg.publish(frame, path, list(columns), 5, memory="2GB", **{**ROLES, **options})


@pytest.mark.parametrize("form", share(SOURCES, 2))
def test_every_source_is_released_by_leaves(form, tmp_path):
    source = written(PEOPLE, tmp_path, form)
    target = tmp_path / "o.parquet"
    told = released(source, target, require=["k>=5", "loss<=5"], hash_key=KEY)
    assert told["how"]["engine"] == "leaves"
    assert told["how"]["leaves"] >= 1
    assert told["how"]["memory_limit"] == 2 * 10**9
    assert not misfits(json.loads((tmp_path / "o.parquet.manifest.json").read_text()))
    after = pl.read_parquet(target)
    assert after.columns == ["age", "pay", "sex"]
    assert after["sex"].equals(PEOPLE["sex"])
    assert after.schema["age"] == pl.Int64
    assert counted(target, ["age", "pay"]) == told["k"]["found"] >= 5
    assert not left_behind(tmp_path)
    original = None if form in ("folder", "pattern") else str(source)
    found = check(target, original=original, hash_key=KEY)
    assert [f.what for f in found if not f.holds] == []


@pytest.mark.parametrize("base", [0, 10**15])
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_list_of_files_is_one_table(form, base, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "BASE", base)
    parts = [tmp_path / f"{number}.{form}" for number in (2, 1)]
    for path, part in zip(parts, (PEOPLE[:1000], PEOPLE[1000:]), strict=True):
        getattr(part, f"write_{form}")(path)
    told = released(parts, tmp_path / "o.parquet", hash_key=KEY)
    assert told["how"]["engine"] == ("leaves" if base else "whole")
    assert pl.read_parquet(tmp_path / "o.parquet")["sex"].equals(PEOPLE["sex"])
    assert counted(tmp_path / "o.parquet", ["age", "pay"]) >= 5


@pytest.mark.parametrize("frame", [PEOPLE, PEOPLE.lazy()], ids=["frame", "plan"])
def test_tables_of_polars_are_released_by_leaves(frame, tmp_path):
    told = released(frame, tmp_path / "o.parquet")
    whole = mg.mdav(PEOPLE, ["age", "pay"], 5)
    assert told["rows"]["out"] == N
    # One leaf holds all records, so the groups are those of the whole table.
    assert told["how"]["leaves"] == 1
    assert pl.read_parquet(tmp_path / "o.parquet").equals(whole.select("age", "pay", "sex"))


@pytest.mark.parametrize("name", share(TARGETS, 2))
def test_every_target_is_written_and_verified(name, tmp_path):
    told = released(PEOPLE, tmp_path / name, require="k>=5", hash_key=KEY)
    assert told["output"]["format"] in (*name.split("."), "stream", "duckdb")
    assert told["output"]["columns"] == {"age": "Int64", "pay": "Float64", "sex": "String"}
    source = written(PEOPLE, tmp_path, "parquet")
    wrong = [f for f in check(tmp_path / name, original=source, hash_key=KEY) if not f.holds]
    # The table came from Python: its rows were hashed, and not the bytes of a file.
    assert wrong == []
    assert not left_behind(tmp_path)


def test_the_manifest_has_the_fields_of_one_of_the_whole_table(tmp_path, monkeypatch):
    large_one = released(PEOPLE, tmp_path / "l.parquet", hash_key=KEY)
    monkeypatch.setattr(memory, "BASE", 0)
    whole = released(PEOPLE, tmp_path / "w.parquet", hash_key=KEY)
    assert whole["how"]["engine"] == "whole"
    assert set(whole) == set(large_one)
    alike = (
        "config",
        "config_sha256",
        "roles",
        "rows",
        "k",
        "cells",
        "digits",
        "input",
        "warnings",
    )
    assert {n: large_one[n] for n in alike} == {n: whole[n] for n in alike}
    assert set(large_one["measures"]) == set(whole["measures"])
    exact = [n for n in whole["measures"] if n not in ("dld", "dr", "score")]
    assert {n: large_one["measures"][n] for n in exact} == {n: whole["measures"][n] for n in exact}


def test_the_choice_says_why(tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", "polars_microagg")
    into = "into the memory given."
    assert released(PEOPLE, tmp_path / "o.parquet")["how"]["why"].endswith(f"does not fit {into}")
    assert "only 2 GB are allowed. It is masked by leaves" in caplog.text
    monkeypatch.setattr(memory, "BASE", 0)
    how = released(PEOPLE, tmp_path / "o.parquet")["how"]
    assert how == {
        "engine": "whole", "why": f"The whole table fits {into}", "memory_limit": 2 * 10**9,
    }  # fmt: skip
    rest = [*ROLES["drop"], "pay"]
    how = mg.publish(PEOPLE, tmp_path / "o.parquet", ["age"], 5, keep="sex", drop=rest)["how"]
    # How much is free on a machine is no matter of the release.
    assert how["why"] == "The whole table fits into its share of the memory that is free."
    assert how["memory_limit"] is None


@pytest.mark.parametrize("memory_", ["200MB", 5, "much", True, 1.5])
def test_too_little_memory_is_a_sentence(memory_, tmp_path):
    with pytest.raises(mg.InvalidParameterError, match="memory.*at least"):
        mg.publish(PEOPLE, tmp_path / "o.parquet", "age", 5, memory=memory_)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("workers", [0, "two", 1.5])
def test_workers_are_checked_before_anything_is_read(workers, tmp_path):
    with pytest.raises(mg.InvalidParameterError, match="workers"):
        released(tmp_path / "none.parquet", tmp_path / "o.parquet", workers=workers)


def test_memory_is_for_a_method(tmp_path):
    with pytest.raises(mg.InvalidParameterError, match="memory='2GB' was given without method"):
        mg.publish(PEOPLE, tmp_path / "o.parquet", "age", 5, method=None, memory="2GB")


@pytest.mark.parametrize("policy", ["null", "drop"])
def test_small_strata_are_emptied_or_dropped(policy, tmp_path):
    roles = {"drop": ["id", "who", "dx"], "strata": "city", "small_strata": policy}
    source = written(PEOPLE, tmp_path, "parquet")
    if policy == "null":
        with pytest.raises(mg.MicroaggError, match="drop"):
            released(source, tmp_path / "o.parquet", **roles)
        return
    told = released(source, tmp_path / "o.parquet", require="suppressed<=1", **roles)
    assert told["rows"] == {
        "in": N, "out": N - 3, "emptied": 0, "dropped": 3, "suppressed": 0.1,
    }  # fmt: skip
    after = pl.read_parquet(tmp_path / "o.parquet")
    assert after["city"].to_list() == PEOPLE["city"][3:].to_list()
    assert counted(tmp_path / "o.parquet", ["age", "pay", "city"]) >= 5
    assert [f.what for f in check(tmp_path / "o.parquet", original=source) if not f.holds] == []


def test_entities_that_are_not_released_are_counted_on_the_original(tmp_path):
    roles = {"drop": ["id", "city"], "entity": "who", "confidential": "dx", "l": 2}
    source = written(PEOPLE, tmp_path, "parquet")
    told = released(source, tmp_path / "o.parquet", require="k_entities>=5", **roles)
    after = pl.read_parquet(tmp_path / "o.parquet")
    assert "who" not in after.columns
    classes = after.with_columns(who=PEOPLE["who"]).group_by("age", "pay")
    worst = classes.agg(pl.col("who").n_unique(), pl.col("dx").n_unique()).min()
    assert told["models"]["entity"]["k_entities"] == worst["who"].item() >= 5
    assert told["models"]["confidential"][0]["found"] == worst["dx"].item() >= 2
    assert [f.what for f in check(tmp_path / "o.parquet", original=source) if not f.holds] == []


OTHERS = [
    {"columns": [["age"], ["pay"]]},
    {"order_by": "id", "method": "lowloss"},
    {"columns": ["age", "city"], "drop": ["id", "who", "dx", "pay"]},
    {"strata": "sex", "keep": []},
    {"dtype": "float", "center": "median"},
]


@pytest.mark.parametrize("options", share(OTHERS, 2), ids=str)
def test_other_calls_are_released_and_verified(options, tmp_path):
    source = written(PEOPLE, tmp_path, "parquet")
    released(source, tmp_path / "o.parquet", **options)
    assert [f.what for f in check(tmp_path / "o.parquet", original=source) if not f.holds] == []


@pytest.mark.parametrize("nulls", ["impute", "pattern"])
def test_nulls_are_filled_or_kept(nulls, tmp_path):
    holes = pl.Series(np.random.default_rng(1).random(N) < 0.1)
    people = PEOPLE.with_columns(pay=pl.when(~holes).then("pay"))
    source = written(people, tmp_path, "parquet")
    released(source, tmp_path / "o.parquet", nulls=nulls)
    after = pl.read_parquet(tmp_path / "o.parquet")
    assert after["pay"].is_null().equals(holes if nulls == "pattern" else holes & False)
    assert [f.what for f in check(tmp_path / "o.parquet", original=source) if not f.holds] == []


OLD = b"what was there before"


@pytest.mark.parametrize("name", ["o.parquet", "o.csv"])
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"require": "loss<=0.001"}, mg.RequirementError),
        ({"require": "dld<=0.001"}, mg.RequirementError),
        ({"strata": "city", "drop": ["id", "who", "dx"]}, mg.TooFewRecordsError),
        ({"entity": "who", "entity_mode": "mean", "drop": ["id", "dx", "city"]}, mg.InvalidParameterError),
        ({"columns": ["age", "absent"]}, mg.InvalidParameterError),
    ],
    ids=str,
)  # fmt: skip
def test_what_fails_publishes_nothing(name, options, error, tmp_path):
    target = tmp_path / name
    target.write_bytes(OLD)
    with pytest.raises(error):
        released(PEOPLE, target, **options)
    assert target.read_bytes() == OLD
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_only_the_whole_table_can_do_says_the_way_out(tmp_path):
    roles = {"entity": "who", "entity_mode": "mean", "drop": ["id", "dx", "city"]}
    with pytest.raises(
        mg.InvalidParameterError, match="needs the whole table .* memory='"
    ) as raised:
        released(PEOPLE, tmp_path / "o.parquet", **roles)
    assert "and 2 GB are allowed" in str(raised.value)


def test_a_file_that_is_there_is_kept_where_it_must_be(tmp_path):
    target = tmp_path / "o.parquet"
    target.write_bytes(OLD)
    with pytest.raises(mg.NotPublishedError, match="it is there already"):
        released(PEOPLE, target, overwrite=False)
    assert target.read_bytes() == OLD


@pytest.mark.parametrize("name", ["o.parquet", "o.csv", "o.duckdb::t"])
@pytest.mark.parametrize("step", ["mask_source", "recounted", "manifest_of", "dumped"])
def test_a_failure_at_any_step_leaves_nothing(step, name, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(large, step, fails)
    with pytest.raises(mg.NotPublishedError, match="No space left on device"):
        released(PEOPLE, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_class_that_is_too_small_is_refused_as_it_was_read(tmp_path, monkeypatch):
    def unmasked(original, folder, made, request, columns, **_):
        pl.read_parquet(list(original.paths)).select(columns).write_parquet(made)
        return large.MaskedFile((), original.rows, None)

    monkeypatch.setattr(large, "mask_source", unmasked)
    with pytest.raises(mg.NotAnonymousError, match="not 5-anonymous"):
        released(PEOPLE, tmp_path / "o.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("base", [0, 10**15])
def test_the_next_run_of_any_size_removes_what_a_killed_one_left(base, tmp_path, monkeypatch):
    left = tmp_path / f".o.parquet.0123abcd{ENDING}"
    left.mkdir()
    (left / "in-use").touch()
    (left / "part-0.arrows").write_bytes(b"values")
    monkeypatch.setattr(memory, "BASE", base)
    released(PEOPLE, tmp_path / "o.parquet")
    assert not left_behind(tmp_path)


def test_the_same_table_is_cut_alike_by_every_kind_of_source(tmp_path, monkeypatch):
    # A LazyFrame is read without what is dropped, so that it may not count in a file either.
    monkeypatch.setattr("polars_microagg.leaves.fit.SAMPLE", 500)
    monkeypatch.setattr("polars_microagg.leaves.options.SIZE", 100)
    sources = [written(PEOPLE, tmp_path, "parquet"), PEOPLE.lazy(), PEOPLE, PEOPLE.drop("id", "dx")]
    made = []
    for number, source in enumerate(sources):
        drop = [name for name in ROLES["drop"] if number < 3 or name not in ("id", "dx")]
        call = {"keep": ["sex"], "drop": drop, "memory": "300MB", "workers": 1 + number % 2}
        told = mg.publish(source, tmp_path / f"o{number}.parquet", ["age", "pay"], 4, **call)
        assert told["how"]["leaves"] > 20
        made.append((tmp_path / f"o{number}.parquet").read_bytes())
    assert made[1:] == made[:1] * 3
