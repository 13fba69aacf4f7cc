"""The line that says what was published."""

from __future__ import annotations

from pathlib import Path

from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.model import Manifest, Rows
from polars_microagg.publishing.manifest.precision import FEWEST, FIRST

__all__ = ["last_line"]


def _suppressed(rows: Rows) -> list[str]:
    """Write how many rows were emptied and dropped, and their share, if any were."""
    counts = {"emptied": rows["emptied"], "dropped": rows["dropped"]}
    return [
        f"{count:,} {how}" + (f" ({100 * count / rows['in']:.2g} %)" if rows["in"] else "")
        for how, count in counts.items()
        if count
    ]


def last_line(manifest: Manifest, target: Location, record: Path | None) -> str:
    """Write what was published where, and what was lost."""
    measures, rows, cells = manifest["measures"], manifest["rows"], manifest["cells"]
    parts = [f"{rows['out']:,} records", f"k={manifest['k']['found']}"]
    entity = manifest.get("models", {}).get("entity")
    if entity and entity["k_entities"]:
        parts.append(f"{entity['k_entities']} entities or more in each class")
        parts += [f"{name} {worst:g}" for name, worst in entity["models"].items() if worst]
    parts += _suppressed(rows)
    lost = [row for row in manifest.get("categories", []) if row["rare"]]
    parts += [f"{row['rare']:g} % of {row['column']!r} lost a rare category" for row in lost[:3]]
    parts += [f"as did {len(lost) - 3} columns more"] if len(lost) > 3 else []
    made = [row for row in manifest.get("imputed", []) if row["share"]]
    parts += [
        f"{row['share']:g} % of {row['column']!r} had no value and is filled" for row in made[:3]
    ]
    parts += [f"as are cells of {len(made) - 3} columns more"] if len(made) > 3 else []
    over, (compared, whole) = "", (cells["compared"], cells["all"])
    if compared is not None and whole is not None and compared < whole:
        over = f" over {compared:,} of {whole:,} cells"
    parts += [
        f"{name} {measures[name]:g} %{over * (name == 'loss')}"
        for name in FIRST
        if isinstance(measures.get(name), float)
    ]
    if not manifest["digits"]:
        # A column may have lost nearly all of its values, however many records there are.
        parts.append(
            f"no loss told of fewer than {FEWEST} records"
            if rows["out"] < FEWEST
            else f"no loss told, as fewer than {FEWEST} records have values to compare"
        )
    where = "" if record is None else f" Its manifest is {record}."
    return f"Published {target}: {', '.join(parts)}.{where}"
