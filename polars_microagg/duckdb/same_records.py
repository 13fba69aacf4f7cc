"""The uses of one masking in one query see the same records, or the query fails."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from typing import Any

from polars_microagg.duckdb.macro_call import MaskCall
from polars_microagg.duckdb.trees import Rows
from polars_microagg.errors import tables

__all__ = ["MAX_CALLS", "require_same_records"]

MAX_CALLS = 2**15
"""Calls that are remembered, in about 6 MB: DuckDB does not report that a query has ended."""

EQUAL_GROUPS = ("groups", "keep", "drop", "workers")
"""Parameters on which the groups do not depend, so that calls that differ in them form one masking."""

_records: dict[bytes, bytes] = {}
"""Digest of the records that the first use of a call met, by the digest of its query and the call."""

_one_at_a_time = threading.Lock()


def require_same_records(text: str, call: MaskCall, trees: Rows, source: Mapping[str, Any]) -> None:
    """Refuse records, or an order, that differ from those of another use in the same query.

    Each masking keeps k; parts of two maskings, put together again, do not.

    `text` is the call as JSON. `source` is its name in the query, the current database and schema, the
    query that runs, and a number that stands for all records in their order.
    """
    spec = {name: value for name, value in json.loads(text).items() if name not in EQUAL_GROUPS}
    spec |= {"columns": call.blocks, "strata": call.strata, "options": {**call.plan.options}}
    name = source["name"].replace('"', "").casefold()
    for qualifier in source["path"]:
        name = name.removeprefix(f"{qualifier.casefold()}.")
    # DuckDB ignores the case of names.
    use = _digest([source["query"], name, json.dumps(spec).casefold()])
    records = _digest([source["records"], trees])
    # Threads may run several uses at the same time.
    with _one_at_a_time:
        first = _records.pop(use, records)
        # The call that was used least recently comes first, and is the one to forget.
        _records[use] = first
        if len(_records) > MAX_CALLS:
            del _records[next(iter(_records))]
    if records != first:
        raise tables.several_maskings([name for block in call.blocks for name in block])


def _digest(value: object) -> bytes:
    """Return 16 bytes that stand for a value, so that neither names nor records are kept."""
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).digest()
