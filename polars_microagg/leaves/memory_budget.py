"""The share of a table that is in memory at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

import numpy as np

from polars_microagg.core.partition import Labels
from polars_microagg.errors import InvalidParameterError
from polars_microagg.leaves.tree import Tree
from polars_microagg.processes.crew import cores

__all__ = ["MemoryBudget", "bytes_of", "parts_of"]

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {f"{unit}i": 2 ** (10 * power) for power, unit in enumerate("kmgt", start=1)}

OWN = 190 * 10**6
"""Bytes that a process takes before it has read anything."""

COPIES = 14
"""Most copies of the records of a part in memory while they are masked."""

VALUES = 8
"""The distinct values of a confidential column take at most this part of the memory of a process."""

RANGE = 8 * 10**6
"""Bytes of the source that are written together."""

LEAST = 250 * 10**6
"""Fewest bytes that any table needs."""


def bytes_of(memory: object) -> int:
    """Return an amount of memory in bytes.

    >>> bytes_of("2GB"), bytes_of("1.5 GiB"), bytes_of(300_000_000), bytes_of("1e9")
    (2000000000, 1610612736, 300000000, 1000000000)
    """
    need = f"bytes, as a number or like '2GB', and at least '{LEAST // 10**6}MB'"
    if isinstance(memory, float) and memory.is_integer():
        memory = int(memory)
    if isinstance(memory, bool) or not isinstance(memory, str | int):
        raise InvalidParameterError.kind("memory", memory, need)
    read = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e\d\d?)?)\s*([kmgt]?i?)b?\s*", str(memory).lower())
    if not read or read[2] not in UNITS or float(read[1]) * UNITS[read[2]] < LEAST:
        raise InvalidParameterError.kind("memory", memory, need)
    return int(float(read[1]) * UNITS[read[2]])


@dataclass(frozen=True)
class MemoryBudget:
    """Records in memory at a time, in each of several processes."""

    memory: int
    workers: int
    part: int
    batch: int
    range: int
    values: int = 1 << 24
    """Bytes that the distinct values of a confidential column may take."""

    @classmethod
    def of(cls, memory: int, workers: int | None, columns: int, wide: float) -> Self:
        """Return the records that fit: one worker is this process itself.

        `columns` are masked, and a whole record takes `wide` bytes. Without `workers` there are as
        many as there are processors and memory for.
        """
        if workers is None:
            workers = max(1, min(cores(), memory // (4 * OWN)))
        processes = workers + 1 if workers > 1 else 1
        own = max((memory - processes * OWN) // workers, OWN // 4)
        record = 8 * (columns + 3)
        batch = min(1 << 17, int(own / (2 * COPIES * (wide + record))))
        # A range is a row group of the file that is made, whose bytes depend on the table alone.
        rows = min(1 << 17, int(RANGE / max(wide, 1.0)))
        part = max(1, own // (COPIES * record))
        values = own // VALUES
        return cls(memory, workers, part, max(1 << 10, batch), max(1 << 12, rows), values)


def parts_of(tree: Tree, records: int, most: int) -> Labels:
    """Return the part of each leaf, from left to right: subtrees of at most `most` records.

    `records` is the number of records of the whole table, of which the tree has those of a sample.
    """
    # The sample says what share of the table each leaf will hold; a part is a subtree, so
    # neighbouring leaves stay together.
    share = np.concatenate([[0.0], np.cumsum(tree.expected) / tree.expected.sum()]) * records
    first, last = tree.spans()
    parts = np.zeros(len(tree), dtype=np.intp)
    stack, made = [0 if len(first) else -1], 0
    while stack:
        node = stack.pop()
        low, high = (first[node], last[node]) if node >= 0 else (-1 - node, -node)
        if node >= 0 and share[high] - share[low] > most:
            stack += [int(tree.above[node]), int(tree.below[node])]
        else:
            parts[low:high] = made
            made += 1
    return parts
