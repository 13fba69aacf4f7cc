"""Every option at the doors of Spark: the bits of one machine, or the reason why not."""

import pytest

from tests.matrix import MATRIX, outcome
from tests.test_golden import KEPT
from tests.test_matrix import assert_cell
from tests.test_spark_hostile import pytestmark, session
from tools import golden

__all__ = ["pytestmark", "session"]


@pytest.mark.parametrize("name", MATRIX)
def test_every_option_has_the_bits_of_one_machine_or_says_why_not(session, tmp_path, name):
    cell = MATRIX[name]
    door = "connect" if "connect" in type(session).__module__ else "classic"
    out = outcome(door, cell, tmp_path, session)
    assert_cell(cell, door, out)
    there = outcome("file", cell, tmp_path)
    if isinstance(out, str):
        assert cell.why("file") is None or out == there
    else:
        assert (out.schema, repr(out.rows())) == (there.schema, repr(there.rows()))


def test_a_release_has_the_digests_of_a_file(session, monkeypatch):
    monkeypatch.setitem(golden.SPARK, "session", session)
    for variant in golden.OPTIONS:
        assert golden.at("spark", variant, "ties") == KEPT[f"file / {variant} / ties"], variant
