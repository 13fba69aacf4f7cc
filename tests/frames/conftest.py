"""What reached the kernel, and files of one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polars_microagg.core.plan import Plan

from .steps import TABLE


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each batch that reached the kernel."""
    rows: list[int] = []
    mask = Plan.mask

    def counted(self: Plan, x: np.ndarray, *rest: Any) -> Any:
        rows.append(len(x))
        return mask(self, x, *rest)

    monkeypatch.setattr(Plan, "mask", counted)
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pushdown")
    TABLE.write_parquet(folder / "t.parquet", row_group_size=37)
    TABLE.write_csv(folder / "t.csv")
    return folder
