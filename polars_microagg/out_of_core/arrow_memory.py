"""The allocator of Arrow while tables larger than memory are read and written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["given_back"]


@contextmanager
def given_back() -> Iterator[None]:
    """Let Arrow take memory from the system, and give back what it no longer needs.

    Its own allocators keep what columns took while they were written, some 40 MB of ten columns, and are not
    faster here. What was allocated before stays where it is.
    """
    import pyarrow as pa

    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.default_memory_pool().release_unused()
        pa.set_memory_pool(before)
