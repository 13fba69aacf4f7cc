"""Sources that are replaced or written to while a release reads them: nothing is published."""

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing import memory
from polars_microagg.publishing.formats.batches import Typed, set_down
from polars_microagg.publishing.formats.files import Location
from tests.publishing.test_large import KEY, PEOPLE, left_behind, released, small_memory, written

__all__ = ["small_memory"]

N = PEOPLE.height


def hive(people, folder):
    """Write a table to folders of which the names have a key."""
    for (town,), part in people.group_by("city", maintain_order=True):
        (folder / "hive" / f"city={town}").mkdir(parents=True)
        part.drop("city").write_parquet(folder / "hive" / f"city={town}" / "a.parquet")
    return folder / "hive"


def changing(source, how):
    """Return what changes the last file of a source, once: its rows come in another order."""
    files = [source] if source.is_file() else [f for f in source.rglob("*") if f.is_file()]
    last = max(files)
    form = last.suffix[1:].replace("arrow", "ipc")
    other = getattr(pl, f"read_{form}")(last)[::-1]
    new = last.parent.parent / "_new"
    getattr(other, f"write_{form}")(new)
    same = new.read_bytes()

    def change():
        if how == "rename" and new.exists():
            new.replace(last)
        elif how == "in place" and last.read_bytes() != same:
            last.write_bytes(same)

    return change


@pytest.mark.parametrize("how", ["rename", "in place"])
@pytest.mark.parametrize("form", ["parquet", "folder"])
def test_a_source_that_changes_while_it_is_masked_releases_nothing(form, how, tmp_path):
    source = written(PEOPLE, tmp_path, form)
    change = changing(source, how)

    def report(done, total, what):
        if done > N:
            change()

    with mg.progress(report), pytest.raises(mg.InvalidDataError, match="it changed while it was"):
        released(source, tmp_path / "o.parquet")
    assert not (tmp_path / "o.parquet").exists()
    assert not left_behind(tmp_path)


@pytest.mark.parametrize("how", ["rename", "in place"])
@pytest.mark.parametrize("form", ["csv", "ndjson", "hive", "arrow"])
def test_a_source_that_changes_while_it_is_copied_is_refused(form, how, tmp_path):
    if (form, how) == ("arrow", "in place"):
        pytest.skip(
            "a file that is cut while it is mapped ends the process, and nothing is released"
        )
    source = hive(PEOPLE, tmp_path) if form == "hive" else written(PEOPLE, tmp_path, form)
    change = changing(source, how)
    (tmp_path / "work").mkdir()

    def typed(names):
        # Called between the first rows and the others.
        change()
        return Typed(quantities=["age", "pay"])

    with pytest.raises(mg.InvalidDataError, match="it changed while it was read"):
        set_down(Location.of(source), tmp_path / "work", batch=500, typed=typed, raw=True)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_hash_of_a_source_is_that_of_what_was_read(form, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "BASE", 0)
    source = written(PEOPLE, tmp_path, form)
    change = changing(source, "rename")
    with (
        mg.progress(lambda *_: change()),
        pytest.raises(mg.InvalidDataError, match="it changed while it was read"),
    ):
        released(source, tmp_path / "o.parquet", hash_key=KEY)
    assert not (tmp_path / "o.parquet").exists()
