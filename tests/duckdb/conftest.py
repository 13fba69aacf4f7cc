"""A database with the macros, for the tests of this folder."""

import duckdb
import pytest

import polars_microagg.duckdb as mgd


@pytest.fixture
def con():
    with mgd.register(duckdb.connect()) as con:
        yield con
