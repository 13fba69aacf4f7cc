"""Make the macros of polars_microagg known to every model of a dbt-duckdb project."""

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection

import polars_microagg.duckdb as mgd


class Plugin(BasePlugin):
    """Called by dbt-duckdb, because profiles.yml lists this module."""

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Register the macros on the connection that all models share."""
        mgd.register(conn)
