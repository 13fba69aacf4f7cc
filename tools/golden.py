"""Digests of what the library computes: equal before and after each step that changes no behavior.

    python -m tools.golden             compare with tests/golden.json, and name what differs
    python -m tools.golden --write     keep what is computed now
    python -m tools.golden --only mdav only the cases that have this text in their name

A case is a digest of labels and masked values, a number that holds to 1e-9, or, for a refused call, the
class of the error, the parameter and what is needed. Nothing in it depends on the processor, a clock, the
number of processes, `memory=`, or a supported version of numpy, Polars or DuckDB: tables hold small whole
numbers, and a search that compares sums of products is recorded by its loss.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
import math
import random
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import polars as pl

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.core import registry
from polars_microagg.leaves.memory_budget import MemoryBudget

ROOT = Path(__file__).parents[1]
FILE = ROOT / "tests" / "golden.json"
TOLERANCE = 1e-9
"""Relative difference up to which two numbers are the same."""

K = 3
LEAF_ROWS = 40
PART_ROWS = 100
"""Records that are in memory together, so that every table takes several parts."""


@dataclass(frozen=True)
class Shape:
    """How a table is drawn: `value` maps uniform numbers from 0 to 1 to a row of whole numbers."""

    rows: int
    value: Callable[[Callable[[], float]], tuple[int, ...]]


def _below(*limits: int) -> Callable[[Callable[[], float]], tuple[int, ...]]:
    return lambda draw: tuple(int(draw() * limit) for limit in limits)


def _clusters(draw: Callable[[], float]) -> tuple[int, ...]:
    center = int(draw() * 4) * 40
    return tuple(center + int(draw() * 9) for _ in range(3))


def _line(draw: Callable[[], float]) -> tuple[int, ...]:
    value = int(draw() * 90)
    return value, 2 * value + int(draw() * 3)


def _far(draw: Callable[[], float]) -> tuple[int, ...]:
    return tuple(int(draw() * 50) + 10**6 * (draw() > 0.95) for _ in range(2))


SHAPES = {
    "few values": Shape(60, _below(3, 3)),
    "ties": Shape(90, _below(9, 9, 9)),
    "wide": Shape(110, _below(1000, 100, 1000, 10, 1000, 100)),
    "skewed": Shape(130, lambda draw: tuple(int(9 / (1.01 - draw())) for _ in range(2))),
    "one column": Shape(150, _below(10_000)),
    "one column of ties": Shape(80, _below(12)),
    "far": Shape(80, _far),
    "constant column": Shape(45, _below(1, 30)),
    "clusters": Shape(140, _clusters),
    "line": Shape(70, _line),
    "small": Shape(11, _below(20, 20)),
    "negative": Shape(100, lambda draw: tuple(int(draw() * 1000) - 500 for _ in range(4))),
}


@cache
def table(name: str) -> pl.DataFrame:
    """Return a table: numbers a, b, ..., and beside them a stratum, a person, and so on."""
    shape = SHAPES[name]
    draw = random.Random(name).random
    rows = [shape.value(draw) for _ in range(shape.rows)]
    columns = {"abcdef"[j]: [row[j] for row in rows] for j in range(len(rows[0]))}
    count = range(shape.rows)
    return pl.DataFrame(
        columns
        | {
            "id": list(count),
            "region": ["north" if draw() < 0.4 else "south" for _ in count],
            "person": [int(draw() * shape.rows / 2) for _ in count],
            "diagnosis": [("flu", "gout", "ok")[int(draw() * 3)] for _ in count],
            "job": [("cook", "clerk", "smith")[int(draw() ** 2 * 3)] for _ in count],
            "holes": [None if draw() < 0.15 else int(draw() * 30) for _ in count],
        }
    )


def masked_columns(frame: pl.DataFrame) -> list[str]:
    """Return the names of the numbers that are masked."""
    return [name for name in frame.columns if len(name) == 1]


VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "refine": {"refine": True, "scale": "none"},
    "strata": {"strata": "region"},
    "nulls": {"nulls": "impute"},
    "entity": {"entity": "person", "entity_mode": "rows"},
    "l": {"confidential": "diagnosis", "l": 2},
    "t": {"confidential": "diagnosis", "t": 0.4},
    "kinds": {"nominal": ["job"]},
}
EVERY = 2
"""Variants other than `plain` are computed for one table in so many, other ones each."""

BY_LAST_BITS = {("nulls", "skewed"), ("entity", "skewed")}
"""Cases whose equal distances differ in their last bits, so that groups depend on the processor."""

FAST = {"generations": 20, "effort": 0.05}


def digest(*values: object) -> str:
    """Return a short digest of values; the same numbers give the same digest on every machine."""
    text = "\n".join(map(repr, values))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def contents(frame: pl.DataFrame) -> list[object]:
    """Return the names and values of a table, without types whose names depend on a version."""
    return [(name, frame[name].to_list()) for name in frame.columns]


def guarded(call: Callable[[], object]) -> object:
    """Return what a call gives, or the class, parameter and need of the error it raises."""
    try:
        return call()
    except mg.MicroaggError as error:
        return f"{type(error).__name__} {error.parameter}: {error.need}"


Cases = Iterator[tuple[str, Callable[[], object]]]


def method_cases() -> Cases:
    """Yield labels and masked values of every method, by table and variant."""
    for m, (method, entry) in enumerate(sorted(registry.methods().items())):
        options = {name: FAST[name] for name in FAST.keys() & entry.options.keys()}
        every = EVERY if entry.unit == "record" else len(SHAPES)
        for v, (variant, more) in enumerate(VARIANTS.items()):
            for t, shape in enumerate(SHAPES):
                taken = variant == "plain" or (m + v + t) % every == 0
                if taken and (variant, shape) not in BY_LAST_BITS:
                    call = partial(grouped_and_masked, shape, method, variant, options | more)
                    yield f"{method} / {variant} / {shape}", call


def grouped_and_masked(shape: str, method: str, variant: str, options: dict[str, Any]) -> object:
    """Return a digest of labels and masked values, or the sum of squares after a search."""
    frame = table(shape)
    columns = masked_columns(frame)
    columns += {"nulls": ["holes"], "kinds": ["job"]}.get(variant, [])
    masked = mg.mask(frame, columns, K, method=method, dtype="float", workers=1, **options)
    if variant == "refine" or method == "lowloss":
        return squares(frame, masked, columns)
    if registry.methods()[method].unit == "value":
        return digest(contents(masked.select(columns)))
    groups = mg.groups(
        frame, columns, K, method=method, workers=1, **{**options, "name": "microagg_group"}
    )
    labels = groups["microagg_group"].to_list()
    return digest(labels, contents(masked.select(columns)))


def squares(frame: pl.DataFrame, masked: pl.DataFrame, columns: list[str]) -> float:
    """Return the sum of squared differences of the masked numbers."""
    numbers = [name for name in columns if frame[name].dtype.is_numeric()]
    return math.fsum(
        (a - b) ** 2
        for name in numbers
        for a, b in zip(frame[name].to_list(), masked[name].to_list(), strict=True)
        if a is not None
    )


def search_cases() -> Cases:
    """Yield the loss of `lowloss` by effort: how far a search gets."""
    for effort in (0.0, 0.1):
        for shape in SHAPES:
            yield f"lowloss / effort {effort} / {shape}", partial(searched, shape, effort)


def searched(shape: str, effort: float) -> float:
    """Return the loss after a search."""
    frame = table(shape)
    columns = masked_columns(frame)
    return squares(
        frame,
        mg.lowloss(frame, columns, K, effort=effort, scale="none", dtype="float", workers=1),
        columns,
    )


INTERFACES = ("leaves", "file", "macro", "relation", "publish")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strata": {"strata": ["region"]},
    "small strata": {"strata": ["region", "job"], "small_strata": "null"},
    "nulls": {"nulls": "impute"},
    "entity": {"entity": ["person"], "entity_mode": "rows"},
    "l": {"confidential": ["diagnosis"], "l": 2},
    "kinds": {"nominal": ["job"]},
}


def interface_cases() -> Cases:
    """Yield masked values by interface."""
    for interface in INTERFACES:
        for variant in OPTIONS:
            for shape in ("ties", "clusters", "negative"):
                yield f"{interface} / {variant} / {shape}", partial(at, interface, variant, shape)


def at(interface: str, variant: str, shape: str) -> object:
    """Mask a table at an interface, and return a digest of it."""
    frame = table(shape).drop([] if variant == "nulls" else ["holes"])
    columns = masked_columns(frame) + {"nulls": ["holes"], "kinds": ["job"]}.get(variant, [])
    with tempfile.TemporaryDirectory() as folder:
        masked = BY_INTERFACE[interface](frame, columns, OPTIONS[variant], Path(folder))
    return digest(contents(masked.sort("id")))


def _leaves(frame: pl.DataFrame, columns: list[str], options: dict[str, Any], _: Path) -> object:
    return mg.fit_leaves(frame, columns, K, size=LEAF_ROWS, **options).mask(frame)


def _file(frame: pl.DataFrame, columns: list[str], options: dict[str, Any], folder: Path) -> object:
    source, target = folder / "in.parquet", folder / "out.parquet"
    frame.write_parquet(source)
    with in_parts():
        mg.protect_parquet(source, target, columns, K, size=LEAF_ROWS, workers=1, **options)
    return pl.read_parquet(target)


def in_parts() -> Any:
    """Let a release out of core hold so many records at a time, whatever memory there is."""
    budget = MemoryBudget(2**30, 1, PART_ROWS, PART_ROWS, PART_ROWS)
    return patch.object(MemoryBudget, "of", lambda *_: budget)


@cache
def database() -> duckdb.DuckDBPyConnection:
    """Return a database that has the macros."""
    return mgd.register(duckdb.connect())


def _sql(value: object) -> str:
    return "[" + ", ".join(map(_sql, value)) + "]" if isinstance(value, list) else repr(value)


def _macro(frame: pl.DataFrame, columns: list[str], options: dict[str, Any], _: Path) -> object:
    written = "".join(f", {name} := {_sql(value)}" for name, value in options.items())
    con = database()
    con.register("original", frame)
    return con.sql(f"FROM microagg.mdav('original', {_sql(columns)}, {K}{written})").pl()


def _relation(frame: pl.DataFrame, columns: list[str], options: dict[str, Any], _: Path) -> object:
    con = database()
    con.register("original", frame)
    return mgd.mask(con, "original", columns, K, workers=1, **options).pl()


def _publish(
    frame: pl.DataFrame, columns: list[str], options: dict[str, Any], folder: Path
) -> object:
    mg.publish(
        frame, folder / "out.parquet", columns, K, keep=left(frame, columns, options), **options
    )
    return pl.read_parquet(folder / "out.parquet")


def left(frame: pl.DataFrame, columns: list[str], options: dict[str, Any]) -> list[str]:
    """Return the names of the columns without a role in a call."""
    roles = ("strata", "entity", "confidential")
    used = {*columns, *(name for role in roles for name in options.get(role, []))}
    return [name for name in frame.columns if name not in used]


def _spark(
    frame: pl.DataFrame, columns: list[str], options: dict[str, Any], folder: Path
) -> object:
    from polars_microagg.spark import protect

    frame.write_parquet(folder / "in.parquet")
    df = SPARK["session"].read.parquet(str(folder / "in.parquet")).repartition(3)
    return pl.DataFrame(protect(df, columns, K, size=LEAF_ROWS, **options).toArrow())


SPARK: dict[str, Any] = {}
"""The session of a test, which expects the digests of `file`."""

BY_INTERFACE: dict[str, Callable[..., Any]] = {
    "leaves": _leaves,
    "file": _file,
    "macro": _macro,
    "relation": _relation,
    "publish": _publish,
    "spark": _spark,
}


def measure_cases() -> Cases:
    """Yield measures of masked tables, and proven bounds of the loss."""
    for shape in SHAPES:
        for metric in ("dld", "interval_disclosure", "k_min", "k_prime", "sse", "il1s", "mean_sd"):
            yield f"metric {metric} / {shape}", partial(measured, metric, shape)
        for k in (2, 3, 6):
            yield f"lower bound k={k} / {shape}", partial(floor, shape, k)


def measured(metric: str, shape: str) -> float | None:
    """Return a measure of a table masked by MDAV."""
    frame = table(shape)
    columns = masked_columns(frame)
    masked = mg.mdav(frame, columns, K, dtype="float")
    number = getattr(mg, metric)(frame, masked, columns)
    return None if number is None else float(number)


def floor(shape: str, k: int) -> float:
    """Return a lower bound of the loss."""
    frame = table(shape)
    return float(mg.lower_bound(frame, masked_columns(frame), k))


UNSTABLE = {"tool", "config_sha256", "times", "input", "output", "seal", "how"}
"""Keys of a manifest with versions, hashes, sizes, times, or what depends on this machine."""


def manifest_cases() -> Cases:
    """Yield the manifests of releases."""
    for variant in OPTIONS:
        for shape in ("clusters", "negative", "small"):
            yield f"manifest / {variant} / {shape}", partial(manifest, variant, shape)


def manifest(variant: str, shape: str) -> str:
    """Return a digest of the manifest of a release, without what differs from run to run."""
    frame = table(shape).drop([] if variant == "nulls" else ["holes"])
    columns = masked_columns(frame) + {"nulls": ["holes"], "kinds": ["job"]}.get(variant, [])
    options = OPTIONS[variant]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.parquet"
        mg.publish(frame, target, columns, K, keep=left(frame, columns, options), **options)
        written = json.loads(Path(f"{target}.manifest.json").read_text(encoding="utf-8"))
    return digest({key: value for key, value in written.items() if key not in UNSTABLE})


WRONG: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "k of one": (["a"], 1, {}),
    "k of text": (["a"], "five", {}),
    "k of half": (["a"], 2.5, {}),
    "k of many": (["a"], 99, {}),
    "no column": ([], 3, {}),
    "unknown column": (["z"], 3, {}),
    "column twice": (["a", "a"], 3, {}),
    "text as a number": (["a", "job"], 3, {"center": "median", "nominal": []}),
    "unknown option": (["a"], 3, {"nuls": "impute"}),
    "unknown method": (["a"], 3, {"method": "mdva"}),
    "unknown choice": (["a"], 3, {"scale": "zscores"}),
    "unknown stratum": (["a"], 3, {"strata": "z"}),
    "masked stratum": (["a"], 3, {"strata": "a"}),
    "small strata": (["a"], 9, {"strata": ["region", "job"]}),
    "nulls": (["a", "holes"], 3, {}),
    "entity without a mode": (["a"], 3, {"entity": "person"}),
    "mode without an entity": (["a"], 3, {"entity_mode": "rows"}),
    "masked entity": (["a"], 3, {"entity": "a", "entity_mode": "rows"}),
    "entity with nulls": (["a"], 3, {"entity": "holes", "entity_mode": "rows"}),
    "l without confidential": (["a"], 3, {"l": 2}),
    "confidential without a model": (["a"], 3, {"confidential": "diagnosis"}),
    "l out of reach": (["a"], 3, {"confidential": "diagnosis", "l": 9}),
    "t out of range": (["a"], 3, {"confidential": "diagnosis", "t": -1}),
    "share out of range": (["a"], 3, {"confidential": "diagnosis", "max_share": 0}),
    "share out of reach": (["a"], 3, {"confidential": "diagnosis", "max_share": 0.01}),
    "taxonomy of another type": (["a"], 3, {"taxonomy": {"a": 3}}),
    "nominal and ordinal": (["job"], 3, {"nominal": "job", "ordinal": "job"}),
    "kind of a column that is not masked": (["a"], 3, {"nominal": "job"}),
    "seed of text": (["a"], 3, {"seed": "x"}),
    "negative workers": (["a"], 3, {"workers": -1}),
    "refine of text": (["a"], 3, {"refine": "yes"}),
    "order by an unknown column": (["a"], 3, {"order_by": "z"}),
    "block that overlaps": ([["a"], ["a", "b"]], 3, {}),
    "option of another method": (["a"], 3, {"gamma": 0.2}),
    "gamma out of range": (["a"], 3, {"method": "vmdav", "gamma": -1}),
    "effort out of range": (["a"], 3, {"method": "lowloss", "effort": -1}),
    "values with persons": (["a"], 3, {"method": "mic1d", "entity": "person"}),
}


def refusal_cases() -> Cases:
    """Yield class, parameter and need of the errors of wrong calls."""
    for name, (columns, k, options) in WRONG.items():
        yield f"refused / {name}", partial(accepted, columns, k, options)


def accepted(columns: Any, k: Any, options: dict[str, Any]) -> str:
    """Make a wrong call, which should raise."""
    mg.mask(table("ties"), columns, k, **options)
    return "accepted"


def signature_cases() -> Cases:
    """Yield the signatures and the stubs that users see."""
    for name in sorted(mg.__all__):
        member = getattr(mg, name)
        if inspect.isfunction(member):
            yield f"signature / {name}", partial(_signature, member)
    for path in sorted((ROOT / "polars_microagg").glob("*.pyi")):
        yield f"stub / {path.name}", partial(lambda p: digest(p.read_text(encoding="utf-8")), path)


def _signature(function: Callable[..., object]) -> str:
    parameters = inspect.signature(function).parameters.values()
    return digest([(p.name, str(p.kind), p.default) for p in parameters])


SECTIONS = (
    method_cases,
    search_cases,
    interface_cases,
    measure_cases,
    manifest_cases,
    refusal_cases,
    signature_cases,
)
EXACT = (method_cases, interface_cases)
"""Sections that hold with the oldest versions, too."""


def computed(
    sections: tuple[Callable[[], Cases], ...] = SECTIONS, only: str = ""
) -> dict[str, Any]:
    """Compute every case of these sections."""
    return {name: guarded(call) for section in sections for name, call in section() if only in name}


def same(before: object, after: object) -> bool:
    """Return whether two values of a case are the same: digests as they are, numbers to 1e-9."""
    if isinstance(before, float) and isinstance(after, float):
        return math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return before == after


def differences(kept: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return a line for each case that is not the same, and for each that only one of both has."""
    absent = "absent"
    return [
        f"{name}: {kept.get(name, absent)} before, {now.get(name, absent)} now"
        for name in sorted(kept.keys() | now.keys())
        if not same(kept.get(name, absent), now.get(name, absent))
    ]


def main() -> None:
    """Compare the cases with those that are kept, or keep them."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep what is computed now")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this in their name")
    given = parser.parse_args()
    logging.getLogger("polars_microagg").setLevel(logging.ERROR)
    now = computed(only=given.only)
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    kept_here = {name: value for name, value in kept.items() if given.only in name}
    if given.write:
        others = {name: value for name, value in kept.items() if given.only not in name}
        text = json.dumps(others | now, indent=0, sort_keys=True, ensure_ascii=False)
        FILE.write_text(text + "\n", encoding="utf-8")
    lines = differences(kept_here, now)
    print(*lines, f"{len(now)} cases, {len(lines)} differ", sep="\n")
    sys.exit(bool(lines) and not given.write)


if __name__ == "__main__":
    main()
