"""The types of a manifest, from which its check and its JSON Schema are derived."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired, TypeAlias, TypedDict

from polars_microagg.core.options import ENTITY_MODES

__all__ = [
    "SCHEMA",
    "SEPARATOR",
    "VERSION",
    "Attack",
    "Category",
    "Cells",
    "Entities",
    "Found",
    "How",
    "Imputed",
    "Judgement",
    "K",
    "Manifest",
    "Models",
    "Output",
    "Pattern",
    "Roles",
    "Rows",
    "Sampled",
    "Sizes",
    "Source",
    "Times",
    "Tool",
    "Verdict",
]


class Pattern(str):
    """A regular expression that the whole of a text matches."""

    __slots__ = ()


Name: TypeAlias = Literal["polars_microagg/manifest"]
Version: TypeAlias = Literal[4]

SCHEMA: Final[Name] = "polars_microagg/manifest"
VERSION: Final[Version] = 4
"""Grows when a key that every manifest has comes or goes, or a key changes its meaning."""

Sha256: TypeAlias = Annotated[str, Pattern("[0-9a-f]{64}")]
Release: TypeAlias = Annotated[str, Pattern(r"\d+\.[\w.+-]+")]
Hashed: TypeAlias = Annotated[str, Pattern("file|rows")]
SEPARATOR: Final = r"[\x01-\t\x0b\x0c\x0e-!#-&(-,/:-@\[-`{-\x7f]"
"""A separator of cells: no letter, digit, quote, point, minus or line break."""

Separator: TypeAlias = Annotated[str, Pattern(SEPARATOR)]
Engine: TypeAlias = Annotated[str, Pattern("whole|leaves")]
Mode: TypeAlias = Annotated[str, Pattern("|".join(ENTITY_MODES))]
Measure: TypeAlias = int | float | None
Count: TypeAlias = int | None


class Judgement(TypedDict):
    """One requirement: as written, what was measured as far as it is published, and the verdict."""

    requirement: str
    found: Measure
    met: bool


class Verdict(TypedDict):
    """The requirements that the release was judged by."""

    released: bool
    k_holds: bool
    requirements: list[Judgement]


class Tool(TypedDict):
    """Versions of all that the values may depend on."""

    polars_microagg: Release
    polars: Release
    numpy: Release
    pyarrow: Release
    duckdb: Release
    python: Release


class Roles(TypedDict):
    """The one role of each column; without an entity and confidential columns these two are not there."""

    mask: list[str]
    stratum: list[str]
    keep: list[str]
    drop: list[str]
    entity: NotRequired[list[str]]
    confidential: NotRequired[list[str]]


Rows = TypedDict(
    "Rows",
    {"in": Count, "out": int, "emptied": int, "dropped": Count, "suppressed": float | None},
)
Rows.__doc__ = """Rows in and out, and those without any value or left out; suppressed in per cent.

    If a call may drop rows, the count of those dropped is rounded, and `in` and `suppressed` follow from it;
    all three are null if nothing is published of the original.
    """


class Cells(TypedDict):
    """Masked cells, and those that the measures compare; null if they are not published.

    Both follow from other counts of the manifest and the release: of cells that were filled and rows that
    were dropped they are as coarse as those.
    """

    all: Count
    compared: Count


class Category(TypedDict):
    """A masked column of categories, and the option that names such columns.

    `rare` is the per cent of its cells whose category fewer than k records, or entities, of the stratum
    have, and which got another category or none; null if it is not published, and of a taxonomy, whose
    cells get the wider class that was requested.
    """

    column: str
    kind: str
    rare: Measure


class Imputed(TypedDict):
    """A masked column, its cells that had no value and were filled, and their share.

    The share is in per cent of the released cells, and the count follows from it; both are null if they are
    not published.
    """

    column: str
    cells: Count
    share: Measure


class Sizes(TypedDict):
    """Classes of equal records on the columns that were masked together."""

    columns: list[str]
    classes: int
    smallest: Count
    size_quantiles: dict[str, Count]


class K(TypedDict):
    """The smallest class that was asked for, the smallest there is, and all blocks of columns."""

    asked: int
    found: Count
    classes: list[Sizes]


class Entities(TypedDict):
    """Whose rows these are: the columns that were released, what the rows of one are, and how many.

    `entities` are all, `k_entities` those of the class with fewest, and `alike_min` the fewest with the
    same rows. `models` has the worst class by each privacy model that counts their rows. Null if they are
    not counted, or not published of so few records.
    """

    released: list[str]
    mode: Mode
    entities: Count
    k_entities: Count
    alike_min: Count
    models: dict[str, Measure]


class Found(TypedDict):
    """A privacy model of a confidential column: its bound if one was asked for, and the worst class."""

    model: str
    column: str
    asked: Measure
    found: Measure


class Models(TypedDict):
    """Figures of the classes on persons and confidential columns, besides the number of records."""

    entity: NotRequired[Entities]
    confidential: list[Found]


class Attack(TypedDict):
    """The intruder that the measures assume: what is known, and what is tried."""

    known: list[str]
    intruder: str
    dld: str
    dld_entity: NotRequired[str]
    pld: str
    interval_disclosure: str
    k: str
    not_measured: str
    sources: dict[str, str]


class Times(TypedDict):
    """When the release was made, in UTC."""

    started: str
    finished: str
    seconds: int | float


class Source(TypedDict):
    """The hash of what came in, with a key; without one it would confirm guesses.

    `separator` is that of the cells of a CSV file, if it was not a comma.
    """

    of: Hashed | None
    hmac_sha256: Sha256 | None
    separator: NotRequired[Separator]


class Sampled(TypedDict):
    """Samples of rows drawn with a seed: those of warnings, and the records that are linked.

    `dld_low` and `dld_high` are an interval of 95 % for the share of all; null is what was seen on all rows,
    or is not published.
    """

    seed: int
    warnings: Count
    linked: Count
    dld_low: Measure
    dld_high: Measure


class How(TypedDict):
    """The way of masking, whole or by leaves out of core, and its reason.

    `memory_limit` are the bytes that it might take, null if none were given and the table fits, and
    `leaves` the number of leaves, of about `size` records.
    """

    engine: Engine
    why: str
    memory_limit: Count
    leaves: NotRequired[int]
    size: NotRequired[int]
    sampled: NotRequired[Sampled]


class Output(TypedDict):
    """The release: the hash of its bytes, or of its rows if it is a table."""

    name: str
    format: str
    of: Hashed
    sha256: Sha256
    bytes: Count
    columns: dict[str, str]


class Manifest(TypedDict):
    """The record of a release of polars_microagg: what was asked, what was found, and its hash."""

    schema: Name
    schema_version: Version
    verdict: Verdict
    tool: Tool
    config: dict[str, Any]
    config_sha256: Sha256
    roles: Roles
    rows: Rows
    cells: Cells
    k: K
    how: NotRequired[How]
    categories: NotRequired[list[Category]]
    imputed: NotRequired[list[Imputed]]
    models: NotRequired[Models]
    measures: dict[str, Measure]
    digits: int
    attack: Attack
    warnings: list[str]
    seed: int
    times: Times
    input: Source
    output: Output
    seal: Sha256 | None
