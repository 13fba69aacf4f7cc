"""Little memory."""

import pytest

from polars_microagg.leaves.budget import Budget


@pytest.fixture
def small_parts(monkeypatch):
    """Let a few hundred records be as many as fit into memory."""
    small = Budget(10**9, 1, 700, 100, 450)
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, *args: small))
    return small
