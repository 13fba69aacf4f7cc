"""Strata with confidential columns: each is masked as if it were alone."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_microagg as mg
from tests.loop import rounds


@pytest.mark.parametrize("model", [{"l": 3}, {"max_share": 0.5}], ids=["l", "max_share"])
@pytest.mark.parametrize("mode", ["rows", "mean", None])
def test_words_that_come_in_another_order_among_others_do_not_matter(mode, model):
    """Groups spread over a confidential column of words start from the order in which these come."""
    for seed in range(rounds(6)):
        rng = np.random.default_rng(seed)
        a, n = rng.normal(size=300).round(3), 300
        words = np.array(["gout", "flu", "cold", "ache", "none"])
        frame = pl.DataFrame(
            {
                "row": range(n),
                "s": rng.integers(0, 2, n),
                "a": a,
                "b": rng.normal(size=n).round(3),
                "person": rng.integers(0, 200, n),
                "sick": words[
                    np.clip(np.round(a + 2 + 0.3 * rng.normal(size=n)), 0, 4).astype(int)
                ],
            }
        )
        call = {"k": 5, "confidential": "sick", **model}
        call |= {"entity": "person", "entity_mode": mode} if mode else {}
        among = mg.mdav(frame, ["a", "b"], strata="s", **call)
        alone = [mg.mdav(part, ["a", "b"], **call) for part in frame.partition_by("s")]
        assert_frame_equal(among.sort("row"), pl.concat(alone).sort("row"), check_exact=True)
