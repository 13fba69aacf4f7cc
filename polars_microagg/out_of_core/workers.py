"""Masking part by part, in this process or in worker processes."""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

import polars as pl

from polars_microagg.errors import MicroaggError
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.masking import LeafRecords, mask_leaves
from polars_microagg.leaves.rules import coded_columns, restricted, rule_of
from polars_microagg.leaves.strata import KEYS
from polars_microagg.leaves.suppressed import SmallStrata
from polars_microagg.out_of_core.spill import read, write_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LeafJob", "main", "mask_parts"]

LEAVES, JOB = "leaves.json", "job.json"


@dataclass(frozen=True)
class LeafJob:
    """A folder with parts to mask: the files that each is read from, and ranges of rows."""

    folder: str
    parts: dict[str, list[str]]
    size: int
    ranges: int

    def mask(self, part: str, leaves: Leaves) -> int:
        """Mask a part; return how many records it had."""
        folder = Path(self.folder)
        records = read(folder / name for name in self.parts[part])
        rule = None
        if restricted(leaves.plan):
            rule = rule_of(leaves.plan, leaves.references, records)
        ready = LeafRecords(
            [records[str(j)] for j in range(len(leaves.columns))],
            leaves.after_merging(records["leaf"].to_numpy()),
            records["ties"],
            records.select(name for name in records.columns if name in KEYS),
            [records[f"order{j}"] for j in range(len(leaves.request.order_by))],
            rule,
        )
        masked = mask_leaves(leaves.plans_of, leaves.size, ready)
        named = {str(j): column for j, column in enumerate(masked.columns)}
        done = pl.DataFrame({"row": records["row"], **named})
        if leaves.parted:
            small = SmallStrata.of(leaves, ready, masked.suppressed)
            (folder / f"small-{part}.json").write_text(json.dumps(asdict(small)), encoding="utf-8")
            done = done.with_columns(masked.flags(done.height).alias("gone"))
            if rule is not None and masked.suppressed is not None:
                counted = [name for names in coded_columns(leaves.plan) for name in names]
                emptied = records.select(counted).filter(masked.suppressed)
                emptied.write_ipc(folder / f"emptied-{part}.arrow")
        write_ranges(done, folder / f"masked-{part}.arrow", self.size, self.ranges)
        for name in self.parts[part]:
            (folder / name).unlink()
        return done.height


def mask_parts(job: LeafJob, leaves: Leaves, workers: int) -> Iterator[int]:
    """Mask all parts and yield the number of records of each as it is done.

    With one worker the parts are masked in this process.
    """
    if min(workers, len(job.parts)) == 1:
        for part in job.parts:
            yield job.mask(part, leaves)
        return
    folder = Path(job.folder)
    (folder / LEAVES).write_text(leaves.to_json(), encoding="utf-8")
    (folder / JOB).write_text(json.dumps(asdict(job)), encoding="utf-8")
    processes = [_start(folder, workers) for _ in range(min(workers, len(job.parts)))]
    free: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
    for process in processes:
        free.put(process)

    def ask(part: str) -> int:
        process = free.get()
        try:
            return _ask(process, part)
        finally:
            free.put(process)

    try:
        with ThreadPoolExecutor(len(processes)) as threads:
            answers = [threads.submit(ask, part) for part in job.parts]
            try:
                for answer in as_completed(answers):
                    yield answer.result()
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                for process in processes:
                    process.kill()
                raise
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _start(folder: Path, workers: int) -> subprocess.Popen[str]:
    """Start a process, by a command, so that no module of the caller is run again."""
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    names = ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, threads)
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    code = f"import sys; from {__name__} import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, str(folder)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)  # noqa: S603


def _ask(process: subprocess.Popen[str], part: str) -> int:
    """Send a part to a process and return the number of its records."""
    lines = process.stdin, process.stdout
    try:
        lines[0].write(f"{part}\n")  # type: ignore[union-attr]
        lines[0].flush()  # type: ignore[union-attr]
        answer = json.loads(lines[1].readline())  # type: ignore[union-attr]
    except (OSError, ValueError):
        text = "A process that masked a part ended before it was done. Nothing was released."
        raise RuntimeError(f"{text} Give it more memory, or run with workers=1.") from None
    if "error" in answer:
        raise pickle.loads(base64.b64decode(answer["error"]))  # noqa: S301 (of a process of ours)
    return int(answer["records"])


def main(arguments: Sequence[str]) -> None:
    """Mask the parts named line by line on standard input; the only argument is the folder."""
    folder = Path(arguments[0])
    job = LeafJob(**json.loads((folder / JOB).read_text(encoding="utf-8")))
    leaves = Leaves.from_json((folder / LEAVES).read_text(encoding="utf-8"))
    for line in sys.stdin:
        answer: dict[str, object]
        try:
            answer = {"records": job.mask(line.strip(), leaves)}
        except MicroaggError as error:
            answer = {"error": base64.b64encode(pickle.dumps(error)).decode()}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
