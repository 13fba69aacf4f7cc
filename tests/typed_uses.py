"""Uses of the public API for the type checkers: right ones pass and wrong ones are errors.

Run ``mypy --strict`` and ``pyright`` on this file. Every ignore below is needed: a checker that
found no error there would say so.
"""

from typing import TYPE_CHECKING, Any, Unpack, assert_type

import polars as pl
import polars.selectors as cs

import polars_microagg as mg

if TYPE_CHECKING:
    from polars_microagg.functions import FrameOptions

DATA = pl.DataFrame({"a": [1, 2, 3, 4], "b": [4, 3, 2, 1], "r": ["x", "x", "y", "y"]})


def functions(df: pl.DataFrame) -> None:
    assert_type(mg.mdav(df, ["a"], 2), pl.DataFrame)
    assert_type(mg.mdav(df, ["a"], 2, strata="r"), pl.DataFrame)
    assert_type(mg.mdav(df, cs.numeric(), k=2, scale="robust", center="median"), pl.DataFrame)
    assert_type(mg.mdav(df, [["a"], ["b"]], k=2, strata=["r"], dtype="float"), pl.DataFrame)
    assert_type(mg.mdav(df, ["a", cs.by_name("b")], k=2, order_by=["r", "a"]), pl.DataFrame)
    assert_type(mg.mdav(df.lazy(), "a", k=2, nulls="impute", seed=1), pl.LazyFrame)
    assert_type(mg.mask(df, "a", 2, method="univariate"), pl.DataFrame)
    assert_type(mg.mask(df.lazy(), "a", 2, method="mdav"), pl.LazyFrame)
    assert_type(mg.groups(df, ["a", "b"], 2, name="group"), pl.DataFrame)
    assert_type(mg.groups(df.lazy(), ["a", "b"], 2), pl.LazyFrame)
    assert_type(mg.methods(), pl.DataFrame)


def handed_on(
    df: pl.DataFrame, settings: dict[str, Any], **options: Unpack["FrameOptions"]
) -> None:
    assert_type(mg.mdav(df, "a", 2, **settings), pl.DataFrame)
    assert_type(mg.vmdav(df.lazy(), "a", 2, gamma=0.2, **options), pl.LazyFrame)
    assert_type(mg.MicroaggFrame(df).mdav("a", 2, **settings), pl.DataFrame)
    assert_type(mg.MicroaggExpr(pl.struct("a")).vmdav(2, gamma=0.2, **settings), pl.Expr)
    assert_type(mg.sse(df, df, **settings), float)
    mg.mdav(
        df,
        "a",
        2,
        order_by=["r"],
        max_rows_per_entity=3,
        entity="b",
        entity_mode="alike",
        refine=True,
    )


def pipes(df: pl.DataFrame) -> None:
    assert_type(df.pipe(mg.mdav, ["a", "b"], k=2), pl.DataFrame)
    assert_type(df.lazy().pipe(mg.mdav, ["a", "b"], k=2), pl.LazyFrame)
    assert_type(df.pipe(mg.mdav, "a", 2, small_strata="null").pipe(mg.groups, "a", 2), pl.DataFrame)
    mg.verify(df.pipe(mg.mdav, ["a", "b"], k=2), ["a", "b"], k=2)


def measures(df: pl.DataFrame) -> None:
    masked = mg.mdav(df, ["a", "b"], k=2)
    mg.verify(masked, ["a", "b"], k=2, strata=None)
    mg.verify(
        mg.mdav(df, "a", 2), "a", 2, entity="b", entity_mode="rows", confidential=["r"], l=1, t=1.0
    )
    assert_type(mg.anonymity(masked, ["a", "b"]), pl.DataFrame)
    assert_type(mg.anonymity(masked, "a", entity=["b"], confidential="r"), pl.DataFrame)
    assert_type(mg.assess(df, masked, ["a", "b"], metrics=["loss", "sse"]), pl.DataFrame)
    assert_type(mg.assess(df.lazy(), masked.lazy(), known="a"), pl.DataFrame)
    assert_type(mg.recommend(mg.compare(df, ["a", "b"], ks=2), require="dld<=10"), pl.DataFrame)
    assert_type(mg.loss(df, masked), float)
    assert_type(mg.sse(df, masked, ["a"], known=["a"]), float)
    assert_type(mg.k_min(df, masked, ["a", "b"]), int | None)


def publishing(df: pl.DataFrame) -> None:
    told = mg.publish(df.lazy(), "a.parquet", "a", 2, keep=cs.all(), drop=["r", cs.temporal()])
    assert_type(told, mg.Manifest)
    assert_type(told["rows"]["dropped"], int | None)
    assert_type(told["k"]["found"], int | None)
    assert_type(told["measures"].get("dld"), int | float | None)
    assert_type(told["output"]["columns"], dict[str, str])
    assert_type([one["met"] for one in told["verdict"]["requirements"]], list[bool])
    if "models" in told:
        assert_type(
            [one["asked"] for one in told["models"]["confidential"]], list[int | float | None]
        )
    mg.publish(df, "a.parquet", ["a"], 2, strata="r", keep="b", require=["k=2", "dld<=90"])


def namespaces(df: pl.DataFrame) -> None:
    assert_type(mg.MicroaggFrame(df), "mg.MicroaggFrame[pl.DataFrame]")
    assert_type(mg.MicroaggFrame(df).mdav(["a", "b"], k=2), pl.DataFrame)
    assert_type(mg.MicroaggFrame(df.lazy()).mdav(["a", "b"], k=2), pl.LazyFrame)
    assert_type(mg.MicroaggFrame(df).groups("a", 2), pl.DataFrame)
    assert_type(mg.MicroaggFrame(df).assess(df, "a"), pl.DataFrame)
    assert_type(mg.MicroaggExpr(pl.struct("a", "b")).mdav(2), pl.Expr)
    assert_type(mg.MicroaggExpr(pl.struct("a", "b")).mask(2, method="mdav"), pl.Expr)
    assert_type(mg.MicroaggExpr(pl.struct("a", "b")).k_prime(), pl.Expr)
    assert_type(mg.MicroaggExpr(pl.struct("a")).k_entities(["b", "r"]), pl.Expr)
    assert_type(mg.MicroaggExpr(pl.struct("a")).t("r", t_scale="ranks"), pl.Expr)
    assert_type(mg.MicroaggFrame(df).anonymity("a", confidential="r"), pl.DataFrame)
    mg.MicroaggFrame(mg.mdav(df, "a", 2)).verify("a", 2, confidential="r", l=1)


def wrong(df: pl.DataFrame) -> None:
    mg.mdav(df, ["a"], "2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mg.mdav(df, ["a"])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    mg.mdav(df, 5, k=2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mg.mdav("a", ["a"], k=2)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
    # mypy also compares one position too many with the first option, which is center.
    mg.mdav(df, "a", 2, "mean")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    mg.mdav(df, "a", 2, by="r")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    mg.mdav(df, "a", 2, scale="log")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mg.mdav(df, "a", 2, strata=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mg.univariate(df, "a", 2, seed="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mg.vmdav(df, "a", 2, gamma="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mg.mdav(df, "a", 2, gamma=0.2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    mg.sse(df, df, known=1.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mg.sse(df, df, strta="r")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    mg.MicroaggFrame(df).mdav("a", 2, by="r")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    mg.MicroaggFrame(df).mdav("a", 2, l="2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mg.MicroaggExpr(pl.struct("a")).mdav(2, strata="r")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    mg.MicroaggExpr(pl.struct("a")).mdav(2, scale="log")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    df.pipe(mg.mdav, ["a"], 2, by="r")  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue]
    df.pipe(mg.mdav, ["a"], k="2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    df.pipe(mg.mdav, ["a"])  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue]
    mg.publish(df, "a.parquet", "a", 2)["rows"]["lost"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues]
    mg.publish(df, "a.parquet", "a", 2, keep=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mg.publish(df, "a.parquet", "a", 2, require=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mg.verify(df, "a")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    mg.MicroaggFrame(df).verify("a", 2, l="2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mg.MicroaggExpr(pl.struct("a")).l()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    mg.assess(df)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
