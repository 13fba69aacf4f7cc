"""Each check of a manifest by itself: what it finds on the release, and what it says."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

import polars_microagg as mg
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest import recheck
from polars_microagg.publishing.manifest.recheck import Recheck
from polars_microagg.publishing.manifest.rows import row_counts
from tests.publishing.manifest.edits import PEOPLE, N
from tests.publishing.releases import SMALL, alone, edited, file, made, wrong

__all__ = ["file", "made"]


# --- The file --------------------------------------------------------------------------------------


def test_the_hash(made, file):
    table = made["out.duckdb::t"]
    assert file.hash() == (True, "The file has the hash of the manifest.")
    assert table.hash() == (True, "The rows have the hash of the manifest.")
    no = (False, "The file does not have the hash of the manifest.")
    assert edited(file, "output.sha256", "0" * 64).hash() == no
    assert edited(file, "output.bytes", file.manifest["output"]["bytes"] + 1).hash() == no
    no = (False, "The rows do not have the hash of the manifest.")
    assert edited(table, "output.sha256", "0" * 64).hash() == no
    assert replace(table, frame=table.frame.head(9)).hash() == no
    no = (False, "The manifest is that of a table, and this is none.")
    assert edited(file, "output.of", "rows").hash() == no
    no = (False, "The manifest is that of a file, and this is none.")
    assert edited(table, "output.of", "file").hash() == no
    assert replace(file, place=Location.of("-")).hash() == no


def test_the_name(made, file):
    table = made["out.duckdb::t"]
    yes = (True, "The name and the format are those of the manifest.")
    assert file.name() == table.name() == yes
    assert edited(table, "output.name", "T").name() == yes
    wrong(edited(file, "output.name", "OUT.parquet").name(), "'OUT.parquet' (parquet), and this is")
    wrong(edited(file, "output.format", "arrow").name(), "(arrow), and this is 'out.parquet'")
    wrong(edited(table, "output.name", "u").name(), "and this is 't' (duckdb)")
    # What went to standard output may get any name, and stays a stream.
    streamed = edited(edited(file, "output.name", "-"), "output.format", "stream")
    assert replace(streamed, place=Location.of("a.arrows")).name() == yes
    wrong(streamed.name())
    wrong(replace(edited(file, "output.name", "-"), place=Location.of("a.arrows")).name())
    wrong(edited(file, "output.name", "-").name())
    wrong(replace(edited(streamed, "output.name", "b"), place=Location.of("a.arrows")).name())


def test_the_shape(made, file):
    said = f"The table has {N} rows and 4 columns, the manifest says {N} and 4"
    yes = (True, f"{said}; 7 are emptied, and 0 were dropped.")
    assert file.shape() == alone(file).shape() == yes
    wrong(edited(file, "rows.out", N + 1).shape(), "or names other columns")
    wrong(edited(file, "rows.out", N - 1).shape(), "or names other columns")
    kinds = dict(reversed(file.manifest["output"]["columns"].items()))
    wrong(edited(file, "output.columns", kinds).shape(), "or names other columns")
    wrong(replace(file, before=file.before.head(N - 1)).shape(), "that came in do not agree")
    for rows in (N - 1, N + 1):
        wrong(edited(file, "rows.in", rows).shape(), "that came in do not agree")
        wrong(edited(alone(file), "rows.in", rows).shape(), "other rows are emptied or dropped")
    for key in ("emptied", "dropped", "suppressed"):
        other = file.manifest["rows"][key] + 1
        wrong(edited(file, f"rows.{key}", other).shape(), "other rows are emptied or dropped")
    # Fewer rows than came in are no lie of a release that drops.
    dropped = made["dropped"]
    assert dropped.shape()[0] is alone(dropped).shape()[0] is True
    assert dropped.shape()[1].endswith("0 are emptied, and 7 were dropped.")
    wrong(edited(dropped, "config.small_strata", "null").shape())
    wrong(edited(alone(dropped), "config.small_strata", "null").shape(), "other rows")
    wrong(replace(dropped, before=dropped.before[1:]).shape(), "that came in do not agree")
    more = {"in": N - 8, "dropped": -1, "suppressed": round(-100 / (N - 8), 5)}
    for key, value in more.items():
        dropped = edited(dropped, f"rows.{key}", value)
    wrong(alone(dropped).shape(), "other rows are emptied or dropped")


def test_the_types(made, file):
    yes = (True, "The columns have the types of the manifest.")
    assert file.types() == alone(file).types() == yes
    no = (False, "The columns have not the types of the manifest.")
    assert edited(file, "output.columns.age", "Int8").types() == no
    text = made["out.csv"]
    assert text.types() == (None, "csv does not keep the types of columns.")
    wrong(edited(file, "config.dtype", "float").types(), "dtype gives 'age' other types")


# --- Roles -----------------------------------------------------------------------------------------


def test_the_roles(made, file):
    every = "Every column has its role, and none that was to be dropped is there"
    assert alone(file).roles() == (True, f"{every}.")
    assert file.roles() == (True, f"{every}; what was kept is that of the original.")
    no = "Every column has not the one role"
    for path, value in (
        ("roles.mask", ["age", "income", "age"]),
        ("roles.mask", ["age", "income", "name"]),
        ("roles.stratum", ["region", "age"]),
        ("roles.keep", []),
        ("roles.keep", ["net", "region"]),
        ("roles.drop", ["name", "phone", "net"]),
    ):
        wrong(edited(file, path, value).roles(), no)
        wrong(edited(alone(file), path, value).roles(), no)
    other = "The columns of the original and those with a role differ by"
    wrong(edited(file, "roles.drop", ["name"]).roles(), f"{other} 'phone'. Name the table")
    wrong(replace(file, before=file.before.drop("name")).roles(), f"{other} 'name'.")
    swapped = file.before.with_columns(pl.col("net").reverse())
    no = (False, "Kept or stratum column(s) 'net' differ from the original, row by row.")
    assert replace(file, before=swapped).roles() == no


def test_the_roles_where_every_column_is_masked(tmp_path):
    place = Location.of(tmp_path / "ages.parquet")
    manifest = mg.publish(SMALL.select("age"), place.path, "age", 5)
    assert Recheck(manifest, place, place.read()).roles()[0] is True


def test_the_roles_of_what_was_masked_elsewhere(made):
    made = made["elsewhere"]
    every = "Every column has its role, and none that was to be dropped is there"
    before = PEOPLE.select("age", "net")
    assert replace(made, before=before).roles()[0] is True
    more = replace(made, before=PEOPLE.select("age", "net", "name"))
    says = f"{every}; the original differs by 'name', and was masked elsewhere."
    assert more.roles() == (None, says)
    wrong(edited(more, "roles.drop", ["phone"]).roles(), "differ by 'name', 'phone'.")
    swapped = replace(made, before=before.with_columns(pl.col("net").reverse()))
    says = "Kept or stratum column(s) 'net' differ from the original, row by row."
    assert swapped.roles() == (None, says)


# --- k and the requirements --------------------------------------------------------------------------


def test_k(file):
    said = "The smallest class has 5 records, the manifest says 5 and asks for 5"
    assert file.k() == (True, f"{said}.")
    assert edited(file, "k.asked", 4).k()[0] is True
    wrong(edited(file, "k.asked", 6).k(), "asks for 6; the sizes do not agree.")
    wrong(edited(file, "k.found", 4).k(), "the manifest says 4 and asks for 5; the sizes")
    wrong(edited(file, "k.found", 6).k())
    wrong(edited(file, "k.classes.0.classes", 1).k(), f"{said}; the sizes do not agree.")
    one = file.frame.with_columns(age=pl.when(pl.int_range(N) == 99).then(1).otherwise("age"))
    wrong(replace(file, frame=one.cast(file.frame.schema)).k(), "The smallest class has 1 records")


def test_k_of_no_records(file):
    empty = replace(file, frame=file.frame.clear())
    wrong(empty.k(), "The smallest class has None records")
    classes = empty._classes
    for path, value in (("k.found", None), ("k.classes", classes)):
        empty = edited(empty, path, value)
    assert empty.k()[0] is True


def test_the_requirements(made, file):
    assert file.requirements() == (True, "The verdict and its 4 requirement(s) hold.")
    # What the manifest says of the original is held against the bounds, and proves nothing.
    says = "The verdict and its 2 requirement(s) hold; what needs the original: {}."
    unproven = says.format(", ".join(file.manifest["config"]["require"][2:]))
    assert alone(file).requirements() == (None, unproven)
    no = (False, "The verdict and its 4 requirement(s) do not hold.")
    for path, value in (
        ("verdict.released", False),
        ("verdict.k_holds", False),
        ("verdict.requirements.0.met", False),
        ("verdict.requirements.0.found", 6),
        ("verdict.requirements.2.found", 89.0),
        ("verdict.requirements.0.requirement", "k>=4"),
        ("measures.dld", 91.0),
    ):
        assert edited(file, path, value).requirements() == no
        assert edited(alone(file), path, value).requirements() == no
    required = file.manifest["config"]["require"]
    for place, bound in enumerate(("k>=6", f"rows>={N + 1}", "dld<=0.001", "score<=0.001")):
        other = edited(file, f"config.require.{place}", bound)
        other = edited(other, f"verdict.requirements.{place}.requirement", bound)
        assert other.requirements() == alone(other).requirements() == no
    assert len(required) == 4
    share = made["dropped"]
    assert share.requirements()[0] is True
    says = "The verdict and its 0 requirement(s) hold; what needs the original: suppressed<=1."
    assert alone(share).requirements() == (None, says)
    bound = "suppressed<=0.5"
    low = edited(share, "config.require", [bound])
    low = edited(low, "verdict.requirements.0.requirement", bound)
    wrong(low.requirements())
    # 7 rows are told as 1 %, and one row would be as well.
    assert alone(low).requirements()[0] is None
    high = edited(alone(low), "rows", row_counts(60, share.manifest["rows"]["out"], 0, 2))
    wrong(high.requirements())


def test_a_requirement_that_needs_the_original(made):
    few = made["few"]
    met = {"requirement": "loss<=99", "found": None, "met": True}
    asked = edited(few, "config.require", ["k>=5", "loss<=99"])
    asked = edited(asked, "verdict.requirements", [few.manifest["verdict"]["requirements"][1], met])
    says = "The verdict and its 1 requirement(s) hold; what needs the original: loss<=99."
    assert alone(asked).requirements() == (None, says)
    assert asked.requirements() == (True, "The verdict and its 2 requirement(s) hold.")
    asked = edited(asked, "config.require.1", "loss<=0.001")
    asked = edited(asked, "verdict.requirements.1.requirement", "loss<=0.001")
    wrong(asked.requirements())
    assert alone(asked).requirements()[0] is None


def test_alone_a_measure_is_judged_as_it_is_published(file):
    """Within half of its last digit, and with the original by all digits."""
    exact, said = file._measured["k_prime"], file.manifest["measures"]["k_prime"]
    assert exact != said
    bound = f"k_prime{'>=' if exact < said else '<='}{(exact + said) / 2!r}"
    other = edited(file, "config.require.0", bound)
    other = edited(other, "verdict.requirements.0.requirement", bound)
    other = edited(other, "verdict.requirements.0.found", said)
    assert alone(other).requirements()[1].startswith("The verdict and its 2 requirement(s) hold;")
    wrong(other.requirements())


def test_ten_names_are_said_and_no_more(made):
    elsewhere, letters = made["elsewhere"], "abcdefghijkl"
    before = PEOPLE.select("age", "net")
    more = before.with_columns(pl.lit(1).alias(name) for name in letters)
    _, says = replace(elsewhere, before=more).roles()
    assert says.endswith(
        f"differs by {', '.join(map(repr, letters[:10]))}, and was masked elsewhere."
    )
    named = edited(elsewhere, "roles.drop", [*letters[:1], *letters[2:]])
    wrong(
        replace(named, before=before).roles(),
        f"differ by {', '.join(map(repr, ['a', *letters[2:11]]))}. N",
    )
    wide = elsewhere.frame.with_columns(pl.lit(1).alias(name) for name in letters)
    kept = edited(elsewhere, "roles.keep", ["net", *letters], frame=wide)
    differ = replace(kept, before=more.with_columns(pl.lit(2).alias(name) for name in letters))
    says = (
        f"Kept or stratum column(s) {', '.join(map(repr, letters[:10]))} differ from the original"
    )
    assert differ.roles() == (None, f"{says}, row by row.")


def test_ten_columns_of_other_types_are_said_and_no_more(file, monkeypatch):
    monkeypatch.setattr(recheck, "mistyped", lambda *_: list("abcdefghijkl"))
    named = ", ".join(map(repr, "abcdefghij"))
    wrong(file.types(), f"The option dtype gives {named} other types than the manifest.")
