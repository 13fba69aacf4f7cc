"""Suppressed records are released records: k holds for them, and they are told of."""

import json

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.main import main
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.check import check

pytestmark = pytest.mark.whole

ENGINES = ["in-memory", "streaming"]
PATIENTS = pl.DataFrame(
    {
        "age": [31, 67, 34, 39, 71, 62, 45],
        "income": [21_000, 37_800, 19_500, 24_300, 44_000, 40_100, 30_000],
        "region": ["N"] * 6 + ["S"],
        "dx": ["flu", "flu", "cold", "cold", "flu", "cold", "hiv"],
    }
)
THREE_SMALL = PATIENTS.with_columns(region=pl.Series(["N"] * 3 + ["S", "S", "W", "W"]))
MANY = pl.concat([PATIENTS.head(6)] * 20 + [THREE_SMALL.tail(4)])
"""Enough records for a loss to be told."""

KEYS = ["age", "income"]


def smallest(frame, columns):
    """The smallest class, counted one record at a time."""
    rows = frame.select(columns).rows()
    return min(rows.count(row) for row in rows)


def every_frame(frame, columns, k, **options):
    """Mask a frame and its plan on both engines; they give the same."""
    masked = mg.mdav(frame, columns, k, **options)
    for engine in ENGINES:
        plan = mg.mdav(frame.lazy(), columns, k, **options)
        assert plan.collect(engine=engine).equals(masked)
        assert plan.collect_schema() == frame.schema
    return masked


# --- Frames -----------------------------------------------------------------------------------


def test_a_record_alone_in_its_stratum_is_not_emptied_but_refused():
    need = "small_strata='null' would empty 1 record.*k=3 needs at least 3.*small_strata='drop'"
    with pytest.raises(mg.TooFewRecordsError, match=need):
        mg.mdav(PATIENTS, KEYS, 3, strata="region", small_strata="null")
    for engine in ENGINES:
        plan = mg.mdav(PATIENTS.lazy(), KEYS, 3, strata="region", small_strata="null")
        with pytest.raises(mg.TooFewRecordsError, match=need):
            plan.collect(engine=engine)


def test_the_strata_of_emptied_records_are_emptied():
    masked = every_frame(THREE_SMALL, KEYS, 3, strata="region", small_strata="null")
    assert masked["region"].to_list() == ["N"] * 3 + [None] * 4
    assert masked.filter(pl.col("region").is_null()).select(KEYS).null_count().row(0) == (4, 4)
    assert masked["dx"].equals(THREE_SMALL["dx"])
    assert smallest(masked, [*KEYS, "region"]) == 3


def test_dropped_records_do_not_come_out():
    masked = every_frame(PATIENTS, KEYS, 3, strata="region", small_strata="drop")
    expected = mg.mdav(PATIENTS.head(6), KEYS, 3, strata="region")
    assert masked.equals(expected)
    groups = mg.groups(PATIENTS, KEYS, 3, strata="region", small_strata="drop")
    assert groups.height == 6
    assert groups["microagg_group"].null_count() == 0


def test_a_later_filter_of_a_stratum_finds_none_that_was_emptied():
    plan = mg.mdav(THREE_SMALL.lazy(), KEYS, 3, strata="region", small_strata="null")
    for engine in ENGINES:
        assert plan.filter(pl.col("region") == "S").collect(engine=engine).is_empty()
        assert plan.select("region").collect(engine=engine)["region"].null_count() == 4


def test_an_expression_cannot_drop():
    with pytest.raises(mg.InvalidParameterError, match="small_strata='drop'.*frame function"):
        pl.struct(KEYS).microagg.mdav(3, small_strata="drop")


def test_what_is_emptied_in_one_block_is_emptied_in_all():
    # The record without an income is alone among the patterns of its block.
    gaps = PATIENTS.drop("region").with_columns(
        income=pl.when(pl.col("age") != 31).then("income"),
        age=pl.when(pl.col("age") != 67).then("age"),
    )
    options = {"nulls": "pattern", "small_strata": "null"}
    masked = every_frame(gaps, [["age"], ["income"]], 2, **options)
    assert masked.select(KEYS).filter(pl.all_horizontal(pl.all().is_null())).height == 2
    assert masked.select(KEYS).null_count().row(0) == (2, 2)


def test_records_without_any_value_are_a_class_like_any_other():
    gaps = pl.DataFrame({"age": [31, 35, None], "dx": ["flu", "flu", "hiv"]})
    with pytest.raises(mg.TooFewRecordsError, match="fewer than k=2 records"):
        mg.mdav(gaps, "age", 2, nulls="pattern")
    with pytest.raises(mg.NotAnonymousError, match="smaller than k=2"):
        mg.verify(gaps.with_columns(age=pl.Series([33, 33, None])), "age", 2)
    assert mg.mdav(gaps, "age", 2, nulls="pattern", small_strata="drop").height == 2
    two = pl.DataFrame({"age": [31, 35, None, None]})
    assert mg.mdav(two, "age", 2, nulls="pattern")["age"].to_list() == [33, 33, None, None]


def draw(rng):
    """A small table with small strata, gaps, and options that meet them."""
    n, k = int(rng.integers(1, 25)), int(rng.integers(2, 5))
    some = rng.random() < 0.5
    frame = pl.DataFrame(
        {
            "a": [None if some and rng.random() < 0.2 else int(rng.integers(4)) for _ in range(n)],
            "b": [None if some and rng.random() < 0.2 else int(rng.integers(4)) for _ in range(n)],
            "s": [None if rng.random() < 0.1 else "xyz"[rng.integers(3)] for _ in range(n)],
            "t": rng.integers(0, 2, n),
            "row": range(n),
        },
        schema_overrides={"a": pl.Int64, "b": pl.Int64, "s": pl.String},
    )
    columns = [["a", "b"], [["a"], ["b"]]][rng.integers(2)]
    strata = [[], ["s"], ["s", "t"]][rng.integers(3)]
    method = ["mdav", "fixed_size", "univariate"][rng.integers(3)]
    nulls = "raise" if not some else ["impute", "pattern"][rng.integers(2)]
    if method == "univariate" and nulls == "impute":
        nulls = "pattern"
    return frame, columns, k, {"method": method, "strata": strata, "nulls": nulls}


def hidden(frame, columns, k, strata, nulls, cellwise):
    """Rows that cannot be masked, found a row at a time: fewer than k rows may be grouped with them."""
    blocks = columns if isinstance(columns[0], list) else [columns]
    if cellwise:
        blocks = [[name] for block in blocks for name in block]
    gone, before = set(), None
    while gone != before:
        before = set(gone)
        for block in blocks:
            kinds = {}
            for row in frame.iter_rows(named=True):
                if row["row"] not in gone:
                    pattern = [row[n] is None for n in block] if nulls == "pattern" else []
                    key = (*[row[n] for n in strata], *pattern)
                    kinds.setdefault(key, []).append(row["row"])
            gone |= {row for rows in kinds.values() if len(rows) < k for row in rows}
    return gone


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(1, 6))]
)
def test_k_holds_over_masked_columns_and_strata_together(seed):
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys(["raise", "null", "drop", "refused"], 0)
    for _ in range(100):
        frame, columns, k, options = draw(rng)
        cellwise = options["method"] == "univariate"
        plain = {name: options[name] for name in ("strata", "nulls")}
        gone = hidden(frame, columns, k, **plain, cellwise=cellwise)
        shown = ~pl.col("row").is_in(list(gone))
        blocks = columns if isinstance(columns[0], list) else [columns]
        blocks = [[n] for block in blocks for n in block] if cellwise else blocks
        for policy in ("raise", "null", "drop"):
            refused = gone and (policy == "raise" or (policy == "null" and len(gone) < k))
            call = {**options, "small_strata": policy}
            if refused:
                with pytest.raises(mg.TooFewRecordsError):
                    mg.mask(frame, columns, k, **call)
                counts["refused"] += 1
                continue
            masked = mg.mask(frame, columns, k, **call)
            left = frame.filter(shown)
            expected = mg.mask(left, columns, k, **options) if left.height else left
            assert masked.filter(shown).equals(expected)
            out = masked.filter(~shown)
            assert out.height == (len(gone) if policy == "null" else 0)
            assert out.select("a", "b", *options["strata"]).null_count().sum_horizontal().sum() == (
                out.height * (2 + len(options["strata"]))
            )
            for block in blocks:
                if masked.height:
                    assert smallest(masked, [*block, *options["strata"]]) >= k
                    mg.verify(masked, block, k, strata=options["strata"] or None)
            counts[policy] += bool(gone) or policy == "raise"
    assert min(counts.values()) > 5, counts


# --- Publishing -------------------------------------------------------------------------------


def published(table, path, policy, **options):
    given = {"k": 3, "strata": "region", "keep": "dx", "small_strata": policy} | options
    return mg.publish(table.lazy(), path, KEYS, **given)


def test_a_released_table_tells_what_was_emptied(tmp_path):
    told = published(MANY, tmp_path / "p.parquet", "null")
    rows = {"in": 124, "out": 124, "emptied": 4, "dropped": 0, "suppressed": 3.226}
    assert told["rows"] == rows
    assert told["cells"] == {"all": 248, "compared": 240}
    (counted,) = told["k"]["classes"]
    assert counted["smallest"] == smallest(pl.read_parquet(tmp_path / "p.parquet"), KEYS) == 3
    told = published(THREE_SMALL, tmp_path / "p.parquet", "null")
    assert told["rows"] == rows | {"in": 7, "out": 7, "suppressed": 57.14}
    assert told["cells"] == {"all": 14, "compared": None}  # of few records nothing is measured
    table = pl.read_parquet(tmp_path / "p.parquet")
    assert smallest(table, [*KEYS, "region"]) == 3


def test_a_released_table_tells_what_was_dropped(tmp_path):
    told = published(MANY, tmp_path / "p.parquet", "drop")
    rows = {"in": 124, "out": 120, "emptied": 0, "dropped": 4, "suppressed": 3.226}
    assert told["rows"] == rows
    # Of few records nothing that depends on the original is published.
    told = published(PATIENTS, tmp_path / "p.parquet", "drop")
    assert told["rows"] == rows | {"in": None, "out": 6, "dropped": None, "suppressed": None}
    assert pl.read_parquet(tmp_path / "p.parquet")["dx"].to_list() == PATIENTS["dx"].to_list()[:6]


def test_one_record_is_never_published_empty(tmp_path):
    with pytest.raises(mg.TooFewRecordsError, match="small_strata='drop'"):
        published(PATIENTS, tmp_path / "p.parquet", "null")
    assert list(tmp_path.iterdir()) == []


def test_a_release_of_nothing_is_refused(tmp_path):
    with pytest.raises(mg.TooFewRecordsError, match="got 0"):
        published(PATIENTS, tmp_path / "p.parquet", "drop", k=7)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("table", "most", "found"), [(PATIENTS, 15, None), (MANY, 4, 3.226)], ids=["few", "many"]
)
def test_what_is_suppressed_can_be_bounded(table, most, found, tmp_path):
    with pytest.raises(mg.RequirementError, match=f"suppressed<={most - 1}"):
        published(table, tmp_path / "p.parquet", "drop", require=f"suppressed<={most - 1}")
    assert list(tmp_path.iterdir()) == []
    told = published(table, tmp_path / "p.parquet", "drop", require=f"suppressed<={most}")
    assert told["verdict"]["requirements"][0]["found"] == found


def run(capsys, *words):
    code = main([str(word) for word in words])
    return code, capsys.readouterr()


@pytest.fixture
def source(tmp_path):
    PATIENTS.write_parquet(tmp_path / "in.parquet")
    MANY.write_parquet(tmp_path / "many.parquet")
    return tmp_path


ROLES = ["--columns", "age,income", "--strata", "region", "--keep", "dx", "--k", "3"]


def test_every_page_and_line_tells_of_dropped_records(source, capsys):
    target, page = source / "out.parquet", source / "page.html"
    words = [source / "many.parquet", "-o", target, *ROLES, "--small-strata", "drop"]
    code, seen = run(capsys, "protect", *words, "--dry-run")
    assert (code, "4 rows (3.2 %) would be suppressed." in seen.out) == (0, True)
    code, seen = run(capsys, "protect", *words, "--report", page)
    assert code == 0, seen.err
    assert "120 records, k=3, 4 dropped (3.2 %), " in seen.out + seen.err
    assert "4 records were left out, 3.2 % of all." in page.read_text()
    assert "of records suppressed" in page.read_text()
    code, seen = run(capsys, "verify", target, "--original", source / "many.parquet")
    assert code == 0, seen.err
    assert "0 are emptied, and 4 were dropped" in seen.out
    code, seen = run(capsys, "risk", target, "--original", source / "many.parquet", "--json")
    found = json.loads(seen.out)
    assert (code, found["dropped"], found["emptied"], found["suppressed"]) == (0, 4, 0, 3.226)


def test_of_few_records_only_the_owner_reads_how_many_were_dropped(source, capsys):
    target, page = source / "out.parquet", source / "page.html"
    words = [source / "in.parquet", "-o", target, *ROLES, "--small-strata", "drop"]
    code, seen = run(capsys, "protect", *words, "--report", page)
    assert (code, "1 of 7 rows were dropped" in seen.err) == (0, True)
    assert "it is not published how many were left out" in page.read_text()
    code, seen = run(capsys, "verify", target, "--original", source / "in.parquet")
    assert code == 0, seen.err
    code, seen = run(capsys, "risk", target, "--original", source / "in.parquet", "--json")
    found = json.loads(seen.out)
    assert (code, found["dropped"], found["suppressed"]) == (0, None, None)


def test_every_page_and_line_tells_of_emptied_records(source, capsys):
    target, page = source / "out.parquet", source / "page.html"
    words = [source / "many.parquet", "-o", target, *ROLES, "--small-strata", "null"]
    code, seen = run(capsys, "protect", *words, "--report", page)
    assert code == 0, seen.err
    line = seen.out + seen.err
    assert "124 records, k=3, 4 emptied (3.2 %), loss" in line
    assert "% over 240 of 248 cells, dld" in line
    assert "4 records were emptied, 3.2 % of all." in page.read_text()
    code, seen = run(capsys, "verify", target, "--original", source / "many.parquet")
    assert (code, "4 are emptied, and 0 were dropped" in seen.out) == (0, True)
    code, seen = run(
        capsys, "verify", target, "--columns", "age,income", "--strata", "region", "--k", 3
    )
    assert (code, "4 record(s) are empty in all of them" in seen.out) == (0, True)


@pytest.mark.parametrize("key", ["emptied", "dropped", "suppressed", "in"])
@pytest.mark.parametrize("policy", ["null", "drop"])
def test_a_manifest_that_tells_otherwise_is_found_out(policy, key, tmp_path):
    table = THREE_SMALL if policy == "null" else MANY
    table.write_parquet(tmp_path / "in.parquet")
    published(table, tmp_path / "p.parquet", policy)
    place = Location.of(tmp_path / "p.parquet")
    text = place.record.read_text()
    told = json.loads(text)
    told["rows"][key] += 1
    place.record.write_text(json.dumps(told, indent=2))
    given = {"original": Location.of(tmp_path / "in.parquet")}
    assert not all(finding.holds for finding in check(place, **given))
    place.record.write_text(text)
    assert all(finding.holds for finding in check(place, **given))


def test_an_emptied_record_that_lost_its_class_is_found_out(tmp_path):
    """A release that keeps the stratum of an emptied record, as an older version wrote it."""
    table = pl.DataFrame({"age": [33] * 6 + [None], "region": ["N"] * 6 + ["S"]})
    with pytest.raises(mg.NotAnonymousError, match="the smallest has 1"):
        mg.verify(table, "age", 3, strata="region")
    with pytest.raises(mg.NotAnonymousError, match="the smallest has 1"):
        mg.publish(table, tmp_path / "p.parquet", "age", 3, method=None, strata="region")


def test_the_sentence_asks_for_as_many_as_the_rule():
    said = str(mg.TooFewRecordsError.emptied(3, 5, 6))
    assert "would empty 3 record(s), and k=5 needs at least 6 records" in said
