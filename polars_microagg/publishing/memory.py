"""The memory that a release may take, and an estimate of what it takes to mask a table whole."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import polars as pl

from polars_microagg.leaves.memory_budget import LEAST, bytes_of

__all__ = ["Memory", "amount", "free_bytes", "whole_bytes", "width_of"]

SHARE = 0.5
"""Share of the free memory that a release may take by default."""

BASE = 250 * 10**6
"""Bytes of the process before it reads anything."""

CELL = 8 * 16
"""Bytes of a masked cell: so many copies of its number are in memory at once."""

COPIES = 2
"""Copies of the table."""

PERSON = 200
"""Bytes of a row whose person is counted, with the groups of it and of its neighbours."""

UNKNOWN = 4 * 10**9
"""Bytes that are thought to be free where the system does not say."""

NEW = "memory.max", "memory.current", "inactive_file"
OLD = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
"""Of control groups: the limit, what is taken, and the part of it that files could give back."""

TEXT = 16
"""Bytes of a text besides its characters."""


@dataclass(frozen=True)
class Memory:
    """The bytes that a release may take, and where that number is from."""

    limit: int
    given: bool

    @classmethod
    def of(cls, memory: object) -> Self:
        """Read the parameter; None is a share of what is free, and never less than the least.

        >>> Memory.of("2GB"), Memory.of(None).given
        (Memory(limit=2000000000, given=True), False)
        """
        if memory is None:
            return cls(max(int(SHARE * free_bytes()), LEAST), False)
        return cls(bytes_of(memory), True)

    def __str__(self) -> str:
        """Write it for a sentence."""
        free = "" if self.given else f", {SHARE:.0%} of what is free"
        return f"{amount(self.limit)}{free}"


def amount(size: float) -> str:
    """Write bytes in words, in two digits.

    >>> amount(2_000_000_000), amount(312_400_000), amount(12_345_678_900)
    ('2 GB', '310 MB', '12 GB')
    """
    unit, name = (1e9, "GB") if size >= 1e9 else (1e6, "MB")
    value = size / unit
    text = f"{value:.2g}" if value < 100 else f"{float(f'{value:.2g}'):.0f}"
    return f"{text} {name}"


def free_bytes() -> int:
    """Return the memory that is free in the system and in the control group of this process."""
    limits = [*_available(), *_left_in_groups()]
    return min(limits, default=UNKNOWN)


def _available(path: Path = Path("/proc/meminfo")) -> list[int]:
    """Return what the system says is available."""
    with suppress(OSError, ValueError, IndexError):
        for line in path.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return [int(line.split()[1]) * 1024]
    with suppress(OSError, ValueError, AttributeError):
        return [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2]
    return []


def _left_in_groups(
    listed: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> list[int]:
    """Return what is left in the control groups of this process, of either version, and above them."""
    found = []
    with suppress(OSError, ValueError):
        for line in listed.read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            names, base = NEW, root
            if controllers:
                names, base = OLD, root / "memory"
            if not controllers or "memory" in controllers.split(","):
                whole = base / group.lstrip("/")
                above = [path for path in whole.parents if path.is_relative_to(base)]
                found += [left for path in (whole, *above) for left in _left_in(path, *names)]
    return found


def _left_in(group: Path, most: str, used: str, cache: str) -> list[int]:
    """Return what is left of the limit of one control group, if it has one."""
    # Without a limit there is the word "max", which is no number.
    with suppress(OSError, ValueError):
        limit, taken = (int((group / name).read_text()) for name in (most, used))
        with suppress(OSError, ValueError):
            stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            taken -= int(stat.get(cache, 0))
        return [max(0, limit - taken)]
    return []


def whole_bytes(rows: int, width: float, masked: int, *, persons: bool = False) -> int:
    """Estimate what it takes to mask a table whole: rows of so many bytes, and masked columns.

    `persons` says whether k counts persons.

    >>> whole_bytes(1_000_000, 80.0, 5) // 10**6
    1050
    """
    return int(BASE + rows * (COPIES * width + masked * CELL + persons * PERSON))


def width_of(dtype: pl.DataType, text: float = TEXT) -> float:
    """Return the bytes of a value in memory; `text` are those of a text or of what has no one width."""
    if isinstance(dtype, pl.Decimal):
        return 16.0
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return 4.0
    if dtype.is_numeric() or dtype.is_temporal() or dtype == pl.Boolean:
        return float({pl.Boolean: 1, pl.Date: 4}.get(type(dtype), 8))
    return TEXT + text
