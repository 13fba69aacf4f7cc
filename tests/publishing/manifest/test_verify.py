"""Manifests of other versions and forms, and sound releases of every kind, which hold."""

import copy
import datetime as dt
import re

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.manifest.model import VERSION
from polars_microagg.publishing.manifest.record import config_hash, dumped
from tests.publishing.manifest.edits import (
    KEY,
    PEOPLE,
    N,
    found_out,
    later,
    publish,
    rehashed,
    states,
)

# --- Versions and form ----------------------------------------------------------------------------


def test_a_manifest_of_another_version_is_refused(tmp_path):
    _, target, told = publish(tmp_path)
    assert told["schema_version"] == VERSION == 4
    for version in (1, 3, 5, 0, "4", 4.0, True, None):
        assert found_out(target, told | {"schema_version": version})


def test_halves_of_a_hash_and_times_in_reverse_are_found_out_without_a_key(tmp_path):
    _, target, told = publish(tmp_path)
    assert found_out(target, told | {"input": told["input"] | {"of": None}})
    said = later(told)["times"]
    back = {"started": said["finished"], "finished": told["times"]["started"]}
    took = dt.datetime.fromisoformat(back["finished"]) - dt.datetime.fromisoformat(back["started"])
    assert took.total_seconds() < 0
    assert found_out(target, told | {"times": back | {"seconds": took.total_seconds()}})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r'\n  "seed": 0,', '\n  "seed": 7,\n  "seed": 0,'),
        (r'\n  "seed": 0,', '\n  "seed": 0.0,'),
        (r'\n  "seed": 0,', '\n  "seed": false,'),
        (r'"pld": [\d.]+', '"pld": NaN'),
    ],
)
def test_json_that_others_may_read_otherwise_is_refused(old, new, tmp_path):
    _, target, _ = publish(tmp_path)
    text, count = re.subn(old, new, target.record.read_text())
    assert count == 1
    target.record.write_text(text)
    try:
        holds = all(finding.holds for finding in check(target))
    except mg.InvalidDataError:
        holds = False
    assert not holds


# --- Sound releases of every kind hold ------------------------------------------------------------


def test_what_was_published_from_python_is_verified_with_its_file(tmp_path):
    PEOPLE.write_parquet(tmp_path / "in.parquet")
    options = {"strata": "region", "small_strata": "null", "hash_key": KEY}
    mg.publish(PEOPLE, tmp_path / "o.parquet", ["age", "income"], 5, keep=cs.all(), **options)
    given = {"original": tmp_path / "in.parquet", "hash_key": KEY}
    assert set(states(tmp_path / "o.parquet", **given).values()) == {"ok"}


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_short_floats_are_measured_as_they_were(form, tmp_path):
    rng = np.random.default_rng(0)
    single = pl.DataFrame({"x": rng.normal(size=20).astype("f4")})
    single.write_parquet(tmp_path / "in.parquet")
    mg.publish(single, tmp_path / f"o.{form}", "x", 2)
    found = states(tmp_path / f"o.{form}", original=tmp_path / "in.parquet")
    assert found["measures"] == "ok"


@pytest.mark.parametrize("dtype", ["keep", "float"])
def test_what_text_loses_is_found_again_with_the_original(dtype, tmp_path, caplog):
    born = pl.Series([dt.date(1950, 1, 1) + dt.timedelta(days=97 * i) for i in range(N)])
    people = PEOPLE.with_columns(born=born, age=pl.col("age").cast(pl.Int16)).head(69)
    people.write_parquet(tmp_path / "in.parquet")
    options = {"center": "median", "dtype": dtype}
    mg.publish(people, tmp_path / "o.csv", ["age", "born", "income"], 4, keep=cs.all(), **options)
    # Of so few records only the owner is told.
    assert len([w for w in caplog.messages if "value of one record" in w]) >= 2  # one odd group
    found = states(tmp_path / "o.csv", original=tmp_path / "in.parquet")
    assert {n for n, state in found.items() if state != "ok"} == {"types", "input", "seal"}


def test_a_table_of_duckdb_has_the_types_of_duckdb(tmp_path):
    kind = pl.Enum(["A", "B", "C", "D"])
    people = PEOPLE.with_columns(pl.col("region").cast(kind), pl.col("age").cast(pl.Float32))
    mg.publish(people, f"{tmp_path}/o.duckdb::t", ["age", "income"], 5, keep=cs.all())
    assert states(f"{tmp_path}/o.duckdb::t")["types"] == "ok"


def test_a_file_under_another_name_is_another_file(tmp_path):
    _, target, _ = publish(tmp_path)
    moved = target.path.rename(tmp_path / "moved.parquet")
    assert states(moved, record=target.record)["name"] == "WRONG"


@pytest.mark.parametrize("method", ["individual_ranking", "univariate"])
def test_a_requirement_on_whole_records_is_judged_on_them_again(method, tmp_path):
    options = {"method": method, "require": ["k>=1"], "manifest": tmp_path / "m.json"}
    mg.publish(
        PEOPLE.drop("name"), tmp_path / "o.csv", ["age", "income"], 5, keep=cs.all(), **options
    )
    found = states(tmp_path / "o.csv", record=tmp_path / "m.json")
    assert found["requirements"] == found["k"] == found["configuration"] == "ok"


def test_a_requirement_on_a_metric_on_demand_is_judged_again_with_the_original(tmp_path):
    table, target = PEOPLE.select("age", "income"), tmp_path / "o.parquet"
    table.write_parquet(tmp_path / "in.parquet")
    told = mg.publish(table, target, ["age", "income"], 5, require="drisk<=0.9")
    assert "drisk" not in told["measures"]
    assert told["verdict"]["requirements"] == [
        {"requirement": "drisk<=0.9", "found": None, "met": True}
    ]
    assert states(target)["requirements"] == "not checked"
    assert states(target, original=tmp_path / "in.parquet")["requirements"] == "ok"
    # A bound that the release does not meet, as if it had been asked for.
    told["config"]["require"] = ["drisk<=0"]
    told["config_sha256"] = config_hash(told["config"])
    told["verdict"]["requirements"][0]["requirement"] = "drisk<=0"
    target.with_name("o.parquet.manifest.json").write_bytes(dumped(told))
    found = states(target, original=tmp_path / "in.parquet")
    assert found["configuration"] == "ok"
    assert found["requirements"] == "WRONG"


def test_a_bound_of_many_digits_is_written_whole(tmp_path):
    table = pl.DataFrame({"a": pl.int_range(0, 1_234_567, eager=True) // 7})
    told = mg.publish(
        table, tmp_path / "o.parquet", "a", 2, keep=cs.all(), method=None, require="rows>=1234567"
    )
    assert told["config"]["require"] == ["rows>=1234567"]
    assert "WRONG" not in states(tmp_path / "o.parquet").values()


def test_a_table_that_was_masked_elsewhere_is_warned_of_by_itself(tmp_path):
    masked = mg.mdav(PEOPLE, ["age", "income"], 5).with_columns(net=pl.col("income"))
    path = tmp_path / "o.parquet"
    told = mg.publish(masked, path, ["age", "income"], 5, keep=cs.all(), method=None)
    assert not [w for w in told["warnings"] if "reveals" in w]  # there was no original
    assert "WRONG" not in states(path).values()
    told = mg.publish(
        masked, path, ["age", "income"], 5, keep=cs.all(), method=None, original=PEOPLE
    )
    PEOPLE.write_parquet(tmp_path / "in.parquet")
    assert "WRONG" not in states(path, original=tmp_path / "in.parquet").values()


def test_columns_that_were_dropped_before_are_another_table(tmp_path):
    """As nobody can tell them from columns whose role was taken out of the manifest."""
    given = {"seed": np.int64(3), "nulls": "pattern"}
    frame = PEOPLE.select("age", "income").lazy()
    told = mg.publish(frame, tmp_path / "o.parquet", ["age", "income"], 5, keep=cs.all(), **given)
    assert told["config"]["seed"] == told["seed"] == 3
    for original, state in ((PEOPLE, "WRONG"), (frame.collect(), "ok")):
        original.write_parquet(tmp_path / "in.parquet")
        found = states(tmp_path / "o.parquet", original=tmp_path / "in.parquet")
        assert found.pop("roles") == state
        assert set(found.values()) == {"ok", "not checked"}


def test_a_manifest_that_tells_of_no_dropped_column_is_found_out(tmp_path):
    source, target, told = publish(tmp_path, key=None)
    for drop in ([], ["name"], ["name", "phone", "more"]):
        other = told | {"roles": told["roles"] | {"drop": drop}}
        assert found_out(target, other, original=source)
        assert states(target, original=source)["roles"] == "WRONG"


@pytest.mark.parametrize("name", ["net", "region"])
@pytest.mark.parametrize("form", ["out.parquet", "out.csv", "out.duckdb::t"])
def test_what_was_kept_is_held_against_the_original_row_by_row(form, name, tmp_path):
    """The measures and the warnings see neither, if two rows of one masked class are exchanged."""
    people = PEOPLE.with_columns(net=pl.col("income") // 20_000, region=pl.lit("A"))
    people = people.with_columns(region=pl.when(pl.int_range(N) < 30).then("region"))
    mg.publish(people, f"{tmp_path}/{form}", ["age", "income"], 5, strata="region", keep=cs.all())
    (values,) = people.select(pl.col(name).shift(1, fill_value=pl.col(name).last()))
    for original, state in ((people, "ok"), (people.with_columns(values), "WRONG")):
        for file, write in (("in.parquet", original.write_parquet), ("in.csv", original.write_csv)):
            write(tmp_path / file)
            found = states(f"{tmp_path}/{form}", original=tmp_path / file)
            assert found["roles"] == state


@pytest.mark.parametrize("name", ["o.parquet", "o.csv", "o.ndjson", "o.arrow", "o.duckdb::t"])
def test_what_is_kept_comes_back_from_every_format(name, tmp_path):
    day = dt.date(2024, 2, 28)
    people = pl.DataFrame(
        {
            "age": [*range(20, 28)],
            "text": ["00", "", None, "a,b", '"', "é", "1.50", "x"],
            "kind": pl.Series(list("abababab"), dtype=pl.Categorical),
            "enum": pl.Series(list("abababab"), dtype=pl.Enum(["b", "a"])),
            "real": [0.1, None, 1e-300, 3.0, -0.0, 5.5, 1 / 3, 7],
            "single": pl.Series([0.1, None, 2, 3, 4, 5, 6, 7], dtype=pl.Float32),
            "yes": [True, None, False, True, True, True, False, False],
            "day": [day + dt.timedelta(days=i) for i in range(8)],
            "at": [dt.datetime(2024, 1, 1, 12, i, 3, 4) for i in range(8)],
            "zoned": [dt.datetime(2024, 1, 1, 12, i, tzinfo=dt.UTC) for i in range(8)],
            "paid": pl.Series(["1.50", None, *"123456"]).cast(pl.Decimal(9, 2)),
        }
    )
    mg.publish(people, f"{tmp_path}/{name}", "age", 2, keep=cs.all())
    people.write_parquet(tmp_path / "in.parquet")
    assert states(f"{tmp_path}/{name}", original=tmp_path / "in.parquet")["roles"] == "ok"


def test_the_types_are_those_of_the_option(tmp_path):
    """The one says real numbers, the other what the original has."""
    people = PEOPLE.select("age", "income")
    people.write_parquet(tmp_path / "in.parquet")
    for dtype, other in (("keep", "float"), ("float", "keep")):
        target = Location.of(tmp_path / f"{dtype}.parquet")
        told = mg.publish(people, target.path, ["age", "income"], 5, dtype=dtype)
        assert not found_out(target, told, original=tmp_path / "in.parquet")
        assert found_out(target, rehashed(told, dtype=other), original=tmp_path / "in.parquet")
        assert states(target, original=tmp_path / "in.parquet")["types"] == "WRONG"


def test_a_manifest_of_another_version_of_the_library_holds(tmp_path):
    """Its words, and options that came later, are no fault of it."""
    source, target, told = publish(tmp_path, key=None)
    other = copy.deepcopy(told)
    other["tool"]["polars_microagg"] = "0.0.9"
    other["attack"]["dld"] = "links each record"
    other["warnings"] = ["Take care."]
    del other["config"]["gamma"]
    assert not found_out(target, rehashed(other), original=source)
    assert states(target, original=source)["measures"] == "ok"
    few = copy.deepcopy(other)
    few["measures"] = {"il4": told["measures"]["il4"]}
    few["verdict"]["requirements"], few["config"]["require"] = [], []
    assert not found_out(target, rehashed(few), original=source)
    assert states(target, original=source)["measures"] == "not checked"
    other["attack"]["known"] = ["age"]
    assert found_out(target, rehashed(other), original=source)


def test_the_hash_of_rows_is_that_of_their_values():
    """Not of what lies under their nulls, nor of how their texts are stored."""
    import pyarrow as pa

    from polars_microagg.publishing.formats.files import rows_digest

    bits, numbers = pa.py_buffer(bytes([0b1101])), pa.array([1, 99, 3, 4]).buffers()[1]
    hidden = pl.from_arrow(pa.Array.from_buffers(pa.int64(), 4, [bits, numbers]))
    text = [f"a text of more than twelve signs {i}" for i in range(4)]
    lists = pl.from_arrow(pa.ListArray.from_arrays([0, 2, 2, 3, 4], hidden.to_arrow()))
    one = pl.DataFrame({"x": hidden, "^a$": text, "l": lists})
    parts = [{"x": [1, None], "^a$": text[:2]}, {"x": [3, 4], "^a$": text[2:]}]
    other = pl.concat(map(pl.DataFrame, parts))
    other = other.with_columns(l=pl.Series([[1, None], [], [3], [4]]))
    assert one.equals(other)
    assert rows_digest(one) == rows_digest(other)
    assert rows_digest(one) != rows_digest(other.with_columns(x=pl.Series([1, 99, 3, 4])))
    assert rows_digest(one) != rows_digest(one.with_columns(x=pl.Series([1, 0, 3, 4])))
    assert rows_digest(one) != rows_digest(one.rename({"x": "y"}))
    assert rows_digest(one) != rows_digest(one.with_columns(l=pl.Series([[1, 0], [], [3], [4]])))


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
@pytest.mark.parametrize("dtype", [pl.String, pl.Int64])
def test_a_masked_column_without_any_value_is_verified(form, dtype, tmp_path):
    table = pl.DataFrame({"age": range(8), "b": pl.Series([None] * 8, dtype=dtype)})
    mg.publish(table, tmp_path / f"o.{form}", ["age", "b"], 2, nulls="pattern")
    for memory in (None, "300MB"):
        found = check(tmp_path / f"o.{form}", memory=memory)
        assert [(f.what, f.says) for f in found if not f.holds] == []
