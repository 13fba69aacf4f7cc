"""The preview of `protect --dry-run`, as text."""

from __future__ import annotations

from typing import Any

from polars_microagg.cli.output import table
from polars_microagg.cli.progress_bar import left

__all__ = ["preview_text"]


def preview_text(preview: dict[str, Any]) -> str:
    """Write a preview as text."""
    rows = [(c["name"], c["type"], c["role"], c.get("kind", "")) for c in preview["columns"]]
    width = 4 if any(kind for *_, kind in rows) else 3
    looked_at = preview.get("looked_at")
    lines = [
        table([row[:width] for row in rows], head=("column", "type", "role", "kind")[:width]),
        "",
        f"{'' if preview['exact'] else 'About '}{preview['rows']:,} rows, of which the first "
        f"{looked_at:,} were looked at."
        if looked_at
        else f"{preview['rows']:,} rows, {preview['strata']['count']} strata, "
        f"{preview['strata']['below_k']} of them below k.",
    ]
    if how := preview.get("how"):
        by = "by leaves, out of core" if how["engine"] == "leaves" else "whole"
        lines.append(f"{how['why']} It would be masked {by}.")
    if gone := preview.get("suppressed"):
        lines.append(f"{gone:,} rows ({100 * gone / preview['rows']:.2g} %) would be suppressed.")
    if guess := preview.get("estimate"):
        disk = f", {guess['disk_megabytes']} MB of disk" if "disk_megabytes" in guess else ""
        lines.append(
            f"About {left(guess['masking_seconds'])} to mask, {left(guess['measuring_seconds'])} to "
            f"measure, {guess['memory_megabytes']} MB of memory{disk}; from a trial on "
            f"{guess['trial_rows']:,} rows. Nothing was written."
        )
    return "\n".join(lines)
