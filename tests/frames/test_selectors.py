"""Wherever columns are named, selectors are taken: each call gives what it gives by names."""

import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg

N = 60
PEOPLE = pl.DataFrame(
    {
        "id": range(N),
        "who": [i // 2 for i in range(N)],
        "age": [i * 7 % 41 for i in range(N)],
        "pay": [i * 13 % 97 for i in range(N)],
        "grade": [i % 5 for i in range(N)],
        "region": ["ab"[i % 2] for i in range(N)],
        "dx": [f"d{i % 4}" for i in range(N)],
    }
)
COLUMNS = ["age", "grade"]
NAMED = {
    "strata": "region",
    "entity": ["who"],
    "confidential": "dx",
    "ordinal": "grade",
    "order_by": ["pay", "grade"],
}
SELECTED = {
    "strata": cs.by_name("region"),
    "entity": [cs.starts_with("wh")],
    "confidential": pl.col("dx"),
    "ordinal": cs.ends_with("ade"),
    "order_by": ["pay", cs.starts_with("gra")],
}
MASKING = {"l": 2, "entity_mode": "rows"}
MASKED = mg.mdav(PEOPLE, COLUMNS, 3, **NAMED, **MASKING)


def some(options, *names):
    return {name: options[name] for name in names}


def published(options, source, folder):
    mg.publish(source, folder / "out.parquet", COLUMNS, 3, drop=["id", "pay"], **options, **MASKING)
    return pl.read_parquet(folder / "out.parquet")


def released(options, folder):
    rest = some(options, "strata", "entity", "confidential")
    keep = ["id", "pay"]
    mg.publish(MASKED, folder / "out.csv", COLUMNS, 3, method=None, keep=keep, **rest)
    return (folder / "out.csv").read_text()


def on_disk(options, folder):
    PEOPLE.write_parquet(folder / "in.parquet")
    files = folder / "in.parquet", folder / "out.parquet"
    leaves = mg.protect_parquet(*files, COLUMNS, 3, **options, **MASKING)
    return leaves, pl.read_parquet(folder / "out.parquet")


def source(folder, ending):
    getattr(PEOPLE, f"write_{ending}")(folder / f"in.{ending}")
    return folder / f"in.{ending}"


COUNTED = ("strata", "entity", "confidential")
CALLS = {
    "mask": lambda o, _: mg.mdav(PEOPLE, COLUMNS, 3, **o, **MASKING),
    "mask, lazy": lambda o, _: PEOPLE.lazy().microagg.mdav(COLUMNS, 3, **o, **MASKING).collect(),
    "groups": lambda o, _: mg.groups(PEOPLE, COLUMNS, 3, **o, **MASKING),
    "groups, lazy": lambda o, _: mg.groups(PEOPLE.lazy(), COLUMNS, 3, **o, **MASKING).collect(),
    "verify": lambda o, _: mg.verify(MASKED, COLUMNS, 3, l=2, **some(o, *COUNTED)),
    "verify, memory": lambda o, _: mg.verify(
        MASKED, COLUMNS, 3, l=2, memory="500MB", **some(o, *COUNTED)
    ),
    "anonymity": lambda o, _: mg.anonymity(MASKED, COLUMNS, **some(o, *COUNTED)),
    "anonymity, memory": lambda o, _: mg.anonymity(
        MASKED, COLUMNS, memory="500MB", **some(o, *COUNTED)
    ),
    "assess": lambda o, _: mg.assess(
        *(PEOPLE, MASKED[::-1], COLUMNS),
        **some(o, "entity", "ordinal"),
        by=o["strata"],
        known=o["ordinal"],
        key="id" if o is NAMED else cs.by_name("id"),
    ),
    "assess, memory": lambda o, _: mg.assess(
        PEOPLE, MASKED, COLUMNS, memory="500MB", **some(o, "entity", "ordinal")
    ),
    "dld_entity": lambda o, _: mg.dld_entity(PEOPLE, MASKED, COLUMNS, **some(o, "entity")),
    "compare": lambda o, _: mg.compare(PEOPLE, COLUMNS, methods="mdav", ks=3, l=2, **o).drop(
        "seconds"
    ),
    "lower_bound": lambda o, _: mg.lower_bound(PEOPLE, COLUMNS, 3, **some(o, "ordinal")),
    "fit_leaves": lambda o, _: mg.fit_leaves(PEOPLE, COLUMNS, 3, **o, **MASKING),
    "protect_parquet": on_disk,
    "publish": lambda o, folder: published(o, PEOPLE, folder),
    "publish, lazy": lambda o, folder: published(o, PEOPLE.lazy(), folder),
    "publish, parquet": lambda o, folder: published(o, source(folder, "parquet"), folder),
    "publish, csv": lambda o, folder: published(o, source(folder, "csv"), folder),
    "publish, masked": released,
    "expression": lambda o, _: PEOPLE.select(
        pl.struct("age", "who", "dx").microagg.mdav(
            3, l=2, **some(o, "entity", "confidential"), entity_mode="rows"
        )
    ),
}


@pytest.mark.whole
@pytest.mark.parametrize("call", CALLS)
def test_a_selector_stands_for_the_names_of_its_columns(tmp_path, call):
    found, expected = CALLS[call](SELECTED, tmp_path), CALLS[call](NAMED, tmp_path)
    if isinstance(found, tuple):
        assert found[0] == expected[0]
        found, expected = found[1], expected[1]
    assert found.equals(expected) if isinstance(found, pl.DataFrame) else found == expected


def test_a_selector_without_a_column_is_refused():
    """Without strata, or entities, k would be counted on something else than was asked."""
    for what in ("strata", "entity", "order_by"):
        with pytest.raises(mg.InvalidParameterError) as caught:
            mg.groups(PEOPLE, COLUMNS, 3, **{what: cs.by_dtype(pl.Binary)})
        assert str(caught.value).startswith(f"{what} selects no column of the table: ")


def test_a_lazy_frame_looks_selectors_up_when_its_schema_is_known():
    read = []

    def columns(frame):
        read.append(1)
        return frame

    lazy = PEOPLE.lazy().map_batches(columns, schema=PEOPLE.schema)
    masked = mg.mdav(lazy, COLUMNS, 3, strata=cs.by_name("nowhere"))
    with pytest.raises(mg.InvalidParameterError, match="strata names .*nowhere"):
        masked.collect_schema()
    assert not read


def test_what_selects_no_columns_is_refused_when_the_call_is_typed():
    with pytest.raises(mg.InvalidParameterError, match="a column name, a selector, or a list"):
        mg.mdav(PEOPLE.lazy(), COLUMNS, 3, strata=pl.col("region").str.len_chars())


@pytest.mark.parametrize(
    ("tables", "options", "said"),
    [
        (
            (PEOPLE.drop("age"), MASKED),
            {},
            "columns names 'age', which is not a column of the orig",
        ),
        (
            (PEOPLE, MASKED.drop("age")),
            {},
            "columns names 'age', which is not a column of the mask",
        ),
        ((PEOPLE, MASKED.drop("id")), {"key": "id"}, "key names 'id', which is not .* the masked"),
        (
            (PEOPLE.drop("id"), MASKED),
            {"key": "id"},
            "key names 'id', which is not .* the original",
        ),
        ((PEOPLE, MASKED), {"entity": "x"}, "entity names 'x', which is not .* the original table"),
        ((PEOPLE, MASKED.drop("pay")), {"known": "pay"}, "known names 'pay', .* the masked table"),
        (
            (PEOPLE.drop("pay"), MASKED),
            {"known": "pay"},
            "known names 'pay', .* the original table",
        ),
    ],
)
def test_a_missing_column_is_named_with_its_table(tables, options, said):
    for call in (mg.assess, mg.dld) if "entity" not in options else (mg.assess, mg.dld_entity):
        with pytest.raises(mg.InvalidParameterError, match=said):
            call(*tables, COLUMNS, **options)
