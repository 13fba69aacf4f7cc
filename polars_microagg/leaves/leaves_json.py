"""Leaves as JSON, and the checks of JSON that anybody may have written."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_microagg.core.options import KEY_OPTIONS
from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidParameterError, MicroaggError
from polars_microagg.leaves.cuts import CUTS
from polars_microagg.leaves.key_columns import Classes, Key, KeyColumns, Points, Ranks
from polars_microagg.leaves.options import leaf_columns, leaf_request, leaf_size
from polars_microagg.leaves.references import Reference
from polars_microagg.leaves.strata import FIRST, NUMBER, SHARE, STRATA, LargeStratum
from polars_microagg.leaves.tree import Tree

if TYPE_CHECKING:
    from polars_microagg.leaves.leaves import Leaves

__all__ = ["fields_of", "text_of"]

VERSION = 2

ROWS = 2**62
"""More records than any table has."""

WIDEST = 256
"""Most coordinates of a value."""

LONGEST = 2.0**500
"""Squared distances of classes are below this."""

HEAVIEST = 2.0**1001
"""Weights of `fit_leaves` are below this."""

PLAIN = ("columns", "k", "method", "options", "size")
STRATUM = ("key", "weights", "centre", "cut", "losses")
TREE: dict[str, type] = {
    "columns": np.intp,
    "thresholds": np.float64,
    "below": np.intp,
    "above": np.intp,
    "expected": np.intp,
}


def text_of(leaves: Leaves, *, ordered: bool = False) -> str:
    """Return leaves as JSON, every number to its last bit.

    If `ordered`, leaves of the same options have the same text, whatever the order of the options.
    """
    fields = {name: getattr(leaves, name) for name in PLAIN}
    fields["options"] = {
        name: {column: each.to_dict() for column, each in value.items()}
        if value and name in KEY_OPTIONS and KEY_OPTIONS[name].each
        else value
        for name, value in leaves.options.items()
    }
    tree = {name: getattr(leaves.tree, name).tolist() for name in TREE}
    merged = [[int(leaf), int(target)] for leaf, target in leaves.merged.items()]
    large = [_stratum_text(stratum, leaves.columns) for stratum in leaves.large]
    whole = {"version": VERSION, **fields, "large": large, "tree": tree, "merged": merged}
    if leaves.references:
        whole["references"] = {each.name: _written(each) for each in leaves.references}
    return json.dumps(whole, sort_keys=ordered)


def fields_of(text: str) -> dict[str, Any]:
    """Return the fields of leaves from what `text_of` wrote, and refuse all else."""
    try:
        read = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        read = None
    needed = {"version", "large", "tree", "merged", *PLAIN}
    if not isinstance(read, dict) or needed - set(read):
        raise InvalidParameterError.kind("text", "other text", "what Leaves.to_json wrote")
    _need(read["version"] == VERSION, f"of version {VERSION}")
    names = read["columns"]
    _need(_list_of(names, str) and len(set(names)) == len(names) > 0, "with names as its columns")
    options = read["options"]
    _need(isinstance(options, dict) and isinstance(read["method"], str), "with a method's options")
    options = {name: _option(name, value) for name, value in options.items()}
    request = leaf_request(read["method"], read["k"], dict(options))
    plan, parted = request.plan, bool(request.strata or request.plan.nulls == "pattern")
    leaf_columns(names, plan)
    _need(type(read["size"]) is int, "with a whole number as its size")
    leaf_size(read["size"], plan)
    _need(isinstance(read["large"], list), "with its large strata")
    hashes = len(STRATA) * bool(request.strata) + (plan.nulls == "pattern")
    large = tuple(_stratum(one, names, hashes) for one in read["large"])
    _need(parted or len(large) < 2, "with one large stratum at most, as it has no strata")
    _need(len({one.key for one in large}) == len(large), "with different keys of its large strata")
    tree = _tree(read["tree"], SHARE + 1 + max((1 + len(one.centre) for one in large), default=0))
    _need(_fits(tree, large, parted=parted), "with a tree that tells its strata apart")
    kept = {name: read[name] for name in PLAIN} | {"columns": tuple(names), "large": large}
    kept |= {"references": _references(read.get("references", {}), plan), "options": options}
    return kept | {"tree": tree, "merged": _merged(read["merged"], len(tree))}


def _stratum_text(stratum: LargeStratum, columns: Sequence[str]) -> dict[str, Any]:
    """Return what leaves know of a large stratum as lists, texts and numbers."""
    fields = {name: getattr(stratum, name) for name in STRATUM}
    if any(stratum.known):
        named = zip(columns, stratum.known, strict=True)
        fields["keys"] = {name: _key_text(key) for name, key in named if key is not None}
    return fields


def _stratum(read: Any, names: list[str], hashes: int) -> LargeStratum:
    """Return what leaves know of a large stratum."""
    _need(isinstance(read, dict) and set(STRATUM) <= set(read), "with its large strata")
    key = read["key"]
    right = _whole(key, 0, 2**64 - 1) and len(key) == hashes if hashes else key is None
    _need(right, "with the hashes of each stratum as its key")
    _need(read["cut"] in CUTS, "with a cut that there is")
    losses = read["losses"]
    _need(isinstance(losses, dict) and set(losses) <= set(CUTS), "with the losses of cuts")
    _need(_finite([*losses.values()], 0.0), "with finite losses")
    known = _keys(read.get("keys", {}), names)
    width = len(KeyColumns(tuple(names), {}, known or (None,) * len(names)).owner)
    for name, least, numbers in (("weights", 0.0, len(names)), ("centre", -math.inf, width)):
        right = _finite(read[name], least) and len(read[name]) == numbers
        _need(right, f"with a finite number for each column as its {name}")
    low = all(weight < HEAVIEST for weight in read["weights"])
    _need(low, f"with weights below {HEAVIEST:.0e}, as fit_leaves gives them")
    _need(any(read["weights"]), "with a weight above 0")
    weights, centre = (tuple(float(v) for v in read[name]) for name in ("weights", "centre"))
    return LargeStratum(key and tuple(key), weights, centre, read["cut"], losses, known)


def _fits(tree: Tree, large: Sequence[LargeStratum], *, parted: bool) -> bool:
    """Return whether a tree tells strata apart first, in their order, and cuts each by what it has."""
    above = tree.columns <= SHARE
    for side in (tree.below, tree.above):
        # Below a cut of a stratum there are only cuts of it.
        if above[side[(side >= 0) & ~above]].any():
            return False
    borders = tree.borders(NUMBER)
    if len(borders) != parted * len(large) or (not parted and above.any()):
        return False
    # Leaves of small strata come last, and are not cut.
    widths = np.array([*(FIRST + len(one.centre) for one in large), 0])
    owner = np.searchsorted(borders, tree.spans()[0], side="right")
    return bool((tree.columns < widths[owner])[~above].all())


def _need(right: bool, what: str) -> None:
    """Refuse altered JSON; the message does not show it, as it may be close to a record's value."""
    if not right:
        need = f"what Leaves.to_json wrote: {what}"
        raise InvalidParameterError.kind("text", "altered JSON of leaves", need)


def _option(name: str, value: Any) -> Any:
    """Return an option as it was before it was written."""
    each = KEY_OPTIONS[name].each if name in KEY_OPTIONS else None
    if each is None or not isinstance(value, dict):
        return value
    made = None
    with contextlib.suppress(MicroaggError, TypeError, ValueError, KeyError, AttributeError):
        made = {column: each.from_dict(tree) for column, tree in value.items()}  # type: ignore[attr-defined]
    _need(made is not None, f"with {each.__name__} objects in {name}")
    return made


KEYS: dict[str, type] = {"classes": Classes, "ranks": Ranks, "points": Points}


def _key_text(key: Key) -> dict[str, Any]:
    """Return what leaves know of a column as lists, texts and numbers."""
    form = next(name for name, made in KEYS.items() if isinstance(key, made))
    return {"form": form, **asdict(key)}  # type: ignore[arg-type]


def _keys(read: object, columns: list[str]) -> tuple[Key, ...]:
    """Return what leaves know of the columns; nothing if all have numbers."""
    _need(isinstance(read, dict) and set(read) <= set(columns), "with keys that are its columns")
    return tuple(_key(read.get(name)) for name in columns) if read else ()  # type: ignore[attr-defined]


def _key(read: Any) -> Key:
    """Return what leaves know of a column."""
    if read is None:
        return None
    fields: set[str] = set()
    if isinstance(read, dict) and isinstance(read.get("form"), str) and read["form"] in KEYS:
        fields = {one.name for one in dataclass_fields(KEYS[read["form"]])}
    _need(bool(fields) and set(read) == {"form", *fields}, "with keys of a form that there is")
    if read["form"] == "points":
        _need(_whole([read["width"]], 1, WIDEST), "with a number of coordinates of its points")
        return Points(read["width"])
    names = read["names"]
    _need(_list_of(names, str) and len(set(names)) == len(names), "with names of categories")
    if read["form"] == "classes":
        lengths = read["lengths"]
        right = _finite(lengths, 0.0) and len(lengths) == len(names)
        _need(right and max(lengths, default=0.0) < LONGEST, "with lengths of its classes")
        return Classes(tuple(names), tuple(map(float, lengths)))
    before, counts, records = read["before"], read["counts"], [read["records"]]
    right = _whole(records, 0, ROWS) and _whole(before, 0, ROWS) and _whole(counts, 1, ROWS)
    right = right and len(before) == len(counts) == len(names)
    _need(right, "with counts of its categories")
    ends = [0, *(start + count for start, count in zip(before, counts, strict=True))]
    rising = all(end <= start for end, start in zip(ends, [*before, *records], strict=True))
    _need(rising, "with counts of its categories in their order")
    return Ranks(tuple(names), tuple(before), tuple(counts), records[0])


def _written(reference: Reference) -> str:
    """Write the values of a reference and their counts, of any type, as text."""
    table = pl.DataFrame([reference.values.alias("value"), pl.Series("count", reference.counts)])
    stream = io.BytesIO()
    # Views into other strings would show in the bytes, and equal tables must be equal text.
    table.rechunk().write_ipc(stream, compat_level=pl.CompatLevel.oldest())
    return base64.b64encode(stream.getvalue()).decode()


def _references(read: object, plan: Plan) -> tuple[Reference, ...]:
    """Return the references of the confidential columns, of all or of none."""
    right = isinstance(read, dict) and (not read or tuple(read) == plan.confidential)
    _need(right, "with a reference for each confidential column")
    return tuple(_reference(name, text) for name, text in read.items())  # type: ignore[attr-defined]


def _reference(name: str, text: object) -> Reference:
    """Return a reference, if it holds ascending values, each with a count."""
    table = None
    faults = (
        TypeError,
        ValueError,
        OSError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    )
    with contextlib.suppress(*faults):
        table = pl.read_ipc(io.BytesIO(base64.b64decode(text, validate=True)))  # type: ignore[arg-type]
    right = table is not None and table.columns == ["value", "count"] and table.height > 0
    right = right and table["count"].dtype == pl.Int64 and not table["value"].dtype.is_nested()  # type: ignore[index]
    _need(right, "with values and counts as its references")
    value, count = table.get_columns()  # type: ignore[union-attr]
    right = not count.null_count() and bool((count > 0).all()) and count.sum() < ROWS
    right = right and value.n_unique() == len(value) and value.is_sorted(nulls_last=False)
    _need(right, "with ascending values and a count of each as its references")
    return Reference(name, value, count.to_numpy().astype(np.intp))


def _list_of(values: object, kind: type) -> bool:
    """Return whether this is a list of values of one type."""
    return isinstance(values, list) and all(type(value) is kind for value in values)


def _finite(values: object, least: float = -math.inf) -> bool:
    """Return whether this is a list of finite numbers, none below `least`."""
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        return False
    try:
        return all(math.isfinite(value) and value >= least for value in values)
    except OverflowError:
        return False


def _whole(values: object, low: int, high: int) -> bool:
    """Return whether this is a list of whole numbers in a range."""
    return _list_of(values, int) and all(low <= value <= high for value in values)  # type: ignore[attr-defined]


def _tree(read: object, columns: int) -> Tree:
    """Return the tree, if every node and leaf is reached once, and leaves from left to right."""
    _need(isinstance(read, dict) and set(TREE) <= set(read), "with a tree")
    nodes = len(read["columns"]) if isinstance(read["columns"], list) else 0  # type: ignore[index]
    bounds = {
        "columns": (0, columns - 1),
        "below": (-1 - nodes, nodes - 1),
        "above": (-1 - nodes, nodes - 1),
        "expected": (0, 2**62),
    }
    for name, (low, high) in bounds.items():
        values, need = read[name], nodes + (name == "expected")  # type: ignore[index]
        right = _whole(values, low, high) and len(values) == need
        _need(right, f"with a tree of {nodes} nodes and {name} for each of them")
    right = _finite(read["thresholds"]) and len(read["thresholds"]) == nodes  # type: ignore[index]
    _need(right, "with a finite threshold for each node of its tree")
    _need(0 < sum(read["expected"]) < 2**62, "with records in its leaves")  # type: ignore[index]
    tree = Tree(*(np.array(read[name], dtype=kind) for name, kind in TREE.items()))  # type: ignore[index]
    ends = np.concatenate([tree.below, tree.above])
    # Children come after their parent, so there is no cycle; each number once, so it is one tree
    # with all nodes and leaves.
    later = (ends < 0) | (ends > np.tile(np.arange(nodes), 2))
    once = np.array_equal(np.sort(ends), np.r_[np.arange(-1 - nodes, 0), np.arange(1, nodes)])
    _need(bool(later.all()) and (once or not nodes), "with a tree that reaches each leaf once")
    first, last = tree.spans()
    inner = np.where(tree.below >= 0, last[np.maximum(tree.below, 0)], -tree.below)
    outer = np.where(tree.above >= 0, first[np.maximum(tree.above, 0)], -1 - tree.above)
    _need(bool((inner == outer).all()), "with leaves numbered from left to right")
    return tree


def _merged(read: object, leaves: int) -> dict[int, int]:
    """Return the merged leaves, if they are merged into leaves that stay."""
    pairs = isinstance(read, list) and all(
        _whole(pair, 0, leaves - 1) and len(pair) == 2 for pair in read
    )
    _need(pairs, "with pairs of leaves as those merged")
    into: dict[int, int] = dict(read)  # type: ignore[call-overload]
    # A target that is merged itself would leave records in a leaf that nobody masks.
    once = len(into) == len(read) and not set(into) & set(into.values())  # type: ignore[arg-type]
    _need(once, "with each leaf merged once, into one that stays")
    return into
