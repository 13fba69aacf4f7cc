"""How hard Hypothesis tries (HYPOTHESIS_PROFILE=thorough pytest tests), short evolutions, methods for one test."""

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings

from polars_microagg.core import registry

GENERATIONS = 30
"""The laws hold after any number of generations, and are tried thousands of times."""


for entry in registry.methods().values():
    if "generations" in entry.options:
        entry.function.__kwdefaults__["generations"] = GENERATIONS
        entry.options["generations"] = replace(entry.options["generations"], default=GENERATIONS)

slow = [HealthCheck.too_slow]
settings.register_profile(
    "default", max_examples=30, deadline=None, derandomize=True, suppress_health_check=slow
)
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=slow)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def toys():
    """Register methods that are gone after the test."""
    before = dict(registry.methods())
    yield registry.method
    registry._METHODS.clear()
    registry._METHODS.update(before)
