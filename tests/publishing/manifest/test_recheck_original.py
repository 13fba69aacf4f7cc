"""Each check of a manifest by itself: measures, warnings, the hash of the original, the seal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.recheck import UNPROVEN
from polars_microagg.publishing.manifest.record import seal
from polars_microagg.publishing.warnings.advice import of_release
from tests.publishing.manifest.edits import KEY, N, rehashed
from tests.publishing.releases import SMALL, alone, edited, file, made, wrong

__all__ = ["file", "made"]


# --- Measures ----------------------------------------------------------------------------------------


def test_the_measures(made, file):
    count = len(file.manifest["measures"])
    yes = (True, f"{count} measures were taken again and agree with the manifest.")
    assert file.measures() == made["out.csv"].measures() == made["out.duckdb::t"].measures() == yes
    says = f"2 measures were taken again, the other {count - 2} need the original."
    assert alone(file).measures() == (None, says)
    for name, value in (("loss", 99.0), ("k_prime", 99.0), ("k_min", 4)):
        other = edited(file, f"measures.{name}", value)
        wrong(other.measures(), f"{count} measures were taken again; ")
        wrong(other.measures(), "differ from the manifest.")
        if name != "loss":
            wrong(alone(other).measures(), "2 measures were taken again; ")
    # A measure that is made of others is found out by them.
    wrong(edited(alone(file), "measures.il", 99.0).measures(), "differ from the manifest.")
    wrong(edited(file, "measures.more", 1.0).measures(), "lacks or adds the measures 'more'")
    wrong(edited(file, "measures", {}).measures(), "The manifest holds no measures.")
    assert file.manifest["digits"] == 3
    for digits in (2, 4):
        wrong(edited(file, "digits", digits).measures(), "3 digits of a measure are published")
    wrong(edited(alone(file), "digits", 4).measures(), "3 digits of a measure are published, not 4")
    cells = file.manifest["cells"]
    assert cells == {"all": 2 * N, "compared": 2 * (N - 7)}
    for name in cells:
        wrong(edited(file, f"cells.{name}", 7).measures(), "other cells were compared")
    wrong(edited(alone(file), "cells.all", 7).measures(), "other cells were compared")


def test_the_measures_of_another_version(file):
    rest = {name: v for name, v in file.manifest["measures"].items() if name != "delta_w"}
    other = edited(file, "measures", rest)
    wrong(other.measures(), "lacks or adds the measures 'delta_w'")
    other = edited(other, "tool.polars_microagg", "9.0")
    count = len(rest)
    says = f"{count + 1} measures were taken again and agree, 1 are not in the manifest."
    assert other.measures() == (None, says)
    wrong(edited(other, "measures.more", 1.0).measures(), "lacks or adds the measures")


def test_the_measures_of_few_records(made):
    few = made["few"]
    assert set(few.manifest["measures"]) == {"k_min", "k_prime"}
    yes = (True, "2 measures were taken again and agree with the manifest.")
    assert few.measures() == alone(few).measures() == yes
    wrong(edited(few, "cells.compared", 60).measures(), "other cells were compared")
    wrong(edited(few, "cells.all", 61).measures(), "other cells were compared")
    wrong(edited(few, "digits", 2).measures(), "0 digits of a measure are published, not 2")
    shifted = replace(few, before=SMALL.with_columns(pl.col("age") + 1))
    wrong(shifted.measures(), "'age' are not centres of values of this original.")


def test_no_measures_without_an_original(made):
    none = made["elsewhere"]
    yes = (None, "There was no original to take measures with.")
    assert none.measures() == yes
    wrong(edited(none, "digits", 3).measures(), "The manifest holds no measures.")
    wrong(edited(none, "config.method", "mdav").measures(), "The manifest holds no measures.")


# --- Warnings, the original and the seal ------------------------------------------------------------


def test_the_warnings(made, file):
    count = len(file.manifest["warnings"])
    yes = (True, f"{count} warning(s) were given again and agree with the manifest.")
    assert file.warnings() == made["out.csv"].warnings() == yes
    holds, says = alone(file).warnings()
    assert holds is None
    again = int(says.split()[0])
    assert 0 < again < count
    assert says == f"{again} warning(s) were given again, others need the original."
    no = (False, "The warnings are not those that this release gives.")
    for warnings in ([], file.manifest["warnings"][:-1], [*file.manifest["warnings"], "more"]):
        other = edited(file, "warnings", warnings)
        assert other.warnings() == no
    assert edited(alone(file), "warnings", []).warnings() == no
    other = edited(edited(file, "warnings", []), "tool.polars_microagg", "9.0")
    says = "Another version of the library gave the warnings."
    assert other.warnings() == alone(other).warnings() == (None, says)
    few = made["few"]
    assert few.warnings()[0] is alone(few).warnings()[0] is True
    assert edited(few, "warnings", ["more"]).warnings() == no
    assert edited(alone(few), "warnings", ["more"]).warnings() == no


def test_the_original(made, file):
    assert file.input() == (True, "The original has the hash of the key.")
    no = (False, "The original does not have the hash of the key.")
    assert edited(file, "input.hmac_sha256", "0" * 64).input() == no
    assert replace(file, key=b"another key of many bytes").input() == no
    needs = (None, "The hash of the original needs the original and the key.")
    for gone in ("key", "source", "before"):
        assert replace(file, **{gone: None}).input() == needs
    halves = (False, "The hash of the original is said by halves.")
    assert edited(file, "input.of", None).input() == halves
    assert edited(file, "input.hmac_sha256", None).input() == halves
    rows = Location(Path("-"), "stream").mac(KEY, file.before)
    assert edited(file, "input", rows).input()[0] is True
    assert edited(file, "input.of", "rows").input() == no
    none = edited(file, "input", {"of": None, "hmac_sha256": None})
    says = "The manifest holds no hash of the original"
    assert none.input() == (False, f"{says}; protect it with a key.")
    assert alone(none).input() == (None, f"{says}.")
    assert made["few"].input() == (None, f"{says}.")


def test_the_seal(made, file):
    assert file.sealed() == (True, "The seal is that of the key.")
    no = (False, "The seal is not that of the key.")
    assert edited(file, "seed", 7).sealed() == no
    assert replace(file, key=b"another key of many bytes").sealed() == no
    assert alone(file).sealed() == (None, f"The seal needs the key. {UNPROVEN}")
    halves = (False, "The manifest has a seal without a hash of the original, or the reverse.")
    assert edited(file, "seal", None).sealed() == halves
    assert edited(file, "input.hmac_sha256", None).sealed() == halves
    none = edited(edited(file, "seal", None), "input.hmac_sha256", None)
    lost = (False, "The manifest has no seal: it was made without a key, or lost it.")
    assert none.sealed() == lost
    assert alone(none).sealed() == (None, f"The manifest has no seal. {UNPROVEN}")
    assert made["few"].sealed() == alone(none).sealed()
    told = rehashed(file.manifest, gamma=0.9)
    assert replace(file, manifest=told | {"seal": seal(told, KEY)}).sealed()[0] is True


def test_warnings_of_the_release_alone_do_not_prove_that_there_are_no_others(file):
    other = alone(file)
    roles = file.manifest["roles"]
    own = of_release(file.frame, [roles["mask"]], 5, strata=roles["stratum"], kept=roles["keep"])
    says = f"{len(own)} warning(s) were given again, others need the original."
    assert edited(other, "warnings", own).warnings() == (None, says)
    assert edited(other, "warnings", [*own, "another"]).warnings() == (None, says)
    assert own
    wrong(edited(other, "warnings", own[1:]).warnings())


def test_text_is_measured_in_the_types_of_the_original_or_as_floats(made):
    text = made["out.csv"]
    before, after = text.seen.pair
    assert after.schema["age"] == before.schema["age"] == pl.Int64
    _, after = edited(text, "config.dtype", "float").seen.pair
    assert after.schema["age"] == pl.Float64
