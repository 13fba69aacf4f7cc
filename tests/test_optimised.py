"""Under `python -OO` there are no docstrings, and every door is as it was."""

import subprocess
import sys

import pytest

CODE = """
import sys, tempfile
import duckdb, polars as pl, polars_microagg as mg, polars_microagg.duckdb as mgd
from polars_microagg.cli.main import COMMANDS, main, parsers
from polars_microagg.core.registry import methods, metrics

table = pl.DataFrame({"a": [1, 2, 3, 4, 5, 6], "b": [3.5, 1, 2, 9, 8, 7]})
print(mg.methods().select("method", "summary").rows())
print([(name, each.summary) for name, each in metrics().items()])
for name in methods():
    print(name, getattr(mg, name)(table, ["a", "b"], k=3).rows())
    print(getattr(mg, name).__doc__)
    print(getattr(table.microagg, name).__doc__)
print(table.select(pl.struct("a", "b").microagg.mdav(3)).rows())
print(table.lazy().microagg.mdav(["a"], 3).collect().rows(), mg.dld.__doc__)
con = mgd.register(duckdb.connect())
con.register("t", table.to_arrow())
for call in ("methods()", "mdav('t', ['a', 'b'], 3)", "verify('t', ['b'], 1 + 1)"):
    try:
        print(con.sql(f"FROM microagg.{call}").fetchall())
    except duckdb.Error as error:
        print(error)
print(mgd.mask(con, "t", ["a", "b"], 3).fetchall(), mgd.assess(con, "t", "t", ["a"]).fetchall())
with tempfile.TemporaryDirectory() as folder:
    told = mg.publish(table, f"{folder}/t.parquet", ["a", "b"], 3, manifest=f"{folder}/m")
    print(told["k"], told["measures"])
    mg.protect_parquet(f"{folder}/t.parquet", f"{folder}/u.parquet", ["a"], 3)
    print(pl.read_parquet(f"{folder}/u.parquet").rows())
print(mg.fit_leaves(table, ["a"], 3).protect(table).rows())
for name in COMMANDS:
    parsers()[name].print_help()
for command in ("methods", "methods lowloss", "completion bash", "completion zsh", "nonsense", "demo -k"):
    print(main(command.split()))
"""


def said(*flags):
    done = subprocess.run(
        [sys.executable, *flags, "-c", CODE], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    return done.stdout + done.stderr


@pytest.mark.deep
@pytest.mark.parametrize("flags", [["-OO"]], ids=str)
def test_every_door_says_and_does_the_same_without_docstrings(flags):
    assert said(*flags) == said()
