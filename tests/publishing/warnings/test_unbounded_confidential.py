"""A confidential column of which no model bounds what a class tells: one warning, outside the manifest."""

import logging

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing.warnings.unbounded_confidential import unbounded
from polars_microagg.wording import COMMAND_LINE

PEOPLE = pl.DataFrame(
    {
        "age": [30, 31, 40, 41, 50, 52],
        "dx": list("aabbca"),
        "pay": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ({"confidential": ["dx", "pay"]}, True),
        ({"confidential": ["dx", "pay"], "l": 1}, False),
        ({"confidential": ["dx", "pay"], "t": 0.9}, False),
        ({"confidential": ["dx", "pay"], "max_share": 1.0}, False),
        ({"confidential": ["dx", "pay"], "require": ["l>=1"]}, False),
        ({"confidential": ["dx", "pay"], "require": ["rows>=1"]}, True),
        ({"keep": ["dx", "pay"]}, False),
    ],
)
@pytest.mark.parametrize("masked", [False, True])
def test_a_release_warns_once_of_all_confidential_columns_without_a_bound(
    options, warned, masked, tmp_path, caplog
):
    table, method = PEOPLE, "mdav"
    if masked:
        table, method = mg.mdav(PEOPLE, "age", 2), None
    with caplog.at_level(logging.WARNING, logger="polars_microagg"):
        manifest = mg.publish(table, tmp_path / "out.parquet", "age", 2, method=method, **options)
    said = [text for text in caplog.messages if text.startswith("Nothing bounds")]
    assert len(said) == warned
    assert all("'dx', 'pay'" in text for text in said)
    # It is for the owner; the manifest has the models, without bounds.
    assert not any("Nothing bounds" in text for text in manifest["warnings"])


def test_the_sentence_at_the_command_line():
    (sentence,) = unbounded(["dx"], ["k"])
    assert COMMAND_LINE.write(sentence) == (
        "Nothing bounds what a class tells of 'dx', confidential and released unchanged: all its records "
        "may have one value. Give --l, --max-share or --t."
    )
