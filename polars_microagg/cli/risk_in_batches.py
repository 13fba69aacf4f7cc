"""`microagg risk --memory`: the loss and the risks of a release that stays on disk."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
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
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.column_kinds import read_as_text
from polars_microagg.publishing.formats.batches import BATCH, Typed, set_down
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.large.tables import TablesOnDisk, on_disk
from polars_microagg.publishing.manifest.compare_original import entity_in, other_measures
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.manifest.recheck import Recheck
from polars_microagg.publishing.manifest.record import separator_in
from polars_microagg.publishing.privacy_models import figures_of
from polars_microagg.wording import Setting

__all__ = ["figures_in_batches", "refuse_another"]

COUNTS = ("records", "classes", "k_min", "k_prime", "uniques")


def figures_in_batches(
    arguments: Namespace, place: Location, manifest: Manifest | None
) -> dict[str, Any]:
    """Return what `risk` tells, of tables that may be larger than memory."""
    refused = ["key"] if arguments.key is not None else []
    refused += [*read_kinds({}, vars(arguments)), *model_options(arguments)] if manifest else []
    for name in refused:
        way = "Leave it out, or measure the table whole, without memory."
        raise InvalidParameterError.cannot("memory", Setting(name, getattr(arguments, name)), way)
    if manifest is None:
        return _of_tables(arguments, place)
    noted = separator_in(manifest)
    source = arguments.original and source_of(arguments.original, arguments.separator, noted)
    known = names_in("known", arguments.known, list(manifest["output"]["columns"]))
    with on_disk(manifest, place, source or None, arguments.memory, known) as tables:
        return _of_release(arguments, manifest, tables, known or None)


def refuse_another(release: Recheck) -> None:
    """Refuse a release that is not the one of its manifest, before its original is doubted."""
    holds, says = release.hash()
    if not holds:
        raise originals.other_release(says)


def _listed(arguments: Namespace, entity: Sequence[str]) -> list[str]:
    """Return the measures that were asked for; by default also of persons, if they are known."""
    default = list(by_default(entity=bool(entity)))
    return default if arguments.metrics is None else split(arguments.metrics)


def _of_release(
    arguments: Namespace, manifest: Manifest, tables: TablesOnDisk, known: list[str] | None
) -> dict[str, Any]:
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
        listed = _listed(arguments, entity_in(manifest, tables.before))
        result = tables.assessed(listed, interval=True, known=known)
    if known:
        within = [name for name in manifest["roles"]["stratum"] if name not in known]
        classes = _classes(manifest, tables, (known, within))
        result |= _counts(classes) | figures_of(classes)
    else:
        counted = tables.counted([manifest["roles"]["mask"]])[0]
        result |= _counts(counted) | _models(manifest, tables)
    result["emptied"] = tables.survey.emptied
    return result | {name: manifest["rows"][name] for name in ("dropped", "suppressed")}


def _models(manifest: Manifest, tables: TablesOnDisk) -> dict[str, Any]:
    """Return what models count; of text that has lost its order, as it is read by itself."""
    if tables.models is not None:
        return tables.models.counts()
    roles = manifest["roles"]
    return figures_of(_classes(manifest, tables, (roles["mask"], roles["stratum"])))


def _classes(manifest: Manifest, tables: TablesOnDisk, columns: tuple[Any, Any]) -> ClassSizes:
    """Count the classes of some columns and strata of a release, with what is known of its models."""
    options, beside = options_of_manifest(manifest), None
    people, hidden = manifest["roles"].get("entity", []), options.get("confidential")
    if not {*people} <= {*tables.frame.columns}:
        # All that is counted is read of one table; of text, confidential columns have other types.
        there = tables.before is not None and {*people} <= {*tables.before.columns}
        beside = tables.original if there and not hidden else None
        if beside is None:
            options = {n: v for n, v in options.items() if n not in ("entity", "entity_mode")}
    asked = columns, 2, options, tables.memory
    return CountedTable.of(tables.place, tables.folder, *asked, bounds=False, beside=beside).classes


def _of_tables(arguments: Namespace, place: Location) -> dict[str, Any]:
    """Count a table, and measure it beside its original if that is given."""
    asked = arguments.columns, arguments.strata
    options = model_options(arguments)
    with own_folder(None) as folder:
        counting = 2, options, arguments.memory
        how: dict[str, Any] = {"bounds": False, "beside": _whose(arguments, options, folder)}
        found = CountedTable.of(place, folder, asked, *counting, **how)
        result: dict[str, Any] = {}
        known = names_in("known", arguments.known, found.table.schema.names) or None
        if arguments.original is not None:
            kinds = named_kinds(read_kinds({}, vars(arguments)), found.table.schema.names)
            release = place, found.columns
            result = _measured(arguments, release, known, found.strata, keys_asked(kinds), folder)
        # Classes of known columns are counted on a copy that replaces this one.
        emptied = found.emptied()
        if known:
            beside_known = [name for name in found.strata if name not in known]
            counted = CountedTable.of(place, folder, (known, beside_known), *counting, **how)
            classes = counted.classes
        else:
            classes = found.classes
        result |= _counts(classes) | figures_of(classes)
        return result | {"emptied": emptied}


def _whose(arguments: Namespace, options: Mapping[str, Any], folder: Path) -> ParquetSource | None:
    """Return the original if it may have the entity of each row, which the table need not have."""
    if arguments.original is None or "entity" not in options or "confidential" in options:
        return None
    source = source_of(arguments.original, arguments.separator)
    return None if source.piped else set_down(source, folder, batch=BATCH, name="whose.parquet")


def _measured(
    arguments: Namespace,
    release: tuple[Location, Sequence[str]],
    known: list[str] | None,
    strata: list[str],
    kinds: dict[str, Any],
    folder: Path,
) -> dict[str, Any]:
    """Measure a release beside its original, both with numbers in place of their text."""
    place, names = release
    source = source_of(arguments.original, arguments.separator)
    every = list(dict.fromkeys([*names, *(known or ())]))
    codes = {*read_as_text(every, kinds)}
    typed = Typed([name for name in every if name not in codes])
    tables = [
        set_down(one, folder, batch=BATCH, typed=typed, name=f"{side}.parquet")
        for side, one in (("before", source), ("after", place))
    ]
    columns = [empty_of(table).columns for table in tables]
    names_in("columns", every, columns[0])
    budget = budget_of(bytes_of(arguments.memory), [every, strata], *tables)
    entity = names_in("entity", arguments.entity, [*columns[0], *columns[1]])
    entity = entity if {*entity} <= {*columns[0]} else []
    asked: dict[str, Any] = {
        "metrics": _listed(arguments, entity),
        "entity": entity,
        "kinds": kinds,
        "known": known,
        "strata": strata,
        "budget": budget,
        "folder": folder,
    }
    return dict(assessed(tables[0], tables[1], names, **asked))


def _counts(found: ClassSizes) -> dict[str, Any]:
    """Return how many classes there are, and the smallest."""
    row = found.row().row(0, named=True)
    return {name: row[name] for name in COUNTS}
