"""Little memory."""

import pytest

from polars_microagg.leaves.memory_budget import MemoryBudget


@pytest.fixture
def small_parts(monkeypatch):
    """Let a few hundred records be as many as fit into memory."""
    small = MemoryBudget(10**9, 1, 700, 100, 450)
    monkeypatch.setattr(MemoryBudget, "of", classmethod(lambda cls, *args: small))
    return small
