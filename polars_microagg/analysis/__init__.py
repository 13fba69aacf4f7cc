"""Questions about tables: how anonymous, how much lost, how risky, which method."""
