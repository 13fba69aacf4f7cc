"""verify, anonymity and assess of tables larger than memory, beside those of the same table whole."""

import inspect

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_microagg as mg
from polars_microagg.analysis import anonymity as counting
from polars_microagg.analysis import assess as measuring
from polars_microagg.out_of_core import doors

MEMORY = "300MB"


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 3000
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "pay": rng.lognormal(size=n),
            "town": pl.Series([f"t{v}" for v in rng.integers(0, 3, n)]),
            "who": rng.integers(0, 900, n),
            "sick": pl.Series(rng.choice(["no", "flu", "cold"], n)),
        }
    )


@pytest.fixture(scope="module")
def masked(people):
    return mg.mdav(people, ["age", "pay"], k=4, strata="town")


def forms(frame, folder, name):
    """The forms of a table that are taken with memory=."""
    path = folder / f"{name}.parquet"
    frame.write_parquet(path, row_group_size=700)
    pattern = str(folder / f"{name}*.parquet")
    return [frame, frame.lazy(), path, str(path), pattern, [path], pl.scan_parquet(path)]


def test_classes_of_every_form_of_a_table(masked, tmp_path):
    asked = {"strata": "town", "entity": "who", "confidential": "sick", "k": 5}
    expected = counting.anonymity(masked, ["age", "pay"], **asked)
    for form in forms(masked, tmp_path, "masked"):
        found = mg.anonymity(form, ["age", "pay"], memory=MEMORY, **asked)
        assert_frame_equal(found, expected, rel_tol=0, abs_tol=1e-12)
    blocks = [["age"], ["pay"]]
    expected = counting.anonymity(masked, blocks)
    assert_frame_equal(mg.anonymity(masked, blocks, memory=MEMORY), expected)


def test_a_release_is_verified_with_the_same_words(masked, tmp_path):
    path = forms(masked, tmp_path, "masked")[2]
    mg.verify(path, ["age", "pay"], 4, strata="town", memory=MEMORY)
    for wrong in (
        {"k": 9},
        {"k": 4, "entity": "who"},
        {"k": 2, "confidential": "sick", "l": 3},
        {"k": 2, "entity": "who", "entity_mode": "alike"},
    ):
        with pytest.raises(mg.NotAnonymousError) as whole:
            mg.verify(masked, ["age", "pay"], strata="town", **wrong)
        with pytest.raises(mg.NotAnonymousError) as pieces:
            mg.verify(path, ["age", "pay"], strata="town", memory=MEMORY, **wrong)
        assert str(whole.value) == str(pieces.value)


def test_measures_of_every_form_of_a_table(people, masked, tmp_path):
    kinds = {"nominal": ["sick"]}
    columns = ["age", "pay", "sick"]
    expected = measuring.assess(people, masked, columns, **kinds).row(0, named=True)
    for before, after in zip(
        forms(people, tmp_path, "people"), forms(masked, tmp_path, "masked"), strict=True
    ):
        found = mg.assess(before, after, columns, memory=MEMORY, **kinds)
        assert found.columns == [*expected, "dld_low", "dld_high", "dld_sampled"]
        row = found.row(0, named=True)
        low, high, drawn = (row.pop(name) for name in ("dld_low", "dld_high", "dld_sampled"))
        assert drawn == 2000
        assert low < expected["dld"] < high
        sampled = {"dld", "dr", "score"}
        for name in row.keys() - sampled:
            assert row[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-9), name
    every = mg.assess(people, masked, memory=MEMORY, metrics="loss")
    assert_frame_equal(every, measuring.assess(people, masked, metrics="loss"))


def test_without_memory_nothing_is_other(people, masked):
    for door, whole, args in (
        (mg.anonymity, counting.anonymity, (masked, ["age"])),
        (mg.assess, measuring.assess, (people, masked, ["age", "pay"])),
    ):
        assert door(*args).equals(whole(*args), null_equal=True)
    assert mg.verify(masked, ["age", "pay"], 4) is None
    for name in ("verify", "anonymity", "assess"):
        mine = dict(inspect.signature(getattr(doors, name)).parameters)
        assert mine.pop("memory").default is None
        module = measuring if name == "assess" else counting
        assert mine == dict(inspect.signature(getattr(module, name)).parameters)


@pytest.mark.parametrize(
    "asked",
    [{"by": "town"}, {"key": "who"}, {"known": ["age"]}, {"known_sample": 1}, {"by_column": True}],
)
def test_what_needs_the_whole_table_is_refused(people, masked, asked):
    (name,) = asked
    with pytest.raises(mg.InvalidParameterError, match=f"memory cannot honour {name}="):
        mg.assess(people, masked, ["age"], memory=MEMORY, **asked)


def test_a_wrong_call_is_refused_as_ever(people, masked, tmp_path):
    with pytest.raises(mg.InvalidParameterError, match="'250MB'"):
        mg.verify(masked, "age", 3, memory="1MB")
    with pytest.raises(mg.InvalidParameterError, match="nobody"):
        mg.anonymity(masked, "nobody", memory=MEMORY)
    with pytest.raises(mg.InvalidParameterError, match="source="):
        mg.anonymity(tmp_path / "nothing.parquet", "age", memory=MEMORY)
    with pytest.raises(mg.InvalidDataError, match="3000 rows to compare and the release has 2999"):
        mg.assess(people, masked[1:], ["age"], memory=MEMORY)
    failing = pl.LazyFrame({"age": ["secret"]}).cast(pl.Int64)
    with pytest.raises(mg.InvalidDataError) as error:
        mg.anonymity(failing, "age", memory=MEMORY)
    assert "secret" not in str(error.value)
