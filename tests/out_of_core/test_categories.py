"""Files with columns of categories: the bits of one machine, types, and what is refused."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polars_microagg as mg
from polars_microagg.leaves.memory_budget import MemoryBudget
from tests.leaves.mixtures import PREFIXES, drawn, emitted_rarely, table
from tests.leaves.people import by_hand


@pytest.fixture
def small_parts(monkeypatch):
    """Parts, batches and ranges of a table that are much smaller than it."""
    monkeypatch.setattr(
        MemoryBudget, "of", classmethod(lambda cls, *args: MemoryBudget(10**9, 1, 310, 70, 130))
    )


def released(folder, source, columns, k, **options):
    """The leaves, and the table that was written."""
    leaves = mg.protect_parquet(source, folder / "out.parquet", columns, k, **options)
    return leaves, pl.read_parquet(folder / "out.parquet")


def check(folder, seed):
    rng = np.random.default_rng(seed)
    frame = table(rng, int(rng.integers(60, 900)))
    columns, options = drawn(rng)
    k = int(rng.integers(2, 6))
    frame.write_parquet(folder / "one.parquet", row_group_size=int(rng.integers(50, 400)))
    (folder / "many").mkdir(exist_ok=True)
    for number, part in enumerate(frame.iter_slices(250)):
        part.write_parquet(folder / "many" / f"{number}.parquet", row_group_size=99)
    leaves, masked = released(folder, folder / "one.parquet", columns, k, size=60, **options)
    assert masked.schema == frame.schema
    assert masked.drop(columns).equals(frame.drop(columns))
    who = {"entity": "who"} if "entity" in options else {}
    mg.verify(masked, columns, k, **who)
    assert not emitted_rarely(frame, masked, columns, k, options)
    assert masked.equals(by_hand(leaves, frame))
    assert leaves == mg.fit_leaves(frame, columns, k, size=60, **options)
    # Fewer files than before may be there from the last seed.
    many = [folder / "many" / f"{number}.parquet" for number in range(-(-frame.height // 250))]
    again, other = released(folder, many, columns, k, size=60, **options)
    assert again == leaves
    assert other.equals(masked)


def test_files_are_masked_as_the_table_is(tmp_path, small_parts):
    check(tmp_path, 1)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2, 26))
def test_files_of_any_mixture_are_masked_as_the_table_is(tmp_path, small_parts, seed):
    check(tmp_path, seed)


@pytest.mark.deep
def test_processes_give_the_same_bits(tmp_path, monkeypatch):
    frame = table(np.random.default_rng(3), 900)
    frame.write_parquet(tmp_path / "in.parquet")
    columns, trees = ["job", "kind", "level", "zip", "hour"], {"zip": PREFIXES}
    options = {"size": 60, "taxonomy": trees, "circular": "hour", "column_weights": {"zip": 2}}
    leaves, one = released(tmp_path, tmp_path / "in.parquet", columns, 3, workers=1, **options)
    monkeypatch.setattr(
        MemoryBudget, "of", classmethod(lambda cls, *args: MemoryBudget(10**9, 2, 310, 70, 130))
    )
    again, two = released(tmp_path, tmp_path / "in.parquet", columns, 3, **options)
    assert again == leaves
    assert two.equals(one)
    more, three = released(tmp_path, tmp_path / "in.parquet", columns, 3, leaves=leaves)
    assert more == leaves
    assert three.equals(one)


@pytest.mark.parametrize("dtype", ["keep", "float"])
def test_types_of_files_are_kept(tmp_path, small_parts, dtype):
    rng = np.random.default_rng(4)
    words = pa.array([f"w{i}" for i in rng.integers(0, 12, 300)]).dictionary_encode()
    schema = pa.schema(
        [
            pa.field("a", pa.dictionary(pa.int8(), pa.string()), nullable=False),
            pa.field("b", pa.string(), nullable=False),
            pa.field("c", pa.bool_()),
            pa.field("d", pa.large_string()),
            pa.field("n", pa.int16(), nullable=False),
        ]
    )
    texts = words.cast(pa.string())
    columns = [words.cast(schema.field("a").type), texts[::-1], rng.random(300) < 0.5, texts]
    pq.write_table(
        pa.table([*columns, np.arange(300)], schema=schema),
        tmp_path / "in.parquet",
        row_group_size=90,
    )
    names = list("abcdn")
    _, masked = released(tmp_path, tmp_path / "in.parquet", names, 4, size=50, dtype=dtype)
    written = pq.read_schema(tmp_path / "out.parquet")
    read = pq.read_schema(tmp_path / "in.parquet")
    assert written.types[:4] == read.types[:4]
    assert written.types[4] == (pa.float64() if dtype == "float" else pa.int16())
    # Where no category may be emitted there is null.
    assert [field.nullable for field in written] == [True, True, True, True, False]
    mg.verify(masked, names, 4)


def test_no_records_are_released_as_no_records(tmp_path):
    frame = table(np.random.default_rng(5), 300)
    columns, trees = ["job", "kind", "level", "zip", "hour", "rich"], {"zip": PREFIXES}
    options = {"taxonomy": trees, "circular": ["hour"], "ordinal": ["rich"]}
    frame.clear().write_parquet(tmp_path / "in.parquet")
    leaves, masked = released(tmp_path, tmp_path / "in.parquet", columns, 4, **options)
    assert masked.equals(frame.clear())
    assert masked.schema == frame.schema
    assert mg.Leaves.from_json(leaves.to_json()) == leaves
    whole = leaves.mask(frame)
    mg.verify(whole, columns, 4)
    assert not emitted_rarely(frame, whole, columns, 4, options)


def test_what_is_refused_leaves_the_target(tmp_path, small_parts):
    frame = table(np.random.default_rng(6), 300)
    frame.write_parquet(tmp_path / "in.parquet")
    (tmp_path / "out.parquet").write_text("as it was")
    odd = frame.with_columns(zip=pl.when(pl.col("id") % 90 == 1).then(pl.lit("x")).otherwise("zip"))
    odd.write_parquet(tmp_path / "odd.parquet")
    holes = frame.with_columns(job=pl.when(pl.col("id") % 90 != 1).then("job"))
    holes.write_parquet(tmp_path / "holes.parquet")
    unique = frame.with_columns(job=pl.col("id").cast(pl.String))
    unique.write_parquet(tmp_path / "unique.parquet")
    numbers = mg.fit_leaves(frame.select(job=pl.col("age")), "job", 4, size=20)
    trees = {"taxonomy": {"zip": PREFIXES}}
    cases = [
        ("odd", "zip", trees, mg.InvalidDataError, "1 distinct value.* 'zip' are not in its tax"),
        ("holes", "job", {}, mg.MissingValuesError, "'job' has 4 null"),
        (
            "unique",
            "job",
            {},
            mg.InvalidDataError,
            "300 of 300 values in categories that fewer than 4 ",
        ),
        ("in", "job", {"leaves": numbers}, mg.NotNumericError, "fitted to another kind"),
        ("in", "zip", {"nominal": "job"}, mg.InvalidParameterError, "'job', which is not"),
        ("in", "zip", {"method": "univariate"}, mg.NotNumericError, "univariate groups values"),
    ]
    for name, column, options, error, text in cases:
        with pytest.raises(error, match=text):
            released(tmp_path, tmp_path / f"{name}.parquet", column, 4, **options)
        assert (tmp_path / "out.parquet").read_text() == "as it was"


BLOCKS = [["income", "zip", "code"], ["hour", "job", "rich"]]
KINDS_OF_BLOCKS = {
    "taxonomy": {"zip": PREFIXES},
    "circular": ["hour"],
    "nominal": ["code"],
    "ordinal": ["job"],
    "column_weights": {"zip": 2.0, "job": 3.0, "rich": 0.5},
}


def own_kinds(columns):
    """The options that are about these columns."""
    return {
        name: {c: v for c, v in value.items() if c in columns}
        if isinstance(value, dict)
        else [c for c in value if c in columns]
        for name, value in KINDS_OF_BLOCKS.items()
    }


def test_each_block_has_its_kinds_and_weights(tmp_path, small_parts):
    frame, size = table(np.random.default_rng(6), 900), {"size": 200, "cut": "median"}
    source = tmp_path / "in.parquet"
    frame.write_parquet(source)
    leaves, masked = released(tmp_path, source, BLOCKS, 4, **size, **KINDS_OF_BLOCKS)
    mg.verify(masked, BLOCKS, 4)
    for own, one in zip(BLOCKS, leaves, strict=True):
        alone, expected = released(tmp_path, source, own, 4, **size, **own_kinds(own))
        assert one == alone
        assert masked.select(own).equals(expected.select(own))
        assert masked.select(own).equals(by_hand(alone, frame).select(own))
    # Without its weights a block is cut and grouped otherwise.
    even = {**KINDS_OF_BLOCKS, "column_weights": {"zip": 2.0}}
    assert released(tmp_path, source, BLOCKS, 4, **size, **even)[0] != leaves


def test_columns_masked_one_by_one_have_their_kinds(tmp_path, small_parts):
    frame = table(np.random.default_rng(6), 900)
    source = tmp_path / "in.parquet"
    frame.write_parquet(source)
    call = {"method": "univariate", "size": 200, "ordinal": "code"}
    _, masked = released(tmp_path, source, ["income", "code", "hour"], 4, **call)
    mg.verify(masked, [["income"], ["code"], ["hour"]], 4)
    with pytest.raises(mg.InvalidParameterError, match="ordinal names 'job'"):
        released(tmp_path, source, ["income", "code"], 4, **(call | {"ordinal": "job"}))
