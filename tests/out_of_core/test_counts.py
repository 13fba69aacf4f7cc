"""Classes of tables larger than memory, beside those of the same table whole."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_microagg.analysis.anonymity import anonymity
from polars_microagg.analysis.counted_classes import CountedClasses
from polars_microagg.core.plan import Plan
from polars_microagg.errors import (
    GuaranteeError,
    InvalidDataError,
    InvalidParameterError,
    NotAnonymousError,
)
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core import grouped
from polars_microagg.out_of_core.counts import class_sizes, recounted
from polars_microagg.out_of_core.grouped import Grouped
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.manifest.record import QUANTILES, recorded_classes
from tests.loop import rounds
from tests.out_of_core.hostile_tables import budget, column, hostile, source


def roles(rng, frame):
    """Divide the columns of a table into blocks and strata."""
    names = rng.permutation(frame.columns).tolist()
    strata = names[:1] if len(names) > 1 and rng.random() < 0.4 else []
    rest = names[len(strata) :]
    cut = int(rng.integers(1, len(rest) + 1))
    return [block for block in (rest[:cut], rest[cut:]) if block], strata


def test_classes_are_those_of_the_whole_table(tmp_path):
    rng = np.random.default_rng(1)
    for _ in range(rounds(240)):
        frame = hostile(rng)
        blocks, strata = roles(rng, frame)
        found = class_sizes(source(tmp_path, frame, rng), blocks, strata, budget(rng))
        assert [one.recorded(QUANTILES) for one in found] == recorded_classes(frame, blocks, strata)
        for one, names in zip(found, blocks, strict=True):
            k = None if rng.random() < 0.5 else int(rng.integers(2, 9))
            assert_frame_equal(one.row(k), anonymity(frame, [names], strata=strata, k=k))


def people(rng, frame):
    """Add an entity, of one column or two, and confidential columns."""
    n, kinds = frame.height, ("int", "text", "date", "enum", "category", "bool", "float")
    who = rng.integers(0, max(1, n // int(rng.integers(1, 9))), n)
    hidden = [column(rng, n, rng.choice(kinds)).alias(name) for name in ("h1", "h2")]
    ids = [pl.Series("w1", [f"p{v % 7}" for v in who], dtype=pl.String), pl.Series("w2", who // 7)]
    return pl.DataFrame([*frame.get_columns(), *ids, *hidden])


def test_models_count_what_they_count_in_the_whole_table(tmp_path):
    rng = np.random.default_rng(2)
    for _ in range(rounds(320)):
        frame = people(rng, hostile(rng))
        blocks, strata = roles(rng, frame.drop("w1", "w2", "h1", "h2"))
        entity = [[], ["w1"], ["w1", "w2"]][int(rng.integers(3))]
        hidden = [[], ["h1"], ["h1", "h2"]][int(rng.integers(3))]
        options = {"t_scale": "ranks"} if hidden and rng.random() < 0.4 else {}
        options = {"t_scale": "values"} | options
        table = source(tmp_path, frame, rng)
        where = {"entity": entity, "confidential": hidden, "options": options}
        found = class_sizes(table, blocks, strata, budget(rng), **where)
        k = None if rng.random() < 0.5 else int(rng.integers(2, 9))
        for one, names in zip(found, blocks, strict=True):
            asked = {"strata": strata, "k": k, "entity": entity, "confidential": hidden}
            whole = anonymity(frame, [names], **asked, **(options if hidden else {}))
            assert_frame_equal(one.row(k), whole, rel_tol=0, abs_tol=1e-12)
            if frame.height and hidden:
                counted = CountedClasses.of(frame, [*names, *strata], entity, hidden, options)
                expected = counted.worst
                for model, numbers in one.worst.items():
                    assert numbers == pytest.approx(expected[model], rel=0, abs=1e-12)


SAID = ("nothing", "smaller than k", "entities", "all rows", "l=2", "max_share=", "t=0.2", "max_en")


def refused(counted, plan, names, strata):
    try:
        counted.hold(plan, names, strata)
    except NotAnonymousError as error:
        return str(error)
    return None


def test_a_plan_is_held_with_the_same_words(tmp_path):
    rng = np.random.default_rng(3)
    said = set()
    for _ in range(rounds(320)):
        frame = people(rng, pl.concat([hostile(rng)] * int(rng.choice([1, 2, 3]))))
        blocks, strata = roles(rng, frame.drop("w1", "w2", "h1", "h2"))
        asked = {}
        if rng.random() < 0.5:
            asked = {"entity": ["w1", "w2"], "entity_mode": ["rows", "alike"][int(rng.integers(2))]}
            asked |= {"max_entity_share": 0.4} if rng.random() < 0.5 else {}
        if rng.random() < 0.6:
            bound = [{"l": 2}, {"max_share": 0.6}, {"t": 0.2}][int(rng.integers(3))]
            asked |= {"confidential": ["h1", "h2"], **bound}
        plan = Plan.make("mdav", int(rng.integers(2, 5)), **asked)
        where = {"entity": plan.entity, "confidential": plan.confidential}
        table = source(tmp_path, frame, rng)
        found, whole = recounted(plan, table, blocks, strata, budget(rng), **where)
        every = [name for block in blocks for name in block]
        for one, names in zip([*found, whole], [*blocks, every], strict=True):
            keys = [*names, *strata]
            counted = CountedClasses.of(frame, keys, plan.entity, plan.confidential, plan.models)
            expected = refused(counted, plan, names, strata)
            assert refused(one, plan, names, strata) == expected
            said |= {word for word in SAID if word in (expected or "nothing")}
    assert len(said) > 6


def test_what_is_counted_may_be_beside_the_release(tmp_path):
    rng = np.random.default_rng(4)
    for _ in range(rounds(60)):
        frame = people(rng, hostile(rng, ("int", "text")))
        kept = rng.random(frame.height) < rng.random()
        names = frame.drop("w1", "w2", "h1", "h2").columns
        held = frame.filter(pl.Series(kept, dtype=pl.Boolean))
        release = source(tmp_path, held.drop("w1", "w2", "h1", "h2"), rng)
        beside = source(tmp_path, frame, rng, "beside")
        where = {"entity": ["w1"], "confidential": ["h1"], "beside": beside, "kept_rows": kept}
        (found,) = class_sizes(release, [names], [], budget(rng), **where)
        whole = anonymity(held, names, entity="w1", confidential="h1")
        assert_frame_equal(found.row(), whole, rel_tol=0, abs_tol=1e-12)


def test_rows_that_are_not_those_of_the_release_are_refused(tmp_path):
    rng = np.random.default_rng(5)
    table = source(tmp_path, pl.DataFrame({"a": [1, 1, 2]}), rng)
    other = source(tmp_path, pl.DataFrame({"w": [1, 2]}), rng, "other")
    with pytest.raises(InvalidDataError, match="2 .*3"):
        class_sizes(table, [["a"]], [], budget(rng), entity=["w"], beside=other)


def test_an_entity_without_a_name_is_refused(tmp_path):
    rng = np.random.default_rng(6)
    table = source(tmp_path, pl.DataFrame({"a": [1, 1], "w": [1, None]}), rng)
    with pytest.raises(InvalidDataError, match="'w'"):
        class_sizes(table, [["a"]], [], budget(rng), entity=["w"])


def test_confidential_values_that_do_not_fit_are_refused(tmp_path):
    rng = np.random.default_rng(7)
    table = source(tmp_path, pl.DataFrame({"a": [1] * 100, "h": range(100)}), rng)
    tiny = MemoryBudget(10**9, 1, 10, 10, 10, values=100)
    with pytest.raises(InvalidParameterError, match="'h'"):
        class_sizes(table, [["a"]], [], tiny, confidential=["h"])


def most_waiting(monkeypatch):
    """Return the most rows that any sum has waiting at a time."""
    most = [0]
    settle = Grouped._settle

    def told(self):
        settle(self)
        most[0] = max(most[0], self.rows)

    monkeypatch.setattr(Grouped, "_settle", told)
    return most


def test_one_huge_class_stays_within_memory(tmp_path, monkeypatch):
    rng, most = np.random.default_rng(8), most_waiting(monkeypatch)
    n = 6_000
    frame = pl.DataFrame({"a": [7] * n, "w": rng.permutation(n)})
    small = MemoryBudget(10**9, 1, 500, 300, 300)
    (found,) = class_sizes(source(tmp_path, frame, rng), [["a"]], [], small, entity=["w"])
    assert found.table.rows() == [(n, n, 1)]
    assert found.alike.rows() == [(n, 1)]
    assert most[0] <= 600


def test_many_classes_stay_within_memory(tmp_path, monkeypatch):
    rng, most = np.random.default_rng(9), most_waiting(monkeypatch)
    monkeypatch.setattr(grouped, "FILES", 8)
    frame = pl.DataFrame({"a": rng.permutation(20_000) // 2, "b": "x"})
    small = MemoryBudget(10**9, 1, 500, 300, 300)
    (found,) = class_sizes(source(tmp_path, frame, rng), [["a", "b"]], [], small)
    assert found.table.rows() == [(2, 10_000)]
    assert most[0] <= 900
    assert not list(tmp_path.glob("microagg-*"))


def test_files_are_gone_even_after_an_error(tmp_path):
    rng = np.random.default_rng(10)
    frame = pl.DataFrame({"a": range(1000), "w": [*range(999), None]})
    table = source(tmp_path, frame, rng)
    small = MemoryBudget(10**9, 1, 50, 30, 30)
    with pytest.raises(InvalidDataError):
        class_sizes(table, [["a"]], [], small, entity=["w"], folder=tmp_path)
    assert not list(tmp_path.glob("microagg-*"))


@pytest.mark.parametrize(
    ("counted", "broken"),
    [
        ({}, r"md made a class of 3 record\(s\) where k=4"),
        ({"entity": ["who"]}, r"a class of 2 entities where k=4"),
        ({"confidential": ["dx"], "k": 3}, r"distinct values is 1(\.0)? where l=2"),
        ({"k": 3}, None),
        ({"entity": ["who"], "k": 2}, None),
    ],
)
def test_classes_of_a_result_keep_what_the_plan_promises(counted, broken, tmp_path):
    frame = pl.DataFrame(
        {"x": [1, 1, 1, 2, 2, 2], "who": [7, 7, 8, 1, 2, 3], "dx": ["a", "b", "a", "c", "c", "c"]}
    )
    frame.write_parquet(tmp_path / "a.parquet")
    counted = {"k": 4, **counted}
    models = {"l": 2} if "confidential" in counted else {}
    plan = Plan.make("md", counted.pop("k"), **models, **counted)
    place = ParquetSource.of(tmp_path / "a.parquet")
    rows: list[int] = []
    few = MemoryBudget(10**9, 1, 2, 4, 4)
    (found,) = class_sizes(place, [["x"]], [], few, plan=plan, report=rows.append, **counted)
    assert rows == [4, 2]
    if broken is None:
        found.keep_promise(plan)
    else:
        with pytest.raises(GuaranteeError, match=broken):
            found.keep_promise(plan)
