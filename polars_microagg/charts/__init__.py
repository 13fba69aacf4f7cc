"""Pictures from tables of aggregates."""
