"""A database with the macros, for the tests of this folder."""

import pytest

from tests.databases import DATABASES, registered


@pytest.fixture(scope="session")
def _databases():
    yield
    DATABASES.close()


@pytest.fixture
def con(_databases):
    with registered() as con:
        yield con
