"""The classes of equal records, counted by pycanon.

pycanon pins its own numpy and pandas, so it is an extra of its own (`oracle`): its answers are kept
here and checked everywhere, and it is asked itself where it is installed.
"""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import polars_microagg as mg
from tests.loop import tries

KNOWN = ["age", "region"]
HIDDEN = ["wage", "sick"]

# What pycanon 1.3.6 answers: k, l and t of the wage and of the illness, and of both together.
ANSWERS = {
    (60, 7, 5, 6, 11): (2, 2, 0.37, 1, 0.8, 1, 0.8),
    (120, 5, 3, 4, 17): (10, 6, 0.0760416666667, 3, 0.225, 3, 0.225),
    (200, 11, 7, 5, 40): (5, 3, 0.145454545455, 5, 0.285, 3, 0.285),
    (90, 1, 2, 3, 1009): (15, 15, 0.0892634207241, 2, 0.344444444444, 2, 0.344444444444),
    (150, 1, 5, 3, 23): (10, 7, 0.0721212121212, 5, 0.32, 5, 0.32),
    (80, 3, 4, 2, 5): (40, 3, 0, 4, 0.0375, 3, 0.0375),
}


def table(rows, a, b, c, d):
    """Whole numbers without a random generator, which may differ between versions."""
    i = np.arange(rows)
    region = pl.Series(np.array(list("nesw"))[(i * i + a) % b % 4].tolist())
    return pl.DataFrame(
        {
            "age": (i * a) % c,
            "region": region,
            "wage": ((i * i * 3 + i * b) % d) ** 2,
            "sick": [f"s{v}" for v in ((i * i // 5 + i // 7) % b).tolist()],
        }
    )


def asked(frame):
    """What pycanon says: k, then l and t of each confidential column and of both."""
    reason = "pycanon is not installed: pip install '.[oracle]'"
    pycanon = pytest.importorskip("pycanon.anonymity", reason=reason)
    data = frame.to_pandas()
    found = [int(pycanon.k_anonymity(data, KNOWN))]
    for hidden in (["wage"], ["sick"], HIDDEN):
        found.append(int(pycanon.l_diversity(data, KNOWN, hidden)))
        found.append(float(pycanon.t_closeness(data, KNOWN, hidden)))
    return tuple(found)


def answered(frame):
    """The same of this library."""
    found = [mg.anonymity(frame, KNOWN)["k_min"].item()]
    for hidden in ("wage", "sick", HIDDEN):
        row = mg.anonymity(frame, KNOWN, confidential=hidden)
        found += row.select("l", "t").row(0)
    return tuple(found)


@pytest.mark.parametrize("given", ANSWERS, ids=str)
def test_answers_of_pycanon(given):
    assert answered(table(*given)) == pytest.approx(ANSWERS[given], abs=1e-9)


@pytest.mark.parametrize("given", ANSWERS, ids=str)
def test_pycanon_still_answers_so(given):
    assert asked(table(*given)) == pytest.approx(ANSWERS[given], abs=1e-9)


@tries(25)
@given(rng=st.integers(0, 2**32 - 1).map(np.random.default_rng))
def test_pycanon_counts_alike(rng):
    rows, *rest = (int(rng.integers(low, high)) for low, high in ((5, 90), (1, 9), (2, 7), (2, 6)))
    frame = table(rows, *rest, int(rng.integers(3, 30)))
    # Where all wages are equal, pycanon divides by zero.
    assume(frame["wage"].n_unique() > 1)
    assert answered(frame) == pytest.approx(asked(frame), abs=1e-9)
    masked = mg.fixed_size(frame, "age", int(rng.integers(2, 6)))
    assert answered(masked) == pytest.approx(asked(masked), abs=1e-9)
