"""Checks of a large release that were made on a sample, repeated where both tables are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.core import registry
from polars_microagg.leaves.memory_budget import LEAST, MemoryBudget
from polars_microagg.out_of_core.counts import own_folder
from polars_microagg.out_of_core.measures import OF_SAMPLE, assessed
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.formats.batches import set_down_frame
from polars_microagg.publishing.large.survey import Survey
from polars_microagg.publishing.large.warnings import Asked, warnings_of, whole_of
from polars_microagg.publishing.manifest.compare_original import entity_in
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.manifest.precision import coarse, step
from polars_microagg.publishing.manifest.record import taken
from polars_microagg.publishing.manifest.rounding import agree
from polars_microagg.publishing.warnings.advice import advice, of_release
from polars_microagg.publishing.warnings.persons import Persons

__all__ = ["measured_again", "of_sample", "warnings_again"]

LINKED = (*OF_SAMPLE, "dr", "score")
"""Measures that compare each record with all others, or are made of one that does."""


def _sampled(manifest: Manifest) -> Mapping[str, Any]:
    """Return what a manifest says of a sample."""
    return manifest.get("how", {}).get("sampled", {})


def of_sample(manifest: Manifest) -> Sequence[str]:
    """Return the measures of which a manifest has those of a sample, not of all records."""
    return LINKED if _sampled(manifest).get("linked") else ()


@contextmanager
def _on_disk(
    manifest: Manifest, before: pl.DataFrame, after: pl.DataFrame
) -> Iterator[tuple[ParquetSource, ParquetSource, MemoryBudget, Path]]:
    """Yield both tables as Parquet, in a temporary folder, and the memory that was allowed."""
    with own_folder(None) as folder:
        one = set_down_frame(before.lazy(), folder, name="before.parquet")
        other = set_down_frame(after.lazy(), folder, name="after.parquet")
        limit = manifest["how"]["memory_limit"] or LEAST
        yield one, other, MemoryBudget.of(limit, 1, after.width, one.wide), folder


def measured_again(
    manifest: Manifest,
    before: pl.DataFrame,
    after: pl.DataFrame,
    names: Sequence[str],
    kinds: Mapping[str, Any],
) -> dict[str, Any]:
    """Measure a release as it was measured when it was made.

    Of records that were drawn to be linked, what the manifest says of them must be so, or `dld` is None.
    """
    sampled, entity = _sampled(manifest), entity_in(manifest, before)
    strata = manifest["roles"]["stratum"]
    if not sampled.get("linked"):
        return taken(before, after, names, kinds, entity, strata)
    with _on_disk(manifest, before, after) as (one, other, budget, folder):
        measured: dict[str, Any] = assessed(
            one,
            other,
            list(names),
            metrics=list(registry.assessed(entity=bool(entity))),
            kinds=kinds,
            entity=entity,
            strata=strata,
            budget=budget,
            seed=sampled["seed"],
            sample=sampled["linked"],
            folder=folder,
        )
    told, digits = measured.pop("dld_sampled") == sampled["linked"], manifest["digits"]
    for end in ("dld_low", "dld_high"):
        value = measured.pop(end)
        value = coarse("dld", value, digits) if digits else None
        told = told and agree(sampled[end], value, step("dld", value, digits))
    return measured if told else {**measured, "dld": None}


def warnings_again(
    manifest: Manifest, before: pl.DataFrame | None, after: pl.DataFrame, call: Asked
) -> list[str]:
    """Return the warnings of a release as when it was made; those that need no original, if there is none."""
    roles: dict[str, Any] = {"strata": call.strata, "kept": call.kept}
    roles["who"] = Persons.of(call.entity, call.mode, before, after)
    if _sampled(manifest).get("warnings") is None:
        if before is None:
            return of_release(after, call.blocks, call.k, **roles)
        roles |= {"center": call.center, "kinds": call.kinds}
        return advice(before, after, call.blocks, call.k, **roles)
    original = after if before is None else before
    with _on_disk(manifest, original, after) as (one, other, budget, folder):
        survey = Survey.of(
            one, other, None, (call.blocks, call.strata, call.entity), budget, call.k
        )
        whole = whole_of(call, other, one, budget, folder)
        return warnings_of(call, survey, other, whole, beside=before is not None)
