"""Calls that are meant to break the program: each ends with one sentence and the right exit code."""

import json
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from polars_microagg.cli.main import main
from tests.loop import share

SECRET = "Zelda-Secret"
N = 12
TABLE = pl.DataFrame(
    {
        "age": range(20, 20 + N),
        "pay": [float(i * i) for i in range(N)],
        "region": ["N", "S"] * (N // 2),
        "name": [f"{SECRET}-{i}" for i in range(N)],
    }
)
ROLES = ["--columns", "age,pay", "--strata", "region", "--drop", "name", "--k", "3"]
TO = ["-o", "out.parquet", "--overwrite"]
FROM = ["protect", "in.parquet", *TO]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a table in it, in which the program runs."""
    monkeypatch.chdir(tmp_path)
    TABLE.write_parquet("in.parquet")
    return tmp_path


@pytest.fixture
def call(capsys):
    """Run a command; whatever it is, it may not break."""

    def run(*arguments, found=False):
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert code in (0, 2, 3, 4, 5), (arguments, said.err)
        assert "bug" not in said.err
        assert SECRET not in said.err
        assert all(c.isprintable() or c == "\n" for c in said.err)
        assert not code or said.err.count("\n") == (0 if found and code == 4 else 1), said.err
        return code, said.err

    return run


NAMES = [
    *(
        "a\nb",
        "[x]",
        "%s%d%",
        "\x1b[31mred",
        "n" * 5000,
        "'q'",
        '"dq"',
        "a,b",
        "",
        "*",
        "^a$",
        "é😀",
    ),
    *(
        "\u202eabc",
        "$(rm)",
        "--k",
        "-",
        "None",
        "1.5",
        "a\tb",
        "\x00",
        "{x}",
        "<b>",
        "\\",
        "AGE",
        "pay ",
    ),
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:12]))
@pytest.mark.parametrize("target", ["o.parquet", "o.csv", "o.ndjson", "o.arrow", "o.duckdb::t"])
def test_any_name_of_a_column_is_published(name, target, call):
    TABLE.rename({"age": name}).write_parquet("in.parquet")
    quoted = '"' + name.replace('"', '""') + '"'
    more = ["--strata", "region", "--drop", "name", "--keep", "pay", "--k", "3"]
    code, _ = call("protect", "in.parquet", "-o", target, f"--columns={quoted}", *more)
    assert code == 0 or (name in ("", "\x00") and code == 5), name


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:12]))
def test_any_name_of_a_column_is_guessed_and_measured(name, call):
    TABLE.rename({"age": name}).write_parquet("in.parquet")
    quoted = '"' + name.replace('"', '""') + '"'
    assert call("init", "in.parquet", "-o", "job.toml", "--overwrite")[0] == 0
    assert call("risk", "in.parquet", f"--columns={quoted}")[0] == 0


OPTIONS = [
    *(
        "method",
        "k",
        "scale",
        "seed",
        "require",
        "order-by",
        "gamma",
        "separator",
        "nulls",
        "dtype",
    ),
    *(
        "small-strata",
        "center",
        "strata",
        "columns",
        "config",
        "hash-key-file",
        "manifest",
        "report",
    ),
]


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:12]))
def test_any_text_may_be_typed_for_an_option(name, call):
    for option in OPTIONS:
        call(*FROM, *ROLES, f"--{option}={name}")
    for command in ("protect", "risk", "report", "verify", "methods", "init", "completion"):
        call(command, name)
        call(name, command)


KS = {
    **dict.fromkeys(
        ["1e3", "5.0", "0", "-1", "1", "2.5", "five", "", "5,5", "0x5", "inf", "nan"], 2
    ),
    **dict.fromkeys(["True", "[5]", "1e400", "None", "4294967296", "1" * 400, "9" * 5000], 2),
    **dict.fromkeys(["5 ", " 5", "3\n", "+3", "٣", "0_3"], 0),
    **dict.fromkeys(["7", "4294967295"], 4),
}


@pytest.mark.parametrize("k", KS, ids=lambda k: ascii(k[:12]))
def test_k_is_a_whole_number_or_wrong_usage(k, call):
    code = KS[k]
    assert call(*FROM, *ROLES[:-2], f"--k={k}")[0] == code
    if code != 4:  # which warns as well
        assert call(*FROM, *ROLES[:-2], f"--k={k}", "--dry-run")[0] == code
    assert call("verify", "in.parquet", "--columns", "age", f"--k={k}")[0] == (code or 4)
    assert call("init", "in.parquet", f"--k={k}")[0] in (code, 0 if code == 4 else code)
    for option in ("--seed", "--gamma=1 --method=vmdav --seed", "--method=vmdav --gamma"):
        call(*FROM, *ROLES, *f"{option}=".split(" ")[:-1], f"{option.split(' ')[-1]}={k}")
    call("compare", "in.parquet", "--columns=age", "--methods=mdav", "--ks=3", f"--seconds={k}")


REQUIRED = {
    **dict.fromkeys(["dld", "dld<=", "<=5", "dld<=x", "dld=>5", "nonsense<=5", "k>=999", ""], 2),
    **dict.fromkeys(["dld<=5;", "'dld<=5'", "dld≤5", "{dld}<=5", "dld<=nan", "dld<=5,loss<=5"], 2),
    **dict.fromkeys(["dld<=100", "dld <= 100", "dld<=100%", "rows=5", "k=3", "suppressed<=2"], 0),
    **dict.fromkeys(["dld<=-1", "suppressed<=-1", "rows=999", "loss<=0.001"], 4),
}


@pytest.mark.parametrize("required", REQUIRED, ids=ascii)
def test_a_requirement_is_met_or_not_or_wrong_usage(required, call):
    code, _ = call(*FROM, *ROLES, f"--require={required}")
    assert code == REQUIRED[required] or (REQUIRED[required] == 4 and code == 2)


TOMLS = [
    *("x", "k", "k=", "k='5'", "k=5.0", "k=true", "k=[5]", "k=5\nk=6", "columns=5", "columns=[1]"),
    *("columns=[[1]]", "columns=[['age'],5]", "columns=[[]]", "columns=[]", "columns={a=1}"),
    *("columns=[['age','pay'],['age']]", "[k]\na=1", "[[k]]", "strata=1", "strata=[['region']]"),
    *("keep={}", "drop=[1.5]", "method=5", "method='nope'", "seed='x'", "seed=-1", "scale=5"),
    *("gamma=nan", "gamma=inf\nmethod='vmdav'", "require=5", "require=[5]", "overwrite='yes'"),
    *("manifest=5", "hash_key_file=''", "separator=5", "nothing=1", '"\\u0000"=1', "k=1979-05-27"),
    *("order_by=[5]", "refine='yes'", "refine=1", "seed=true", "scale=true", "center=1979-05-27"),
    *("method='genetic'\nsteps={a=1}", "k=9223372036854775807", f"k={'9' * 5000}", "# \x01"),
    *(
        "a=" + "[" * 5000,
        "manifest='out.parquet'",
        "report='.'",
        "report='no/x.html'",
        "\0",
        "\xff",
    ),
]


@pytest.mark.parametrize("text", TOMLS, ids=lambda text: ascii(text[:30]))
def test_a_wrong_configuration_is_a_sentence(text, call):
    Path("job.toml").write_text(text, encoding="latin-1")
    for more in ([], ["--dry-run"]):
        assert call(*FROM, "--config", "job.toml", *more)[0] in (2, 3, 5)
    assert call("compare", "in.parquet", "--config", "job.toml", "--methods=mdav", "--ks=3")[0] != 1
    assert sorted(path.name for path in Path().iterdir()) == ["in.parquet", "job.toml"]


PLACES = [
    *(
        "folder",
        "folder/",
        "loop.parquet",
        "loop/x.parquet",
        "no/such/x.parquet",
        "in.parquet/x.csv",
    ),
    *("none.duckdb", "none.duckdb::", "none.duckdb::t", "folder.duckdb::t", "n" * 300 + ".parquet"),
    *(
        "n" * 300,
        "n" * 300 + ".duckdb::t",
        ".parquet",
        "x\0.parquet",
        "x\0.duckdb::t",
        "http://a/b.csv",
    ),
    *("*.parquet", "in.xlsx", "in", "none.parquet", "loop.duckdb::t", "none.duckdb::a.b.c", "\0"),
]


@pytest.mark.parametrize("place", share(PLACES, 2), ids=lambda place: ascii(place[:20]))
def test_any_place_is_read_or_refused(place, call, folder):
    for name in ("folder", "folder.duckdb"):
        (folder / name).mkdir()
    for name in ("loop", "loop.parquet", "loop.duckdb"):
        Path(name).symlink_to(name)
    assert call("protect", place, *TO, *ROLES)[0] in (2, 3)
    commands = "risk --columns=age", "risk", "init", "verify", "report --original=in.parquet"
    for command in commands:
        assert call(*command.split(), place)[0] in (2, 3)
    assert call("risk", "in.parquet", "--columns=age", f"--original={place}")[0] in (2, 3)
    assert call(*FROM, *ROLES, f"--config={place}")[0] == 2
    assert call(*FROM, *ROLES, f"--hash-key-file={place}")[0] in (2, 3)
    assert not Path("out.parquet").exists()
    for option in ("--manifest", "--report", "-o"):
        call("protect", "in.parquet", "-o", "a.parquet", *ROLES, option, place, "--dry-run")
    call("init", "in.parquet", "-o", place)


def test_one_file_has_one_use(call):
    before = Path("in.parquet").read_bytes()
    Path("key").write_bytes(b"k" * 32)
    Path("link.parquet").symlink_to("in.parquet")
    for same in ("in.parquet", "./in.parquet", "link.parquet"):
        assert call("protect", "in.parquet", "-o", same, *ROLES, "--overwrite")[0] == 2
        for option in ("--manifest", "--report", "--config", "--hash-key-file"):
            assert call(*FROM, *ROLES, option, same)[0] in (2, 3)
            assert call(*FROM, *ROLES, option, "out.parquet")[0] in (2, 3)
    assert call(*FROM, *ROLES, "--manifest", "m", "--report", "m")[0] == 2
    assert call(*FROM, *ROLES, "--hash-key-file=key", "--manifest=key")[0] == 2
    assert call(*FROM, *ROLES, *ROLES)[0] == 2
    assert call("init", "in.parquet", "-o", "in.parquet", "--overwrite")[0] == 2
    assert Path("in.parquet").read_bytes() == before


TABLES = {
    "no columns": pl.DataFrame(),
    "no rows": TABLE.clear(),
    "one row": TABLE.head(1),
    "all null": TABLE.with_columns(age=pl.lit(None, dtype=pl.Int64)),
    "null type": TABLE.with_columns(age=pl.lit(None)),
    "constant": TABLE.with_columns(age=pl.lit(1)),
    "text": TABLE.with_columns(age=pl.lit(SECRET)),
    "list": TABLE.with_columns(age=pl.concat_list("age")),
    "empty struct": TABLE.with_columns(age=pl.Series([{}] * N, dtype=pl.Struct([]))),
    "nan": TABLE.with_columns(pay=pl.lit(float("nan"))),
    "infinite": TABLE.with_columns(pay=pl.lit(float("inf"))),
    "huge": TABLE.with_columns(pay=pl.Series([1e308, -1e308] * (N // 2))),
    "subnormal": TABLE.with_columns(pay=pl.Series([5e-324 * i for i in range(N)])),
    "wide": TABLE.with_columns(age=pl.Series([2**100 + i for i in range(N)], dtype=pl.Int128)),
    "enum": TABLE.with_columns(age=pl.col("name").cast(pl.Enum(TABLE["name"]))),
    "unique strata": TABLE.with_columns(region=pl.col("name")),
    "strata of lists": TABLE.with_columns(region=pl.concat_list("region")),
}


DRAWN = ("constant", "huge", "subnormal")
"""Which of them get a report, which takes a while."""


@pytest.mark.parametrize("case", TABLES)
def test_any_table_is_published_or_refused(case, call):
    TABLES[case].write_ipc("in.arrow")
    for target in ("out.parquet", "out.csv", "out.duckdb::t"):
        release = ["protect", "in.arrow", "-o", target, *ROLES, "--overwrite"]
        report = ["--report", "page.html"] if case in DRAWN and target == "out.parquet" else []
        code, _ = call(*release, *report)
        assert code != 2
        assert (code == 0) == Path(target.partition("::")[0]).exists()
    call("init", "in.arrow")
    call("risk", "in.arrow", "--columns=age,pay")


def spots(value, at=()):
    """The way to every part of a JSON value."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in inner:
        yield (*at, key)
        yield from spots(part, (*at, key))


def test_a_manifest_that_was_changed_anywhere_is_told(call):
    assert call(*FROM, *ROLES, "--require=dld<=100")[0] == 0
    path = Path("out.parquet.manifest.json")
    text = path.read_text()
    strange = [None, [], {}, "\x1b[31m", True, 1e308, 10**30, -1]
    for number, spot in enumerate(spots(json.loads(text))):
        manifest = part = json.loads(text)
        for key in spot[:-1]:
            part = part[key]
        part[spot[-1]] = strange[number % len(strange)]
        path.write_text(json.dumps(manifest))
        assert call("verify", "out.parquet", found=True)[0] in (0, 3, 4)
        if number % 7 == 0:
            more = ["-o", "r.html", "--overwrite", "--seconds=0"]
            assert call("report", "out.parquet", "--original=in.parquet", *more)[0] in (0, 3, 4)
    wrong = [text[:at] for at in range(0, len(text) - 1, len(text) // 8)]
    for content in [*wrong, "null", "[]", "{}", "[" * 100_000, '{"schema": 1}', "\xff"]:
        path.write_text(content, encoding="latin-1")
        assert call("verify", "out.parquet")[0] == 3


def test_no_two_options_together_break_it(call):
    words = [
        "--json",
        "--dry-run",
        "--refine",
        "--strata=age",
        "--keep=age",
        "--k=2",
        "-o-",
        "--",
        "-",
    ]
    for one, other in product(words, words):
        if "-o-" not in (one, other):
            call(*FROM, *ROLES, one, other)
