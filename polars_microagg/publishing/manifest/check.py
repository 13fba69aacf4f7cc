"""The check of a release against its manifest, and of the manifest itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from polars_microagg.errors import MicroaggError, files
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.large.tables import on_disk
from polars_microagg.publishing.manifest import consistency
from polars_microagg.publishing.manifest.categories import has_categories
from polars_microagg.publishing.manifest.consistency import Outcome
from polars_microagg.publishing.manifest.imputed import has_imputed
from polars_microagg.publishing.manifest.recheck import Recheck
from polars_microagg.publishing.manifest.recheck_models import named
from polars_microagg.publishing.manifest.record import read_manifest, separator_in, separator_of

__all__ = ["Finding", "check"]


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    `holds` is False only if something is wrong; if not `checked`, nothing contradicts it, and it is
    not or only partly proven.
    """

    what: str
    holds: bool
    says: str
    checked: bool = True

    @property
    def state(self) -> str:
        """Return the result in a word or two."""
        return "WRONG" if not self.holds else "ok" if self.checked else "not checked"


def check(
    place: Location | str | os.PathLike[str],
    record: Path | None = None,
    *,
    original: Location | str | os.PathLike[str] | None = None,
    hash_key: bytes | None = None,
    memory: int | str | None = None,
) -> list[Finding]:
    """Check a release against its manifest; with `memory`, tables that are larger than that.

    >>> import tempfile, polars_microagg as mg
    >>> people = pl.LazyFrame({"age": [23, 25, 47, 51]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     manifest = mg.publish(people, f"{folder}/ages.csv", "age", k=2)
    ...     all(finding.holds for finding in check(f"{folder}/ages.csv"))
    True
    """
    place = place if isinstance(place, Location) else Location.of(place)
    if original is not None and not isinstance(original, Location):
        original = Location.of(original)
    record = record or place.record
    if record is None:
        raise files.no_manifest()
    if not place.piped and not os.path.lexists(place.path):
        raise files.no_such_file(place.path)
    manifest = read_manifest(record)
    place = place.separated_by(separator_of(manifest))
    original = original and original.separated_by(separator_in(manifest))
    if memory is not None:
        with on_disk(manifest, place, original, memory) as large:
            tables = large.frame, large.before
            return _checked(Recheck(manifest, place, *tables, original, hash_key, large))
    before = None if original is None else original.read()
    return _checked(Recheck(manifest, place, place.read(), before, original, hash_key))


def _checked(recheck: Recheck) -> list[Finding]:
    """Make all checks."""
    manifest = recheck.manifest
    steps: dict[str, Callable[[], Outcome]] = {
        "form": lambda: consistency.form(manifest),
        "configuration": lambda: consistency.configuration(manifest),
        "hash": recheck.hash,
        "name": recheck.name,
        "shape": recheck.shape,
        "types": recheck.types,
        "roles": recheck.roles,
        "k": recheck.k,
        "categories": recheck.categories,
        "imputed": recheck.imputed,
        "models": recheck.models,
        "requirements": recheck.requirements,
        "measures": recheck.measures,
        "warnings": recheck.warnings,
        "attack": lambda: consistency.attacks(manifest),
        "times": lambda: consistency.times(manifest),
        "input": recheck.input,
        "seal": recheck.sealed,
    }
    if not named(manifest):
        del steps["models"]
    if not has_categories(manifest):
        del steps["categories"]
    if not has_imputed(manifest):
        del steps["imputed"]
    return [_found(what, step) for what, step in steps.items()]


def _found(what: str, step: Callable[[], Outcome]) -> Finding:
    """Run one check; a manifest whose parts are missing or of another kind does not hold."""
    try:
        holds, says = step()
        return Finding(what, holds is not False, says, holds is not None)
    except MicroaggError as error:
        return Finding(what, False, str(error))
    except (LookupError, TypeError, AttributeError, ValueError, pl.exceptions.PolarsError):
        return Finding(what, False, "The manifest does not say it as protect writes it.")
