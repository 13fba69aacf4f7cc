"""Every column has one role, and none is passed through because nobody thought of it."""

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from polars_microagg.publishing.manifest.record import read_manifest
from tests.publishing.register import holds

RNG = np.random.default_rng(5)
PEOPLE = pl.DataFrame(
    {
        "name": [f"Zelda-Secret-{i}" for i in range(24)],
        "region": ["N", "S"] * 12,
        "age": RNG.integers(18, 90, 24),
        "income": RNG.lognormal(10, 0.5, 24).round(2),
        "sex": ["f", "f", "m"] * 8,
        "visits": RNG.integers(0, 9, 24),
    }
)
MASKED = mg.mdav(PEOPLE, ["age", "income"], 3, strata="region")


@pytest.fixture(params=["frame", "lazy", "masked already"])
def publish(request, tmp_path):
    """Publish, and return the roles of the manifest and what is on the disk."""
    masked = request.param == "masked already"
    table = {"frame": PEOPLE, "lazy": PEOPLE.lazy(), "masked already": MASKED}[request.param]
    path = tmp_path / "out.parquet"

    def call(columns=("age", "income"), strata="region", **options):
        options |= {"method": None} if masked else {}
        columns = list(columns) if isinstance(columns, tuple) else columns
        told = mg.publish(table, path, columns, 3, strata=strata, **options)
        found = pl.read_parquet(path)
        assert found.equals(MASKED.select(found.columns))
        assert read_manifest(path.with_name("out.parquet.manifest.json")) == told
        assert all(holds(path).values())
        return told["roles"], found.columns

    call.path = path
    return call


@pytest.mark.parametrize(
    ("options", "keep", "drop"),
    [
        ({"keep": ["sex", "visits"], "drop": "name"}, ["sex", "visits"], ["name"]),
        ({"keep": cs.all()}, ["name", "sex", "visits"], []),
        ({"drop": cs.all()}, [], ["name", "sex", "visits"]),
        ({"keep": cs.all(), "drop": "name"}, ["sex", "visits"], ["name"]),
        ({"keep": ["sex"], "drop": pl.all()}, ["sex"], ["name", "visits"]),
        ({"keep": cs.numeric(), "drop": cs.string()}, ["visits"], ["name", "sex"]),
        ({"keep": [cs.starts_with("v", "r"), "sex"], "drop": "name"}, ["sex", "visits"], ["name"]),
        ({"keep": cs.all() - cs.by_name("name"), "drop": "name"}, ["sex", "visits"], ["name"]),
        ({"keep": cs.all(), "drop": cs.temporal()}, ["name", "sex", "visits"], []),
        ({"keep": pl.exclude("name"), "drop": pl.col("name")}, ["sex", "visits"], ["name"]),
    ],
)
def test_the_roles_are_those_of_the_manifest_and_of_the_file(options, keep, drop, publish):
    roles, columns = publish(**options)
    assert roles == {"mask": ["age", "income"], "stratum": ["region"], "keep": keep, "drop": drop}
    assert columns == [name for name in PEOPLE.columns if name not in drop]


@pytest.mark.parametrize("options", [{}, {"keep": "sex"}, {"drop": ["visits"], "keep": cs.date()}])
def test_a_column_without_a_role_is_a_question(options, publish):
    listed = [n for n in ("name", "sex", "visits") if n not in str(options)]
    named = ", ".join(map(repr, listed))
    with pytest.raises(mg.InvalidParameterError, match=rf"^Each of {named} has no role") as got:
        publish(**options)
    for way in ("columns or strata", "keep=[...]", "drop=[...]", "keep=cs.all()"):
        assert way in str(got.value)
    assert "Secret" not in str(got.value)
    assert not list(publish.path.parent.iterdir())


def test_one_column_without_a_role_is_named_alone(publish):
    with pytest.raises(mg.InvalidParameterError, match="^'visits' has no role, and no column"):
        publish(keep="sex", drop="name")


def test_of_many_columns_without_a_role_ten_are_named(tmp_path):
    wide = PEOPLE.with_columns(pl.lit(i).alias(f"c{i:02}") for i in range(30))
    with pytest.raises(
        mg.InvalidParameterError, match="^Each of 'visits', .*'c08' and 21 more has no role"
    ):
        mg.publish(wide, tmp_path / "out.parquet", ["age", "income"], 3, drop=cs.string())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"drop": ["name", "age"]}, "'age' is in columns and in drop as well"),
        ({"keep": pl.col("income")}, "'income' is in columns and in keep as well"),
        ({"keep": cs.by_name("income")}, "'income' is in columns and in keep as well"),
        ({"drop": "region"}, "'region' is in strata and in drop as well"),
        ({"keep": "sex", "drop": ["name", "sex"]}, "'sex' is in keep and in drop as well"),
        ({"keep": cs.all(), "drop": cs.string()}, "'name' is in keep and in drop as well"),
        ({"columns": cs.numeric(), "drop": "visits"}, "'visits' is in columns and in drop as well"),
        ({"keep": ["sex", "name", "sex"]}, r"keep lists 'sex' more than once"),
        ({"drop": "nam"}, "drop names 'nam', which is not a column.*mean 'name'"),
        ({"keep": [cs.by_name("nam")]}, "keep names .*, which is not a column"),
        ({"keep": 5}, "keep='int' was given; it must be a column name, a selector, or a list"),
        ({"drop": {"name"}}, "drop='set' was given"),
        ({"drop": ["name", None]}, "drop='NoneType' was given"),
        ({"keep": [["sex"]]}, "keep='list' was given"),
        ({"keep": pl.col("sex").str.to_uppercase()}, "keep=.* was given"),
    ],
)
def test_what_is_wrong_with_the_roles_is_one_sentence(options, sentence, publish):
    with pytest.raises(mg.InvalidParameterError, match=sentence):
        publish(**options)
    assert not publish.path.exists()


def test_a_masked_column_that_is_a_stratum_too_is_refused(publish):
    with pytest.raises(mg.InvalidParameterError, match="'age' is .*strata as well"):
        publish(strata=["region", "age"], keep=cs.all())


def test_nothing_is_read_before_every_column_has_its_role(tmp_path):
    plan = PEOPLE.lazy().map_batches(lambda _: pytest.fail("the table was read"))
    with pytest.raises(mg.InvalidParameterError, match="'visits' has no role"):
        mg.publish(plan, tmp_path / "out.parquet", ["age", "income"], 3, drop=cs.string())


def test_what_is_dropped_is_not_read(tmp_path):
    """A file of many columns is read in part; for a hash it is read whole."""
    path, lazy = tmp_path / "out.parquet", PEOPLE.lazy().with_columns(pl.col("name").cast(pl.Int64))
    told = mg.publish(
        lazy, path, ["age", "income"], 3, keep=cs.numeric(), drop=["name", cs.string()]
    )
    assert told["roles"]["drop"] == ["name", "region", "sex"]
    with pytest.raises(mg.InvalidDataError, match="at column 'name'"):
        mg.publish(
            lazy, path, "age", 3, keep=cs.numeric(), drop=["name", cs.string()], hash_key=b"k" * 16
        )


@pytest.mark.parametrize("table", [PEOPLE, PEOPLE.lazy()], ids=["frame", "lazy"])
def test_rows_may_be_ordered_by_a_column_that_is_dropped(table, tmp_path):
    path = tmp_path / "out.parquet"
    shuffled = table.reverse()
    mg.publish(shuffled, path, ["age", "income"], 3, order_by="name", drop=cs.all())
    expected = mg.mdav(PEOPLE.reverse(), ["age", "income"], 3, order_by="name")
    assert pl.read_parquet(path).equals(expected.select("age", "income"))


def test_the_table_before_may_have_other_columns_than_the_masked_one(tmp_path):
    path, given = tmp_path / "out.parquet", {"method": None, "strata": "region"}
    before = PEOPLE.drop("region", "sex")
    told = mg.publish(
        MASKED.drop("visits"), path, cs.numeric(), 3, original=before, keep=cs.all(), **given
    )
    assert told["roles"]["mask"] == ["age", "income"]
    assert told["roles"]["keep"] == ["name", "sex"]
    assert told["digits"] == 0  # 24 records
    more = mg.publish(
        pl.concat([MASKED.drop("visits")] * 5),
        path,
        cs.numeric(),
        3,
        original=pl.concat([before] * 5),
        keep=cs.all(),
        **given,
    )
    assert more["measures"]["loss"] == round(mg.loss(PEOPLE, MASKED, ["age", "income"]))
