"""Print seconds, memory and results of calls, each in a process of its own, one table after the other.

    python benchmarks/bench.py speed risk              # these tables; --list names all of them
    python benchmarks/bench.py mdav --quick            # without what takes minutes
    python benchmarks/bench.py methods --only k_ward   # the lines whose call has one of these words
    python benchmarks/bench.py speed --rows 1000       # no table has more rows than this
    python benchmarks/bench.py leaves --beside FOLDER  # each line beside that of another checkout

A table is a list of cases: a name, a number of rows, a setup that is not timed, and ways to do the same with
what it made. CPU seconds and wall seconds are those of the least of up to three calls within ten seconds,
with all processes that the call started; MB is the peak of all of them beyond what was there before (Linux,
looked at twenty times a second; pages that processes share count for each). *to first* is the CPU seconds
divided by those of the first way, the exponent that of the rows since the line before. Most tables have one
thread. Reference files are looked for where the environment variable MICROAGG_DATA says; cases of files
that are not there, or that need what is not installed, are left out. Files go to --folder and are removed.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
# Another checkout may stand before this one; its benchmarks do not.
sys.path[:0] = [str(HERE)]

import duckdb
import generalisation
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from machine import machine

import polars_microagg as mg
from polars_microagg.core import registry
from polars_microagg.core.partition import Partition
from polars_microagg.methods.mdav import mdav

K = 5
DATA = Path(os.environ.get("MICROAGG_DATA", "no folder"))
SINGLE = dict.fromkeys(
    f"{of}_THREADS" for of in ("OPENBLAS_NUM", "MKL_NUM", "OMP_NUM", "NUMBA_NUM", "POLARS_MAX")
)
"""Variables that say how many threads a library has."""


class Case(NamedTuple):
    """Ways to do the same with what a setup makes of a number of rows, and what comes of it."""

    name: str
    rows: int
    setup: Callable[[int], Any]
    ways: dict[str, Callable[[Any], Any]]
    result: Callable[[Any, Any], object] = lambda _, __: ""
    slow: bool = False


class Table(NamedTuple):
    """Cases, and how they are measured: `same` compares bits, `warm` rows are for a first call."""

    about: str
    cases: list[Case]
    same: bool
    warm: int
    once: bool
    threads: int | None


TABLES: dict[str, Table] = {}


def table(
    about: str, *, same: bool = False, warm: int = 100, once: bool = False, threads: int | None = 1
) -> Callable[[Callable[[], Iterable[Case]]], None]:
    """Put the cases of a function on the list, under its name."""

    def add(cases: Callable[[], Iterable[Case]]) -> None:
        TABLES[cases.__name__] = Table(about, list(cases()), same, warm, once, threads)

    return add


# What is measured, and what it is measured with.


def status(name: str) -> float:
    """Return a figure of this process in MB, or 0 on a system without /proc."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def resident(pid: int) -> float:
    """Return the MB in memory of a process and of those it started."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = {int(c) for t in tasks for c in (t / "children").read_text().split()}
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20 + sum(map(resident, children))


def spent() -> float:
    """Return the CPU seconds of this process and of those that it started and that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def bits(made: Any) -> int | None:
    """Return a checksum of labels or of a frame."""
    if isinstance(made, pl.DataFrame):
        return zlib.crc32(made.write_ipc(None, compat_level=pl.CompatLevel.oldest()).getvalue())
    return zlib.crc32(made.tobytes()) if isinstance(made, np.ndarray) else None


def one(name: str, index: int, way: str, rows: int) -> None:
    """Measure one way in this process: print the memory before, the peak, and what was found."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    found, case = TABLES[name], TABLES[name].cases[index]
    if found.warm:
        case.ways[way](case.setup(found.warm))
    data, made, taken = case.setup(rows), None, []
    gc.collect()
    if before := status("VmRSS"):
        # Linux then counts the peak (VmHWM) from the present memory on.
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    print(before, file=answers, flush=True)
    while len(taken) < (1 if found.once else 3) and sum(cpu for cpu, _ in taken) < 10:
        made = None
        start, wall = spent(), time.perf_counter()
        made = case.ways[way](data)
        taken.append((spent() - start, time.perf_counter() - wall))
    print(status("VmHWM"), file=answers, flush=True)
    cpu, wall = max(min(taken), (1e-6, 1e-6))
    said = case.result(data, made)
    said = f"{said:.4f}" if isinstance(said, float) else str(said)
    done = {"cpu": cpu, "wall": wall, "result": said, "bits": bits(made) if found.same else None}
    print(json.dumps(done), file=answers, flush=True)
    os._exit(0)


def measured(
    name: str, index: int, way: str, rows: int, package: Path, folder: Path | None
) -> dict[str, Any]:
    """Measure one way in a process of its own, with the package of a folder."""
    threads = TABLES[name].threads
    environment = os.environ | (dict.fromkeys(SINGLE, str(threads)) if threads else {})
    command = [sys.executable, __file__, "--one", name, str(index), way, str(rows)]
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as here:
        process = subprocess.Popen(
            command,
            cwd=here,
            env=environment | {"PYTHONPATH": str(package)},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdout
        before = float(process.stdout.readline() or 0)
        all_before = resident(process.pid)
        seen, ended = [all_before], threading.Event()

        def look() -> None:
            while not ended.wait(0.05):
                seen.append(resident(process.pid))

        watcher = threading.Thread(target=look)
        watcher.start()
        peak = float(process.stdout.readline() or 0)
        ended.set()
        watcher.join()
        said = process.stdout.readline()
        failed = process.wait()
        # Workers and virtual machines that it has not waited for.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if failed:
            sys.exit(f"{name}, {way}: the process ended with {failed}.")
    return json.loads(said) | {"mb": max(peak - before, max(seen) - all_before)}


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def show(name: str, given: argparse.Namespace) -> None:
    """Measure and print the lines of a table."""
    print(f"\n{name}: {TABLES[name].about}\n")
    row("call", "rows", "CPU s", "wall s", "MB", "to first", "exponent", "result")
    row(*["---"] * 8)
    last: dict[str, tuple[int, float]] = {}
    done = set()
    packages = {"": HERE.parent} | ({" beside": given.beside} if given.beside else {})
    for index, case in enumerate(TABLES[name].cases):
        rows, first = min(case.rows, given.rows or case.rows), None
        for way, (other, package) in product(case.ways, packages.items()):
            call = f"{way} {case.name}".strip() + other
            wanted = not given.only or any(word in call for word in given.only)
            if (call, rows) in done or not wanted or (given.quick and case.slow):
                continue
            done.add((call, rows))
            found = measured(name, index, way, rows, package.resolve(), given.folder)
            first = first or found
            said = found["result"]
            if found["bits"] is not None and found is not first:
                said += " the same bits" if found["bits"] == first["bits"] else " OTHER BITS"
            n, cpu = last.get(call, (rows, 0.0))
            grown = f"{math.log(found['cpu'] / cpu) / math.log(rows / n):.2f}" if rows > n else ""
            last[call] = rows, found["cpu"]
            times = "" if found is first else f"{found['cpu'] / first['cpu']:.2f}"
            seconds = f"{found['cpu']:.3f}", f"{found['wall']:.3f}"
            row(call, f"{rows:,}", *seconds, f"{found['mb']:.0f}", times, grown, said.strip())


# Generated records and reference files.

DRAWN: dict[str, Callable[[np.random.Generator, tuple[int, int]], Any]] = {
    "gaussian": lambda rng, shape: rng.normal(size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    "correlated": lambda rng, shape: (
        rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1]))
        + 0.3 * rng.normal(size=shape)
    ),
    "pareto": lambda rng, shape: 1000 * rng.pareto(1.5, shape),
    "integers": lambda rng, shape: rng.integers(0, 30, shape).astype(float),
    "whole": lambda rng, shape: np.column_stack(
        [rng.poisson(20, shape[0]), *rng.integers(0, 100, (shape[1] - 1, shape[0]))]
    ),
    "equal": lambda _, shape: np.ones(shape),
    "ranks": lambda rng, shape: rng.permuted(np.arange(float(np.prod(shape))).reshape(shape)),
    "cents": lambda rng, shape: rng.lognormal(10, 1, shape).round(2),
    "skewed": lambda rng, shape: np.exp(
        0.6 * rng.normal(size=shape) @ (np.eye(shape[1]) + 0.3 * rng.random((shape[1],) * 2))
    ),
}


def drawn(kind: str, d: int) -> Callable[[int], Any]:
    """Return a setup: so many rows of a law, standardized."""

    def make(n: int) -> Any:
        x = np.asfortranarray(DRAWN[kind](np.random.default_rng(n + d), (n, d)), dtype=float)
        x -= x.mean(axis=0)
        return np.divide(x, np.maximum(x.std(axis=0), 1e-12), out=x)

    return make


def framed(kind: str, d: int) -> Callable[[int], pl.DataFrame]:
    """Return a setup: so many rows of a law as a frame."""
    names = [f"x{j}" for j in range(d)]
    return lambda n: pl.DataFrame(DRAWN[kind](np.random.default_rng(n + d), (n, d)), schema=names)


def files(*names: str) -> Iterator[tuple[str, int, Callable[[int], pl.DataFrame]]]:
    """Name, rows and setup of the reference files that are there."""
    lengths = {"tarragona": 834, "census": 1080, "eia": 4092}
    chosen = pl.col("utilityid", r"^(res|com|ind|oth|othr|tot)(revenue|sales)$")
    for name in names:
        if (path := DATA / f"{name}.csv").exists():
            take = chosen if name == "eia" else pl.all()
            yield name, lengths[name], lambda n, p=path, t=take: pl.read_csv(p).select(t).head(n)


def lost(before: pl.DataFrame, after: pl.DataFrame) -> float:
    return mg.loss(before, after, before.columns)


def smallest(relation: str, columns: Iterable[str]) -> str:
    """Return the fewest records that share a masked record, counted by DuckDB."""
    names = ", ".join(f'"{name}"' for name in columns)
    with duckdb.connect() as con:
        con.execute("SET memory_limit = '4GB'")
        query = f"SELECT min(n) FROM (SELECT count(*) AS n FROM {relation} GROUP BY {names})"
        ((k,),) = con.execute(query).fetchall()
    return f"smallest class {k}"


# Exact MDAV.


def plain_mdav(x: Any, k: int) -> Any:
    """MDAV as one writes it down: whole-array numpy, no tricks."""
    x = np.ascontiguousarray(x)
    rows, labels, groups = np.arange(len(x)), np.empty(len(x), dtype=np.intp), 0

    def take(seed: Any) -> None:
        nonlocal rows, groups
        near = ((x[rows] - x[seed]) ** 2).sum(axis=1).argsort(kind="stable")[:k]
        labels[rows[near]] = groups
        groups += 1
        rows = np.delete(rows, near)

    def farthest(point: Any) -> Any:
        return rows[((x[rows] - point) ** 2).sum(axis=1).argmax()]

    while len(rows) >= 3 * k:
        r = farthest(x[rows].mean(axis=0))
        s = farthest(x[r])
        take(r)
        take(s)
    if len(rows) >= 2 * k:
        take(farthest(x[rows].mean(axis=0)))
    labels[rows] = groups
    return Partition.from_labels(labels).labels


def ours(x: Any) -> Any:
    return mdav(x, k=K).labels


def whole(x: Any) -> Any:
    """Return the groups of the search that scans all records."""
    from polars_microagg.kernels.mdav.full_scan import FullScan
    from polars_microagg.kernels.mdav.rounds import mdav_groups

    return np.concatenate(list(mdav_groups(x, K, search=FullScan)))


def in_blocks(x: Any) -> Any:
    from polars_microagg.kernels.local.annealing_search import block_start

    return block_start(np.ascontiguousarray(x), K, ours)


@table("exact MDAV beside a plain vectorized numpy version, k=5", same=True)
def speed() -> Iterator[Case]:
    both = {"ours": ours, "plain": lambda x: plain_mdav(x, K)}
    for kind, d in product(("gaussian", "lognormal"), (2, 5, 10)):
        yield Case(f"{kind} {d}", 10_000, drawn(kind, d), both)
    for kind, d in (("gaussian", 5), ("lognormal", 5), ("gaussian", 10), ("lognormal", 10)):
        ways = both if (kind, d) == ("gaussian", 5) else {"ours": ours}
        yield Case(f"{kind} {d}", 100_000, drawn(kind, d), ways, slow=True)


@table("a LazyFrame beside the kernel alone, exact MDAV, k=5")
def lazy() -> Iterator[Case]:
    ways = {
        "kernel": lambda f: mdav(f[1], k=K),
        "LazyFrame": lambda f: f[0].lazy().microagg.mdav(f[0].columns, K).collect(),
    }

    for n, d in ((10_000, 5), (100_000, 5), (100_000, 10)):
        made = drawn("gaussian", d)
        yield Case(str(d), n, lambda n, m=made: (pl.DataFrame(x := m(n)), x), ways)


@table("exact MDAV, MDAV that scans all records, and MDAV in blocks, standardized data, k=5")
def scale_mdav() -> Iterator[Case]:
    kinds = [("gaussian", 2), *product(("gaussian", "lognormal"), (5, 10))]
    for kind, d in [*kinds, ("integers", 2), ("equal", 5)]:
        for n in (10**4, 10**5, 10**6)[: 2 if d == 10 or kind == "equal" else 3]:
            yield Case(f"{kind} {d}", n, drawn(kind, d), {"mdav": ours}, slow=n > 10**5)
    for n in (10**4, 10**5):
        yield Case("gaussian 5", n, drawn("gaussian", 5), {"whole": whole})
    for kind, n in product(("gaussian", "lognormal"), (10**5, 10**6, 10**7)):
        yield Case(f"{kind} 5", n, drawn(kind, 5), {"blocks": in_blocks}, slow=n > 10**5)


@table("many strata of lognormal records, each alone and side by side, k=5")
def strata() -> Iterator[Case]:
    def alone(x: Any, size: int) -> Any:
        return [mdav(x[at : at + size], k=K) for at in range(0, len(x), size)]

    def beside(x: Any, size: int) -> Any:
        from polars_microagg.kernels.mdav.many_strata import mdav_of_strata

        return mdav_of_strata(x, np.full(len(x) // size, size), k=K)

    for d, size in product((4, 8), (300, 1000, 3000, 5000, 8000)):
        make = lambda n, d=d, s=size: drawn("lognormal", d)(max(1, n // s) * s)  # noqa: E731
        ways = {"alone": partial(alone, size=size), "side by side": partial(beside, size=size)}
        yield Case(f"{size} {d}", size * max(12, 400_000 // size), make, ways)


def of_512(part: Any) -> Any:
    from polars_microagg.kernels.neighbour_blocks import equal_blocks, mdav_in_blocks

    return mdav_in_blocks(part, equal_blocks(part, len(part) >> 9), K)


@table("two threads or processes, without their start, and two threads of BLAS", warm=0)
def threads() -> Iterator[Case]:
    """The setup starts the processes, so that their first call is not timed."""

    def split(n: int, count: int) -> Any:
        parts = np.split(drawn("gaussian", 5)((n >> 12 or 1) << 12), count)
        pools = ThreadPoolExecutor(2), ProcessPoolExecutor(2, get_context("spawn"))
        for pool in pools:
            list(pool.map(ours, [part[:50] for part in parts]))
        return [np.ascontiguousarray(part) for part in parts], *pools

    for name, work, n, count in (
        ("16 x 4096 records", ours, 1 << 16, 16),
        ("1024 blocks of 512", of_512, 1 << 19, 2),
    ):
        ways = {
            "one after the other": lambda s, w=work: list(map(w, s[0])),
            "two threads": lambda s, w=work: list(s[1].map(w, s[0])),
            "two processes": lambda s, w=work: list(s[2].map(w, s[0])),
        }
        yield Case(name, n, partial(split, count=count), ways)


@table("MDAV that scans all records with as many threads of BLAS as there are", threads=None)
def blas() -> Iterator[Case]:
    for d in (5, 10):
        yield Case(f"gaussian {d}", 10**5, drawn("gaussian", d), {"whole": whole})


# Other methods, and measures.


def squares(x: Any, labels: Any) -> str:
    """Sum of squares about the means, each run about its first value to keep the digits."""
    labels = labels["x0"].to_numpy() if isinstance(labels, pl.DataFrame) else labels
    order = np.lexsort((x, labels))
    y, runs = x[order], labels[order]
    starts = np.flatnonzero(np.r_[True, runs[1:] != runs[:-1]])
    lengths = np.diff(np.r_[starts, len(x)])
    y = y - np.repeat(y[starts], lengths)
    means = np.repeat(np.add.reduceat(y, starts) / lengths, lengths)
    return f"sum of squares {((y - means) ** 2).sum():.9e}"


@table("optimal univariate partitions; microagg1d, whose wilber is optimal, where installed")
def univariate() -> Iterator[Case]:
    from polars_microagg.methods.univariate import univariate as kernel

    def theirs(x: Any, k: int, **options: Any) -> Any:
        from microagg1d import univariate_microaggregation

        return univariate_microaggregation(x, k, **options)

    def values(n: int, kind: str) -> Any:
        return framed(kind, 1)(n)["x0"].to_numpy()

    kinds = ("gaussian", "lognormal", "cents", "integers", "equal", "ranks")
    sizes = [*product((10**6,), kinds, (2, 5, 20)), *product((10**7,), kinds[::3], (5,))]
    for n, kind, k in sizes:
        ways = {
            "ours": lambda x, k=k: kernel(x[:, None], k=k).labels,
            "frame": lambda x, k=k: mg.univariate(pl.DataFrame({"x0": x}), ["x0"], k),
        }
        if importlib.util.find_spec("microagg1d"):
            ways["wilber"] = partial(theirs, k=k, method="wilber")
            ways["default"] = partial(theirs, k=k)
            ways["stable=0"] = partial(theirs, k=k, method="simple", stable=0)
        yield Case(f"{kind}, k={k}", n, partial(values, kind=kind), ways, squares, slow=n > 10**6)


@table("every method on frames with its own defaults, k=5; the result is the loss in per cent")
def methods() -> Iterator[Case]:
    def ways(name: str, k: int = K, **options: Any) -> dict[str, Callable[[Any], Any]]:
        call = {"method": name, "dtype": "float"} | options
        return {name: lambda frame: mg.mask(frame, frame.columns, k, **call)}

    few, many = framed("skewed", 5), framed("skewed", 10)
    for name, entry in registry.methods().items():
        slow = (entry.seconds or (0, 0))[0] >= 1e-3
        tried = [("5", 1000, few), *files("eia"), ("5", 20_000, few)]
        tried += [("10", 100_000, many)] * (entry.cost in ("n", "n log n", "n^2/k"))
        for about, n, setup in tried:
            if entry.limit is None or n <= entry.limit:
                yield Case(about, n, setup, ways(name), lost, slow=slow)
    for (about, n, setup), k in product(files("tarragona", "census", "eia"), (3, 10)):
        yield Case(f"{about}, k={k}", n, setup, ways("k_ward", k), lost)
    for (about, n, setup), rows in product(files("census"), (27, 1080)):
        made = ways("genetic", 3, macro=27)
        yield Case(f"{about}, k=3, macro=27", min(n, rows), setup, made, lost, slow=True)


def release_in_cells(d: int) -> Callable[[int], Any]:
    """Return a setup: records and their release in cells of three quantiles of five columns."""

    def make(n: int) -> Any:
        before = pl.DataFrame(np.random.default_rng(0).standard_normal((n, d)))
        names = before.columns
        thirds = [f"{name} third" for name in names[:5]]
        parts = (pl.col(name).rank("ordinal") * 3 // (n + 1) for name in names[:5])
        given = before.with_columns(p.alias(t) for p, t in zip(parts, thirds, strict=True))
        given = given.with_row_index("row")
        masked = mg.mdav(given, names, K, strata=thirds, small_strata="drop")
        return before[masked["row"]], masked.select(names)

    return make


@table("measures of risk; what is demanded of them stands behind the name", warm=3000)
def risk() -> Iterator[Case]:
    from polars_microagg.kernels.risk.record_linkage import attributes, expected_hits

    def searched(tables: Any, *, merge: bool) -> Any:
        known = attributes(*(frame.to_numpy() for frame in tables))
        return expected_hits(known.before, known.after, merge=merge)

    def tree(tables: Any) -> Any:
        from scipy.spatial import cKDTree

        known = attributes(*(frame.to_numpy() for frame in tables))
        return cKDTree(np.unique(known.after, axis=0)).query(np.ascontiguousarray(known.before))

    def of_leaves(n: int) -> Any:
        before = pl.DataFrame(np.random.default_rng(0).standard_normal((n, 5)))
        return before, mg.fit_leaves(before, before.columns, K).mask(before, workers=1)

    large, shown = release_in_cells(5), lambda _, made: round(float(np.mean(made)), 4)
    for name, n, setup, way in (
        ("dld (15 s, 1 GB)", 10**6, large, lambda t: mg.dld(*t)),
        ("interval_disclosure (1 s)", 10**6, large, lambda t: mg.interval_disclosure(*t)),
        ("k_prime (.5 s)", 10**6, large, lambda t: mg.k_prime(*t)),
        ("dld of 10 columns (1 s)", 1 << 16, release_in_cells(10), lambda t: mg.dld(*t)),
        ("pld", 10**4, large, lambda t: mg.pld(*t)),
        ("pld of distinct rows", 10**4, large, lambda t: mg.pld(t[0], t[0])),
        ("dld of 255 sets", 5000, release_in_cells(8), lambda t: mg.dld(*t, known="subsets")),
    ):
        yield Case(name, n, setup, {"": way}, shown)
    count = lambda t: mg.anonymity(t[1], t[1].columns)  # noqa: E731
    yield Case("anonymity (.5 s)", 10**6, large, {"": count}, lambda _, made: made.row(0))
    ways = {"search of centroids": partial(searched, merge=True)}
    ways["search of rows"] = partial(searched, merge=False)
    yield Case("(at least 3 times)", 200_000, large, ways, shown)
    ways = {"dld": lambda t: mg.dld(*t)}
    if importlib.util.find_spec("scipy"):
        ways["tree of centroids"] = tree
    yield Case("of leaves", 10**6, of_leaves, ways)


# Interfaces, leaves and files.


def numbered() -> None:
    """Register a method without an algorithm: it numbers consecutive blocks."""

    def blocks(x: Any, /, *, k: int) -> Partition:
        """Number consecutive blocks of k records."""
        n = len(x)
        labels = np.minimum(np.arange(n) // k, max(n // k - 1, 0))
        return Partition(labels, np.bincount(labels))

    if "blocks" not in registry.methods():
        registry.method(cite="none")(blocks)


@table("ten of twelve columns masked in DuckDB and in Polars", threads=None)
def interfaces() -> Iterator[Case]:
    masked = [f"{kind}{j}" for kind in "id" for j in range(5)]
    # A hash leaves some strata short.
    strata = {"method": "mdav", "strata": ["region"], "small_strata": "null"}
    cases = {"blocks of 20": (20, {"method": "blocks"}), "mdav in strata of 20": (K, strata)}

    def setup(n: int) -> Any:
        import polars_microagg.duckdb as mgd

        numbered()
        con = mgd.register(duckdb.connect())
        ints = ", ".join(f"(hash(i + {j}) % 1000)::INTEGER AS i{j}" for j in range(5))
        real = ", ".join(f"hash(i * 7 + {j}) / 1e17 AS d{j}" for j in range(5))
        region = f"(hash(i) % {max(1, n // 20)})::INTEGER AS region"
        columns = f"i::INTEGER AS id, {region}, {ints}, {real}"
        con.execute(f"CREATE TABLE t AS SELECT {columns} FROM range({n}) r(i)")
        return con, mgd, con.table("t").pl()

    for name, (k, options) in cases.items():
        written = ", ".join(f"{option} := {value!r}" for option, value in options.items())
        query = f"FROM microagg.mask('t', {masked}, {k}, {written})"
        there = lambda s, k=k, o=options: s[1].mask(s[0], "t", masked, k, **o)  # noqa: E731
        here = lambda frame, k=k, o=options: mg.mask(frame, masked, k, **o)  # noqa: E731
        ways = {
            "macro": lambda s, q=query: s[0].sql(q).to_arrow_table(),
            "duckdb.mask, a relation": there,
            "duckdb.mask, fetched": lambda s, there=there: there(s).to_arrow_table(),
            "frames": lambda s, here=here: here(s[2]),
            "frames, from and to DuckDB": lambda s, here=here: s[0].from_arrow(
                here(s[0].table("t").pl())
            ),
        }
        yield Case(name, 10**6, setup, ways)


@table("leaves in memory beside MDAV of the whole table, k=5; the result is the loss in per cent")
def leaves() -> Iterator[Case]:
    from polars_microagg.leaves.cuts import CUTS

    def fit(frame: pl.DataFrame, **options: Any) -> Any:
        return mg.fit_leaves(frame, frame.columns, K, **options)

    ways = {
        "whole": lambda f: mg.mdav(f, f.columns, K),
        "fit": fit,
        "leaves": lambda f: fit(f).mask(f),
    }
    by_cut = {f"cut={cut}": lambda f, c=cut: fit(f, cut=c).mask(f) for cut in CUTS}
    kinds = [("gaussian", 2), ("gaussian", 5), ("gaussian", 10), ("lognormal", 4), ("uniform", 4)]
    kinds += [("correlated", 6), ("whole", 4), ("pareto", 4)]
    said = lambda before, after: lost(before, after) if isinstance(after, pl.DataFrame) else ""  # noqa: E731
    for kind, d in kinds:
        yield Case(f"{kind} {d}", 10**5, framed(kind, d), ways | by_cut, said)
    for kind, d in kinds:
        if d < 10:
            yield Case(f"{kind} {d}", 10**6, framed(kind, d), ways, said, slow=True)
    yield Case("gaussian 5", 10**7, framed("gaussian", 5), {"leaves": ways["leaves"]}, slow=True)


MASKED = ["age", "income", "tax", "wealth"]
STEP = 1 << 18


def generate(rows: int, more: Callable[[Any, int], dict[str, Any]] = lambda *_: {}) -> str:
    """Write in.parquet: ages, lognormal incomes, taxes that follow them, and wealth of a Pareto law."""
    rng, writer = np.random.default_rng(rows), None
    for start in range(0, rows, STEP):
        n = min(STEP, rows - start)
        columns = {"id": np.arange(start, start + n), "age": rng.normal(45, 15, n)}
        columns |= {"income": rng.lognormal(10, 1, n), "wealth": 1000 * rng.pareto(1.5, n)}
        columns["tax"] = 0.3 * columns["income"] * rng.lognormal(0, 0.3, n)
        part = pa.table(columns | more(rng, n))
        writer = writer or pq.ParquetWriter("in.parquet", part.schema, compression="zstd")
        writer.write_table(part)
    assert writer
    writer.close()
    return "in.parquet"


def register(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Fifteen more columns of all kinds, two with gaps, and strata of which one is tiny."""
    shares = [0.3, 0.25, 0.2, 0.15, 0.08, 0.019999, 0.000001]
    found = {"region": rng.choice(7, n, p=shares).astype(str)}
    found |= {
        name: pa.array(rng.normal(size=n), mask=rng.random(n) < 0.03) for name in ("gains", "debts")
    }
    found |= {f"n{j}": rng.integers(0, 10**j, n) for j in range(5)}
    found |= {f"s{j}": rng.integers(0, 100**j, n).astype(str) for j in range(5)}
    dates = pa.array(rng.integers(0, 12000, n).astype(np.int32)).cast(pa.date32())
    return found | {"since": dates, "active": rng.random(n) < 0.7}


def parquet(memory: str, workers: int | None = None, **options: Any) -> Callable[[str], str]:
    """Return a way: mask in.parquet to out.parquet within an amount of memory."""
    columns = options.pop("columns", MASKED)

    def call(source: str) -> str:
        Path("out.parquet").unlink(missing_ok=True)
        given = {"memory": memory, "workers": workers, **options}
        mg.protect_parquet(source, "out.parquet", columns, K, **given)
        return "read_parquet('out.parquet')"

    return call


def command(words: str) -> Callable[[Any], None]:
    """Return a way: the command line; it has to succeed."""

    def call(_: Any) -> None:
        from polars_microagg.cli.main import main

        assert main(["protect", *words.split(), "--k", str(K), "--overwrite"]) == 0

    return call


@table("releases of files and databases of all sizes, k=5", warm=0, once=True, threads=None)
def scale() -> Iterator[Case]:
    counted = lambda _, relation: smallest(relation, MASKED)  # noqa: E731
    ways = {"protect_parquet, 8GB": parquet("8GB")}
    for n in (10**6, 10**7, 10**8):
        yield Case("x 4", n, generate, ways, counted, slow=n > 10**6)
    ways = {"protect_parquet, 300MB": parquet("300MB")}
    yield Case("x 4", 5 * 10**6, generate, ways, counted)

    wide = [*MASKED, "gains", "debts"]
    kept = ",".join(f"{c}{j}" for c in "ns" for j in range(5))
    words = f"in.parquet -o out.parquet --columns {','.join(wide)} --strata region --drop id "
    words += f"--keep since,active,{kept} --nulls impute --small-strata null --memory "
    ways = {f"protect, {m}": command(words + m) for m in ("2GB", "16GB")}
    found = lambda *_: smallest("read_parquet('out.parquet')", [*wide, "region"])  # noqa: E731
    setup = partial(generate, more=register)
    yield Case("x 20, strata and nulls", 5 * 10**6, setup, ways, found, slow=True)

    three = ["age", "income", "wealth"]

    def less(source: str, relation: str) -> str:
        before, after = (pl.read_parquet(name, columns=three) for name in (source, "out.parquet"))
        return f"{lost(before, after):.4f}, {smallest(relation, three)}"

    # Leaves have half of this or more, and above 5000 records a search starts from MDAV alone.
    how = {"method": "lowloss", "effort": 0.01, "size": 16_000, "columns": three}
    yield Case("x 3", 10**7, generate, {"lowloss": parquet("4GB", 2, **how)}, less, slow=True)

    def database(n: int) -> None:
        with duckdb.connect("register.duckdb") as con:
            con.execute("SET memory_limit = '2GB'")
            con.execute(f"CREATE TABLE visits AS FROM read_parquet('{generate(n)}')")
        Path("in.parquet").unlink()

    def in_database(*_: object) -> str:
        with duckdb.connect("release.duckdb") as con:
            con.execute("COPY visits TO 'out.parquet' (FORMAT parquet)")
        return smallest("read_parquet('out.parquet')", MASKED)

    words = (
        f"register.duckdb::visits -o release.duckdb::visits --columns {','.join(MASKED)} --drop id"
    )
    ways = {"protect, 2GB": command(f"{words} --memory 2GB")}
    yield Case("x 4 from DuckDB to DuckDB", 5 * 10**7, database, ways, in_database, slow=True)


@table("the same rows split into 64 files by other engines", warm=0, once=True, threads=None)
def engines() -> Iterator[Case]:
    def streaming(source: str) -> None:
        parts = pl.PartitionBy("parts", key="part")
        pl.scan_parquet(source).sink_parquet(parts, mkdir=True, engine="streaming")

    def databases(source: str) -> None:
        with duckdb.connect() as con:
            con.execute("SET memory_limit = '300MB'; SET preserve_insertion_order = false")
            con.execute("SET temp_directory = 'spill'")
            written = "TO 'parts' (FORMAT parquet, PARTITION_BY (part))"
            con.execute(f"COPY (FROM read_parquet('{source}')) {written}")

    setup = lambda n: generate(n, lambda rng, size: {"part": rng.integers(0, 64, size)})  # noqa: E731
    for n in (5 * 10**6, 2 * 10**7):
        yield Case("", n, setup, {"Polars": streaming, "DuckDB, 300MB": databases})


@table("each path that processes share", same=True, warm=0, once=True, threads=None)
def workers() -> Iterator[Case]:
    columns, plain = ["x0", "x1", "x2"], framed("lognormal", 3)
    names = ["mdav", "vmdav", "k_ward", "md", "diameter", "dba1", "mu_approx", "multi_dsort"]

    def in_strata(n: int) -> pl.DataFrame:
        return plain(n).with_columns(s=pl.Series(np.random.default_rng(0).integers(0, 40, n)))

    def strata(frame: pl.DataFrame, workers: int) -> pl.DataFrame:
        return mg.vmdav(frame, columns, K, strata="s", workers=workers)

    def patches(frame: pl.DataFrame, workers: int) -> pl.DataFrame:
        return mg.lowloss(frame, columns, K, effort=0.5, workers=workers)

    def leaves(frame: pl.DataFrame, workers: int) -> pl.DataFrame:
        return mg.fit_leaves(frame, columns, K, cut="median").mask(frame, workers=workers)

    def out_of_core(frame: pl.DataFrame, workers: int) -> pl.DataFrame:
        frame.write_parquet("in.parquet")
        how = {"method": "lowloss", "effort": 0.05, "cut": "median", "columns": columns}
        parquet("700MB", workers, **how)("in.parquet")
        return pl.read_parquet("out.parquet")

    def compare(frame: pl.DataFrame, workers: int) -> pl.DataFrame:
        return mg.compare(frame, columns, methods=names, workers=workers).drop("seconds")

    sizes = {
        strata: 1_200_000,
        patches: 150_000,
        leaves: 4_500_000,
        out_of_core: 200_000,
        compare: 9000,
    }
    for path, n in sizes.items():
        ways = {f"workers={count}": partial(path, workers=count) for count in (1, 2)}
        yield Case(path.__name__, n, in_strata if path is strata else plain, ways)


SPARK = [
    "spark.driver.host=127.0.0.1",
    "spark.driver.bindAddress=127.0.0.1",
    "spark.ui.enabled=false",
    "spark.driver.memory=2g",
    "spark.executor.memory=1g",
    "spark.executor.cores=1",
    "spark.sql.shuffle.partitions=8",
]


@table("one process and Spark (Java 17, pyspark)", same=True, warm=0, once=True, threads=None)
def spark() -> Iterator[Case]:
    if not importlib.util.find_spec("pyspark"):
        return

    def setup(n: int) -> None:
        """As they are, and shuffled: in other files and row groups."""
        mixed = pl.read_parquet(generate(n)).sample(fraction=1, shuffle=True, seed=1)
        Path("mixed").mkdir()
        for number, part in enumerate(mixed.iter_slices(n // 3 + 1)):
            part.write_parquet(f"mixed/{number}.parquet", row_group_size=7777)

    def alone(_: None) -> pl.DataFrame:
        parquet("8GB", 1)("in.parquet")
        return pl.read_parquet("out.parquet").sort("id")

    def kill(of: bytes) -> None:
        """Kill an executor while it writes."""
        while not any(Path("out").glob("_temporary/0/_temporary/*/*.parquet")):
            time.sleep(0.01)
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            words = entry.read_bytes().split(b"\0")
            if of in words and any(word.endswith(b"ExecutorBackend") for word in words):
                os.kill(int(entry.parent.name), 9)
                return

    def on(master: str, source: str, *settings: str, killed: bool = False) -> Callable[[None], Any]:
        def call(_: None) -> pl.DataFrame:
            os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
            from pyspark.sql import SparkSession

            from polars_microagg.spark import protect

            builder = SparkSession.builder.master(master)
            for setting in (*SPARK, *settings):
                builder = builder.config(*setting.split("="))
            session = builder.getOrCreate()
            masked = protect(session.read.parquet(str(Path(source).resolve())), MASKED, K)
            if killed:
                of = session.sparkContext.applicationId.encode()
                threading.Thread(target=kill, args=(of,), daemon=True).start()
            masked.write.parquet(str(Path("out").resolve()))
            session.stop()
            return pl.read_parquet("out/*.parquet").sort("id")

        return call

    other = "spark.sql.shuffle.partitions=5", "spark.sql.execution.arrow.maxRecordsPerBatch=3333"
    cluster = "local-cluster[2,1,2048]"
    ways = {
        "one process": alone,
        "local[2]": on("local[2]", "in.parquet"),
        "local[2], shuffled": on("local[2]", "mixed", *other),
        cluster: on(cluster, "in.parquet"),
        f"{cluster}, shuffled, an executor killed": on(cluster, "mixed", *other, killed=True),
    }
    yield Case("", 10**6, setup, ways)


# Privacy models and categories.

LOWLOSS = {"lowloss": {"method": "lowloss"}}
REFINED = {"mdav": {}, "mdav refine": {"method": "mdav", "refine": True}} | LOWLOSS


@table("rows of persons, k=5: loss, classes of fewer than 5 persons, persons unlike others")
def persons() -> Iterator[Case]:
    columns = ["a", "b", "c"]

    def setup(n: int) -> pl.DataFrame:
        rng, count = np.random.default_rng(3), n // 3
        profile = rng.normal(size=(count, 3))
        person = np.repeat(np.arange(count), 1 + rng.poisson(2, count))
        values = profile[person] + 0.1 * rng.normal(size=(len(person), 3))
        frame = pl.DataFrame(values, schema=columns)
        return frame.with_columns(person=pl.Series(person)).with_row_index("row")

    def found(given: pl.DataFrame, masked: pl.DataFrame) -> str:
        kept = given[masked["row"]]
        few = masked.group_by(columns).agg(pl.col("person").n_unique())["person"] < K
        rows = pl.struct(columns).hash().sort().cast(pl.String).str.join(" ").alias("rows")
        sets = masked.group_by("person").agg(rows)
        alone = sets.select(pl.len().over("rows") == 1).to_series()
        lose = mg.loss(kept.select(columns), masked.select(columns), columns)
        return f"{lose:.2f}, {100 * few.mean():.1f} %, {100 * alone.mean():.1f} %"

    for mode in (None, "rows", "mean", "alike"):
        entity = {"entity": "person", "entity_mode": mode} if mode else {}
        entity |= {"small_strata": "drop"} if mode == "alike" else {}
        mask = partial(mg.mask, columns=columns, k=K, **entity)
        ways = {name: partial(mask, **options) for name, options in REFINED.items()}
        yield Case(mode or "k in rows", 4500, setup, ways, found)


@table("privacy models on the file census, masked taxinc and pothval; the result is the loss")
def secrets() -> Iterator[Case]:
    keys = ["taxinc", "pothval"]

    def prepared(setup: Callable[[int], pl.DataFrame]) -> Callable[[int], pl.DataFrame]:
        def make(n: int) -> pl.DataFrame:
            frame = setup(n).rename(str.lower)
            six = (pl.col("fedtax", "fica").rank("ordinal") - 1) * 6 // n
            return frame.with_columns(six.cast(pl.String).name.suffix("_6"))

        return make

    bounds = [
        (name, k, {"t": t, "t_scale": "ranks"})
        for name in ("fedtax", "fica")
        for k, t in product((5, 10), (0.25, 0.13, 0.05))
    ]
    kinds = [*product("l", (2, 3, 4)), *product(["max_share"], (0.6, 0.4, 0.25))]
    bounds += [(f"{name}_6", K, {b: v}) for name, (b, v) in product(("fedtax", "fica"), kinds)]
    lose = lambda before, after: lost(before.select(keys), after.select(keys))  # noqa: E731
    for _, n, setup in files("census"):
        for name, k, bound in bounds:
            mask = partial(mg.mask, columns=keys, k=k, confidential=name, **bound)
            ways = {way: partial(mask, **options) for way, options in REFINED.items()}
            about = ", ".join(f"{key}={value}" for key, value in bound.items())
            yield Case(f"{name}, k={k}, {about}", n, prepared(setup), ways, lose)


@table("privacy models beside k in rows: a million records of five columns, mdav, k=5", warm=300)
def models() -> Iterator[Case]:
    columns = list("abcde")

    def setup(n: int) -> pl.DataFrame:
        rng = np.random.default_rng(0)
        person = rng.integers(0, n // 3, n)
        values = rng.normal(size=(n // 3, 5))[person] + 0.3 * rng.normal(size=(n, 5))
        return pl.DataFrame(values, schema=columns).with_columns(
            person=pl.Series(person),
            wage=pl.Series((values[:, 0] + rng.normal(size=n)).round(1)),
            sick=pl.Series(rng.choice(8, n, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])),
        )

    asked: dict[str, dict[str, Any]] = {
        "k in rows": {},
        "entity": {"entity": "person", "entity_mode": "rows"},
        "t=0.2": {"confidential": "wage", "t": 0.2},
        "l=3": {"confidential": "sick", "l": 3},
        "max_share=0.4": {"confidential": "sick", "max_share": 0.4},
    }
    ways = {name: partial(mg.mask, columns=columns, k=K, **given) for name, given in asked.items()}
    lose = lambda before, after: lost(before.select(columns), after.select(columns))  # noqa: E731
    yield Case("", 10**6, setup, ways, lose)


def categories(k: int) -> dict[str, Callable[[Any], Any]]:
    """Return ways to release the census income file, ours and Mondrian."""
    keys = generalisation.KEYS

    def masked(adult: Any, method: str, center: str) -> pl.DataFrame:
        options = {"taxonomy": adult.trees, "center": center, "dtype": "float"}
        return mg.mask(adult.table, keys, k, method=method, **options)

    ways = {
        f"{method}, {center}": partial(masked, method=method, center=center)
        for method, center in product(("mdav", "lowloss"), ("mean", "median"))
    }
    for name, by_order in (("Mondrian", False), ("Mondrian, by order", True)):
        ways[name] = lambda a, o=by_order: a.released(generalisation.mondrian(a, k, by_order=o))
    return ways


ADULT = DATA / "adult"


@table("the census income file, beside Mondrian written plainly; see generalisation.py", warm=300)
def kinds() -> Iterator[Case]:
    for k in (3, 5, 10) if ADULT.exists() else ():
        found = lambda adult, masked, k=k: adult.measured(masked, k)  # noqa: E731
        yield Case(f"k={k}", 30_162, lambda n: generalisation.Adult(ADULT, n), categories(k), found)


@table("accuracy of classifiers trained on a release of it, tested on originals", warm=0, once=True)
def classifier() -> Iterator[Case]:
    if not (importlib.util.find_spec("sklearn") and ADULT.exists()):
        return
    for k in (5, 10, 50):
        ways = {"original": lambda adult: adult.table} | categories(k)
        accuracy = lambda adult, masked: adult.accuracy(masked)  # noqa: E731
        yield Case(f"k={k}", 30_162, lambda n: generalisation.Adult(ADULT, n), ways, accuracy)


@table("many categories beside two other keys, mdav, k=5; the result is the loss in per cent")
def many_categories() -> Iterator[Case]:
    draw: dict[str, Callable[[Any, int], list[str]]] = {
        "40 countries": lambda rng, n: [f"c{i}" for i in rng.zipf(1.3, n) % 40],
        "900 diagnoses": lambda rng, n: [f"d{i:03}" for i in rng.zipf(1.2, n) % 900],
        "8000 zips": lambda rng, n: [f"{12 * i:05}" for i in rng.integers(0, 8000, n)],
    }

    def setup(n: int, name: str) -> pl.DataFrame:
        rng = np.random.default_rng(0)
        others = {"age": rng.integers(18, 90, n), "sex": rng.choice(["f", "m"], n)}
        return pl.DataFrame(others | {"x": draw[name](rng, n)})

    zips = {"taxonomy": {"x": mg.Taxonomy.prefix(5, [3, 2])}}
    for n, name in product((10_000, 100_000), draw):
        options = zips if "zips" in name else {"nominal": ["x"]}
        how = {"columns": ["age", "sex", "x"], **options}
        loss = partial(mg.assess, metrics="loss", **how)
        said = lambda before, after, loss=loss: loss(before, after).item()  # noqa: E731
        yield Case(name, n, partial(setup, name=name), {"mask": partial(mg.mdav, k=K, **how)}, said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--list", action="store_true", help="only name the tables")
    parser.add_argument("--rows", type=lambda text: int(float(text)), help="rows at most")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="lines with one of these words")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another checkout")
    parser.add_argument("--folder", type=Path, help="where files go while they are needed")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        name, index, way, rows = given.one
        one(name, int(index), way, int(rows))
    if unknown := [name for name in given.tables if name not in TABLES]:
        parser.error(f"{', '.join(unknown)} is not one of {', '.join(TABLES)}.")
    if given.list:
        print(*(f"{name:16} {found.about}" for name, found in TABLES.items()), sep="\n")
        return
    print(machine())
    for name in given.tables or TABLES:
        show(name, given)


if __name__ == "__main__":
    main()
