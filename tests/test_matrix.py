"""Every option at every door on one machine: it works and holds k, or its door says why not."""

import re

import pytest

from tests.matrix import MATRIX, SPARK, K, counted, outcome


def assert_cell(cell, door, out):
    """A cell of the matrix is as the table says."""
    why = cell.why(door)
    if why is not None or isinstance(out, str):
        assert isinstance(out, str), f"{door} works, and is to say {why!r}"
        assert re.search(why or "^it works$", out), f"{door}: {out}"
        return
    assert out.height
    assert out.columns == cell.frame.columns
    k, distinct = counted(out, cell)
    assert k >= K or not cell.counts
    assert distinct >= cell.options.get("l", 1)


@pytest.mark.parametrize("name", MATRIX)
def test_every_option_works_at_every_door_or_says_why_not(name, tmp_path):
    cell, made = MATRIX[name], {}
    for door in ("function", "leaves", "file"):
        made[door] = outcome(door, cell, tmp_path)
        assert_cell(cell, door, made[door])
    if not isinstance(made["leaves"], str):
        leaves, file = made["leaves"], made["file"]
        # As Python objects, in which -0.0 is not 0.0.
        assert (leaves.schema, repr(leaves.rows())) == (file.schema, repr(file.rows()))


def test_the_matrix_has_every_common_option_and_door():
    from polars_microagg.core.options import COMMON

    named = {name for cell in MATRIX.values() for name in cell.options}
    assert named >= {*COMMON, "strata", "order_by", "method"} - {"t_scale"}
    works = {door: [c for c in MATRIX.values() if c.why(door) is None] for door in SPARK}
    assert all(len(cells) > len(MATRIX) / 2 for cells in works.values())
