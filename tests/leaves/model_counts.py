"""What a written file shows of entities and confidential values, counted in plain SQL."""

import duckdb

CLASSES = """
WITH r AS (SELECT dense_rank() OVER (ORDER BY {keys}) AS g, {value} AS v FROM read_parquet('{path}')),
"""
FEWEST = "SELECT min(n), min(who) FROM (SELECT count(*) AS n, {who} AS who FROM read_parquet('{path}') GROUP BY {keys})"
LARGEST = """
SELECT max(share) FROM (SELECT max(n) / sum(n) AS share FROM (
    SELECT {keys}, count(*) AS n FROM read_parquet('{path}') GROUP BY {keys}, {who}) GROUP BY {keys})
"""
SHARES = """
own AS (SELECT g, v, count(*) AS n FROM r WHERE v IS NOT NULL GROUP BY g, v),
each AS (SELECT g, count(*) AS kinds, max(n) / sum(n) AS share FROM own GROUP BY g)
SELECT coalesce(min(kinds), 1), coalesce(max(share), 0) FROM each
"""
DISTANCES = """
total AS (SELECT v, count(*)::DOUBLE AS n FROM r GROUP BY v),
line AS (SELECT v, n / sum(n) OVER () AS q, {place} AS place FROM total),
gaps AS (SELECT v, q, lead(place) OVER (ORDER BY v NULLS FIRST) - place AS gap FROM line),
own AS (SELECT g, v, count(*)::DOUBLE / sum(count(*)) OVER (PARTITION BY g) AS p FROM r GROUP BY g, v),
grid AS (SELECT i.g, gaps.v, gap, coalesce(p, 0) - q AS d FROM (SELECT DISTINCT g FROM r) i
    CROSS JOIN gaps LEFT JOIN own ON own.g = i.g AND own.v IS NOT DISTINCT FROM gaps.v),
run AS (SELECT g, d, gap, sum(d) OVER (PARTITION BY g ORDER BY v NULLS FIRST) AS s FROM grid)
SELECT max(distance) FROM (SELECT g, {distance} AS distance FROM run GROUP BY g)
"""
STEPS = "(row_number() OVER (ORDER BY v NULLS FIRST) - 1) / greatest(1, count(*) OVER () - 1)"
MIDDLE = "(2 * sum(n) OVER (ORDER BY v NULLS FIRST) - n)"


def fewest(path, columns, entity=()):
    """Fewest records, and fewest entities, of a class."""
    who = f"count(DISTINCT ({quoted(entity)}))" if entity else "count(*)"
    return one(FEWEST, path=path, keys=quoted(columns), who=who)


def largest(path, columns, entity):
    """The largest share of one entity in the rows of a class."""
    return one(LARGEST, path=path, keys=quoted(columns), who=quoted(entity))[0]


def kinds_and_share(path, columns, value):
    """Fewest distinct values of a class, and the largest share of one; null is no value."""
    return one(CLASSES + SHARES, path=path, keys=quoted(columns), value=quoted([value]))


def distance(path, columns, value, *, ordered, scale="values"):
    """Greatest earth mover's distance of a class from the table; null is the first value.

    `value` is written in SQL.
    """
    how = "sum(abs(d)) / 2"
    if ordered:
        how = "coalesce(sum(abs(s) * gap), 0)"
        if scale == "ranks":
            how += " / (SELECT greatest(1, max(m) - min(m)) FROM middles)"
    place = STEPS if scale == "values" else MIDDLE
    query = CLASSES + DISTANCES
    if scale == "ranks":
        # Middle ranks, brought to a line from 0 to 1.
        query = query.replace("line AS", f"middles AS (SELECT {MIDDLE} AS m FROM total),\nline AS")
    return one(query, path=path, keys=quoted(columns), value=value, place=place, distance=how)[0]


def held(path, columns, k, ordered, **options):
    """Return the bounds of a call that the file does not hold; none if all is well.

    `ordered` says for each column that has an order by what it is ordered, in SQL.
    """
    small, few = fewest(path, columns, options.get("entity", ()))
    broken = ["k"] * (small < k or few < k)
    if "max_entity_share" in options:
        share = largest(path, columns, options["entity"])
        broken += ["max_entity_share"] * (share > options["max_entity_share"])
    for value in options.get("confidential", ()):
        kinds, share = kinds_and_share(path, columns, value)
        broken += ["l"] * (kinds < options.get("l", 1))
        broken += ["max_share"] * (share > options.get("max_share", 1))
        if "t" in options:
            scale = options.get("t_scale", "values")
            by = ordered.get(value, quoted([value]))
            far = distance(path, columns, by, ordered=value in ordered, scale=scale)
            broken += ["t"] * (far > options["t"] + 1e-9)
    return broken


def quoted(names):
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


def one(query, **parts):
    return duckdb.sql(query.format(**parts)).fetchall()[0]
