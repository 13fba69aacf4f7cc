"""SQL text, loaded by polars_microagg.duckdb."""
