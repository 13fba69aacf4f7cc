"""One plan used twice: either all its nodes see the same records, or nothing comes out."""

from __future__ import annotations

import importlib.util
import io
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.errors import InvalidDataError
from polars_microagg.frames.same_records import PlanRun, PlanRuns, SameRecords

from .doors import BOTH, ENGINES, same, table

K, TRIALS = 3, 12
TABLE = table(60).select("id", pl.col("a") + pl.int_range(60) / 100, "b")
LEFT, RIGHT = pl.col("id") % 2 == 0, pl.col("id") % 2 == 1

Plan = Callable[[pl.LazyFrame], pl.LazyFrame]


def shuffled() -> pl.LazyFrame:
    order = pl.int_range(pl.len()).shuffle().alias("order")
    return TABLE.lazy().with_columns(order).sort("order").drop("order")


def sampled() -> pl.LazyFrame:
    return shuffled().head(50)


def joined() -> pl.LazyFrame:
    left = TABLE.select("id", "a").sample(fraction=1.0, shuffle=True, seed=1)
    return left.lazy().join(TABLE.lazy().select("id", "b"), on="id")


UNORDERED = {"shuffled": shuffled, "sampled": sampled, "joined": joined}


def halves(x: pl.LazyFrame) -> pl.LazyFrame:
    return pl.concat([x.filter(LEFT), x.filter(RIGHT)])


def by_sql(x: pl.LazyFrame) -> pl.LazyFrame:
    query = "SELECT * FROM x WHERE id % 2 = 0 UNION ALL SELECT * FROM x WHERE id % 2 = 1"
    return pl.SQLContext(x=x).execute(query)


PLANS: dict[str, Plan] = {
    "two filters": halves,
    "two filters of a cache": lambda x: halves(x.cache()),
    "two filters of a cache of two": lambda x: halves(halves(x).cache()),
    "side by side": lambda x: pl.concat([x.select("a"), x.select("b")], how="horizontal"),
    "self-join": lambda x: (
        x.filter(LEFT)
        .join(x, on="id", how="full", coalesce=True)
        .select("id", pl.coalesce("a", "a_right"), pl.coalesce("b", "b_right"))
    ),
    "groups joined": lambda x: x.join(x.group_by("b").agg(pl.len()), on="b"),
    "union in SQL": by_sql,
}


def smallest_class(masked: pl.DataFrame) -> int:
    return masked.select(pl.struct("a", "b").microagg.k_min()).item()


@pytest.mark.parametrize("order_by", [None, "id"])
@pytest.mark.parametrize("optimised", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("upstream", UNORDERED)
@pytest.mark.parametrize("plan", PLANS)
def test_two_maskings_are_never_mixed(
    plan: str, upstream: str, engine: str, optimised: bool, order_by: str | None
) -> None:
    flags = pl.QueryOptFlags() if optimised else pl.QueryOptFlags(comm_subplan_elim=False)
    for _ in range(TRIALS):
        masked = mg.mdav(UNORDERED[upstream](), ["a", "b"], K, order_by=order_by)
        try:
            got = PLANS[plan](masked).collect(engine=engine, optimizations=flags)
        except InvalidDataError:
            continue
        assert smallest_class(got) >= K


@pytest.mark.parametrize("engine", ENGINES)
def test_a_shuffled_table_that_a_plan_reads_twice_is_refused(engine: str) -> None:
    # Else the test above would show nothing.
    for plan in (
        halves(mg.mdav(shuffled(), ["a", "b"], K)),
        halves(mg.groups(shuffled(), ["a", "b"], K)),
    ):
        with pytest.raises(InvalidDataError, match=r"in several places.*masked.collect\(\)\.lazy"):
            plan.collect(engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_two_plans_collected_together_are_one(engine: str, tmp_path: Path) -> None:
    masked = mg.mdav(shuffled(), ["a", "b"], K)
    halves = [masked.filter(LEFT), masked.filter(RIGHT)]
    with pytest.raises(InvalidDataError, match="in several places"):
        pl.collect_all(halves, engine=engine)
    sinks = [half.sink_parquet(tmp_path / str(i), lazy=True) for i, half in enumerate(halves)]
    with pytest.raises(InvalidDataError, match="in several places"):
        pl.collect_all(sinks, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("upstream", UNORDERED)
@pytest.mark.parametrize("plan", PLANS)
def test_a_table_collected_once_can_be_used_anywhere(plan: str, upstream: str, engine: str) -> None:
    once = mg.mdav(UNORDERED[upstream](), ["a", "b"], K).collect().lazy()
    assert smallest_class(PLANS[plan](once).collect(engine=engine)) >= K


def _sorted(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort("id" if "id" in frame.columns else "a", "b")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("plan", PLANS)
def test_a_file_that_grows_is_masked_anew_by_each_collect(
    plan: str, engine: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    lazy = PLANS[plan](mg.mdav(pl.scan_csv(path, schema=TABLE.schema), ["a", "b"], K))
    for rows in (30, 45, 60):
        TABLE.head(rows).write_csv(path)
        now = PLANS[plan](mg.mdav(TABLE.head(rows), ["a", "b"], K).lazy()).collect()
        lazy.collect_schema()
        for _ in range(2):
            same(_sorted(lazy.collect(engine=engine)), _sorted(now))
            lazy.explain()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_plan_that_was_refused_runs_when_its_table_is_fixed(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lazy = halves(mg.mdav(pl.scan_csv(path, schema=TABLE.schema), ["a", "b"], K))
    TABLE.with_columns(b=float("nan")).write_csv(path)
    with pytest.raises(InvalidDataError, match="NaN"):
        lazy.collect(engine=engine)
    TABLE.write_csv(path)
    assert smallest_class(lazy.collect(engine=engine)) >= K


@pytest.mark.parametrize("engine", ENGINES)
def test_each_collect_of_a_sample_is_a_masking_of_its_own(engine: str) -> None:
    lazy = mg.mdav(sampled(), ["a", "b"], K)
    for _ in range(3):
        assert smallest_class(lazy.collect(engine=engine)) >= K


@pytest.mark.parametrize("engine", ENGINES)
def test_an_expression_may_be_used_on_several_tables_of_a_plan(engine: str) -> None:
    masked = BOTH.microagg.mdav(K)
    tables = [TABLE.head(20), TABLE.tail(40)]
    got = pl.concat([t.lazy().select(masked) for t in tables]).collect(engine=engine)
    same(got, pl.concat([t.select(masked) for t in tables]))


@pytest.mark.skipif(
    importlib.util.find_spec("cloudpickle") is None,
    reason="polars serialises Python functions with cloudpickle, which is not installed",
)
def test_a_serialised_plan_is_one_plan() -> None:
    plan = halves(mg.mdav(shuffled(), ["a", "b"], K))
    with pytest.raises(InvalidDataError, match="in several places"):
        pl.LazyFrame.deserialize(io.BytesIO(plan.serialize())).collect()


def test_nodes_planned_before_any_of_them_ran_are_of_one_run() -> None:
    runs = PlanRuns()
    first = runs.planned()
    assert runs.planned() is first
    first.check(TABLE)
    assert runs.planned() is not first


def test_what_another_thread_plans_is_another_run() -> None:
    runs, found = PlanRuns(), []
    thread = threading.Thread(target=lambda: found.append(runs.planned()))
    thread.start()
    thread.join()
    assert found[0] is not runs.planned()


def test_copies_of_a_call_are_one_call_and_digests_of_records_stay_here() -> None:
    runs = PlanRuns()
    copies = [*pickle.loads(pickle.dumps([runs, runs])), pickle.loads(pickle.dumps(runs))]
    assert all(copy is runs for copy in copies)
    run = PlanRun()
    run.check(TABLE)
    assert pickle.loads(pickle.dumps(SameRecords(len, run))).run.seen == []


@pytest.mark.parametrize(
    "other", [TABLE.reverse(), TABLE.head(59), TABLE.clear(), TABLE.with_columns(-pl.col("b"))]
)
def test_other_records_and_another_order_are_told_from_the_same(other: pl.DataFrame) -> None:
    run = PlanRun()
    run.check(TABLE)
    run.check(pl.concat([TABLE.head(7), TABLE.tail(53)], rechunk=False))
    with pytest.raises(InvalidDataError):
        run.check(other)


def test_each_call_has_a_token_of_its_own_and_keeps_one_that_it_is_given() -> None:
    one, other = PlanRuns(), PlanRuns()
    assert one.__reduce__()[1] != other.__reduce__()[1]
    assert pickle.loads(pickle.dumps(one)) is one
    assert PlanRuns("given").__reduce__()[1] == ("given",)


def test_functions_of_two_runs_are_the_same_node() -> None:
    one, other = SameRecords(len, PlanRun()), SameRecords(len, PlanRun())
    assert one == other
    assert one != SameRecords(abs, one.run)
