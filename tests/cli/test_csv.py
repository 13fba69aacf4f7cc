"""CSV files as people have them: read as they are, or refused on the right line, never guessed."""

import datetime as dt
import io
import shlex

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats import csv_errors
from polars_microagg.publishing.formats.csv_errors import refuse_encoding
from polars_microagg.publishing.formats.text_types import typed

from .conftest import called

LINES = [f"P{i},N,{20 + i // 2},{1000 + 7 * i}" for i in range(20)]
HEADER = "id,region,age,income"
ROLES = ["--columns", "age,income", "--strata", "region", "--drop", "id", "--k", "5"]


def text(lines=LINES, header=HEADER):
    return "\n".join([header, *lines]) + "\n"


def with_line(number, line):
    """The file with one of its lines changed; the header is line 1."""
    return text([*LINES[: number - 2], line, *LINES[number - 1 :]])


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def protect(folder, content, *more, name="in.csv"):
    written(folder / name, content)
    found = called(folder, "protect", name, "-o", "o.csv", *(more or ROLES))
    assert (found[0] == 0) == (folder / "o.csv").exists()
    return found


WRONG = {
    "a text in a number column": (with_line(9, "P7,N,Zelda,1049"), "Column 'age' has 1 cell(s) that are no numbers, the first of them on line 9 of 'in.csv'."),
    "after a line break in a cell": (text(['"P\n\n0",N,20,1000', *LINES[1:6], "P6,N,?,1042", *LINES[7:]]), "Column 'age' has 1 cell(s) that are no numbers, the first of them on line 10 of 'in.csv'."),
    "in a record with a line break": (text([*LINES[:3], '"P\n3",N,?,1021', *LINES[4:]]), "the first of them on line 5 of 'in.csv'."),
    "after an empty line": (text([*LINES[:3], "", *LINES[3:6], "P6,N,?,1042", *LINES[7:]]), "on line 9 of 'in.csv'."),
    "a decimal comma": (text([line.rpartition(",")[0] + ',"1,5"' for line in LINES]), "Column 'income' looks like numbers with other marks than a point; they would be masked as categories. Write them as 1234.5, or name the column in --nominal."),
    "slashes": (text([f"{line},0{i % 9 + 1}/02/2024" for i, line in enumerate(LINES)], HEADER + ",born"), "Column 'born' has dates such as DD/MM/YYYY, of which nobody can tell the day from the month. Write them as YYYY-MM-DD"),
    "dots": (text([f"{line},0{i % 9 + 1}.02.24" for i, line in enumerate(LINES)], HEADER + ",born"), "Column 'born' has dates such as DD/MM/YYYY"),
    "latin-1": (with_line(5, "Jürgen,N,23,1021").encode("latin-1"), "'in.csv' cannot be read: line 5 has bytes that are not UTF-8, perhaps of Latin-1."),
    "a latin-1 header": (text(header="id,région,age,income").encode("latin-1"), "line 1 has bytes that are not UTF-8"),
    "cut in a character": (text().encode() + b"P20,N,40,\xc3", "line 22 has bytes that are not UTF-8"),
    "utf-16": (text().encode("utf-16"), "'in.csv' cannot be read: it is UTF-16. Save it as UTF-8, as with iconv -f utf-16 -t utf-8."),
    "too few cells": (with_line(7, "P5,N,25"), "'in.csv' cannot be read: line 7 has 3 cell(s) and not the 4 of the header."),
    "too many cells": (with_line(7, "P5,N,25,1035,x"), "line 7 has 5 cell(s) and not the 4 of the header."),
    "too few after a break": (text(['"P\n0",N,20,1000', "", "P1,N,21"]), "line 5 has 3 cell(s)"),
    "semicolons": (text().replace(",", ";"), "'in.csv' cannot be read: it looks separated by ';', and would be a single column. Add --separator ';', or --separator , if it is one column."),
    "tabs": (text().replace(",", "\t"), "it looks separated by tab, and would be a single column. Add --separator tab"),
    "empty": ("", "'in.csv' cannot be read: it is empty. Write a table to it first."),
    "a header alone": (HEADER + "\n", "'in.csv' cannot be read: it has a header and no record behind it."),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_its_line(case, tmp_path, monkeypatch, microagg):
    content, said = WRONG[case]
    more = [*ROLES[:1], "born,income", *ROLES[2:], "--keep", "age"] if "born" in said else []
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "in.csv", content)
    done = microagg("protect", "in.csv", "-o", "o.csv", *(more or ROLES))
    found = done.err
    assert done.code == 3, found
    assert said in found
    assert not (tmp_path / "o.csv").exists()
    assert found.count("\n") == 1
    for value in ("Zelda", "rgen", "1049", "P6", "02/2024"):
        assert value not in found


@pytest.mark.deep
def test_a_column_of_another_separator_is_read_when_it_is_said(tmp_path):
    roles = [*ROLES, "--separator", ";", "--overwrite"]
    code, said = protect(tmp_path, text().replace(",", ";"), *roles, name="s.csv")
    assert code == 0, said
    released = (tmp_path / "o.csv").read_bytes()
    assert protect(tmp_path, text(), *ROLES, "--overwrite")[0] == 0
    assert released == (tmp_path / "o.csv").read_bytes()
    with_original = ["--original", "s.csv", "--separator", ";"]
    assert called(tmp_path, "verify", "o.csv", *with_original)[0] == 0
    assert called(tmp_path, "verify", "o.csv", *with_original[2:]) == (
        2,
        "--separator is of the original. Add --original.\n",
    )
    assert called(tmp_path, "risk", "o.csv", *with_original)[0] == 0
    compared = ["--columns", "age,income", "--methods", "mdav", "--ks", "5"]
    assert called(tmp_path, "compare", "s.csv", *compared, "--separator", ";")[0] == 0


@pytest.mark.deep
def test_the_separator_is_a_key_of_the_configuration_that_init_writes(tmp_path):
    (tmp_path / "in.csv").write_text(text().replace(",", "\t"))
    assert called(tmp_path, "init", "in.csv", "-o", "job.toml")[0] == 3
    options = ["-o", "job.toml", "--separator", "tab", "-k", "2"]
    assert called(tmp_path, "init", "in.csv", *options)[0] == 0
    job = (tmp_path / "job.toml").read_text()
    assert 'separator = "\\t"' in job
    code, said = called(tmp_path, "protect", "in.csv", "-o", "o.csv", "--config", "job.toml")
    assert code == 0, said
    assert pl.read_csv(tmp_path / "o.csv").height == 20


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 11, 64])
def test_the_line_does_not_depend_on_how_much_is_read_at_a_time(piece, monkeypatch):
    monkeypatch.setattr(csv_errors, "PIECE", piece)
    refuse_encoding(io.BytesIO("é\n\nüü\n€\n".encode()))
    with pytest.raises(mg.InvalidDataError, match="^line 4 has bytes that are not UTF-8"):
        refuse_encoding(io.BytesIO("é\n\nüü\n€".encode() + b"\xff\n\n"))


@pytest.mark.parametrize("mark", [";;", "a", '"', "", "é", "."])
def test_what_is_no_separator_is_refused(mark, microagg):
    done = microagg("protect", "in.csv", "-o", "o.csv", *ROLES, "--separator", mark)
    said = done.err
    assert done.code == 2
    assert f"--separator {shlex.quote(mark)} was given; it must be one character such as ;" in said


def test_only_csv_has_a_separator(source, tmp_path):
    roles = ["--columns", "age", "--k", "5", "--separator", ";"]
    code, said = called(tmp_path, "protect", "in.parquet", "-o", "o.csv", *roles)
    assert (code, said) == (2, "--separator is for CSV, and 'in.parquet' is none. Leave it out.\n")


def test_one_column_may_have_any_name_when_the_separator_is_said(tmp_path):
    content = "a;b\n" + "\n".join(str(i) for i in range(20)) + "\n"
    roles = ["--columns", "a;b", "--k", "5"]
    assert protect(tmp_path, content, *roles)[0] == 3
    assert protect(tmp_path, content, *roles, "--separator", ",")[0] == 0
    assert called(tmp_path, "verify", "o.csv")[0] == 0


def test_kept_text_that_looks_like_a_date_stays_as_it_is(tmp_path):
    days = [f"0{i % 9 + 1}/02/2024" for i in range(20)]
    lines = [f"{line},{day}" for line, day in zip(LINES, days, strict=True)]
    code, said = protect(tmp_path, text(lines, HEADER + ",seen"), *ROLES, "--keep", "seen")
    assert code == 0, said
    assert pl.read_csv(tmp_path / "o.csv", infer_schema=False)["seen"].to_list() == days


NOON = dt.datetime(2024, 2, 1, 12, 30)
READS = {
    "2024-02-01": dt.date(2024, 2, 1),
    "2024-02-01 12:30": NOON,
    "2024-02-01T12:30:00": NOON,
    "2024-02-01T12:30:00.500000000": NOON.replace(microsecond=500_000),
    "2024-02-01T12:30Z": NOON.replace(tzinfo=dt.UTC),
    "2024-02-01T13:30:00+0100": NOON.replace(tzinfo=dt.UTC),
    "2024-02-01T13:30:00.0+01:00": NOON.replace(tzinfo=dt.UTC),
    "12:30:00": dt.time(12, 30),
    "+5": 5,
    " 1e3 ": 1000.0,
}
STAYS = [
    "01/02/2024",
    "2024/02/01",
    "01-02-24",
    "1.2.2024",
    "2024-02-30",
    "01-02-2024",
    "12:30",
    "1,5",
]


@pytest.mark.parametrize("cell", [*READS, *STAYS])
def test_only_what_has_one_meaning_is_read(cell):
    column = typed(pl.DataFrame({"a": [cell, None]}), ["a"])["a"]
    assert column[0] == READS.get(cell, cell)
    assert type(column[0]) is type(READS.get(cell, cell))
