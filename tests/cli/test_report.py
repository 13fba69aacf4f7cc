"""The demo and the report: files for those who look."""

import re

import polars as pl
import pytest

from .conftest import ROLES, SECRET, sound, state


def test_the_demo_shows_and_writes_a_release(tmp_path, microagg):
    folder = tmp_path / "demo"
    done = microagg("demo", folder)
    assert done.code == 0, done.err
    for words in ("Before:", "After:", "of the information", "shared by at least 5 patients"):
        assert words in done.out
    names = {path.name for path in folder.iterdir()}
    assert names >= {
        "patients.csv",
        "patients_masked.csv",
        "patients_masked.csv.manifest.json",
        "report.html",
    }
    assert (
        microagg(
            "verify", folder / "patients_masked.csv", "--original", folder / "patients.csv"
        ).code
        == 0
    )
    assert microagg("demo", folder).code == 2
    assert microagg("demo", folder, "--overwrite").code == 0


def test_a_report_goes_with_the_release_or_with_nothing(source, tmp_path, microagg):
    html = tmp_path / "report.html"
    arguments = ["protect", source, "-o", tmp_path / "out.parquet", *ROLES, "--report", html]
    assert microagg(*arguments, "--require", "loss<=0.5").code == 4
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
    assert microagg(*arguments).code == 0
    page = html.read_text()
    assert SECRET not in page
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", page)
    report = ["report", tmp_path / "out.parquet", "--original", source, "-o", html]
    assert microagg(*report).code == 2
    again = microagg(*report, "--overwrite")
    assert again.code == 0, again.err
    assert "What is not shown" in html.read_text()  # a map would tell too much of 60 records
    pl.read_parquet(tmp_path / "out.parquet").with_columns(age=1).write_parquet(
        tmp_path / "out.parquet"
    )
    done = microagg(*report, "--overwrite")
    assert done.code == 3
    assert "not what its manifest says" in done.err


def absent(monkeypatch, *packages):
    """Let packages seem not to be installed."""
    for module in ("environment", "svg"):
        monkeypatch.setattr(
            f"polars_microagg.report.{module}.find_spec",
            lambda name: None if name in packages else object(),
        )


@pytest.mark.parametrize("package", ["altair", pytest.param("vl_convert", marks=pytest.mark.deep)])
def test_without_what_draws_the_page_has_no_charts_and_says_so(
    package, source, tmp_path, microagg, monkeypatch
):
    absent(monkeypatch, package)
    html = tmp_path / "r.html"
    out = tmp_path / "o.parquet"
    done = microagg("protect", source, "-o", out, *ROLES, "--report", html, "--require", "dld<=90")
    assert done.code == 0
    assert "has no charts" in done.err
    assert "pip install jinja2 altair vl-convert-python" in done.err
    page = html.read_text()
    for words in (
        "There are no charts",
        "What this does not protect against",
        "dld&lt;=90",
        "measures.k_prime",  # of the manifest, as the page of a charted release has it
        "Content-Security-Policy",
    ):
        assert words in page
    again = microagg(
        "report", out, "--original", source, "-o", html, "--overwrite", "--seconds", "0"
    )
    assert again.code == 0
    assert "has no charts" in again.err


def test_without_templates_a_report_is_refused_before_anything_is_done(
    source, tmp_path, microagg, monkeypatch
):
    out, html = tmp_path / "o.parquet", tmp_path / "r.html"
    assert microagg("protect", source, "-o", out, *ROLES).code == 0
    absent(monkeypatch, "jinja2")
    before = state(tmp_path)
    sentence = "A report needs jinja2, which is not installed. .* pip install jinja2 altair"
    other = tmp_path / "p.parquet"
    for arguments in (
        ("protect", source, "-o", other, *ROLES, "--report", html),
        ("protect", source, "-o", other, *ROLES, "--report", html, "--dry-run"),
        ("report", out, "--original", source, "-o", html),
    ):
        sound(microagg(*arguments), 2, sentence, tmp_path, before)


def test_without_templates_the_demo_has_no_report(tmp_path, microagg, monkeypatch):
    absent(monkeypatch, "jinja2")
    done = microagg("demo", tmp_path / "demo")
    assert done.code == 0, done.err
    assert "Reports need jinja2" in done.err
    assert "report.html" not in done.out
    assert (tmp_path / "demo" / "patients_masked.csv").exists()
    assert not (tmp_path / "demo" / "report.html").exists()


def test_a_report_that_fails_at_the_end_does_not_deny_the_release(
    source, tmp_path, microagg, monkeypatch
):
    def failing(part, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("polars_microagg.publishing.atomic.put_in_place", failing)
    arguments = [
        "protect",
        source,
        "-o",
        tmp_path / "out.parquet",
        *ROLES,
        "--report",
        tmp_path / "r.html",
    ]
    done = microagg(*arguments)
    assert done.code == 5
    assert (
        "out.parquet is published, and its report could not be put in place: No space left"
        in done.err
    )
    assert "Nothing was published" not in done.err
    assert microagg("verify", tmp_path / "out.parquet").code == 0
    assert {path.suffix for path in tmp_path.iterdir()} == {".parquet", ".json"}


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda people: people.sample(fraction=1, shuffle=True, seed=2), "'region'"),
        (lambda people: people.with_columns(pl.col("age").shuffle(seed=2)), "not centres"),
        (lambda people: people.with_columns(pl.col("age", "income").reverse()), "not centres"),
        (lambda people: people.with_columns(pl.col("region").reverse()), "'region'"),
        (lambda people: people.with_columns(kept=pl.col("kept").reverse()), "'kept'"),
    ],
    ids=["shuffled", "age", "masked", "stratum", "kept"],
)
def test_another_original_gives_no_page(form, wrong, said, people, tmp_path, microagg):
    people = people.with_columns(kept=pl.int_range(pl.len()))
    out, other, html = tmp_path / "o.csv", tmp_path / f"other.{form}", tmp_path / "r.html"
    people.write_parquet(tmp_path / "in.parquet")
    roles = [*ROLES, "--keep", "kept"]
    assert microagg("protect", tmp_path / "in.parquet", "-o", out, *roles).code == 0
    report = ["report", out, "-o", html, "--seconds", "0", "--original"]
    for table, code in ((wrong(people), 3), (people, 0)):
        getattr(table, f"write_{form}")(other)
        done = microagg(*report, other)
        assert done.code == code, done.err
        assert html.exists() == (code == 0)
        if code:
            assert done.err.startswith(f"{str(other)!r} is not the table before this release: ")
            assert done.err.count("\n") == 1
        assert microagg("risk", out, "--original", other, "--json").code == code
        done = microagg("risk", out, "--original", other)
        assert done.code == code
        assert (said in done.err) == (code == 3)


def test_rows_that_match_by_a_key_may_be_in_another_order(people, tmp_path, microagg):
    people = people.with_columns(id=pl.int_range(pl.len()))
    people.write_csv(tmp_path / "in.csv")
    roles = [*ROLES, "--keep", "id"]
    assert microagg("protect", tmp_path / "in.csv", "-o", tmp_path / "o.csv", *roles).code == 0
    risk = ["risk", tmp_path / "o.csv", "--original", tmp_path / "in.csv", "--known", "age"]
    for table, keyed, plain in (
        (people, 0, 0),
        (people.reverse(), 0, 3),
        (people.with_columns(pl.col("income").reverse()), 3, 3),
    ):
        table.write_csv(tmp_path / "in.csv")
        assert microagg(*risk, "--key", "id").code == keyed
        assert microagg(*risk).code == plain
