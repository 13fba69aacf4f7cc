"""`microagg risk --memory`: the loss and the risks of a release that stays on disk."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polars_microagg.analysis.anonymity import emptied
from polars_microagg.analysis.counted_classes import options_of_models
from polars_microagg.cli.input_table import source_of
from polars_microagg.cli.kinds import named_kinds, read_kinds
from polars_microagg.cli.models import model_options
from polars_microagg.cli.options import names_in, split
from polars_microagg.core.model import models as known_models
from polars_microagg.core.options import MODEL_OPTIONS, keys_asked
from polars_microagg.core.registry import assessed as by_default
from polars_microagg.errors import InvalidParameterError, originals
from polars_microagg.leaves.memory_budget import bytes_of
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.out_of_core.counts import class_sizes, own_folder
from polars_microagg.out_of_core.given_tables import budget_of, empty_of
from polars_microagg.out_of_core.measures import assessed
from polars_microagg.publishing.column_kinds import read_as_text
from polars_microagg.publishing.formats.batches import BATCH, Typed, frames_of, set_down
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.large.tables import TablesOnDisk, on_disk
from polars_microagg.publishing.manifest.compare_original import other_measures
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.wording import Setting

__all__ = ["figures_in_batches"]

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


def _listed(arguments: Namespace) -> list[str]:
    """Return the measures that were asked for."""
    return list(by_default()) if arguments.metrics is None else split(arguments.metrics)


def _of_release(arguments: Namespace, manifest: Manifest, tables: TablesOnDisk) -> dict[str, Any]:
    """Compare a release with its manifest, and measure it."""
    result: dict[str, Any] = {}
    if tables.original is not None:
        if manifest["config"]["method"] is not None and (differ := tables.exchanged()):
            raise originals.rows_differ(differ)
        again = {n: v for n, v in tables.measured().items() if n in manifest["measures"]}
        if differ := other_measures(manifest, again):
            raise originals.measures_differ(differ)
        if moved := tables.off_centre():
            raise originals.uncentred(moved)
        result = tables.assessed(_listed(arguments), interval=True)
    counted = tables.counted([manifest["roles"]["mask"]])[0]
    models = tables.models
    result |= _counts(counted) | (
        _from_text(manifest, tables) if models is None else models.counts()
    )
    result["emptied"] = tables.survey.emptied
    return result | {name: manifest["rows"][name] for name in ("dropped", "suppressed")}


def _from_text(manifest: Manifest, tables: TablesOnDisk) -> dict[str, Any]:
    """Count confidential numbers of a format without types as they are read without their original."""
    config, roles = manifest["config"], manifest["roles"]
    hidden = list(roles["confidential"])
    table = set_down(
        tables.place,
        tables.folder,
        batch=BATCH,
        typed=Typed(quantities=hidden),
        name="counted.parquet",
    )
    entity = [n for n in roles.get("entity", []) if n in table.schema.names]
    asked = {n: v for n, v in config.items() if n in MODEL_OPTIONS and n not in known_models()}
    chosen = options_of_models("anonymity", asked, hidden)
    people: dict[str, Any] = {"entity": entity, "confidential": hidden}
    budget = budget_of(tables.memory, [roles["mask"], roles["stratum"], entity, hidden], table)
    sets = [roles["mask"]], roles["stratum"]
    return _models(class_sizes(table, *sets, budget, options=chosen, **people)[0])


def _of_tables(arguments: Namespace, place: Location) -> dict[str, Any]:
    """Count a table, and measure it beside its original if that is given."""
    kinds = read_kinds({}, vars(arguments))
    with own_folder(None) as folder:
        table = set_down(place, folder, batch=BATCH, name="counted.parquet")
        columns = list(table.schema.names)
        names = names_in("columns", arguments.columns, columns)
        strata = names_in("strata", arguments.strata, columns)
        options = model_options(arguments)
        people: dict[str, Any] = {
            role: names_in(role, options.pop(role, None), columns)
            for role in ("entity", "confidential")
        }
        options.pop("entity_mode", None)
        chosen = options_of_models("anonymity", options, people["confidential"])
        if people["confidential"]:
            # Numbers are compared by their order, which their text does not have.
            asked = Typed(quantities=people["confidential"])
            table = set_down(place, folder, batch=BATCH, typed=asked, name="counted.parquet")
        budget = budget_of(bytes_of(arguments.memory), [names, strata, *people.values()], table)
        found = class_sizes(table, [names], strata, budget, options=chosen, **people)[0]
        result: dict[str, Any] = {}
        if arguments.original is not None:
            result = _measured(
                arguments, (place, names), keys_asked(named_kinds(kinds, columns)), folder
            )
        result |= _counts(found) | _models(found)
        result["emptied"] = sum(emptied(f, names, strata) for f in frames_of(table, BATCH))
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


def _models(found: ClassSizes) -> dict[str, Any]:
    """Return what models count of a table."""
    hidden = found.of_models().row(0, named=True) if found.confidential else {}
    return hidden | (found.of_entities().row(0, named=True) if found.entity else {})
