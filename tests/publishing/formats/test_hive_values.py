"""Values of keys in the names of folders stand in no message, as they are values of records."""

from __future__ import annotations

import contextlib
import io
import logging
import traceback

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.main import main
from polars_microagg.out_of_core.parquet import protect_parquet
from polars_microagg.publishing import memory
from polars_microagg.wording import shown_path

SECRET = "Zelda"
TABLE = pl.DataFrame({"age": [31, 47, 52, 60], "pay": [1.5, 2.5, 3.5, 9.0]})
WRITE = {
    "parquet": pl.DataFrame.write_parquet,
    "csv": pl.DataFrame.write_csv,
    "ndjson": pl.DataFrame.write_ndjson,
    "arrow": pl.DataFrame.write_ipc,
}


def other(text):
    return lambda path: path.write_bytes(text)


def other_format(path):
    path.unlink()
    TABLE.write_csv(path.with_suffix(".csv" if path.suffix != ".csv" else ".tsv"))
    TABLE.write_parquet(path.with_suffix(".parquet" if path.suffix != ".parquet" else ".pq"))


def other_key(path):
    aside = path.parent.parent / f"name={SECRET}"
    aside.mkdir()
    path.rename(aside / path.name)


SCAN = {
    "parquet": pl.scan_parquet,
    "csv": pl.scan_csv,
    "ndjson": pl.scan_ndjson,
    "arrow": pl.scan_ipc,
}
WRONG = {
    "empty": other(b""),
    "garbage": other(b"PAR1 no whole file PAR1"),
    "not utf-8": other("age,pay\n31,é\n".encode("latin-1")),
    "ragged": other(b"age,pay\n31,2,3\n"),
    "no number": other(b"age,pay\n" + b"31,1\n" * 30 + b"x,1\n"),
    "no json": other(b'{"age": 1, "pay": 2}\n{"age": '),
    "compressed": other(b"\x1f\x8b\x08\x00broken"),
    "another format": other_format,
    "another key": other_key,
}


@pytest.fixture
def hive(tmp_path, request):
    """A folder of files, the second of which is below the name of a person and wrong."""
    form, wrong = request.param
    for name in ("Anna", SECRET):
        folder = tmp_path / "hive" / f"patient={name}"
        folder.mkdir(parents=True)
        WRITE[form](TABLE, folder / f"x.{form}")
    if wrong == "another schema":
        WRITE[form](TABLE.rename({"pay": "wage"}), folder / f"x.{form}")
    else:
        WRONG[wrong](folder / f"x.{form}")
    return tmp_path / "hive"


def said(caplog, function, *given, **options):
    """All that a call says: its error with its chain, its log, and both streams."""
    out, err = io.StringIO(), io.StringIO()
    text = ""
    with (
        caplog.at_level(logging.DEBUG),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            function(*given, **options)
        except Exception as error:
            # Paths of this file would name the test, and lines of code are no message.
            text = "".join(traceback.format_exception_only(error))
            while error is not None:
                text += f"{error!r} {error} "
                error = error.__cause__ or error.__context__
    return f"{text} {caplog.text} {out.getvalue()} {err.getvalue()}"


CASES = [(form, wrong) for form in WRITE for wrong in [*WRONG, "another schema"]]


@pytest.mark.parametrize("hive", CASES, indirect=True, ids="-".join)
def test_no_message_names_the_value_of_a_key(hive, request, tmp_path, caplog, monkeypatch):
    form = request.node.callspec.params["hive"][0]
    target, texts = tmp_path / "out.parquet", []

    def call(function, *given, **options):
        texts.append(said(caplog, function, *given, **options))

    for pattern in (hive, hive / "*" / f"x.{form}", hive / "patient=*"):
        monkeypatch.setattr(memory, "BASE", 10**15)
        roles = {"drop": "patient", "keep": ["pay"]}
        call(mg.publish, pattern, target, "age", 2, **roles, memory="2GB")
        monkeypatch.undo()
        call(mg.publish, pattern, target, "age", 2, **roles)
        asked = ["protect", str(pattern), "-o", str(target), "--columns", "age", "-k", "2"]
        asked += ["--drop", "patient", "--keep", "pay", "--overwrite"]
        for more in ([], ["--dry-run"], ["--json"], ["--progress", "lines"]):
            call(main, [*asked, *more])
    for command in (["verify"], ["risk"], ["init"], ["compare", "--ks", "2"]):
        columns = [] if command == ["init"] else ["--columns", "age"]
        call(main, [*command, str(hive), *columns])
    if form == "parquet":
        call(protect_parquet, str(hive), target, "age", 2)
        call(mg.verify, str(hive), "age", 2, memory="1GB")
    plan = SCAN[form](hive / "*" / f"x.{form}")
    call(mg.publish, plan, target, "age", 2, keep="pay", drop=[])
    assert [text for text in texts if SECRET in text] == []
    if request.node.name.endswith(("-empty]", "-garbage]")):
        assert f"hive/patient=.../x.{form}' cannot be read" in texts[0]


def test_the_name_of_a_key_and_the_file_are_shown():
    path = f"in/patient={SECRET}/year=2024/x.parquet"
    assert shown_path(path) == "in/patient=.../year=.../x.parquet"
    assert shown_path(f"in/patient={SECRET}.csv") == "in/patient=..."
    assert shown_path("in/x.csv") == "in/x.csv"
