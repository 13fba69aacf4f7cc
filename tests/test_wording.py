"""Errors are data first: every constructor, written in the spelling of every door."""

import copy
import inspect
import pickle
import re

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg import errors
from polars_microagg.errors import (
    categories,
    files,
    mappings,
    originals,
    release,
    tables,
    taxonomies,
    usage,
)
from polars_microagg.wording import COMMAND_LINE, PYTHON, SQL, Sentence, Setting

LATER = "Use the frame function."
REACHED = (Setting("l", 3), "distinct values", "sick", 2)
CLASSES = [
    mg.InvalidParameterError.k("five"),
    mg.InvalidParameterError.choice("nulls", "imputed", ["raise", "impute"]),
    mg.InvalidParameterError.key("weights", "los", ["loss", "risk"]),
    mg.InvalidParameterError.measure("dlx", ["dld", "loss"]),
    mg.InvalidParameterError.kind("seed", "x", "a whole number of at least 0"),
    mg.InvalidParameterError.kind("weights", "x", "a number at least 0", "loss"),
    mg.InvalidParameterError.kind("known", ["age", None], "a column name or a list of names"),
    mg.InvalidParameterError.kind("options", 7, "a struct, as in {'gamma': 0.2}"),
    mg.InvalidParameterError.switch("refine", "yes"),
    mg.InvalidParameterError.option("mdav", "gama", ["gamma"]),
    mg.InvalidParameterError.missing_k("mdav"),
    mg.InvalidParameterError.missing_entity("dld_entity"),
    mg.InvalidParameterError.too_many("mdav", 5, 4, "n^3"),
    mg.InvalidParameterError.no_columns(),
    mg.InvalidParameterError.duplicate("strata", ["region"]),
    mg.InvalidParameterError.unknown_column("order_by", "agee", ["age"]),
    mg.InvalidParameterError.selects_nothing("strata", "cs.binary()", "table"),
    mg.InvalidParameterError.duplicate_columns("age", "AGE"),
    mg.InvalidParameterError.changed(),
    mg.InvalidParameterError.overlap("strata", ["age"]),
    mg.InvalidParameterError.taken("age"),
    mg.InvalidParameterError.unnamed_mode(["patient"]),
    mg.InvalidParameterError.needs(Setting("l", 2), "confidential"),
    mg.InvalidParameterError.needs(Setting("confidential", ["sick"]), "l", Setting("t", 0.5)),
    mg.InvalidParameterError.not_joint("mdav", "Int64"),
    mg.InvalidParameterError.cannot("An expression", Setting("small_strata", "drop"), LATER),
    mg.InvalidParameterError.of_choices(Setting("nulls", None), None, ["raise", "impute"]),
    mg.InvalidParameterError.of_fields(
        "{setting} is odd.", setting=Setting("order_by", ["a", "b c"])
    ),
    mg.UnknownMethodError.of("mdva", ["mdav"]),
    mg.TooFewRecordsError.of(2, 3).of_stratum(),
    mg.InvalidDataError.unreadable("a.csv", "it is empty."),
    mg.InvalidDataError.unknown_column("columns", "agee", ["age"]),
    mg.InvalidDataError.nameless("patient", 3),
    mg.InvalidDataError.not_in_taxonomy("education", 3),
    mg.UnreachableError.of(*REACHED, stratum=20, at_least=True),
    mg.UnreachableError.of(*REACHED, stratum=None, at_least=True).of_stratum(),
    mg.UnreachableError.emptied(*REACHED, records=20, at_least=True),
    mg.UnreachableError.emptied(*REACHED, records=20, at_least=False).of_stratum(),
    mg.InvalidDataError.unmerged("they do not know how often each value of 'sick' occurs"),
    mg.TooFewRecordsError.of(4, 5),
    mg.TooFewRecordsError.strata(1, 2, 3, 5),
    mg.TooFewRecordsError.strata(1, 2, 3, 5, patterns=True),
    mg.TooFewRecordsError.emptied(3, 5, 5),
    mg.TooFewRecordsError.alike(2, 7, 1, 5),
    mg.MissingValuesError.nulls("age", 2),
    mg.MissingValuesError.not_finite("age", 2),
    mg.NotNumericError.of("name", "String"),
    mg.NotNumericError.known("name", "String"),
    mg.NotAnonymousError.of(["age"], 5, (2, 3, 1), ["region"]),
    mg.NotAnonymousError.entities(["age"], 5, (2, 3, 1), ["region"]),
    mg.NotAnonymousError.alike(["age"], 5, (3, 1), ["region"]),
    mg.NotAnonymousError.model(
        ["age"], Setting("l", 2), "the number of distinct values of 'sick'", (2, 3, 1), ["region"]
    ),
    mg.NotPublishedError.unreadable("a.duckdb", "try again."),
    mg.RequirementError.unmet(["dld<=10 (found 12)"]),
    mg.RequirementError.valueless("pld<=10", "pld", 50_000, 20_000),
    mg.OutputError.of("a.csv", "it is a folder."),
    mg.OutputError.after_publishing("a.csv", "its report is not."),
    mg.OutputError.demo_unshown("demo"),
    mg.TargetExistsError.of("a.csv"),
    mg.GuaranteeError.model("mdav", Setting("l", 2), "distinct values", 1),
    mg.GuaranteeError.small_class("mdav", 1, 5),
    mg.GuaranteeError.shape("mdav", 4, 5),
    mg.GuaranteeError.unchecked(),
    mg.WorkerError.ended(),
]
SUBJECTS = {
    usage: [
        usage.both_to_standard_output(),
        usage.columns_and_k(),
        usage.foreign_option("mdav", "gamma", ["vmdav"]),
        usage.looks_like_an_option("microagg", "--output", "-o.csv"),
        usage.needed("compare", "IN"),
        usage.needs_a_command("microagg", ["protect"]),
        usage.needs_a_value("microagg", "--k"),
        usage.no_columns(),
        usage.report_without_manifest(),
        usage.no_original(),
        usage.not_by_commas('a,"b'),
        usage.not_installed("A report", "jinja2", "Install it."),
        usage.not_of_csv("a.parquet"),
        usage.one_table("microagg risk", "b.csv"),
        usage.one_too_many("microagg", "b.csv"),
        usage.only_with_an_original(),
        usage.option_unknown("microagg", "--colums", ["--columns"]),
        usage.same_file("a.csv", "IN", "OUT"),
        usage.separator_of_the_original(),
        usage.several_roles(["age"]),
        usage.takes_no_value("microagg", "--json"),
        usage.unknown_choice("microagg", "command", "protct", ["protect"]),
        usage.unknown_key("kolumns", ["columns"]),
        usage.unlike_toml("a.toml", "at line 1"),
        usage.unreadable_configuration("a.toml", "it is no text file."),
        usage.without_a_manifest_to_ask(),
        usage.without_an_option("microagg", "age"),
        usage.columns_without_role(["age"], "a.toml"),
        usage.wrong_arguments("microagg", "No."),
        usage.wrong_key("columns", 3, "text or a list"),
    ],
    files: [
        files.bad_header(),
        files.bad_names(),
        files.changed_while_read("a.csv"),
        files.compressed_target("a.csv.gz", "a.csv"),
        files.no_manifest(),
        files.no_such_file("nix.parquet"),
        files.no_table_named("a.duckdb", "a.duckdb"),
        files.not_utf8(3),
        files.other_format("a PDF document", "Export the table as CSV."),
        *(files.other_schema("b.csv", "a.csv"), files.other_separator(";", "';'")),
        files.packed("gzip", "Unpack it first."),
        files.ragged("line 3", "5", 4),
        files.two_readings_of_dates("born"),
        files.unknown_ending("a.xlsx", ".xlsx", [".csv"]),
        files.like_numbers("name"),
        files.wrong_cells("age", 2, "number", 3, "a.csv"),
        *(files.no_manifest_beside("b.parquet.manifest.json"), files.stream_beside()),
    ],
    originals: [
        originals.unmatched_rows(5, 4),
        originals.unlike_releases(5, 4),
        originals.repeated_in_release(2),
        originals.rows_not_released(["id", "b c"], 2),
        originals.unmatched_key(["id", "b c"], "1 of 2 and 2 rows match"),
        originals.measures_differ(["loss"]),
        originals.not_as_the_manifest_says("no"),
        originals.other_kinds(["sex"]),
        originals.other_original("a.csv", "no"),
        originals.other_release("The file has another hash."),
        originals.other_rows(5, 4),
        *(originals.rows_differ(["age"]), originals.without_masked("age")),
        originals.uncentred(["age"]),
        originals.unmatched_releases((5, 4), [["Int64"], ["String"]]),
        *(originals.unlike_keys([["Int64"], ["List(Int64)"]]), originals.unlike_order("id")),
    ],
    categories: [
        categories.mostly_rare("name", (30, 40), 5, True, True),
        categories.nearly_unique("name", 30, 40, 99),
        categories.not_as_fitted("age", "String"),
        categories.new_categories("job", 3),
        categories.not_masked("column_weights", "agee", ["age", "job"]),
        categories.not_of_kind("age", "Int64", "taxonomy", "text"),
        categories.unlike_kinds("grade", "Int64", "Categorical"),
        categories.without_order("sex", "univariate", ordinal=True),
    ],
    release: [
        release.contradictory("dld<=10", "dld>20"),
        release.in_two_roles("age", "keep", "drop"),
        release.more_than_k(3, 5),
        release.none_compared(),
        release.none_measured(3, 5),
        release.not_compared(["k", "loss"]),
        release.only_masking("effort", ["lowloss"]),
        release.only_whole(Setting("entity_mode", "mean"), "it must be so", ("9 GB", "2 GB")),
        release.without_role(["age"]),
    ],
    tables: [
        tables.beyond_memory(5_000_000, 4, 2_300_000_000, 1_000_000_000, "mdav", "3 h"),
        tables.copy_of_masked("age_1", "age"),
        tables.indexed("frame", ["id"]),
        tables.no_order(),
        tables.not_a_connection(3),
        tables.not_a_frame("original", 3),
        tables.not_a_table("source", 3),
        tables.several_maskings(["age"]),
    ],
    mappings: [
        mappings.twice("taxonomy", "edu", "b.csv"),
        mappings.wrong_entry("taxonomy", "a.csv", "a table", "Write one."),
    ],
    taxonomies: [
        taxonomies.bad_file("a.csv", "it is not UTF-8 text"),
        taxonomies.bad_row(3, "has no value in its first cell"),
        taxonomies.bad_shape("kept", [3, 4], "falling whole numbers", "Give them as in [3, 2]."),
        taxonomies.circular(["cat", "dog"]),
        taxonomies.no_value(),
        taxonomies.not_text("The parent of 'cat'", "int"),
        taxonomies.of_column("taxonomy", "pet", "pets", taxonomies.no_value()),
        taxonomies.several_roots(["cat", "dog"]),
        taxonomies.two_parents("cat", "pet", "animal"),
    ],
}
EVERY = CLASSES + [error for made in SUBJECTS.values() for error in made]
each = pytest.mark.parametrize("error", EVERY, ids=lambda e: f"{type(e).__name__}: {str(e)[:40]}")
NOTATION = re.compile(
    r"\bk>?=\d+|\bdld<=\d+|--weights loss=x|--output=-o\.csv|(?<=--taxonomy )\w+="
)
"""What is written so at every door: bounds as they are required, and what is typed."""

PYTHON_ALONE = {"keep=", "drop=", "list="}
"""Of errors that only `publish` raises, and of a text that is no parameter."""


def constructors(kind):
    return {
        name
        for name, made in vars(kind).items()
        if isinstance(made, classmethod) and not name.startswith("_")
    }


def test_every_constructor_is_tried_here():
    text = inspect.getsource(inspect.getmodule(constructors))
    for name in errors.__all__:
        tried = set(re.findall(rf"mg\.{name}\.(\w+)\(", text))
        assert constructors(getattr(mg, name)) <= tried | {"of_fields"}, name
    for module, made in SUBJECTS.items():
        assert {name for name in module.__all__ if f".{name}(" not in text} == set()
        assert len(made) == len(module.__all__)


@each
@pytest.mark.parametrize("door", [SQL, COMMAND_LINE], ids=["SQL", "command line"])
def test_no_spelling_of_python_is_left_at_the_other_doors(error, door):
    said = NOTATION.sub("", error.told(door))
    assert set(re.findall(r"(?<![\w.-])[a-z_]+=(?=['\"\w\[<])", said)) <= PYTHON_ALONE, said
    assert not re.search(
        r"\b(None(?! of)|True|False(?!, )|mg\.)\b", said.replace("True or False", "")
    ), said
    assert door is SQL or " := " not in said
    typed = any(error in SUBJECTS[module] for module in (usage, files))
    assert door is COMMAND_LINE or typed or not re.search(r"(?<!\w)--[a-z]", said), said


@each
def test_an_error_is_its_fields_and_survives_a_journey(error):
    assert str(error) == error.told(PYTHON) == error.sentence
    assert "{" not in re.sub(r"\{'\w+': ", "", str(error))
    assert "  " not in str(error)
    for again in (pickle.loads(pickle.dumps(error, 0)), pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # fmt: skip
        assert type(again) is type(error)
        assert again.args == error.args
        for door in (PYTHON, SQL, COMMAND_LINE):
            assert again.told(door) == error.told(door)
        assert (again.parameter, again.value, again.need, again.way) == (
            error.parameter, error.value, error.need, error.way,
        )  # fmt: skip
    assert type(error).__module__ == "polars_microagg.errors"


@each
def test_a_way_out_and_a_need_are_parts_of_the_sentence(error):
    assert (error.way or "") in str(error)
    assert (error.need or "") in str(error)


# --- What each door writes ---------------------------------------------------------------------

WRITTEN = [
    (Setting("small_strata", "null"), "small_strata='null'", "small_strata := 'null'", "--small-strata null"),
    (Setting("k", 5), "k=5", "k := 5", "--k 5"),
    (Setting("overwrite", True), "overwrite=True", "overwrite := true", "--overwrite"),
    (Setting("refine", False), "refine=False", "refine := false", "--refine False"),
    (Setting("known", None), "known=None", "known := NULL", "--known none"),
    (Setting("separator", ";;"), "separator=';;'", "separator := ';;'", "--separator ';;'"),
    (Setting("hash_key", "5 bytes"), "hash_key='5 bytes'", "hash_key := '5 bytes'", "--hash-key-file '5 bytes'"),
    (Setting("key", ["a", "b c"]), "key=['a', 'b c']", "key := ['a', 'b c']", "--key 'a,b c'"),
    (Setting("key", ["a, b"]), "key=['a, b']", "key := ['a, b']", "--key '\"a, b\"'"),
    (Setting("key", "it's"), 'key="it\'s"', "key := 'it''s'", "--key 'it'\"'\"'s'"),
    (Setting("weights", 2, "loss"), "weights['loss']=2", "weights := {'loss': 2}", "--weights loss=2"),
    (mg.UnknownMethodError.of(None, ["mdav"]).sentence,
     "There is no method None. Choose from 'mdav'. mg.methods() lists them all.",
     "There is no method NULL. Choose from 'mdav'. microagg.methods() lists them all.",
     "There is no method None. Choose from 'mdav'. microagg methods lists them all."),
    (originals.unmatched_rows(4, 5).sentence.fields["way"],
     "Give two tables of the same rows in the same order, or name a key column with key=.",
     "Give two tables of the same rows in the same order, or name a key column with key.",
     "Give two tables of the same rows in the same order, or name a key column with --key."),
    (mg.MissingValuesError.not_finite("a", 1).sentence.fields["way"],
     "Replace them by null (pl.when(pl.col(x).is_finite()).then(pl.col(x)), in SQL CASE WHEN isfinite(x) THEN x END) or by a number, or drop those rows first.",
     "Replace them by null (CASE WHEN isfinite(x) THEN x END) or by a number, or drop those rows first.",
     "Replace them by null or by a number, or drop those rows first."),
    (mg.InvalidParameterError.measure("dlx", ["dld"]).sentence,
     "The measure 'dlx' of require is not known; it must be one of 'dld'. Did you mean 'dld'?",
     "The measure 'dlx' of require is not known; it must be one of 'dld'. Did you mean 'dld'?",
     "The measure 'dlx' of --require is not known; it must be one of 'dld'. Did you mean 'dld'?"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "python", "sql", "typed"), WRITTEN, ids=lambda p: str(p)[:30])
def test_each_door_has_its_spelling(part, python, sql, typed):
    assert (PYTHON.write(part), SQL.write(part), COMMAND_LINE.write(part)) == (python, sql, typed)


def test_fields_are_what_was_received_and_what_is_needed():
    error = mg.InvalidParameterError.kind("seed", "x", "a whole number of at least 0")
    assert (error.parameter, error.value) == ("seed", "x")
    assert error.need == "a whole number of at least 0"
    assert error.way == "Change it or leave it out for the default."
    refused = mg.InvalidParameterError.measure("dlx", ["dld"])
    assert (refused.parameter, refused.value) == ("require", "dlx")
    small = mg.TooFewRecordsError.of(4, 5)
    assert (small.parameter, small.value, small.fields["k"]) == (None, 4, 5)


def test_a_value_that_may_hold_data_is_not_kept():
    secret = pl.Series("age", [31337])
    error = mg.InvalidParameterError.kind("k", [secret, {"a": 31337}], "a number")
    assert str(error.value) == "(<Series>, <dict>)"
    assert b"31337" not in pickle.dumps(error)
    assert "k=[<Series>, <dict>] was given" in str(error)


def test_a_key_whose_type_is_wrong_shows_its_type():
    text, listed, option = (
        usage.wrong_key(name, value, "other")
        for name, value in (("k", "5"), ("input", ["a"]), ("columns", 3))
    )
    assert text.told(COMMAND_LINE).startswith("k='5' was given; it must be other.")
    assert listed.told(COMMAND_LINE).startswith("input=['a'] was given; it must be other.")
    assert option.told(COMMAND_LINE).startswith("--columns 3 was given; it must be other.")


def test_an_error_of_its_text_alone_is_said_as_it_is():
    for text in ("It was {odd}.", "", "k=5 {0}"):
        error = mg.TooFewRecordsError(text)
        assert [error.told(door) for door in (PYTHON, SQL, COMMAND_LINE)] == [text] * 3
    assert mg.TooFewRecordsError().told(SQL) == ""


def test_a_sentence_is_a_text():
    sentence = Sentence("Use {it}.", it=Setting("nulls", "impute"))
    assert sentence == "Use nulls='impute'."
    assert type(pickle.loads(pickle.dumps(sentence))) is Sentence
    assert Sentence("{it}", it=sentence).told(SQL) == "Use nulls := 'impute'."
