"""Files of text that are masked by methods and kinds that need numbers or times of day."""

import datetime as dt

import polars as pl
import pytest

import polars_microagg as mg

TABLE = pl.DataFrame(
    {
        "a": [float(i * 37 % 101) / 4 for i in range(120)],
        "at": [dt.time(i * 7 % 24, i % 60) for i in range(120)],
        "name": [f"n{i % 7}" for i in range(120)],
    }
)


@pytest.mark.parametrize("method", ["individual_ranking", "univariate"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_text_is_read_before_a_method_of_one_column_refuses_it(ending, method, tmp_path):
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    getattr(TABLE, f"write_{ending}")(source)
    mg.publish(str(source), target, "a", 4, method=method, drop=["at", "name"])
    released = getattr(pl, f"read_{ending}")(target)["a"]
    assert released.to_list() == mg.mask(TABLE, "a", 4, method=method)["a"].to_list()
    with pytest.raises(mg.NotNumericError, match="'name'"):
        mg.publish(str(source), target, "name", 4, method=method, drop=["a", "at"], overwrite=True)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_text_is_read_before_a_kind_refuses_it(ending, tmp_path):
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    getattr(TABLE, f"write_{ending}")(source)
    mg.publish(str(source), target, "at", 4, circular="at", drop=["a", "name"])
    assert target.exists()
