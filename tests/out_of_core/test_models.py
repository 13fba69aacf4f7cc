"""Privacy models of files masked leaf by leaf, counted in SQL on what was written."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import models
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.leaves.rules import restricted
from polars_microagg.out_of_core import workers
from tests.leaves.model_counts import held
from tests.leaves.people import by_hand
from tests.loop import rounds

COLUMNS = ["a", "b"]
LEVELS = ["rare", "ok", "flu", "cold"]
ORDERED = {"wage": "wage", "day": "day", "level": f"list_position({LEVELS}, level)"}


def visits(rng, n):
    """Records with ties, people of several records, and confidential values that go with `a`."""
    a = rng.integers(0, [3, 30, 10**6][rng.integers(3)], n)
    near = np.argsort(np.argsort(a)) * 5 // n
    values = np.where(rng.random(n) < rng.random(), near, rng.integers(0, 5, n))
    words = [["flu", "cold", None, "ok", "rare"][v] for v in values]
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "a": a.astype(float),
            "b": rng.normal(size=n).round(int(rng.integers(0, 6))),
            "who": [f"p{v}" for v in rng.integers(0, max(2, n // int(rng.integers(1, 9))), n)],
            "sick": pl.Series(words, dtype=pl.String),
            "kind": pl.Series(words, dtype=pl.Categorical),
            "level": pl.Series(words, dtype=pl.Enum(LEVELS)),
            "wage": pl.Series(values * 3 + rng.integers(0, 9, n)).replace(3, None),
            "day": pl.Series(rng.integers(0, 9, n), dtype=pl.Int32).cast(pl.Date),
        }
    )


def drawn(rng):
    """Options of a call that asks for one model or several."""
    options = {}
    if rng.random() < 0.6:
        options = {"entity": [["who"], ["who", "day"]][rng.integers(2)], "entity_mode": "rows"}
        if rng.random() < 0.5:
            options["max_entity_share"] = float(rng.uniform(0.2, 0.7))
    if rng.random() < 0.8 or not options:
        taken = options.get("entity", [])
        values = [n for n in ("sick", "kind", "level", "wage", "day") if n not in taken]
        options["confidential"] = rng.permutation(values)[: rng.integers(1, 3)].tolist()
        bounds = {"l": int(rng.integers(1, 5)), "max_share": float(rng.uniform(0.3, 1))}
        bounds |= {"t": float(rng.uniform(0.05, 0.6))}
        for name in rng.permutation(list(bounds))[: rng.integers(1, 4)].tolist():
            options[name] = bounds[name]
        if "t" in options and rng.random() < 0.3:
            options["t_scale"] = "ranks"
    return options


def little(monkeypatch, part, workers=1):
    """Let so many records be as many as fit into memory."""
    small = MemoryBudget(10**9, workers, part, 37, 41)
    monkeypatch.setattr(MemoryBudget, "of", classmethod(lambda cls, *args: small))


def test_no_class_of_hundreds_of_files_breaks_a_bound(tmp_path, monkeypatch):
    done, merged = 0, 0
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    for seed in range(rounds(64)):
        rng = np.random.default_rng(seed)
        frame, options, k = (
            visits(rng, int(rng.integers(20, 400))),
            drawn(rng),
            int(rng.integers(2, 6)),
        )
        little(monkeypatch, frame.height // 3 + 1)
        frame.write_parquet(source, row_group_size=23)
        call = {"size": 2 * k + int(rng.integers(0, 30)), "refine": bool(seed % 5 == 0)}
        try:
            leaves = mg.protect_parquet(source, target, COLUMNS, k, **call, **options)
        except mg.InvalidDataError:
            # Only what the table as one class breaks is refused, and nothing is written.
            frame.with_columns(a=0.0, b=0.0).write_parquet(target)
            assert held(target, COLUMNS, k, ORDERED, **options), seed
            target.unlink()
            continue
        assert not held(target, COLUMNS, k, ORDERED, **options), (seed, options)
        masked = pl.read_parquet(target)
        assert masked.drop(COLUMNS).equals(frame.drop(COLUMNS))
        if seed % 4 == 0:
            assert masked.equals(by_hand(leaves, frame)), seed
            assert masked.equals(leaves.mask(frame)), seed
            assert mg.Leaves.from_json(leaves.to_json()) == leaves
            assert mg.fit_leaves(frame, COLUMNS, k, **call, **options) == leaves
        target.unlink()
        done, merged = done + 1, merged + len(leaves.merged)
    assert done > 0.8 * rounds(64)
    assert merged > done


def test_processes_give_the_same_bits(tmp_path, monkeypatch):
    visits(np.random.default_rng(1), 900).write_parquet(tmp_path / "in.parquet")
    options = {"entity": "who", "entity_mode": "rows", "confidential": ["level", "wage"], "l": 3}
    for count in (1, 2):
        little(monkeypatch, 300, count)
        target = tmp_path / f"{count}.parquet"
        mg.protect_parquet(tmp_path / "in.parquet", target, COLUMNS, 4, size=30, t=0.4, **options)
    one, two = (pl.read_parquet(tmp_path / f"{count}.parquet") for count in (1, 2))
    assert one.equals(two)


def test_older_leaves_hold_the_models_on_another_table(tmp_path):
    rng = np.random.default_rng(2)
    frame, other = visits(rng, 600), visits(rng, 600)
    options = {"confidential": ["sick"], "l": 3, "t": 0.3}
    leaves = mg.fit_leaves(frame, COLUMNS, 4, size=30, **options)
    other.write_parquet(tmp_path / "in.parquet")
    target = tmp_path / "out.parquet"
    merged = mg.protect_parquet(tmp_path / "in.parquet", target, COLUMNS, 4, leaves=leaves)
    assert not held(target, COLUMNS, 4, ORDERED, **options)
    assert pl.read_parquet(target).equals(by_hand(merged, other))
    with pytest.raises(mg.InvalidParameterError, match="l=2 beside leaves"):
        mg.protect_parquet(tmp_path / "in.parquet", target, COLUMNS, 4, leaves=leaves, l=2)


BOUNDS = {
    "entity": {"entity": ["who"], "entity_mode": "rows"},
    "max_entity_share": {"entity": ["who"], "entity_mode": "rows", "max_entity_share": 0.25},
    "l": {"confidential": ["sick"], "l": 4},
    "max_share": {"confidential": ["sick"], "max_share": 0.4},
    "t": {"confidential": ["wage"], "t": 0.1},
}


@pytest.mark.parametrize("name", BOUNDS)
def test_the_written_file_is_counted_and_a_broken_bound_leaves_the_target(
    tmp_path, monkeypatch, name
):
    rng = np.random.default_rng(3)
    frame = visits(rng, 300).with_columns(
        who=pl.Series(rng.integers(0, 20, 300)), sick=pl.Series(rng.permutation(list("abcde") * 60))
    )
    frame.write_parquet(tmp_path / "in.parquet")
    target = tmp_path / "out.parquet"
    target.write_text("as it was")
    none = dict.fromkeys(models())

    def records_only(plan, references, records):
        each = Attribute.of("who", np.arange(records.height)) if plan.entity else None
        return replace(plan, models={**plan.models, **none}).rule(each)

    def call():
        mg.protect_parquet(tmp_path / "in.parquet", target, COLUMNS, 5, size=40, **BOUNDS[name])

    with monkeypatch.context() as broken:
        broken.setattr(workers, "rule_of", records_only)
        with pytest.raises(mg.GuaranteeError, match="promised. Nothing was released"):
            call()
    assert target.read_text() == "as it was"
    call()
    assert not held(target, COLUMNS, 5, ORDERED, **BOUNDS[name])


def refused(tmp_path, frame, error, text, **options):
    frame.write_parquet(tmp_path / "in.parquet")
    with pytest.raises(error, match=text):
        mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", COLUMNS, 5, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_what_the_whole_table_does_not_hold_is_refused_with_what_it_could(tmp_path):
    frame = visits(np.random.default_rng(4), 200).with_columns(
        who=pl.lit("p") + (pl.col("id") % 3).cast(pl.String),
        sick=pl.Series([None, "flu", "flu", "flu", "ok"] * 40),
    )
    data, rows = mg.InvalidDataError, {"entity_mode": "rows"}
    few = "k=5 needs at least 5 entities, got 3"
    refused(tmp_path, frame, mg.TooFewRecordsError, few, entity="who", **rows)
    refused(tmp_path, frame, data, "l can be at most 2", confidential="sick", l=3)
    most = "max_share can be at least 0.75"
    refused(tmp_path, frame, data, most, confidential="sick", max_share=0.7)
    holes = frame.with_columns(who=pl.when(pl.col("id") > 3).then("who"))
    refused(tmp_path, holes, data, "'who' has 4 null", entity="who", **rows)


def test_what_does_not_fit_into_memory_is_refused(tmp_path, monkeypatch):
    frame = visits(np.random.default_rng(5), 400).with_columns(wage=pl.col("a").rank("ordinal"))
    wrong = mg.InvalidParameterError
    few = MemoryBudget(10**9, 1, 400, 37, 41, values=3000)
    with monkeypatch.context() as tight:
        tight.setattr(MemoryBudget, "of", classmethod(lambda cls, *args: few))
        text = "the different values of 'wage' alone take more"
        refused(tmp_path, frame, wrong, text, confidential="wage", l=2)
    little(monkeypatch, 60)
    text = r"\d+ records are masked together, since fewer do not satisfy the privacy models"
    refused(tmp_path, frame, wrong, text, confidential="wage", t=0.001, size=20)


def test_values_and_memory_grow_together():
    budgets = [MemoryBudget.of(memory, 1, 4, 40.0) for memory in (300 * 10**6, 2 * 10**9)]
    assert [b.values * 8 < b.memory for b in budgets] == [True, True]
    assert budgets[0].values < budgets[1].values


def test_no_records_are_released_as_no_records(tmp_path):
    frame = visits(np.random.default_rng(6), 20).clear()
    frame.write_parquet(tmp_path / "in.parquet")
    leaves = mg.protect_parquet(
        tmp_path / "in.parquet", tmp_path / "out.parquet", COLUMNS, 5, confidential="sick", l=2
    )
    assert pl.read_parquet(tmp_path / "out.parquet").equals(frame)
    assert mg.Leaves.from_json(leaves.to_json()) == leaves
    assert restricted(leaves.plan)


def test_progress_is_told_to_the_end(tmp_path, monkeypatch):
    little(monkeypatch, 100)
    visits(np.random.default_rng(7), 300).write_parquet(tmp_path / "in.parquet")
    told = []
    with mg.progress(lambda *args: told.append(args)):
        mg.protect_parquet(
            tmp_path / "in.parquet", tmp_path / "out.parquet", COLUMNS, 5, confidential="day", l=2
        )
    assert told[-1] == (told[-1][1], told[-1][1], "protect_parquet")
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
