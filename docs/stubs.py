"""The stubs of the functions and namespaces, written from the registry for the type checkers."""

import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from polars_microagg import functions
from polars_microagg.analysis.counted_classes import confidential_models
from polars_microagg.core import registry
from polars_microagg.core.model import models
from polars_microagg.frames import signatures
from polars_microagg.frames.arguments import REQUIRED, Argument, quoted
from polars_microagg.frames.signatures import Spec
from polars_microagg.namespace import MicroaggExpr, MicroaggFrame

__all__ = ["functions_stub", "namespace_stub"]

WIDTH = 100

HEAD = '''"""{title}

Written by docs/generate.py from the registry; do not edit.
"""

from collections.abc import {collections}
from typing import {typing}

import polars as pl

from polars_microagg.analysis.attacker import Known
{more}from polars_microagg.frames.selection import Columns, F, Names
'''
FRAMES = "Frame: TypeAlias = pl.DataFrame | pl.LazyFrame\n"

K = signatures.K
METHOD = Argument("method", "str", "", "mdav")
NAME = Argument("name", "str", "", "microagg_group")
SHARED = (signatures.SCALE, *signatures.SHARED, signatures.REFINE, signatures.SEED)
ON_FRAMES = (signatures.STRATA, signatures.ORDER_BY, *SHARED)
EFFORT = Argument("effort", "float", "", 0.0)
METRICS = Argument("metrics", "str | Sequence[str] | None", "", None)
PEOPLE = (signatures.ENTITY, signatures.ENTITY_MODE, signatures.CONFIDENTIAL)
PERSON = replace(
    signatures.ENTITY, annotation="str | Sequence[str]", default=REQUIRED, keyword=False
)
BOUNDS = signatures.model_bounds()
COUNTED = (
    signatures.STRATA,
    Argument("k", "int | None", "", None),
    signatures.CONFIDENTIAL,
    signatures.ENTITY,
    *(bound for bound in BOUNDS if bound.name not in models()),
)
COMPARED = (
    Argument("methods", "str | Sequence[str] | None", "", None),
    Argument("ks", "int | Sequence[int]", "", (3, 5, 10)),
    signatures.STRATA,
    signatures.KNOWN,
    signatures.KNOWN_SAMPLE,
    Argument("seconds", "float | None", "", None),
    METRICS,
    signatures.SEED,
    signatures.WORKERS,
)
PLOT = f'''@property
def plot(self) -> MicroaggPlot:
    """{(inspect.getdoc(MicroaggFrame.plot) or "").partition(chr(10))[0]}"""
'''
ATTACKER = (signatures.KNOWN, signatures.KNOWN_SAMPLE)
KINDS = signatures.key_kinds()
BY_COLUMN = Argument("by_column", "bool", "", False)
KEYS = (Argument("by", "Names", "", None), signatures.KEY, signatures.WITHIN, signatures.WHOSE)


@dataclass(frozen=True)
class Options:
    """What many calls take, written once, as a TypedDict that adds to another one."""

    name: str
    doc: str
    added: tuple[Argument, ...]
    base: "Options | None" = None

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """All that it holds."""
        return (*(self.base.arguments if self.base else ()), *self.added)

    def stub(self) -> str:
        """Write the class, with each default beside its option."""
        base = self.base.name if self.base else "TypedDict"
        fields = [f"{a.name}: {a.annotation}  # default {quoted(a.default)}\n" for a in self.added]
        return (
            f'@type_check_only\nclass {self.name}({base}, total=False):\n    """{self.doc}"""\n\n'
            + textwrap.indent("".join(fields), "    ")
        )


def _common(specs: Iterable[Spec], known: Sequence[Argument] = ()) -> tuple[Argument, ...]:
    """Return the keyword arguments that all these functions have."""
    first, *others = specs
    return tuple(
        a
        for a in first.arguments
        if a.keyword and a not in known and all(a in other.arguments for other in others)
    )


METHODS, METRIC_ENTRIES = registry.methods().values(), registry.metrics().values()
EVERYWHERE = Options(
    "Options",
    "Options of every method, on frames and in expressions; behind each its default.",
    _common(map(signatures.expression_spec, METHODS)),
)
ON_TABLES = Options(
    "FrameOptions",
    "Options of every method on frames; behind each its default.",
    _common(map(signatures.frame_spec, METHODS), EVERYWHERE.arguments),
    EVERYWHERE,
)
MEASURING = Options(
    "MetricOptions",
    "Options of every metric; behind each its default.",
    _common(map(signatures.metric_spec, METRIC_ENTRIES)),
)
OPTIONS = (ON_TABLES, EVERYWHERE, MEASURING)
"""Those that hold more come first."""


def _typed(argument: Argument) -> str:
    default = "" if argument.default is REQUIRED else f" = {quoted(argument.default)}"
    return f"{argument.name}: {argument.annotation}{default}"


def _definition(spec: Spec, *, options: bool = False) -> str:
    """Write a function, the options that it shares by the name of their class."""
    shared = None
    if not options:
        held = (o for o in OPTIONS if all(a in spec.arguments for a in o.arguments))
        shared = next(held, None)
    own = [a for a in spec.arguments if shared is None or a not in shared.arguments]
    keyword = [_typed(a) for a in own if a.keyword]
    items = ["self"] if spec.bound else []
    items += [_typed(a) for a in own if not a.keyword]
    items += ["*", *keyword] if keyword else []
    items += [f"**options: Unpack[{shared.name}]"] if shared else []
    items += ["**options: Any"] if options else []
    width = WIDTH - 4 * spec.bound
    listed = ", ".join(items)
    head = f"def {spec.name}({listed}) -> {spec.returns}:"
    if len(head) > width:
        short = len(listed) + 4 <= width
        inner = f"    {listed}\n" if short else "".join(f"    {item},\n" for item in items)
        head = f"def {spec.name}(\n{inner}) -> {spec.returns}:"
    return f'{head}\n    """{spec.summary}"""\n'


def _by_hand(
    function: Callable[..., object],
    arguments: Iterable[Argument],
    returns: str,
    *,
    options: bool = False,
    bound: bool = False,
) -> str:
    """Write the stub of a function whose docstring is written by hand."""
    doc = (inspect.getdoc(function) or "").partition("\n")[0]
    spec = Spec(function.__name__, tuple(arguments), returns, doc, (), bound)
    return _definition(spec, options=options)


def functions_stub() -> str:
    """Type the functions of the package that work on frames."""
    head = (signatures.FRAME, signatures.COLUMNS, K)
    by_hand = {
        "groups": _by_hand(functions.groups, (*head, METHOD, NAME, *ON_FRAMES), "F", options=True),
        "mask": _by_hand(functions.mask, (*head, METHOD, *ON_FRAMES), "F", options=True),
    }
    masking = {e.name: _definition(signatures.frame_spec(e)) for e in METHODS}
    measuring = {e.name: _definition(signatures.metric_spec(e)) for e in METRIC_ENTRIES}
    written = dict(sorted((by_hand | masking | measuring).items()))
    exported = "".join(f'    "{name}",\n' for name in written)
    return "\n".join(
        [
            HEAD.format(
                title="Types of the functions on frames.",
                collections="Mapping, Sequence",
                typing="Any, Literal, TypeAlias, TypedDict, Unpack, type_check_only",
                more="from polars_microagg.core.taxonomy import Taxonomy\n",
            ),
            f"__all__ = [\n{exported}]\n",
            FRAMES,
            *(shared.stub() for shared in (EVERYWHERE, ON_TABLES, MEASURING)),
            *written.values(),
        ]
    )


def _class(name: str, wraps: str, documented: type, methods: Iterable[str]) -> str:
    doc = (inspect.getdoc(documented) or "").partition("\n")[0]
    made = f"def __init__(self, {wraps}) -> None: ...\n"
    body = textwrap.indent(made + "\n".join(methods), "    ", lambda line: bool(line.strip()))
    return f'class {name}:\n    """{doc}"""\n\n{body}'


def namespace_stub() -> str:
    """Type the namespaces, whose methods are the same functions with the frame given."""
    columns, assessed = signatures.COLUMNS, (signatures.MASKED, signatures.MEASURED)

    def on_frame(name: str, arguments: Iterable[Argument], returns: str, options: bool) -> str:
        function = getattr(MicroaggFrame, name)
        return _by_hand(function, arguments, returns, options=options, bound=True)

    def on_expression(name: str, arguments: Iterable[Argument], options: bool) -> str:
        function = getattr(MicroaggExpr, name)
        return _by_hand(function, arguments, "pl.Expr", options=options, bound=True)

    frame = [
        on_frame("mask", (columns, K, METHOD, *ON_FRAMES), "F", True),
        on_frame("groups", (columns, K, METHOD, NAME, *ON_FRAMES), "F", True),
        on_frame("verify", (columns, K, signatures.STRATA, *PEOPLE, *BOUNDS), "None", False),
        on_frame("anonymity", (columns, *COUNTED), "pl.DataFrame", False),
        on_frame("lower_bound", (columns, K, EFFORT, *KINDS), "float", False),
        on_frame(
            "assess",
            (*assessed, METRICS, *ATTACKER, *KEYS, signatures.DRAW, BY_COLUMN, *KINDS),
            "pl.DataFrame",
            False,
        ),
        on_frame("compare", (columns, *COMPARED), "pl.DataFrame", True),
        PLOT,
        *(_definition(signatures.frame_spec(entry, bound=True)) for entry in METHODS),
    ]
    expression = [
        on_expression("mask", (K, METHOD, *SHARED), True),
        on_expression("groups", (K, METHOD, *SHARED), True),
        on_expression("k_prime", (), False),
        on_expression("k_min", (), False),
        on_expression("k_entities", (PERSON,), False),
        *(_definition(signatures.model_spec(entry)) for entry in confidential_models().values()),
        *(_definition(signatures.expression_spec(entry)) for entry in METHODS),
    ]
    shared = ", ".join(sorted(options.name for options in OPTIONS))
    head = HEAD.format(
        title="Types of the namespaces.",
        collections="Mapping, Sequence",
        typing="Any, Generic, Literal, Unpack",
        more="from polars_microagg.charts.plot import MicroaggPlot\n"
        "from polars_microagg.core.taxonomy import Taxonomy\n",
    )
    return "\n".join(
        [
            f"{head}from polars_microagg.functions import Frame, {shared}\n",
            '__all__ = ["MicroaggExpr", "MicroaggFrame"]\n',
            _class("MicroaggFrame(Generic[F])", "frame: F", MicroaggFrame, frame),
            _class("MicroaggExpr", "expression: pl.Expr", MicroaggExpr, expression),
        ]
    )
