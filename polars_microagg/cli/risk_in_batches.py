"""`microagg risk --memory`: the loss and the risks of a release that stays on disk."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polars_microagg.cli.input_table import source_of
from polars_microagg.cli.kinds import named_kinds, read_kinds
from polars_microagg.cli.models import model_options, options_of_manifest
from polars_microagg.cli.options import names_in, split
from polars_microagg.cli.table_classes import CountedTable
from polars_microagg.core.options import keys_asked
from polars_microagg.core.registry import assessed as by_default
from polars_microagg.errors import InvalidParameterError, originals
from polars_microagg.leaves.memory_budget import bytes_of
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.out_of_core.counts import own_folder
from polars_microagg.out_of_core.given_tables import budget_of, empty_of
from polars_microagg.out_of_core.measures import assessed
from polars_microagg.publishing.column_kinds import read_as_text
from polars_microagg.publishing.formats.batches import BATCH, Typed, set_down
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.large.tables import TablesOnDisk, on_disk
from polars_microagg.publishing.manifest.compare_original import other_measures
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.manifest.recheck import Recheck
from polars_microagg.publishing.privacy_models import figures_of
from polars_microagg.wording import Setting

__all__ = ["figures_in_batches", "refuse_another"]

COUNTS = ("records", "classes", "k_min", "k_prime", "uniques")


def figures_in_batches(
    arguments: Namespace, place: Location, manifest: Manifest | None
) -> dict[str, Any]:
    """Return what `risk` tells, of tables that may be larger than memory."""
    refused = [name for name in ("known", "key") if getattr(arguments, name) is not None]
    refused += [*read_kinds({}, vars(arguments)), *model_options(arguments)] if manifest else []
    for name in refused:
        way = "Leave it out, or measure the table whole, without memory."
        raise InvalidParameterError.cannot("memory", Setting(name, getattr(arguments, name)), way)
    if manifest is None:
        return _of_tables(arguments, place)
    source = arguments.original and source_of(arguments.original, arguments.separator)
    with on_disk(manifest, place, source or None, arguments.memory) as tables:
        return _of_release(arguments, manifest, tables)


def refuse_another(release: Recheck) -> None:
    """Refuse a release that is not the one of its manifest, before its original is doubted."""
    holds, says = release.hash()
    if not holds:
        raise originals.other_release(says)


def _listed(arguments: Namespace) -> list[str]:
    """Return the measures that were asked for."""
    return list(by_default()) if arguments.metrics is None else split(arguments.metrics)


def _of_release(arguments: Namespace, manifest: Manifest, tables: TablesOnDisk) -> dict[str, Any]:
    """Compare a release with its manifest, and measure it."""
    result: dict[str, Any] = {}
    if tables.original is not None:
        refuse_another(Recheck(manifest, tables.place, tables.frame, large=tables))
        if manifest["config"]["method"] is not None and (differ := tables.exchanged()):
            raise originals.rows_differ(differ)
        again = {n: v for n, v in tables.measured().items() if n in manifest["measures"]}
        if differ := other_measures(manifest, again):
            raise originals.measures_differ(differ)
        if moved := tables.off_centre():
            raise originals.uncentred(moved)
        result = tables.assessed(_listed(arguments), interval=True)
    counted = tables.counted([manifest["roles"]["mask"]])[0]
    result |= _counts(counted) | _models(manifest, tables)
    result["emptied"] = tables.survey.emptied
    return result | {name: manifest["rows"][name] for name in ("dropped", "suppressed")}


def _models(manifest: Manifest, tables: TablesOnDisk) -> dict[str, Any]:
    """Return what models count; of text that has lost its order, as it is read by itself."""
    if tables.models is not None:
        return tables.models.counts()
    roles, options = manifest["roles"], options_of_manifest(manifest)
    if not {*roles.get("entity", [])} <= {*tables.frame.columns}:
        options = {n: v for n, v in options.items() if n not in ("entity", "entity_mode")}
    asked = (roles["mask"], roles["stratum"]), 2, options, tables.memory
    return figures_of(CountedTable.of(tables.place, tables.folder, *asked, bounds=False).classes)


def _of_tables(arguments: Namespace, place: Location) -> dict[str, Any]:
    """Count a table, and measure it beside its original if that is given."""
    asked = arguments.columns, arguments.strata
    options = model_options(arguments)
    with own_folder(None) as folder:
        counting = 2, options, arguments.memory
        found = CountedTable.of(place, folder, asked, *counting, bounds=False)
        result: dict[str, Any] = {}
        if arguments.original is not None:
            kinds = named_kinds(read_kinds({}, vars(arguments)), found.table.schema.names)
            release = place, found.columns
            result = _measured(arguments, release, keys_asked(kinds), folder)
        result |= _counts(found.classes) | figures_of(found.classes)
        result["emptied"] = found.emptied()
        return result


def _measured(
    arguments: Namespace,
    release: tuple[Location, Sequence[str]],
    kinds: dict[str, Any],
    folder: Path,
) -> dict[str, Any]:
    """Measure a release beside its original, both with numbers in place of their text."""
    place, names = release
    source = source_of(arguments.original, arguments.separator)
    codes = {*read_as_text(names, kinds)}
    typed = Typed([name for name in names if name not in codes])
    tables = [
        set_down(one, folder, batch=BATCH, typed=typed, name=f"{side}.parquet")
        for side, one in (("before", source), ("after", place))
    ]
    names_in("columns", list(names), empty_of(tables[0]).columns)
    budget = budget_of(bytes_of(arguments.memory), [names], *tables)
    asked: dict[str, Any] = {
        "metrics": _listed(arguments),
        "kinds": kinds,
        "budget": budget,
        "folder": folder,
    }
    return dict(assessed(tables[0], tables[1], names, **asked))


def _counts(found: ClassSizes) -> dict[str, Any]:
    """Return how many classes there are, and the smallest."""
    row = found.row().row(0, named=True)
    return {name: row[name] for name in COUNTS}
