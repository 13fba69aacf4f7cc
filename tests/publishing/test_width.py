"""Columns that are only kept cost what they take to read and write, however many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_microagg as mg
from polars_microagg.cli.main import main
from polars_microagg.publishing.formats import column_batches
from polars_microagg.publishing.formats.scrub import visible
from polars_microagg.publishing.formats.text_types import TypesSeen, typed
from polars_microagg.publishing.warnings.advice import of_table
from polars_microagg.publishing.warnings.functional_dependency import revealing
from tests.loop import share

NARROW, WIDE = 60, 240
WHOLE = {pl.LazyFrame: ["collect"], pl.DataFrame: ["columns", "schema", "lazy"]}
"""What takes a time that grows with the columns of its table."""


def table(width: int) -> pl.DataFrame:
    kinds: list[Callable[[int], list[Any]]] = [
        lambda i: [i, 2, 3, 4, 5, 6],
        lambda i: ["a", f"b{i}", None, "d", "e", "f"],
        lambda i: ["1", "2", f"{i}", "4", "5", "6"],
        lambda i: ["2024-01-01", "2024-01-02", None, "2024-03-01", None, None],
        lambda i: [0.5, i / 2, 1.5, -1.0, 3.0, 9.0],
    ]
    kept = {f"kept {i}": kinds[i % len(kinds)](i) for i in range(width)}
    return pl.DataFrame({"age": [31, 35, 38, 52, 57, 60], **kept})


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], Counter[str]]:
    """Count how often a step goes over all columns of some table."""
    counted: Counter[str] = Counter()

    def watched(name: str, take: Callable[..., Any]) -> Callable[..., Any]:
        def counting(self: Any, *arguments: Any, **options: Any) -> Any:
            counted[name] += 1
            return take(self, *arguments, **options)

        return counting

    for kind, names in WHOLE.items():
        for name in names:
            old = kind.__dict__[name]
            new = watched(name, old.fget if isinstance(old, property) else old)
            monkeypatch.setattr(kind, name, property(new) if isinstance(old, property) else new)

    def count(step: Callable[[], object]) -> Counter[str]:
        counted.clear()
        step()
        return Counter(counted)

    return count


def kept(frame: pl.DataFrame) -> list[str]:
    return list(frame.columns[1:])


def published(frame: pl.DataFrame, folder: Path, name: str, **options: Any) -> None:
    mg.publish(frame, folder / name, "age", 3, keep=kept(frame), overwrite=True, **options)


def verified(frame: pl.DataFrame, folder: Path) -> None:
    assert (
        main(["verify", str(folder / "out.parquet"), "--original", str(folder / "in.parquet")]) == 0
    )


def protected(frame: pl.DataFrame, folder: Path, *more: str) -> None:
    files = [str(folder / "in.parquet"), "-o", str(folder / "out.parquet"), "--overwrite"]
    roles = ["--columns", "age", "--k", "3", "--keep", ",".join(kept(frame))]
    assert main(["protect", *files, *roles, *more]) == 0


STEPS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "publish Parquet": lambda t, folder: published(t, folder, "out.parquet"),
    "publish Arrow": lambda t, folder: published(t, folder, "out.arrow"),
    "publish with a key": lambda t, folder: published(t, folder, "out.arrow", hash_key=b"k" * 32),
    "publish a lazy table": lambda t, folder: mg.publish(
        t.lazy(), folder / "out.parquet", "age", 3, keep=kept(t), overwrite=True
    ),
    "protect": protected,
    "protect --dry-run": lambda t, folder: protected(t, folder, "--dry-run"),
    "protect and verify": lambda t, folder: (protected(t, folder), verified(t, folder)),
    "mask": lambda t, folder: mg.mdav(t, "age", 3),
    "mask a lazy table": lambda t, folder: mg.mdav(t.lazy(), "age", 3).collect(),
    "warn": lambda t, folder: of_table(t, [["age"]], 3, kept=kept(t)),
    "read text": lambda t, folder: typed(t, t.columns),
    "look through text": lambda t, folder: TypesSeen(t.columns[:1], t.columns[1:]).see(t),
    "make visible": lambda t, folder: visible(t),
}


@pytest.mark.parametrize("step", STEPS)
def test_work_on_whole_tables_does_not_grow_with_their_columns(
    step: str, work: Callable[[Callable[[], object]], Counter[str]], tmp_path: Path
) -> None:
    counted = []
    for width in (NARROW, WIDE):
        frame = table(width)
        frame.write_parquet(tmp_path / "in.parquet")
        counted.append(work(lambda frame=frame: STEPS[step](frame, tmp_path)))
    assert counted[1] == counted[0]


def initialised(frame: pl.DataFrame, folder: Path) -> None:
    frame.write_csv(folder / "in.csv")
    call = ["init", str(folder / "in.csv"), "-o", str(folder / "job.toml"), "--overwrite"]
    assert main(call) == 0


ONE_BY_ONE: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "publish CSV": lambda t, folder: published(t, folder, "out.csv"),
    "publish NDJSON": lambda t, folder: published(t, folder, "out.ndjson"),
    "publish a table of DuckDB": lambda t, folder: published(t, folder, "out.duckdb::t"),
    "init": initialised,
}
"""Steps that look at columns one by one, each as a table of its own."""


@pytest.mark.parametrize("step", ONE_BY_ONE)
def test_work_on_single_columns_grows_no_more_than_their_number(
    step: str, work: Callable[[Callable[[], object]], Counter[str]], tmp_path: Path
) -> None:
    narrow, wide = (
        work(lambda width=width: ONE_BY_ONE[step](table(width), tmp_path))
        for width in (NARROW, WIDE)
    )
    assert narrow.pop("lazy") * WIDE / NARROW >= wide.pop("lazy")
    assert narrow == wide


TEXTS = ["1", " 2 ", "1e3", "2024-01-01", "2024-01-01T10:00", "2024-01-01 10:00Z", "10:00:00", "a"]


def hostile(seed: int) -> pl.DataFrame:
    """Columns of many types, with nulls; most of text are of one kind in the first rows."""
    random = np.random.default_rng(seed)
    n = int(random.choice([1, 2, 5, 40, 90]))
    columns: list[pl.Series] = []
    for _ in range(12):
        few = random.choice(TEXTS, int(random.integers(1, 3)))
        text = random.choice(few, n)
        text[: n - 3] = few[0]
        columns += [
            pl.Series(text.tolist()),
            pl.Series(random.integers(0, 4, n)),
            pl.Series(random.choice([0.0, -0.0, 1.5, np.nan, np.inf, -2.0], n)),
            pl.Series(text.tolist(), dtype=pl.Categorical),
            pl.Series([{"u": str(t), "v": [i, 2]} for i, t in enumerate(text)]),
            pl.Series([[]] * n, dtype=pl.Array(pl.Int64, 0)),
        ]
    there = pl.Series(random.random(n) > 0.2)
    gaps = [pl.select(pl.when(there).then(column)).to_series() for column in columns]
    chosen = random.permutation(len(gaps))[: int(random.integers(1, 9))]
    names = ["", "*", "^a$", "0", "1", "b", "c", "d"]
    return pl.DataFrame({names[i]: [columns, gaps][j % 2][j] for i, j in enumerate(chosen)})


@pytest.mark.parametrize("seed", share(range(60), 4))
def test_columns_taken_together_are_what_each_is_alone(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = hostile(seed)
    numbers = np.random.default_rng(seed).integers(0, 5, frame.height)
    original = pl.DataFrame(
        {"x": numbers, "y": pl.Series(numbers * 2.5).set(pl.Series(numbers == 3), None)}
    )
    kept = frame.with_columns(z=original["y"] * 2, t=original["x"].cast(pl.String))
    together = (
        typed(kept, kept.columns),
        visible(kept),
        revealing(original, ["x", "y"], kept, kept.columns),
    )
    monkeypatch.setattr(column_batches, "CELLS", 1)
    alone = [pl.DataFrame({name: kept.get_column(name)}) for name in kept.columns]
    for got, step in zip(together, (lambda one: typed(one, one.columns), visible), strict=False):
        pieces = [step(one) for one in alone]
        assert_frame_equal(got, pl.concat(pieces, how="horizontal"), check_exact=True)
    assert_frame_equal(together[1], kept, check_exact=True)
    found = [
        w for n in ("x", "y") for one in alone for w in revealing(original, [n], one, one.columns)
    ]
    assert together[2] == found


@pytest.mark.deep
def test_a_csv_of_very_many_columns_is_looked_through(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pattern that counts all separators of a line has a limit, which ended as a bug."""
    source = tmp_path / "wide.csv"
    names = ",".join(f"c{i}" for i in range(10_001))
    source.write_text(f"name,{names}\n" + f"a{',1' * 10_001}\nb{',2' * 10_001}\n")
    assert main(["init", str(source), "-o", str(tmp_path / "job.toml")]) == 0
    line = "d" + ",4" * 10_001
    source.write_text(f'name,{names}\n"a\n{line}\nb"{",1" * 10_001}\n')
    assert main(["init", str(source), "-o", str(tmp_path / "other.toml")]) == 3
    assert "reads like whole lines of the table" in capsys.readouterr().err
