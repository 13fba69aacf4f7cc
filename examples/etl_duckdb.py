"""Mask a patient register in SQL: Parquet in, k-anonymous Parquet out, checked before it is released.

Usage: python examples/etl_duckdb.py [FOLDER] [--rows N]

Without a register in FOLDER (examples/data by default) a synthetic one is written there first.
"""

from argparse import ArgumentParser
from pathlib import Path
from time import perf_counter

import duckdb

import polars_microagg.duckdb as mgd

# In strata of region and sex, because these are released as they are. The number of the patient
# stays inside, to compare both tables; how many beds a region has is joined after the masking.
MASK = """
    CREATE TEMP TABLE masked AS
    WITH register AS (FROM read_parquet($register))
    FROM microagg.mdav(
        'register', ['age', 'income', 'weight', 'visits', 'admitted'], 5, strata := ['region', 'sex']
    )
"""
RELEASE = """
    COPY (
        WITH regions(region, beds) AS (VALUES
            ('Aller', 410), ('Brede', 385), ('Corve', 290), ('Dinkel', 270),
            ('Emmer', 240), ('Fulda', 150), ('Gande', 120), ('Hase', 95))
        SELECT masked.* EXCLUDE (patient_id), beds
        FROM masked LEFT JOIN regions USING (region)
        ORDER BY region, sex, age, income
    ) TO $unchecked (FORMAT parquet)
"""
VERIFY = """
    FROM microagg.verify(
        $unchecked, ['age', 'income', 'weight', 'visits', 'admitted'], 5, strata := ['region', 'sex']
    )
"""
BY_REGION = """
    SELECT
        region, count(*) AS patients,
        microagg.k_min((m.sex, m.age, m.income, m.weight, m.visits, m.admitted)) AS k_min,
        round(microagg.loss(
            [o.age, o.income, o.weight, o.visits, epoch(o.admitted)],
            [m.age, m.income, m.weight, m.visits, epoch(m.admitted)]
        ), 2) AS loss
    FROM read_parquet($register) o JOIN masked m USING (patient_id, region)
    GROUP BY region ORDER BY region
"""
REGISTER = """
    COPY (
        WITH drawn AS (
            SELECT i, list_transform(range(8), lambda j:
                md5_number_lower(i || '/' || j) / 18446744073709551616.0) AS u
            FROM range($rows) r(i)
        ),
        people AS (
            SELECT i, u, u[1] < 0.54 AS woman, 99 * (u[2] + u[3] + u[4]) / 3 AS years FROM drawn
        )
        SELECT
            1000000 + i AS patient_id,
            ['Aller', 'Brede', 'Corve', 'Dinkel', 'Emmer', 'Fulda', 'Gande', 'Hase']
                [1 + (8 * u[5] * u[5])::INTEGER % 8] AS region,
            if(woman, 'F', 'M') AS sex,
            years::SMALLINT AS age,
            if(years < 18, 0, 10 * round(900 * exp(2.2 * u[6] + u[7])))::BIGINT AS income,
            (least(3.5 + 4.2 * years, if(woman, 67, 81)) * exp(0.6 * u[8] - 0.3))::DECIMAL(5, 1)
                AS weight,
            (years / 25 * -ln(1 - u[6] * u[8]) * 4)::SMALLINT AS visits,
            DATE '2024-01-01' + (366 * u[7] * u[5])::INTEGER AS admitted
        FROM people ORDER BY hash(i)
    ) TO $register (FORMAT parquet)
"""


def main() -> None:
    """Write the register if there is none, release it, and say what was done."""
    parser = ArgumentParser(description="Mask a patient register from Parquet to Parquet in SQL.")
    here = Path(__file__).parent / "data"
    parser.add_argument("folder", nargs="?", type=Path, default=here, help="default: %(default)s")
    parser.add_argument("--rows", type=int, default=200_000, help="size of a new register")
    arguments = parser.parse_args()

    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    register, target = folder / "patients.parquet", folder / "patients_masked_duckdb.parquet"
    unchecked = folder / "unchecked.parquet"
    names = {"register": str(register), "unchecked": str(unchecked)}

    with mgd.register(duckdb.connect()) as con:
        if not register.exists():
            con.execute(REGISTER, {"register": str(register), "rows": arguments.rows})
            print(f"Wrote a synthetic register of {arguments.rows:,} patients to {register}")
        started = perf_counter()
        con.execute(MASK, {"register": names["register"]})
        con.execute(RELEASE, {"unchecked": names["unchecked"]})
        # The file as it was written is checked; an error here leaves it unreleased.
        con.sql(VERIFY, params={"unchecked": names["unchecked"]}).show()
        unchecked.replace(target)
        con.sql(BY_REGION, params={"register": names["register"]}).show()
        print(f"Masked and verified in {perf_counter() - started:.1f} s; the release is {target}")


if __name__ == "__main__":
    main()
