"""File formats and DuckDB tables: read, write, and what each can hold."""
