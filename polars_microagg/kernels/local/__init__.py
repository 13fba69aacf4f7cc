"""Local search: records and groups exchanged as long as the sum of squares falls."""
