"""A tour of five minutes: mask a table, check it, measure it, compare methods, write a report.

Run it as a script, or cell by cell in an editor that knows `# %%`.

Usage: python examples/tour.py [FOLDER]
"""

# %% [markdown]
# # A register that should be shared
# Six columns of 600 patients. Nobody's name is in it, and still everybody is the only one of
# their age, income, weight and stay.

# %%
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

import polars_microagg as mg

rng = np.random.default_rng(2024)
age = rng.integers(18, 95, 600)
income = (rng.lognormal(10.2, 0.5, 600) * (1 - (age > 67) * 0.4)).round(-2)
patients = pl.DataFrame(
    {
        "region": rng.choice(["north", "south"], 600),
        "age": age,
        "income": income.astype(np.int64),
        "weight": (60 + rng.normal(15, 12, 600) + (age < 60) * 3).round(1),
        "stay": rng.poisson(2 + age / 20),
        "ward": rng.choice(["A", "B", "C"], 600),
    }
)
columns = ["age", "income", "weight", "stay"]
print(patients.head(4))
print(mg.anonymity(patients, columns))

# %% [markdown]
# # Mask
# Every record takes the means of a group of at least five similar records of its region. Rows,
# types and the other columns stay. On a LazyFrame the same call stays lazy.

# %%
masked = mg.mdav(patients, columns, k=5, strata="region")
print(masked.head(4))

# %% [markdown]
# # Check
# `verify` counts equal records on the values themselves and raises if a group is too small.

# %%
mg.verify(masked, columns, k=5, strata="region")
try:
    mg.verify(patients, columns, k=5, strata="region")
except mg.NotAnonymousError as error:
    print(error)

# %% [markdown]
# # Measure
# `loss` is the variation that is gone, in per cent; `dld` the share of records that somebody finds
# who knows the exact original values. With `known=2` they know any two of the columns.

# %%
measures = ["loss", "dld", "k_min", "k_prime"]
print(mg.assess(patients, masked, columns, metrics=measures))
print(mg.assess(patients, masked, columns, metrics="dld", known=2))

# %% [markdown]
# # Choose
# Other methods and group sizes side by side, and one line of them with the reason.

# %%
some = ["mdav", "vmdav", "fixed_size", "lowloss"]
compared = mg.compare(patients, columns, methods=some, ks=[3, 5, 10], strata="region")
print(compared.select("method", "k", "loss", "dld", "dr", "pareto"))
print(mg.recommend(compared, require="dld<=10")["reason"].item())
chosen = mg.recommend(compared, require=["dld<=10", "k>=5"]).row(0, named=True)
method, k = chosen["method"], chosen["k"]
masked = mg.mask(patients, columns, k, method=method, strata="region")

# %% [markdown]
# # Use it
# The masked table is a table: means are kept, and regressions and group-bys still work.

# %%
older = pl.col("age") >= 60
for name, table in (("before", patients), ("after", masked)):
    print(
        name,
        table.group_by(older.alias("older")).agg(pl.col("income").mean()).sort("older"),
        sep="\n",
    )

# %% [markdown]
# # Show it
# One page for those who decide, and the same charts in a notebook. Both draw only aggregates, and
# need `pip install '.[report]'`.

# %%
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
folder.mkdir(parents=True, exist_ok=True)
if find_spec("altair") and find_spec("vl_convert"):
    from polars_microagg.report import report_html

    page = report_html(
        patients,
        masked,
        columns,
        k=k,
        strata="region",
        settings={"method": method},
        compared=compared,
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    chart = patients.microagg.plot.distributions(masked, columns, k=k)
    (folder / "distributions.json").write_text(chart.to_json(), encoding="utf-8")
    print(f"Open {folder / 'report.html'} in a browser; it needs no network.")
else:
    print(f"With the packages above, {folder / 'report.html'} would be written here.")
