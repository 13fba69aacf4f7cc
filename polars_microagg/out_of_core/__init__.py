"""Tables larger than memory: masked leaf by leaf, counted and measured piece by piece."""

from polars_microagg.out_of_core.doors import anonymity, assess, verify
from polars_microagg.out_of_core.parquet import protect_parquet

__all__ = ["anonymity", "assess", "protect_parquet", "verify"]
