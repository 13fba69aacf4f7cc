"""Options of a call that its method cannot honour, or that mean nothing without others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from polars_microagg.core.model import models
from polars_microagg.core.options import MODEL_OPTIONS
from polars_microagg.errors import InvalidParameterError
from polars_microagg.wording import Parameter, Sentence, Setting

if TYPE_CHECKING:
    from polars_microagg.core.plan import Plan

__all__ = ["refuse_unnamed_mode", "refuse_what_would_be_ignored"]


def refuse_what_would_be_ignored(plan: Plan) -> None:
    """Refuse options that would have no effect, since a user would rely on them."""
    if not isinstance(plan.refine, bool):
        raise InvalidParameterError.switch("refine", plan.refine)
    if plan.refine and plan.method.unit == "value":
        what = "{setting}, which exchanges records"
        _refuse(plan, "refine", Sentence(what, setting=Setting("refine", True)))
    if plan.groups_cells and plan.center != "mean":
        _refuse(plan, "center", Setting("center", plan.center))
    if plan.groups_cells and plan.nulls == "impute":
        pattern = Setting("nulls", "pattern")
        instead = Sentence("Use {pattern}, or drop those rows first.", pattern=pattern)
        raise InvalidParameterError.cannot(plan.method.name, Setting("nulls", "impute"), instead)
    if plan.method.unit == "value" and (plan.entity or plan.confidential):
        name = "entity" if plan.entity else "confidential"
        way = "It groups values, not records; use a method that groups records, such as mdav."
        raise InvalidParameterError.cannot(plan.method.name, Parameter(name), way)
    _refuse_models_without_columns(plan)
    _refuse_modes_without_entity(plan)


def refuse_unnamed_mode(plan: Plan) -> None:
    """Refuse an entity that comes out with the table, where it is not said what its rows become."""
    if plan.entity and plan.entity_mode is None:
        raise InvalidParameterError.unnamed_mode(plan.entity)


def _refuse(plan: Plan, name: str, what: object) -> NoReturn:
    """Refuse an option of all methods that this one cannot honour."""
    way = Sentence("Leave {parameter} out.", parameter=Parameter(name))
    raise InvalidParameterError.cannot(plan.method.name, what, way)


def _refuse_models_without_columns(plan: Plan) -> None:
    """Refuse a model without the column that it counts, and a column that none counts."""
    counting = [name for name, entry in models().items() if entry.of == "confidential"]
    for name, entry in models().items():
        value = plan.models.get(name)
        if value is not None and not (plan.entity if entry.of == "entity" else plan.confidential):
            raise InvalidParameterError.needs(Setting(name, value), entry.of)
    if plan.confidential and all(plan.models.get(name) is None for name in counting):
        given = Setting("confidential", list(plan.confidential))
        raise InvalidParameterError.needs(given, *counting)
    for name, entry in models().items():
        for option in entry.options:
            value = plan.models[option]
            if value != MODEL_OPTIONS[option].default and plan.models.get(name) is None:
                raise InvalidParameterError.needs(Setting(option, value), name)


def _refuse_modes_without_entity(plan: Plan) -> None:
    """Refuse what says how entities count where there are none."""
    if plan.entity_mode is not None and not plan.entity:
        raise InvalidParameterError.needs(Setting("entity_mode", plan.entity_mode), "entity")
    if plan.entity_mode == "alike" and plan.small_strata == "null":
        way = Sentence("Use {drop}.", drop=Setting("small_strata", "drop"))
        mode = Sentence(
            "{mode}, as emptied rows would show how many an entity has,",
            mode=Setting("entity_mode", "alike"),
        )
        raise InvalidParameterError.cannot(mode, Setting("small_strata", "null"), way)
    if plan.max_rows_per_entity is None:
        return
    if plan.entity_mode != "alike":
        alike = Setting("entity_mode", "alike")
        raise InvalidParameterError.needs(
            Setting("max_rows_per_entity", plan.max_rows_per_entity), alike
        )
