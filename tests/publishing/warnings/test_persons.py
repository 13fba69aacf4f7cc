"""Warnings that count persons, where it is known whose the records are."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing import memory
from polars_microagg.publishing.large import survey as surveys
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.manifest.precision import coarse_count, digits_of
from polars_microagg.publishing.warnings.advice import advice, of_table
from polars_microagg.publishing.warnings.persons import Persons
from polars_microagg.publishing.warnings.unbounded_confidential import unbounded


def persons(who, mode=None):
    return Persons.of(["who"], mode, pl.DataFrame({"who": list(who)}))


def said(before, after, who, mode=None, **options):
    """Warnings by records, and by persons."""
    asked = {"strata": [], "kept": []} | options
    frames = [pl.DataFrame(frame) for frame in (before, after)]
    return [advice(*frames, [["pay"]], 2, **asked, who=w) for w in (None, persons(who, mode))]


def test_the_rows_of_one_person_make_most_of_a_total():
    # 40 of 140 is 29 per cent; all three of a are 86.
    rows, people = said({"pay": [40, 40, 40, 20]}, {"pay": [35] * 4}, "aaab")
    assert rows == []
    assert people[0].startswith("In 1 of 1 groups one person makes more than 80% of the total of")
    # The mean of a is 40 and of b 20, where each is masked as one.
    assert said({"pay": [40, 40, 40, 20]}, {"pay": [30] * 4}, "aaab", "mean")[1] == []
    # One record of 90 is one of two persons.
    rows, people = said({"pay": [90, 5, 5]}, {"pay": [33] * 3}, "abb")
    assert ["one record" in rows[0], "one person" in people[0]] == [True, True]


def test_one_person_has_most_rows_of_a_group():
    before, after = {"pay": [5, 6, 7, 8, 5, 5]}, {"pay": [6.5] * 4 + [5] * 2}
    rows, people = said(before, after, "aaabcd")
    assert not [s for s in rows if "of the rows" in str(s)]
    assert [str(s) for s in people if "of the rows" in str(s)] == [
        "In 1 of 2 groups one person has more than 50% of the rows, so their center is "
        "close to that of this person alone. Bound the share with max_entity_share, or use "
        "entity_mode='mean'."
    ]
    # Half of the rows is no majority, and a person who is masked as one counts once.
    for who, mode in (("aabbcd", None), ("aaabcd", "mean")):
        assert not [s for s in said(before, after, who, mode)[1] if "of the rows" in str(s)]


def test_a_total_is_explained_by_what_was_masked():
    text = "so the mean times the number of "
    rows, people = said({"pay": [90, 5, 5]}, {"pay": [33] * 3}, "abb")
    assert f"{text}records is close to that value." in rows[0]
    assert f"{text}rows is close to the total of that person." in people[0]
    _, people = said({"pay": [90, 5, 5]}, {"pay": [47.5] * 3}, "abb", "mean")
    assert f"{text}persons is close to the mean of that person." in people[0]


def test_a_centre_is_the_value_of_one_person():
    before, after = {"pay": [5, 5, 4, 6]}, {"pay": [5] * 4}
    rows, people = said(before, after, "aabc", center="median")
    assert not [s for s in rows if "the value of one" in str(s)]
    assert "is the value of one person" in str(people[0])
    assert said(before, after, "abca", center="median")[1] == []


def test_only_one_person_has_a_value():
    rows, people = said({"pay": [5, 7, None, None]}, {"pay": [6] * 4}, "aabc")
    assert not [s for s in rows if "only one" in str(s)]
    assert "only one person has a value of 'pay'" in str(people[-1])
    assert not [s for s in said({"pay": [5, 7, None]}, {"pay": [6] * 3}, "abc")[1] if "only" in s]


def test_a_kept_column_tells_persons_apart():
    number = {"pay": [1, 2, 3, 4, 5, 6], "card": [7, 7, 8, 8, 9, 9]}
    rows, people = said(number, number | {"pay": [3.5] * 6}, "aabbcc", kept=["card"])
    assert not [s for s in rows if "nearly unique" in s]
    assert "'card' is nearly unique: 3 distinct values, nearly each of one person" in people[0]
    # Two persons have each value, in whatever rows.
    assert said(number, number | {"pay": [3.5] * 6}, "abcdef", kept=["card"])[1] == []
    # What is the same for all tells nobody apart, nor does the entity itself more than it is said to.
    same = {"pay": [1, 2, 3, 4], "who": ["a", "a", "b", "b"], "all": [1, 1, 1, 1]}
    found = said(same, same | {"pay": [2.5] * 4}, "aabb", kept=["who", "all"])[1]
    assert found == []


@pytest.mark.parametrize(
    "values",
    [[[1], [1], [2], [2]], [{"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}], [True, True, False, False]],
)
def test_kept_columns_of_any_type_are_looked_at(values):
    table = {"pay": [1, 2, 3, 4], "kept": values}
    found = said(table, table | {"pay": [2.5] * 4}, "aabb", kept=["kept"])[1]
    assert "'kept' is nearly unique" in found[0]


def test_small_strata_are_those_of_few_persons():
    table = pl.DataFrame({"pay": range(12), "city": ["A"] * 4 + ["B"] * 8})
    who = persons("aaaabcdefghi")
    (rows,) = of_table(table, [["pay"]], 3, strata=["city"])
    assert "1 of 2 strata of 'city' are rare, with fewer than 2k=6 records" in rows
    (people,) = of_table(table, [["pay"]], 3, strata=["city"], who=who)
    assert "1 of 2 strata of 'city' have fewer than k=3 persons (the smallest has 1)" in str(people)


def test_a_dry_run_counts_persons_in_strata(tmp_path, monkeypatch, capsys):
    from polars_microagg.cli.main import main

    monkeypatch.chdir(tmp_path)
    rows = pl.DataFrame({"pay": range(40), "city": ["A"] * 8 + ["B"] * 32, "who": range(40)})
    rows.with_columns(pl.col("who") % 38 // 4).write_parquet("in.parquet")
    call = (
        "protect in.parquet -o o.parquet --columns pay --k 5 --strata city --entity who --dry-run"
    )
    main(call.split())
    told = capsys.readouterr()
    assert "have fewer than k=5 persons (the smallest has 2)" in told.out + told.err


def test_blocks_together_are_shared_by_few_persons():
    after = pl.DataFrame({"pay": [1.0] * 4, "age": [30, 30, 40, 40]})
    blocks = [["pay"], ["age"]]
    assert advice(after, after, blocks, 2) == []
    found = advice(after, after, blocks, 2, who=persons("aabc"))
    assert "taken together, 2 of 4 records share their values with fewer than 2 persons" in found[0]


def test_classes_are_of_persons_in_the_warning_of_no_bound():
    assert "all its persons may have one value" in str(unbounded(["dx"], [], ["who"])[0])
    assert "all its records may have one value" in str(unbounded(["dx"], [])[0])


def visits(rows, seed=0):
    """Visits of persons: one earns most in its group, a kept card is of one person, a city of few."""
    draw = np.random.default_rng(seed)
    who = np.sort(draw.integers(0, rows // 4, rows))
    age, pay = draw.integers(18, 90, rows), draw.lognormal(3, 0.2, rows).round(3)
    pay[who == 7] = 5e4
    # Somebody is the oldest and the poorest four times: alone on both columns, in as many rows as k asks.
    who[40:44] = who[40]
    age[40:44], pay[40:44] = 120, 0.001
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in who],
            "card": [f"c{i}" for i in who],
            "age": age,
            "pay": pay,
            "ward": [f"w{i // 2}" for i in who],
            "city": np.where(who < 5, "Z", draw.choice(["A", "B"], rows)).tolist(),
        }
    )


ROLES = {"entity": "who", "keep": ["card", "ward"], "strata": "city"}


@pytest.mark.parametrize("rows", [80, 2500])
@pytest.mark.parametrize("sample", [10**6, 1000])
@pytest.mark.parametrize("blocks", [["age", "pay"], [["age"], ["pay"]]])
def test_out_of_core_the_same_persons_are_counted(rows, sample, blocks, tmp_path, monkeypatch):
    table = visits(rows)
    table.write_parquet(tmp_path / "in.parquet")
    whole = mg.publish(tmp_path / "in.parquet", tmp_path / "w.parquet", blocks, 3, **ROLES)
    monkeypatch.setattr(memory, "BASE", 10**15)
    monkeypatch.setattr(surveys, "SAMPLE", sample)
    path = tmp_path / "o.parquet"
    large = mg.publish(tmp_path / "in.parquet", path, blocks, 3, memory="2GB", **ROLES)
    assert large["how"]["engine"] == "leaves"
    text = " ".join(large["warnings"])
    if rows < 100:  # nothing is told that only the original shows
        assert "person makes" not in text
        assert "persons" not in text
    else:
        # Of 3 strata it is not published how many, as the release does not show its persons.
        assert "Some of 3 strata of 'city' are rare, with fewer than 2k=6 persons" in text
        assert "'card' is nearly unique" in text
        assert "'ward' is nearly unique" not in text
        if len(blocks) == 2 and isinstance(blocks[0], list):
            classes = (
                pl.read_parquet(path).with_columns(table["who"]).group_by("age", "pay", "city")
            )
            counted = classes.agg(pl.len(), persons=pl.col("who").n_unique())
            few = counted.filter(pl.col("persons") < 3)["len"].sum()
            few = coarse_count(int(few), rows, digits_of(rows))[0]
            assert (
                f"about {few} of {rows} records share their values with fewer than 3 persons"
                in text
            )
            # Leaves are other groups than those of the whole table, one column at a time.
        elif sample > rows:
            assert large["warnings"] == whole["warnings"]
            assert "one person makes more than 80% of the total of 'pay'" in text
    for place, release in ((path, large), (tmp_path / "w.parquet", whole)):
        for original in (None, tmp_path / "in.parquet"):
            for limit in (None, "2GB"):
                found = check(place, original=original, memory=limit)
                assert [(f.what, f.says) for f in found if not f.holds] == []
                warned = next(f for f in found if f.what == "warnings")
                again = original is not None or release["digits"] == 0
                assert warned.checked == again or "leave out the limit of memory" in warned.says


@pytest.mark.parametrize(("persons", "warned"), [(600, 0), (2500, 1)])
def test_out_of_core_a_kept_entity_is_nearly_unique_by_its_records(
    persons, warned, tmp_path, monkeypatch
):
    who = pl.int_range(2500, eager=True) % persons
    table = visits(2500).with_columns(who.alias("who"))
    monkeypatch.setattr(surveys, "SAMPLE", 1000)
    for base, name in ((0, "w"), (10**15, "o")):
        monkeypatch.setattr(memory, "BASE", base)
        asked = {
            "keep": ["ward", "who"],
            "drop": ["card", "city"],
            "entity": "who",
            "entity_mode": "rows",
        }
        told = mg.publish(
            table, tmp_path / f"{name}.parquet", ["age", "pay"], 3, memory="2GB", **asked
        )
        assert told["how"]["engine"] == ("leaves" if base else "whole")
        found = [text for text in told["warnings"] if "'who' is nearly unique" in text]
        assert [f"{persons} distinct values in 2500 rows" in text for text in found] == [
            True
        ] * warned


def test_a_warning_that_is_taken_away_is_missed(tmp_path):
    import json

    table, path = visits(2500), tmp_path / "o.parquet"
    table.write_parquet(tmp_path / "in.parquet")
    mg.publish(table, path, ["age", "pay"], 3, **ROLES)
    record = tmp_path / "o.parquet.manifest.json"
    wrong = json.loads(record.read_text())
    kept = [text for text in wrong["warnings"] if "one person" not in text]
    assert len(kept) < len(wrong["warnings"])
    record.write_text(json.dumps(wrong | {"warnings": kept}))
    found = {f.what: f for f in check(path, original=tmp_path / "in.parquet")}
    assert not found["warnings"].holds
