-- What the classes of a table tell about persons and secrets, as aggregate functions in plain SQL,
-- without Python: in SELECT and with GROUP BY, but not with OVER. x is a column, or several as in
-- (age, income). They need metrics.sql, and are the models of polars_microagg/models.

-- What tells values apart that DuckDB takes for equal and a reader does not: '30 days' and '1 month',
-- or 'n' and 'N' where a collation makes them the same.
CREATE OR REPLACE MACRO microagg._shown(record) AS CASE
    WHEN regexp_matches(typeof(record), 'VARCHAR|JSON|INTERVAL|TIME WITH TIME ZONE|VARIANT')
    THEN encode(record::VARCHAR) END;

-- The class of a record, and what is counted in it.
CREATE OR REPLACE MACRO microagg._member(x, value) AS {
    'class': {'x': x, 'told': microagg._told(x)},
    'value': {'is': value, 'shown': microagg._shown(value)},
    'there': value IS NOT NULL};

-- The value, or an error if it is null, also as a part of several: who is not known is not counted.
CREATE OR REPLACE MACRO microagg._known(entity) AS CASE
    WHEN entity IS NULL OR (regexp_matches(typeof(entity), '^(STRUCT|TUPLE)') AND regexp_matches(
        regexp_replace(entity::VARCHAR, '''(\\.|[^''\\])*''', '', 'g'), '(\(|, |: )NULL(, |\)|\})'))
    THEN error('InvalidDataError: an entity is null, and one that is not known cannot be counted. '
        || 'Drop those rows first, or give each of them an entity of its own.')
    ELSE entity END;

-- Least distinct entities of a class: the k of k-anonymity where k counts entities.
CREATE OR REPLACE MACRO microagg.k_entities(x, entity) AS (
    SELECT min(entities) FROM (
        SELECT count(DISTINCT m.value) AS entities
        FROM (SELECT unnest(list(microagg._member(x, microagg._known(entity)))) AS m)
        GROUP BY m.class
    ));

-- Least distinct confidential values of a class; null is not one, and a class of nulls has 1.
CREATE OR REPLACE MACRO microagg.l(x, confidential) AS (
    SELECT min(greatest(found, 1)) FROM (
        SELECT count(DISTINCT m.value) FILTER (WHERE m.there) AS found
        FROM (SELECT unnest(list(microagg._member(x, confidential))) AS m)
        GROUP BY m.class
    ));

-- Largest share of one confidential value among those of a class; nulls are left out.
CREATE OR REPLACE MACRO microagg.max_share(x, confidential) AS (
    SELECT max(coalesce(most / known, 0)) FROM (
        SELECT max(n) FILTER (WHERE there) AS most, sum(n) FILTER (WHERE there) AS known
        FROM (
            SELECT m.class AS class, m.there AS there, count(*) AS n
            FROM (SELECT unnest(list(microagg._member(x, confidential))) AS m)
            GROUP BY m.class, m.value, m.there
        ) GROUP BY class
    ));

-- Whether the values of a type have an order that means something.
CREATE OR REPLACE MACRO microagg._ordered(type) AS type NOT LIKE '%]' AND regexp_matches(type,
    '^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL|DATE$|TIME$|TIME_NS|TIMESTAMP|ENUM)');

-- Greatest distance of a class from all records where all values are equally far apart.
CREATE OR REPLACE MACRO microagg._unordered_distance(members) AS (
    SELECT max(distance) FROM (
        SELECT (sum(abs(share - of_all)) + 1 - sum(of_all)) / 2 AS distance
        FROM (
            SELECT class, n / sum(n) OVER (PARTITION BY class) AS share,
                sum(n) OVER (PARTITION BY value) / sum(n) OVER () AS of_all
            FROM (
                SELECT m.class AS class, m.value AS value, count(*) AS n
                FROM (SELECT unnest(members) AS m) GROUP BY m.class, m.value
            )
        ) GROUP BY class
    ));

-- The same where values lie on a line, at equal steps or at the middle ranks of the records: the area
-- between the distribution functions of the class and of all. Null is the first value. What one side
-- of a join shows to the other has names that no column of a table has.
CREATE OR REPLACE MACRO microagg._ordered_distance(members, t_scale) AS (
    SELECT max(distance) FROM (
        SELECT sum(abs(share - of_all) * (next_place - place))
            / nullif(max(place) - min(place), 0) AS distance
        FROM (
            SELECT class, place, share, so_far / max(so_far) OVER () AS of_all,
                lead(place, 1, place) OVER (PARTITION BY class ORDER BY step ASC) AS next_place
            FROM (
                SELECT *, if(t_scale = 'ranks', 2 * so_far - here, step) AS place,
                    sum(n) OVER (PARTITION BY class ORDER BY step ASC)
                        / sum(n) OVER (PARTITION BY class) AS share
                FROM (
                    SELECT a.__mg_class AS class, a.__mg_step AS step, a.__mg_here AS here,
                        a.__mg_so_far AS so_far, coalesce(b.n, 0) AS n
                    FROM (
                        FROM (
                            SELECT DISTINCT m.class AS __mg_class
                            FROM (SELECT unnest(members) AS m)
                        ) CROSS JOIN (
                            SELECT value AS __mg_value, n AS __mg_here,
                                row_number() OVER (ORDER BY value."is" ASC NULLS FIRST) AS __mg_step,
                                sum(n) OVER (ORDER BY value."is" ASC NULLS FIRST) AS __mg_so_far
                            FROM (
                                SELECT m.value AS value, count(*) AS n
                                FROM (SELECT unnest(members) AS m) GROUP BY m.value
                            )
                        )
                    ) AS a LEFT JOIN (
                        SELECT m.class AS class, m.value AS value, count(*) AS n
                        FROM (SELECT unnest(members) AS m) GROUP BY m.class, m.value
                    ) AS b
                    ON a.__mg_class IS NOT DISTINCT FROM b.class
                    AND a.__mg_value IS NOT DISTINCT FROM b.value
                )
            )
        ) GROUP BY class
    ));

-- Greatest earth mover's distance, 0 to 1, between the confidential values of a class and those of all
-- records of the group. Ordered values take time that grows with classes times distinct values.
CREATE OR REPLACE MACRO microagg.t(x, confidential, t_scale := 'values') AS CASE
    WHEN t_scale IN ('values', 'ranks') THEN round(coalesce(
        microagg._ordered_distance(list(microagg._member(x, confidential))
            FILTER (WHERE microagg._ordered(typeof(confidential))), t_scale),
        microagg._unordered_distance(list(microagg._member(x, confidential))
            FILTER (WHERE NOT microagg._ordered(typeof(confidential)))),
        if(count(*) > 0, 0, NULL)), 12)
    ELSE error('InvalidParameterError: t_scale must be one of ''values'', ''ranks''.') END;
