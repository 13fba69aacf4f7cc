"""The polars door; nothing further in imports polars."""
