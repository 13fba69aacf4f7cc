"""The DuckDB door: `register` adds the SQL macros; the others are the Arrow path."""

from polars_microagg.duckdb.assess import assess, compare
from polars_microagg.duckdb.register import register
from polars_microagg.duckdb.relation import estimate_memory, mask

__all__ = ["assess", "compare", "estimate_memory", "mask", "register"]


def __dir__() -> list[str]:
    """Return the public names alone, without the modules that hold them."""
    return sorted(__all__)
