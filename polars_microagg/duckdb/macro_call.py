"""The call of a macro: its parameters as JSON, checked against the names in the table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Self, TypeVar

from polars_microagg.analysis.assess import entries_of
from polars_microagg.analysis.counted_classes import (
    confidential_models,
    entity_schema,
    options_of_models,
)
from polars_microagg.core import registry
from polars_microagg.core.kind import has_means
from polars_microagg.core.options import COMMON, KEY_OPTIONS, keys_asked
from polars_microagg.core.plan import Plan
from polars_microagg.core.refusals import refuse_unnamed_mode
from polars_microagg.duckdb.identifiers import (
    GROUP,
    OURS,
    ROW,
    axes,
    copies_of,
    counted_by,
    find,
    keyed_by,
    listed_blocks,
    listed_names,
    refuse_both,
    refuse_ours,
    require_match,
    same,
)
from polars_microagg.duckdb.other_names import OtherNames
from polars_microagg.duckdb.trees import Rows, stand_ins, with_trees
from polars_microagg.errors import InvalidParameterError
from polars_microagg.progress import current
from polars_microagg.wording import Sentence, Setting, synonym

__all__ = [
    "READERS",
    "AssessCall",
    "MaskCall",
    "VerifyCall",
    "call_of",
    "columns_in_role",
    "counts",
]

KEPT = 64
"""Calls that are kept: DuckDB asks for the columns of one call up to 29 times."""

BESIDE = {"strata": "region", "k": 5} | COMMON
"""Parameters of the macro itself, each with a possible value; None if there is only what was given."""

CLASSES = {"records": True, "classes": True, "k_min": True, "k_prime": False, "uniques": True}
"""Numbers that are counted of classes, and whether they are whole."""


def counts() -> dict[str, bool]:
    """Return all that `anonymity` can count, and whether it is whole.

    >>> [*counts()][5:]
    ['entities', 'k_entities', 'alike_min', 'max_entity_share', 'l', 'max_share', 't']
    """
    hidden = {name: entry.bound.kind is int for name, entry in confidential_models().items()}
    return CLASSES | {n: dtype.is_integer() for n, dtype in entity_schema().items()} | hidden


@dataclass(frozen=True)
class MaskCall:
    """A call of a macro that masks or groups."""

    plan: Plan
    blocks: tuple[tuple[str, ...], ...]
    strata: tuple[str, ...]
    groups: bool
    others: OtherNames | None = None

    @classmethod
    def read(cls, spec: Mapping[str, Any]) -> Self:
        """Check everything that can be checked without the table."""
        plan = Plan.make(spec["method"], spec["k"], **stand_ins(_options(spec)))
        others = OtherNames.of(spec)
        if not (spec["groups"] or others):
            refuse_unnamed_mode(plan)
        blocks, strata = listed_blocks(spec["columns"]), listed_names("strata", spec["strata"])
        # A method that takes one column at a time makes a grouping of each.
        several = len(blocks) > 1 or (plan.method.columnwise and len(blocks[0]) > 1)
        if spec["groups"] and (plan.groups_cells or several):
            what = "groups of records for more than one block of columns"
            instead = "Ask for the groups of one block, or of one column, at a time."
            raise InvalidParameterError.cannot(plan.method.name, what, instead)
        # The call is kept for other queries, which report their progress to other callbacks.
        return cls(
            replace(plan, progress_callback=None),
            tuple(blocks),
            strata,
            bool(spec["groups"]),
            others,
        )

    def bind(self, table: Sequence[str]) -> Plan:
        """Find the columns to mask and to count in a table, in the order of the call."""
        find("columns", [name for block in self.blocks for name in block], table)
        blocks = [find("columns", block, table) for block in self.blocks]
        plan = keyed_by(counted_by(self.plan, table), table)
        plan = replace(plan, progress_callback=current())
        return axes(plan, blocks).bind(blocks)

    @property
    def shown(self) -> list[str]:
        """Return the measures with a column, of which masking has none."""
        return []

    def planted(self, rows: Rows) -> Self:
        """Return the call with the trees that were read from tables."""
        return replace(self, plan=replace(self.plan, kinds=with_trees(self.plan.kinds, rows)))

    def roles(self, table: Sequence[str]) -> dict[str, list[str]]:
        """Sort the columns of a table by what happens to them."""
        plan = self.bind(table)
        masked = [name for block in plan.blocks for name in block]
        strata = find("strata", self.strata, table)
        refuse_both(masked, strata, plan)
        if self.groups and any(same(name, GROUP) for name in table):
            raise InvalidParameterError.taken(GROUP)
        keep = self.plan.dtype == "keep"
        # A column that is named as what has no means keeps its type; SQL sees whose type says so.
        own = [name for name in masked if keep or _without_means(name, plan.kinds)]
        others = [name for name in table if name not in masked]
        copies = [] if self.groups else [copy for copy, _ in copies_of(masked, others)]
        if self.others:
            copies = [name for name in copies if self.others.passes(plan.entity, name)]
        return {
            "columns": [*dict.fromkeys([*masked, *copies, *plan.entity, *plan.confidential])],
            "masked": masked,
            "strata": strata,
            "others": [name for name in others if name not in strata],
            "keys": [*strata, *plan.entity],
            "passed": [name for name in others if name not in (*strata, *plan.entity)],
            "typed": own,
            "float": [name for name in masked if name not in own],
        }


@dataclass(frozen=True)
class VerifyCall:
    """A call of the macro `verify` or `anonymity`."""

    columns: tuple[str, ...]
    strata: tuple[str, ...]
    entity: tuple[str, ...]
    confidential: tuple[str, ...]
    options: Mapping[str, Any]
    plan: Plan | None
    """The promise of the call; None for `anonymity`."""

    @classmethod
    def read(cls, spec: Mapping[str, Any]) -> Self:
        """Check everything that can be checked without the table."""
        blocks = listed_blocks(spec["columns"])
        if len(blocks) > 1:
            what, instead = "several blocks of columns at once", "Call it once for each block."
            raise InvalidParameterError.cannot("This macro", what, instead)
        given = {name: spec[name] for name in COMMON if name in spec}
        # A plan is checked as that of masking is.
        plan = Plan.make("mdav", spec["k"], **given) if "k" in spec else None
        strata, entity, hidden = (
            listed_names(what, spec.get(what)) for what in ("strata", "entity", "confidential")
        )
        known = {name for entry in confidential_models().values() for name in entry.options}
        asked = {name: value for name, value in given.items() if name in known}
        options = options_of_models("This macro", asked, hidden)
        # The call is kept for other queries, which report their progress to other callbacks.
        plan = plan and replace(plan, progress_callback=None)
        return cls(blocks[0], strata, entity, hidden, options, plan)

    @property
    def shown(self) -> list[str]:
        """Return the counts with a column."""
        asked = [*(entity_schema() if self.entity else ())]
        asked += confidential_models() if self.confidential else ()
        return [name for name in counts() if name in asked or name in CLASSES]

    def roles(self, table: Sequence[str]) -> dict[str, list[str]]:
        """Sort the columns of a table by what happens to them."""
        columns = find("columns", self.columns, table)
        strata = find("strata", self.strata, table)
        entity = find("entity", self.entity, table)
        hidden = find("confidential", self.confidential, table)
        return {
            "columns": columns,
            "strata": [name for name in strata if name not in columns],
            "counted": [*dict.fromkeys([*entity, *hidden])],
        }


@dataclass(frozen=True)
class AssessCall:
    """A call of the macro `assess`."""

    columns: tuple[str, ...]
    known: tuple[str, ...]
    key: tuple[str, ...]
    strata: tuple[str, ...]
    entity: tuple[str, ...]
    metrics: tuple[str, ...]
    offered: tuple[str, ...]
    kinds: Mapping[str, Any]

    @classmethod
    def read(cls, spec: Mapping[str, Any]) -> Self:
        """Check everything that can be checked without the tables."""
        blocks = [] if spec["columns"] is None else listed_blocks(spec["columns"])
        columns = tuple(name for block in blocks for name in block)
        named = "known", "key", "strata", "entity", "metrics"
        known, key, strata, entity, metrics = (listed_names(what, spec[what]) for what in named)
        for what, need in (("known", "column"), ("metrics", "name of a metric")):
            if isinstance(spec[what], list) and not spec[what]:
                raise InvalidParameterError.kind(what, [], f"at least one {need}")
        if others := [name for name in metrics if name not in spec["offered"]]:
            raise InvalidParameterError.choice("metrics", others[0], spec["offered"])
        entries_of(metrics or None, entity)  # refuses what counts persons, if they are not known
        require_match(key, spec["ordered"])
        kinds = keys_asked(stand_ins({name: spec.get(name) for name in KEY_OPTIONS}))
        return cls(columns, known, key, strata, entity, metrics, tuple(spec["offered"]), kinds)

    def planted(self, rows: Rows) -> Self:
        """Return the call with the trees that were read from tables."""
        return replace(self, kinds=with_trees(self.kinds, rows))

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the metrics to compute."""
        return self.metrics or tuple(registry.assessed(entity=bool(self.entity)))

    @property
    def shown(self) -> list[str]:
        """Return the metrics with a column: default ones, null if not wanted, and others named."""
        default = registry.assessed(entity=bool(self.entity))
        return [name for name in self.offered if name in default or name in self.metrics]

    def roles(self, table: Sequence[str]) -> dict[str, list[str]]:
        """Sort the columns of a table by what they are for."""
        key = find("key", self.key, table)
        columns = find("columns", self.columns, table) or [n for n in table if n not in key]
        # One table may lack what an intruder knows of the masked one, the other the entity.
        also = [*self.known, *self.entity]
        also = [n for n in table if n not in columns and any(same(n, k) for k in also)]
        return {"columns": columns + also, "key": key or [ROW]}  # without one, by their number


def _without_means(name: str, kinds: Mapping[str, Any]) -> bool:
    """Return whether a call names a column as categories, or as times on a clock."""
    made = [KEY_OPTIONS[option].make for option, columns in kinds.items() if name in columns]
    return not all(map(has_means, made))


def _options(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of the method and options of all methods."""
    own = {} if spec["options"] is None else spec["options"]
    if not isinstance(own, dict):
        need = "a struct of options of the method, as in {'gamma': 0.2}"
        raise InvalidParameterError.kind("options", own, need)
    method = str(spec["method"])
    entry = registry.methods().get(method)
    for name in own:
        if name in BESIDE:
            value = own[name] if BESIDE[name] is None else BESIDE[name]
            way = Sentence("Write it beside options, as in {it}.", it=Setting(name, value))
            raise InvalidParameterError.cannot("options", repr(name), way)
        if entry and name not in entry.options:
            near = [*BESIDE] if get_close_matches(name, BESIDE) or synonym(name, BESIDE) else []
            raise InvalidParameterError.option(method, name, [*entry.options, *near])
    return own | {name: spec[name] for name in COMMON if name in spec}


Call = TypeVar("Call", bound=MaskCall | AssessCall | VerifyCall)


READERS: dict[str, type[MaskCall]] = {}
"""Other kinds of calls, by the parameter that only they have."""


@lru_cache(maxsize=KEPT)
def _read(text: str) -> MaskCall | AssessCall | VerifyCall:
    """Read a call and keep it, as the same text is the same call."""
    spec = json.loads(text)
    for parameter, kind in READERS.items():
        if parameter in spec:
            return kind.read(spec)
    if "method" in spec:
        return MaskCall.read(spec)
    return AssessCall.read(spec) if "key" in spec else VerifyCall.read(spec)


def _call(text: str) -> MaskCall | AssessCall | VerifyCall:
    """Read a call, and read it again if its method was registered again."""
    call = _read(text)
    if isinstance(call, MaskCall):
        method = call.plan.method
        if registry.methods().get(method.name) is not method:
            _read.cache_clear()
            call = _read(text)
    return call


def call_of(kind: type[Call], text: str) -> Call:
    """Read the parameters of a macro from JSON.

    >>> call_of(VerifyCall, '{"columns": "age", "strata": null, "k": 5}').columns
    ('age',)
    """
    call = _call(text)
    if not isinstance(call, kind):
        raise TypeError(f"{kind.__name__} cannot be read from another call")
    return call


def columns_in_role(text: str, role: str, names: Sequence[str]) -> list[str]:
    """Return the columns of a table that play a role in a call.

    The role is "source" for all columns, none of which may have a name like ours, "all" for the
    columns that are not ours, "known" for what an intruder knows, "metrics" for the measures that
    are shown, else a role of the call. Without any it is "__mg_0", as DuckDB refuses an empty
    selection.

    >>> columns_in_role('{"columns": "AGE", "strata": null, "k": 5}', "columns", ["id", "age"])
    ['age']
    """
    if role == "source":
        refuse_ours(names)
    table = [name for name in names if not name.startswith(OURS)]
    call = _call(text)
    if role == "metrics":
        return call.shown
    if isinstance(call, MaskCall) and call.others:
        if role == "all":
            return [name for name in table if call.others.passes(call.plan.entity, name)]
        if role == "source":
            call.others.require(call.bind(table), find("strata", call.strata, table), table)
    if isinstance(call, AssessCall) and role in ("known", "strata"):
        return find(role, getattr(call, role), table) or [f"{OURS}0"]
    chosen = call.roles(table)
    return table if role in ("source", "all") else chosen[role] or [f"{OURS}0"]
