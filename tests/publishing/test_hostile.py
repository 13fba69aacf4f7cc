"""Names and paths that would like to be something else: nothing runs, nothing is written elsewhere."""

import itertools
import json
import re
import sys

import polars as pl
import pytest

from polars_microagg.cli.init import configuration
from polars_microagg.cli.main import main
from polars_microagg.cli.settings import KEYS
from polars_microagg.publishing.formats.files import Location

PIECES = [
    "'; DROP TABLE t; --", '"; COPY (SELECT 1) TO \'{out}/pwned\'; --', "$(touch {out}/pwned)",
    "`touch {out}/pwned`", "; touch {out}/pwned", "| touch {out}/pwned", "&& touch {out}/pwned",
    "{{__import__('os').system('touch {out}/pwned')}}", "%(name)s", "{0.__class__}", "${HOME}",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</style><script>", "&lt;", "javascript:alert(1)",
    "../../pwned", "..\\..\\pwned", "C:\\pwned", "file://pwned", "http://127.0.0.1:9/x", "s3://bucket/x",
    "*", "^a$", "^.*$", "a,b", 'a"b', "a'b", "a\\b", "a\nb", "a\rb", "a\tb", "a\x1b[2Jb", "a\x07b", "\u202eabc",
    "\x7f", "\u0085", "\u2028", "é", "名前", "🦆", "a\u0301", " ", "  x  ", "-k", "--columns", "--", "-",
    "#", "# x = 1", "[table]", "x = 1", '"""', "'''", "=1+1", "+1", "-1", "@SUM(A1)", "NULL", "null", "None", "nan",
    "true", "__mg_row", "__microagg_new__", "__microagg_frame__", "stratum", "size", "empty", "len", "0", "1", "k", "literal",
    "select", "order", "x" * 300, "%s%n", "\\x00", "a;b", "a:b", "a::b", "x.duckdb::t", "~", "~root", ".", "..",
    "con", "nul", "a?b", "a[0]", "[!a]", "{a,b}",
]  # fmt: skip
NAMES = [*PIECES, *(a + b for a, b in itertools.product(PIECES[:12], PIECES[11:21]))][:200]
assert len(NAMES) == 200


def outside(root):
    return sorted(
        str(p.relative_to(root)) for p in root.rglob("*") if "in" not in p.relative_to(root).parts
    )


def frame(name, other="plain"):
    return pl.DataFrame({name: [1, 2, 3, 4, 40, 41, 42, 43], other: ["a", "b"] * 4})


@pytest.fixture
def guarded(tmp_path, monkeypatch):
    """A folder to work in, and a process in which nothing is started or connected to."""
    (tmp_path / "in").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    events = []
    watching = True

    def audit(event, arguments):
        if watching and event in (
            "os.system",
            "os.exec",
            "os.posix_spawn",
            "subprocess.Popen",
            "socket.connect",
        ):
            events.append(event)

    sys.addaudithook(audit)
    yield tmp_path
    watching = False
    assert not events


def quiet(capsys):
    """What was said is plain text: no escape sequence, no line of its own making."""
    said = capsys.readouterr()
    assert "\x1b" not in said.err + said.out
    assert "Traceback" not in said.err
    return said


@pytest.mark.deep
def test_200_names_of_columns(guarded, capsys):
    """As masked column and as kept column, from a configuration, through all of the formats."""
    folder = guarded / "in"
    formats = ["parquet", "csv", "arrow", "arrows", "ndjson", "duckdb::t"]
    done = 0
    for number, raw in enumerate(NAMES):
        name = raw.replace("{out}", str(guarded))
        source, target = folder / "in.parquet", f"{folder}/out.{formats[number % 6]}"
        frame(name, "other").write_parquet(source)
        text = configuration(frame(name, "other"), 2)
        text = text.split("columns = [")[0] + f"columns = [{toml(name)}]\nkeep = ['other']\nk = 2\n"
        (folder / "job.toml").write_text(text, encoding="utf-8")
        arguments = [
            "protect",
            str(source),
            "-o",
            target,
            "--config",
            str(folder / "job.toml"),
            "--overwrite",
        ]
        if number % 10 == 0:
            assert main([*arguments, "--dry-run"]) == 0, name
        html = folder / "report.html"
        code = main([*arguments, "--report", str(html)] if number % 20 == 0 else arguments)
        said = quiet(capsys)
        assert code == 0, (name, said.err)
        if number % 20 == 0:
            assert not re.search(r"<img|<script", html.read_text())
        record = folder / (target.rpartition("/")[2].replace("::", ".") + ".manifest.json")
        assert json.loads(record.read_text())["roles"]["mask"] == [name]
        if number % 7 == 0:
            assert main(["verify", target]) == 0, name
            assert main(["risk", target, "--original", str(source)]) == 0
        assert outside(guarded) == ["home"]
        done += 1
    assert done == 200


def toml(name):
    from polars_microagg.cli.init import toml_string

    return toml_string(name)


@pytest.mark.deep
def test_200_names_are_guessed_into_a_configuration_that_reads(guarded):
    import tomllib

    for raw in NAMES:
        name = raw.replace("{out}", str(guarded))
        text = configuration(frame(name, "other"), 2)
        read = tomllib.loads(text)
        roles = [*read["columns"], *read["strata"], *read["keep"], *read["drop"]]
        asked = [
            line
            for line in text.splitlines()
            if line.startswith((f"# {toml(name)}: ", f"# {name}: "))
        ]
        assert (name in roles) != bool(asked)
        assert len(roles) == 2 - len([line for line in text.splitlines() if line.endswith("?")])
        assert set(read) <= {*KEYS, "columns", "strata", "keep", "drop", "k", "method", "require"}


@pytest.mark.deep
def test_200_paths(guarded, capsys):
    """As the name of the target: written just there, or refused in a sentence."""
    folder = guarded / "in"
    source = folder / "in.parquet"
    frame("a").write_parquet(source)
    written = 0
    for raw in NAMES:
        name = raw.replace("{out}", "x").replace("/", "_").replace(".duckdb::", ".duckdb")
        target = folder / f"{name}.parquet"
        code = main(
            ["protect", str(source), "-o", str(target), "--columns", "a", "--keep", "plain", "-k2"]
        )
        said = quiet(capsys)
        assert said.err.count("\n") >= 1
        if code == 0:
            assert Location.of(target).read()["a"].n_unique() <= 4
            written += 1
            assert main(["verify", str(target)]) == 0
            target.unlink()
            target.with_name(f"{target.name}.manifest.json").unlink()
        else:
            assert code == 5, said.err
            assert len(name) > 200
        assert sorted(path.name for path in folder.iterdir()) == ["in.parquet"]
        assert outside(guarded) == ["home"]
    assert written >= 195


@pytest.mark.deep
def test_names_of_tables(guarded, capsys):
    folder = guarded / "in"
    source = folder / "in.parquet"
    frame("a").write_parquet(source)
    for raw in NAMES[::4]:
        target = f"{folder}/a.duckdb::{raw.replace('{out}', str(guarded))}"
        code = main(
            [
                "protect",
                str(source),
                "-o",
                target,
                "--columns",
                "a",
                "--keep",
                "plain",
                "-k2",
                "--overwrite",
            ]
        )
        said = quiet(capsys)
        assert code == 0, (raw, said.err)
        assert main(["verify", target]) == 0, raw
        assert outside(guarded) == ["home"]


def test_paths_that_lead_elsewhere_are_never_read_by_a_manifest(guarded, capsys):
    """A manifest names its file; the name is told and never opened."""
    folder = guarded / "in"
    source, target = folder / "in.parquet", folder / "out.parquet"
    frame("a").write_parquet(source)
    assert (
        main(
            ["protect", str(source), "-o", str(target), "--columns", "a", "--keep", "plain", "-k2"]
        )
        == 0
    )
    record = folder / "out.parquet.manifest.json"
    told = json.loads(record.read_text())
    told["output"]["name"] = "../../etc/passwd\x1b[2J"
    record.write_text(json.dumps(told))
    capsys.readouterr()
    assert main(["verify", str(target)]) == 4
    assert "The manifest is that of '../../etc/passwd" in quiet(capsys).out
    assert outside(guarded) == ["home"]
