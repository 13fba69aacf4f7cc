"""Wrong builds of the node, each with the same masker: the matrix must find each of them out."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from polars_microagg.frames.batch import BatchMasker
from polars_microagg.frames.mask import MaskNode, MaskRequest

from .steps import (
    ENGINES,
    MASKED,
    OPS,
    SOURCES,
    Build,
    K,
    N,
    leaks,
    scan,
)

BELOW = re.compile(r"SELECTION|FILTER|SLICE")


def _bound(frame: pl.LazyFrame, strata: list[str] | None) -> tuple[BatchMasker, list[pl.Expr]]:
    request = MaskRequest.of("mdav", MASKED, K, {"strata": strata})
    masker = request.masker(frame.collect_schema())
    return masker, request.inputs(masker)


def _fields(frame: pl.LazyFrame, node: pl.Expr) -> pl.LazyFrame:
    fields = [pl.col("t").struct.field(str(i)).alias(name) for i, name in enumerate(MASKED)]
    return frame.with_columns(node.alias("t")).with_columns(fields).drop("t")


def elementwise(frame: pl.LazyFrame, strata: list[str] | None) -> pl.LazyFrame:
    masker, inputs = _bound(frame, strata)
    dtype = pl.Struct({"0": pl.Int64, "1": pl.Float64})
    node = pl.struct(inputs).map_batches(
        MaskNode(masker), return_dtype=dtype, is_elementwise=True, returns_scalar=False
    )
    return _fields(frame, node)


def _whole_frame(frame: pl.LazyFrame, strata: list[str] | None, **flags: bool) -> pl.LazyFrame:
    masker, inputs = _bound(frame, strata)

    def function(batch: pl.DataFrame) -> pl.DataFrame:
        masked = masker.mask(batch.select(inputs)).columns
        return batch.with_columns(
            [column.alias(name) for name, column in zip(MASKED, masked, strict=True)]
        )

    return frame.map_batches(function, schema=frame.collect_schema(), **flags)


def predicates_pushed(frame: pl.LazyFrame, strata: list[str] | None) -> pl.LazyFrame:
    return _whole_frame(frame, strata, predicate_pushdown=True)


def in_pieces(frame: pl.LazyFrame, strata: list[str] | None) -> pl.LazyFrame:
    # Morsels of the source are larger than this table, so it is cut up first.
    pieces = pl.concat([frame.slice(i, 40) for i in range(0, N, 40)])
    return _whole_frame(pieces, strata, streamable=True)


def field_of_the_node(frame: pl.LazyFrame, strata: list[str] | None) -> pl.LazyFrame:
    masker, inputs = _bound(frame, strata)
    dtype = pl.Struct({"0": pl.Int64, "1": pl.Float64})
    node = pl.struct(inputs).map_batches(
        MaskNode(masker), return_dtype=dtype, is_elementwise=False, returns_scalar=False
    )
    return frame.with_columns(
        [node.struct.field(str(i)).alias(name) for i, name in enumerate(MASKED)]
    )


WRONG: dict[str, tuple[Build, dict[str, tuple[str, ...]]]] = {
    "expression marked elementwise": (
        elementwise,
        dict.fromkeys(ENGINES, ("filter untouched", "filter mix", "head", "filter then head")),
    ),
    "frame function with predicate pushdown": (
        predicates_pushed,
        dict.fromkeys(ENGINES, ("filter untouched", "filter masked", "head", "slice")),
    ),
    "frame function marked streamable": (in_pieces, {"streaming": ("nothing", "head")}),
    "fields taken from the node itself": (
        field_of_the_node,
        dict.fromkeys(ENGINES, ("nothing", "filter untouched")),
    ),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("wrong", "engine", "op"),
    [
        (name, engine, op)
        for name, (_, engines) in WRONG.items()
        for engine, ops in engines.items()
        for op in ops
    ],
)
def test_the_matrix_finds_a_wrong_build_out(
    wrong: str, engine: str, op: str, source: str, folder: Path, seen: list[int]
) -> None:
    build, _ = WRONG[wrong]
    assert leaks(build, OPS[op], scan(source, folder), engine, None, seen)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("build", [elementwise, predicates_pushed])
def test_a_wrong_build_shows_the_kernel_fewer_rows_or_gives_other_results(
    build: Build, source: str, engine: str, folder: Path, seen: list[int]
) -> None:
    frame = scan(source, folder)
    found = {name: leaks(build, op, frame, engine, None, seen) for name, op in OPS.items()}
    wrong = {name for name, what in found.items() if what}
    fewer = {name for name, what in found.items() if any("rows" in text for text in what)}
    other = {name for name, what in found.items() if {"other result"} & set(what)}
    assert len(wrong) >= 5
    assert fewer
    assert other


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("build", "node"), [(elementwise, "python_udf"), (predicates_pushed, "OPAQUE_PYTHON")]
)
def test_explain_of_a_wrong_build_has_the_filter_below_the_node(
    build: Build, node: str, source: str, folder: Path
) -> None:
    plan = OPS["filter untouched"].step(build(scan(source, folder), None)).explain()
    above, found, below = plan.partition(node)
    assert found
    assert not BELOW.search(above)
    assert BELOW.search(below)
