"""What is published of a small table leaves every original that its release leaves."""

import math

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.main import main
from polars_microagg.core.registry import assessed
from polars_microagg.publishing.manifest import precision
from polars_microagg.publishing.manifest.precision import (
    FEWEST,
    LADDER,
    digits_of,
    names_told,
    published,
    step,
)
from tests.candidates import (
    KINDS,
    METHODS,
    Candidates,
    documents,
    four,
    released,
    table,
    whole_per_cent,
)

OLD = ("z", "il1", "il2", "il4", "mean_sd")
AGES = pl.DataFrame({"age": [31, 67, 34, 39, 71, 62]})


def test_four_digits_of_five_measures_left_one_of_1344276_tables():
    """Why nothing is published of a table of six rows: the ages of the README, at k=3."""
    masked = pl.DataFrame({"age": [35, 67, 35, 35, 67, 67]})
    found = Candidates(AGES, masked, np.arange(18.0, 96))
    assert found.count == 1_344_276
    assert found.left(four, OLD) == 1
    assert found.left(whole_per_cent(0.01), ["z"]) < 1_000


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_all_that_leaves_is_one_for_every_candidate(kind, columns, tmp_path):
    """Of tables of up to 12 rows: manifest, report and last line do not tell one from another."""
    rng = np.random.default_rng(columns)
    least, few = math.inf, 0
    for _ in range(2):
        k = int(rng.integers(2, 6))
        original = table(rng, int(rng.integers(2 * k, 13)) if k < 6 else 12, columns, 6, kind)
        masked = released(original, str(rng.choice(METHODS)), k)
        found = Candidates(original, masked, np.arange(1.0, 7) / (2 if kind == "half" else 1))
        own = documents(original, masked, k, tmp_path)
        for _ in range(2):
            assert documents(found.draw(rng, original), masked, k, tmp_path) == own
        few += found.left(four, OLD) < 3
        least = min(least, found.count)
    assert few  # what was published before told them nearly all
    assert least >= 1


def test_neither_warnings_nor_a_bound_tell_candidates_apart(tmp_path, caplog):
    """Of two originals one is revealed by a kept column, and one has an outlier."""
    masked = pl.DataFrame({"a": [20] * 3 + [60] * 3})
    kept = pl.Series("net", [1, 20, 39, 59, 60, 61])
    some = [pl.DataFrame({"a": a}) for a in ([1, 20, 39, 59, 60, 61], [20, 39, 1, 2, 118, 60])]
    one, other = (documents(o, masked, 3, tmp_path, kept, ["loss<=100", "k>=3"]) for o in some)
    assert one == other
    assert one[0]["verdict"]["requirements"][0] == {
        "requirement": "loss<=100",
        "found": None,
        "met": True,
    }
    caplog.clear()
    told = mg.publish(
        masked.with_columns(kept),
        tmp_path / "p.parquet",
        "a",
        3,
        original=some[0].with_columns(kept),
        keep="net",
        method=None,
    )
    reveals = "reveals the masked column 'a'"
    assert any(reveals in record.message for record in caplog.records)  # to its owner
    assert not any(reveals in warning for warning in told["warnings"])


def test_a_null_that_was_filled_is_not_counted(tmp_path):
    masked = pl.DataFrame({"a": [20, 20, 20]})
    one, other = (
        documents(pl.DataFrame({"a": a}), masked, 3, tmp_path)
        for a in ([10, 20, 30], [20, None, 20])
    )
    assert one == other
    assert one[0]["cells"] == {"all": 3, "compared": None}


def test_the_command_line_says_the_same_of_originals_with_one_release(tmp_path, capsys):
    rng, seen = np.random.default_rng(3), {}
    while True:
        original = table(rng, 6, 1, 9)
        key = tuple(mg.mdav(original, "a", 3)["a"])
        other = seen.setdefault(key, original)
        if not other["a"].sort().equals(original["a"].sort()):
            break
    said = []
    for frame in (original, other):
        frame.write_csv(tmp_path / "in.csv")
        page = tmp_path / "r.html"
        call = [
            "protect",
            tmp_path / "in.csv",
            "-o",
            tmp_path / "o.csv",
            "--columns",
            "a",
            "-k",
            "3",
        ]
        call += ["--json", "--report", page, "--overwrite"]
        assert main(list(map(str, call))) == 0
        out = capsys.readouterr()
        lines = [line for line in out.out.splitlines() if '"started"' not in line]
        lines = [line for line in lines if '"finished"' not in line and '"seconds"' not in line]
        html = [part for part in page.read_text().split("<tr>") if ">times." not in part]
        said.append((lines, out.err, html))
    assert said[0] == said[1]
    assert f"no loss told of fewer than {FEWEST} records" in said[0][1]


def test_a_refusal_tells_no_more_than_a_manifest(tmp_path):
    with pytest.raises(mg.RequirementError, match="not published of so few records") as error:
        mg.publish(AGES, tmp_path / "o.parquet", "age", 3, require="loss<=0.5")
    assert "found" in str(error.value)
    assert not [word for word in str(error.value).split() if word.strip("(),").isdecimal()]
    many = table(np.random.default_rng(0), 200, 1, 9)
    with pytest.raises(mg.RequirementError, match=r"loss<=0.5 \(found about \d+\)"):
        mg.publish(many, tmp_path / "o.parquet", "a", 5, require="loss<=0.5")


@pytest.mark.deep
def test_what_is_told_is_at_most_a_quarter_of_a_bit_a_record():
    """Each measure takes at most ten to the digits and one values, whatever the table is.

    A share is at most 100 per cent, and takes as many values as that has steps, or none.
    """
    shares, default = {"dld", "dld_entity"}, assessed(entity=True)
    for records, digits in LADDER:
        measures = {*names_told(default, digits)}.difference(precision.OF_RELEASE)
        assert shares <= measures
        bits = len(measures - shares) * (digits + 1) * math.log2(10)
        assert bits + len(shares) * math.log2(10**digits + 2) <= records / 4
    rng = np.random.default_rng(0)
    for name in shares:
        for digits in (2, 3, 4):
            told = {precision.coarse(name, float(v), digits) for v in np.linspace(0, 100, 200_001)}
            assert len(told) <= 10**digits + 1
    for name in default:
        whole = precision.whole_of(name)
        for digits in (2, 3):
            values = [*np.linspace(0, whole, 20_001), *whole * 10 ** rng.uniform(0, 9, 20_000)]
            told = {precision.coarse(name, float(v), digits) for v in values}
            assert 2 * len(told) + 1 <= 10 ** (digits + 1)


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_rounding_moves_a_measure_by_half_a_step_at_most(digits):
    rng = np.random.default_rng(digits)
    for name in ("loss", "il1"):
        for value in [0.0, 0.005, 99.5, 99.96, *10 ** rng.uniform(-6, 4, 2_000)]:
            told = precision.coarse(name, value, digits)
            room = step(name, told, digits)
            assert room == math.inf or abs(told - value) <= room / 2 + 1e-12
            assert told == precision.coarse(name, told, digits)


def test_records_are_those_with_values_of_both_columns():
    from polars_microagg.analysis.anonymity import fewest_records

    rng = np.random.default_rng(0)
    for _ in range(200):
        n, names = int(rng.integers(1, 20)), list("abc")[: rng.integers(1, 4)]
        holes = [rng.random((n, 3)) < p for p in rng.choice([0, 0.2, 0.9], 2)]
        tables = [
            pl.DataFrame({m: [None if h else 1 for h in hole[:, i]] for i, m in enumerate(names)})
            for hole in holes
        ]
        there = ~(holes[0] | holes[1])
        pairs = [(there[:, i] & there[:, j]).sum() for i in range(len(names)) for j in range(i + 1)]
        assert fewest_records(names, *tables) == min(pairs)


def test_a_column_with_few_values_makes_a_table_small(tmp_path):
    """Or a measure of the few would be told as one of many."""
    many = table(np.random.default_rng(0), 1_500, 2, 90)
    few = many.with_columns(b=pl.when(pl.int_range(pl.len()) < 12).then("b"))
    for frame, digits in ((many, 3), (few, 0)):
        told = mg.publish(frame, tmp_path / "o.parquet", ["a", "b"], 3, nulls="pattern")
        assert told["digits"] == digits
        assert ("loss" in told["measures"]) == bool(digits)
    assert digits_of(12) == 0
    assert published({"loss": 1.23456}, 4) == {"loss": 1.23}
