"""Two releases of the same people side by side, counted as one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.analysis.anonymity import classes
from polars_microagg.cli.options import names_in
from polars_microagg.errors import files
from polars_microagg.errors.originals import repeated_in_release, unlike_releases
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.check import Finding
from polars_microagg.publishing.manifest.record import read_manifest

__all__ = ["beside"]


def beside(one: Location, other: Location, records: Sequence[Any], key: Any) -> Finding:
    """Check that k are alike in two releases together, whose rows belong together by key or order.

    `records` are their manifests. A row that only one of them has tells by that, too.
    """
    parts, ks = [], []
    for number, (place, record) in enumerate(zip((one, other), records, strict=True)):
        if record is None:
            raise files.no_manifest()
        manifest, frame = read_manifest(Path(record)), place.read()
        keys = names_in("key", key, frame.columns)
        roles, names = manifest["roles"], [by_name(n).alias(f"key{j}") for j, n in enumerate(keys)]
        # Under names of their own, as both may have the same columns.
        masked = [*roles["mask"], *roles["stratum"]]
        names += [by_name(n).alias(f"{number}-{j}") for j, n in enumerate(masked)]
        parts.append(frame.select(*names, pl.lit(value=True).alias(f"{number}-there")))
        ks.append(int(manifest["k"]["asked"]))
    both = _joined(parts, [f"key{j}" for j in range(len(keys))])
    sizes, k = classes(both, both.columns)["size"], min(ks)
    few, least = sizes.filter(sizes < k), int(sizes.to_numpy().min())
    if not len(few):
        return Finding(
            "beside", holds=True, says=f"side by side, the smallest class has {least} rows"
        )
    says = f"side by side, {few.sum():,} rows are in classes of fewer than k={k}, the smallest of {least}"
    return Finding("beside", holds=False, says=says)


def _joined(parts: Sequence[pl.DataFrame], keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows of both tables side by side, without the keys."""
    one, other = parts
    if not keys:
        if one.height != other.height:
            raise unlike_releases(one.height, other.height)
        return pl.concat([one, other], how="horizontal")
    for part in parts:
        if repeated := part.height - part.select(keys).n_unique():
            raise repeated_in_release(repeated)
    if one.select(keys).schema != other.select(keys).schema:
        # As text, as which a file without types gives them.
        one, other = (part.with_columns(pl.col(keys).cast(pl.String)) for part in parts)
    both = one.join(other, on=list(keys), how="full", coalesce=True, nulls_equal=True)
    return both.drop(keys)
