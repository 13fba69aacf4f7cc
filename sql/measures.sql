-- What a table tells of the people in it, in plain SQL without Python, for any DuckDB:
--     .read sql/measures.sql
--     FROM microagg.anonymity('masked', ['age', 'income']);
--     SELECT region, microagg.k_min((age, income)) FROM masked GROUP BY region;
-- Each statement makes one macro, and none depends on a table or a setting. microagg is what is for use,
-- and microagg_internals what is behind it. In aggregates x is a column, or several as in (age, income);
-- null is a value like any other. k_min and k_prime also work with OVER, from DuckDB 2.0 on under their
-- full name: main.microagg.k_min(x) OVER (...). polars_microagg.duckdb.register(con) reads this file, too.

CREATE SCHEMA IF NOT EXISTS microagg;
CREATE SCHEMA IF NOT EXISTS microagg_internals;

-- What tells values apart that DuckDB takes for equal and a reader does not: 0.0 and -0.0, '30 days'
-- and '1 month', or 'n' and 'N' where a collation makes them the same. Every NaN is the same one.
CREATE OR REPLACE MACRO microagg_internals._told(x) AS CASE
    WHEN regexp_matches(typeof(x), 'FLOAT|DOUBLE|VARCHAR|JSON|INTERVAL|TIME WITH TIME ZONE|VARIANT')
    THEN encode(replace(x::VARCHAR, '-nan', 'nan')) END;

-- Size of the smallest class of equal records: the k of k-anonymity.
CREATE OR REPLACE MACRO microagg.k_min(x) AS
    list_min(map_values(histogram({'x': x, 'told': microagg_internals._told(x)})))::BIGINT;

-- Mean size of the classes of equal records: records divided by distinct records.
CREATE OR REPLACE MACRO microagg.k_prime(x) AS
    list_avg(map_values(histogram({'x': x, 'told': microagg_internals._told(x)})));

-- The value with one zero and one NaN, however deep. DuckDB compares nested values by a key that has
-- one of each, and gives the smallest back from its key.
CREATE OR REPLACE MACRO microagg_internals._unsigned(x) AS CASE
    WHEN regexp_matches(typeof(x), 'FLOAT|DOUBLE|VARIANT') THEN list_min([[x]])[1] ELSE x END;

-- What tells values apart that DuckDB takes for equal and a reader does not: '30 days' and '1 month',
-- or 'n' and 'N' where a collation makes them the same. 0.0 and -0.0 are one here, beside a text too.
CREATE OR REPLACE MACRO microagg_internals._shown(record) AS CASE
    WHEN regexp_matches(typeof(record), 'VARCHAR|JSON|INTERVAL|TIME WITH TIME ZONE|VARIANT')
    THEN encode(microagg_internals._unsigned(record)::VARCHAR) END;

-- The class of a record, and what is counted in it.
CREATE OR REPLACE MACRO microagg_internals._member(x, value) AS {
    'class': {'x': x, 'told': microagg_internals._told(x)},
    'value': {'is': value, 'shown': microagg_internals._shown(value)},
    'there': value IS NOT NULL};

-- The value, or an error if it is null, also as a part of several: who is not known is not counted.
CREATE OR REPLACE MACRO microagg_internals._known(entity) AS CASE
    WHEN entity IS NULL OR (regexp_matches(typeof(entity), '^(STRUCT|TUPLE)') AND regexp_matches(
        regexp_replace(entity::VARCHAR, '''(\\.|[^''\\])*''', '', 'g'), '(\(|, |: )NULL(, |\)|\})'))
    THEN error('InvalidDataError: an entity is null, and one that is not known cannot be counted. '
        || 'Drop those rows first, or give each of them an entity of its own.')
    ELSE entity END;

-- Least distinct entities of a class: the k of k-anonymity where k counts entities.
CREATE OR REPLACE MACRO microagg.k_entities(x, entity) AS (
    SELECT min(entities) FROM (
        SELECT count(DISTINCT m.value) AS entities
        FROM (SELECT unnest(list(microagg_internals._member(x, microagg_internals._known(entity)))) AS m)
        GROUP BY m.class
    ));

-- Least distinct confidential values of a class; null is not one, and a class of nulls has 1.
CREATE OR REPLACE MACRO microagg.l(x, confidential) AS (
    SELECT min(greatest(found, 1)) FROM (
        SELECT count(DISTINCT m.value) FILTER (WHERE m.there) AS found
        FROM (SELECT unnest(list(microagg_internals._member(x, confidential))) AS m)
        GROUP BY m.class
    ));

-- Largest share of one confidential value among those of a class; nulls are left out.
CREATE OR REPLACE MACRO microagg.max_share(x, confidential) AS (
    SELECT max(coalesce(most / known, 0)) FROM (
        SELECT max(n) FILTER (WHERE there) AS most, sum(n) FILTER (WHERE there) AS known
        FROM (
            SELECT m.class AS class, m.there AS there, count(*) AS n
            FROM (SELECT unnest(list(microagg_internals._member(x, confidential))) AS m)
            GROUP BY m.class, m.value, m.there
        ) GROUP BY class
    ));

-- Whether the values of a type have an order that means something. INTERVAL has none: a month has no
-- number of days.
CREATE OR REPLACE MACRO microagg_internals._ordered(type) AS type NOT LIKE '%]' AND regexp_matches(type,
    '^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL|DATE$|TIME$|TIME_NS|TIMESTAMP|ENUM)');

-- Greatest distance of a class from all records where all values are equally far apart.
CREATE OR REPLACE MACRO microagg_internals._unordered_distance(members) AS (
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
CREATE OR REPLACE MACRO microagg_internals._ordered_distance(members, t_scale) AS (
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

-- A distance to 12 decimals, half to even.
CREATE OR REPLACE MACRO microagg_internals._rounded(distance) AS round_even(distance * 1e12, 0) / 1e12;

-- Greatest earth mover's distance, 0 to 1, between the confidential values of a class and those of all
-- records of the group. Ordered values take time that grows with classes times distinct values.
CREATE OR REPLACE MACRO microagg.t(x, confidential, t_scale := 'values') AS CASE
    WHEN t_scale IN ('values', 'ranks') THEN microagg_internals._rounded(coalesce(
        microagg_internals._ordered_distance(list(microagg_internals._member(x, confidential))
            FILTER (WHERE microagg_internals._ordered(typeof(confidential))), t_scale),
        microagg_internals._unordered_distance(list(microagg_internals._member(x, confidential))
            FILTER (WHERE NOT microagg_internals._ordered(typeof(confidential)))),
        if(count(*) > 0, 0, NULL)))
    ELSE error('InvalidParameterError: t_scale must be one of ''values'', ''ranks''.') END;

-- A name as DuckDB compares it: only ASCII letters have no case.
CREATE OR REPLACE MACRO microagg_internals._lower(name) AS
    translate(name, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz');

-- The names in a parameter, which is a name, a list of names or null.
CREATE OR REPLACE MACRO microagg_internals._listed(names) AS list_transform(
    CASE json_type(to_json(names)) WHEN 'ARRAY' THEN to_json(names)->>'$[*]'
        WHEN 'VARCHAR' THEN [to_json(names)->>'$'] ELSE []::VARCHAR[] END,
    lambda __mg_n: microagg_internals._lower(__mg_n));

-- Whether a column is among these, or is the one of ours that stands where there is none.
CREATE OR REPLACE MACRO microagg_internals._among(name, names) AS
    name = '__mg_0'
    OR list_contains(microagg_internals._listed(names), microagg_internals._lower(name));

-- The names of what a reader compares, strata among them.
CREATE OR REPLACE MACRO microagg_internals._keys(columns, strata) AS
    list_concat(microagg_internals._listed(columns), microagg_internals._listed(strata));

-- One row, true: or an error, if a name is not that of a column.
CREATE OR REPLACE MACRO microagg_internals._there(source, names) AS TABLE
WITH __mg_t AS (
    SELECT alias(COLUMNS(__mg_s.*))
    FROM (SELECT 1 AS __mg_0) AS __mg_o LEFT JOIN (FROM query_table(source) LIMIT 0) AS __mg_s ON true
),
__mg_u AS (
    SELECT list_value(*COLUMNS(*)) AS __mg_all FROM __mg_t
),
__mg_l AS (
    SELECT list_filter(names, lambda __mg_n: NOT list_contains(
        list_transform(__mg_all, lambda __mg_c: microagg_internals._lower(__mg_c)), __mg_n)) AS __mg_lost
    FROM __mg_u
)
SELECT CASE WHEN len(__mg_lost) = 0 THEN true ELSE error('InvalidParameterError: '''
    || __mg_lost[1] || ''' is not a column of the table. Name columns as the table does.')
    END AS __mg_there
FROM __mg_l;

-- The sizes of the classes of records that a reader cannot tell apart.
CREATE OR REPLACE MACRO microagg_internals._sizes(source, keys) AS TABLE
WITH __mg_x AS (
    SELECT
        struct_pack(*COLUMNS(lambda c: microagg_internals._among(c, keys))) AS __mg_keys,
        microagg_internals._told(__mg_keys) AS __mg_told
    FROM (SELECT 0 AS __mg_0, * FROM query_table(source))
)
SELECT count(*) AS __mg_n FROM __mg_x GROUP BY __mg_keys, __mg_told;

-- How many records have no entity.
CREATE OR REPLACE MACRO microagg_internals._nameless(source, entity) AS TABLE
WITH __mg_s AS (SELECT 0 AS __mg_0, * FROM query_table(source)),
__mg_e AS (SELECT COLUMNS(lambda c: microagg_internals._among(c, entity)) FROM __mg_s)
SELECT count(*) FILTER (WHERE __mg_known IS NULL) - count(__mg_known) AS __mg_nameless
FROM (SELECT true AS __mg_known FROM __mg_e WHERE COLUMNS(*) IS NOT NULL
    UNION ALL SELECT NULL FROM __mg_e);

-- Each record by the numbers of its class and of its entity, and for each confidential column the
-- number of its value in order, null first.
CREATE OR REPLACE MACRO microagg_internals._records(source, keys, entity, confidential) AS TABLE
WITH __mg_s AS (SELECT 0 AS __mg_0, * FROM query_table(source)),
__mg_x AS (
    SELECT
        row_number() OVER () AS __mg_row,
        struct_pack(*COLUMNS(lambda c: microagg_internals._among(c, keys))) AS __mg_keys,
        microagg_internals._told(__mg_keys) AS __mg_told,
        struct_pack(*COLUMNS(lambda c: microagg_internals._among(c, entity))) AS __mg_person,
        microagg_internals._shown(__mg_person) AS __mg_shown,
        COLUMNS(lambda c: microagg_internals._among(c, confidential))
    FROM __mg_s
),
__mg_y AS (
    SELECT
        min(__mg_row) OVER (PARTITION BY __mg_keys, __mg_told) AS __mg_class,
        min(__mg_row) OVER (PARTITION BY __mg_person, __mg_shown) AS __mg_entity,
        {
            'code': dense_rank() OVER (ORDER BY
                coalesce(COLUMNS(* EXCLUDE (__mg_row, __mg_keys, __mg_told, __mg_person, __mg_shown)),
                    NULL) ASC NULLS FIRST,
                microagg_internals._shown(
                    COLUMNS(* EXCLUDE (__mg_row, __mg_keys, __mg_told, __mg_person, __mg_shown))) ASC),
            'there': COLUMNS(* EXCLUDE (__mg_row, __mg_keys, __mg_told, __mg_person, __mg_shown))
                IS NOT NULL,
            'ordered': microagg_internals._ordered(typeof(
                COLUMNS(* EXCLUDE (__mg_row, __mg_keys, __mg_told, __mg_person, __mg_shown))))
        }
    FROM __mg_x
),
__mg_z AS (
    SELECT __mg_class, __mg_entity,
        list_value(*COLUMNS(* EXCLUDE (__mg_class, __mg_entity))) AS __mg_values
    FROM __mg_y
)
SELECT * REPLACE (__mg_values[2:] AS __mg_values) FROM __mg_z;

-- The distance of each class from the table where values lie on a line, as a whole number of parts of
-- `whole`. Between two of its values the share of a class is flat and that of the table grows, so they
-- cross at most once: running sums and that place give the area between them, all in whole numbers.
-- `runs` has each class and value with how many have it, `totals` each value with how many have it.
CREATE OR REPLACE MACRO microagg_internals._areas(runs, totals, t_scale) AS TABLE
WITH __mg_p AS (
    SELECT attribute, code, sum(n) OVER (PARTITION BY attribute ORDER BY code ASC)::HUGEINT AS below,
        if(t_scale = 'ranks', 2 * below - n, code)::HUGEINT AS place
    FROM query_table(totals)
),
__mg_s AS (
    SELECT *, lead(place, 1, place) OVER (PARTITION BY attribute ORDER BY code ASC) - place AS step
    FROM __mg_p
),
__mg_v AS MATERIALIZED (
    SELECT attribute, code, below, place,
        (sum(below * step) OVER (PARTITION BY attribute ORDER BY code ASC) - below * step)::HUGEINT AS area,
        max(below) OVER (PARTITION BY attribute) AS records,
        min(place) OVER (PARTITION BY attribute) AS start,
        max(place) OVER (PARTITION BY attribute) AS finish,
        (sum(below * step) OVER (PARTITION BY attribute))::HUGEINT AS whole_area
    FROM __mg_s
),
__mg_r AS (
    SELECT r.class, v.*,
        sum(r.n) OVER (PARTITION BY r.attribute, r.class ORDER BY r.code ASC)::HUGEINT AS upto,
        sum(r.n) OVER (PARTITION BY r.attribute, r.class)::HUGEINT AS members,
        lead(v.place) OVER (PARTITION BY r.attribute, r.class ORDER BY r.code ASC) AS next_place,
        lead(v.area) OVER (PARTITION BY r.attribute, r.class ORDER BY r.code ASC) AS next_area,
        row_number() OVER (PARTITION BY r.attribute, r.class ORDER BY r.code ASC) AS turn
    FROM query_table(runs) AS r JOIN __mg_v AS v ON r.attribute = v.attribute AND r.code = v.code
),
__mg_c AS (SELECT *, (upto * records + members - 1) // members AS level FROM __mg_r),
__mg_x AS (
    SELECT c.*,
        least(greatest(v.place, c.place), c.next_place) AS cross_place,
        least(greatest(v.area, c.area), c.next_area) AS cross_area
    FROM __mg_c AS c ASOF LEFT JOIN __mg_v AS v ON c.attribute = v.attribute AND v.below >= c.level
)
SELECT attribute, class,
    sum(
        if(turn = 1, members * area, 0)
        + if(next_place IS NULL,
            records * members * (finish - place) - members * (whole_area - area),
            upto * records * (2 * cross_place - place - next_place)
            - members * (2 * cross_area - area - next_area))
    )::HUGEINT AS parts,
    max(records * members * (finish - start)) AS whole
FROM __mg_x GROUP BY attribute, class;

-- What classes tell of their confidential columns: of all classes and columns the worst.
CREATE OR REPLACE MACRO microagg_internals._told_of(numbered, t_scale) AS TABLE
WITH __mg_u AS (
    SELECT __mg_class AS class, unnest(range(len(__mg_values))) AS attribute,
        unnest(__mg_values) AS value
    FROM query_table(numbered)
),
__mg_runs AS MATERIALIZED (
    SELECT attribute, class, value.code AS code, value.there AS there, value.ordered AS ordered,
        count(*)::HUGEINT AS n
    FROM __mg_u GROUP BY ALL
),
__mg_ordered_runs AS (FROM __mg_runs WHERE ordered),
__mg_ordered_totals AS (
    SELECT attribute, code, sum(n)::HUGEINT AS n FROM __mg_runs WHERE ordered GROUP BY ALL
),
-- All values are equally far apart: those that a class lacks add their shares. By windows, since a join
-- on the column alone would meet every class with every value.
__mg_unordered AS (
    SELECT attribute, class, n,
        (sum(n) OVER (PARTITION BY attribute, code))::HUGEINT AS of_all,
        (sum(n) OVER (PARTITION BY attribute, class))::HUGEINT AS members,
        (sum(n) OVER (PARTITION BY attribute))::HUGEINT AS records
    FROM __mg_runs WHERE NOT ordered
),
__mg_distances AS (
    SELECT parts / nullif(whole, 0) AS distance
    FROM microagg_internals._areas('__mg_ordered_runs', '__mg_ordered_totals', t_scale)
    UNION ALL
    SELECT (sum(abs(n * records - of_all * members)) + (max(records) - sum(of_all)) * max(members))::HUGEINT
        / (2 * max(members) * max(records))
    FROM __mg_unordered GROUP BY attribute, class
),
__mg_counted AS (
    SELECT greatest(count(*) FILTER (WHERE there), 1) AS l,
        coalesce(max(n) FILTER (WHERE there) / sum(n) FILTER (WHERE there), 0) AS max_share
    FROM __mg_runs GROUP BY attribute, class
)
SELECT min(l) AS l, max(max_share) AS max_share,
    if(count(*) > 0, microagg_internals._rounded(coalesce((SELECT max(distance) FROM __mg_distances), 0)),
        NULL) AS t
FROM __mg_counted;

-- What classes tell of entities: how many there are, the fewest of a class, the fewest that have
-- the same records, as many of each, and the largest share of a class that is of one.
CREATE OR REPLACE MACRO microagg_internals._of_entities(numbered) AS TABLE
SELECT
    (SELECT count(DISTINCT __mg_entity) FROM query_table(numbered)) AS entities,
    (SELECT min(n) FROM (SELECT count(DISTINCT __mg_entity) AS n
        FROM query_table(numbered) GROUP BY __mg_class)) AS k_entities,
    (SELECT min(n) FROM (SELECT count(*) AS n FROM (
        SELECT list(__mg_class ORDER BY __mg_class ASC) AS classes
        FROM query_table(numbered) GROUP BY __mg_entity) GROUP BY classes)) AS alike_min,
    (SELECT max(most / size) FROM (SELECT max(n) AS most, sum(n) AS size FROM (
        SELECT __mg_class, count(*) AS n
        FROM query_table(numbered) GROUP BY __mg_class, __mg_entity) GROUP BY __mg_class)) AS max_entity_share;

-- All that is counted of a table, whether it is asked for or null.
CREATE OR REPLACE MACRO microagg_internals._counted(
    source, columns, strata, entity, confidential, t_scale
) AS TABLE
WITH __mg_n AS (FROM microagg_internals._sizes(source, microagg_internals._keys(columns, strata))),
__mg_r AS MATERIALIZED (
    FROM microagg_internals._records(
        source, microagg_internals._keys(columns, strata), entity, confidential)
),
__mg_e AS (FROM microagg_internals._of_entities('__mg_r')),
__mg_h AS (FROM microagg_internals._told_of('__mg_r', t_scale)),
__mg_no_e AS (SELECT NULL::BIGINT AS entities, NULL::BIGINT AS k_entities, NULL::BIGINT AS alike_min,
    NULL::DOUBLE AS max_entity_share),
__mg_no_h AS (SELECT NULL::BIGINT AS l, NULL::DOUBLE AS max_share, NULL::DOUBLE AS t),
__mg_c AS (
    SELECT coalesce(sum(__mg_n), 0)::BIGINT AS records, count(*) AS classes, min(__mg_n) AS k_min,
        sum(__mg_n) / nullif(count(*), 0) AS k_prime, count(*) FILTER (WHERE __mg_n = 1) AS uniques
    FROM __mg_n
)
SELECT __mg_c.*, __mg_p.*, __mg_t.*
FROM __mg_c,
    query_table(if(len(microagg_internals._listed(entity)) > 0, '__mg_e', '__mg_no_e')) AS __mg_p,
    query_table(if(len(microagg_internals._listed(confidential)) > 0, '__mg_h', '__mg_no_h')) AS __mg_t,
    microagg_internals._nameless(source, entity) AS __mg_l,
    microagg_internals._there(source, list_concat(microagg_internals._keys(columns, strata),
        list_concat(microagg_internals._listed(entity), microagg_internals._listed(confidential))))
-- A name that is not there is said first, which a condition on one side of the join would not wait for.
WHERE __mg_there AND CASE
    WHEN len(microagg_internals._listed(columns)) = 0
    THEN error('InvalidParameterError: No column is named. Name at least one, as in [''age'', ''income''].')
    WHEN t_scale IS NULL OR t_scale NOT IN ('values', 'ranks')
    THEN error('InvalidParameterError: t_scale must be one of ''values'', ''ranks''.')
    WHEN __mg_there AND __mg_nameless > 0 THEN error('InvalidDataError: ' || __mg_nameless || ' record(s) have no entity, '
        || 'and an entity that is not known cannot be counted. '
        || 'Drop those rows first, or give each of them an entity of its own.')
    ELSE true END;

-- One row: records, classes of equal records, the smallest, their mean size, classes of one; with
-- `entity` how many there are, the fewest of a class, the fewest with the same records and the largest
-- share of a class that is of one, and with `confidential` the numbers of the models, of all classes and columns the worst.
CREATE OR REPLACE MACRO microagg.anonymity(
    source, columns, strata := NULL, entity := NULL, confidential := NULL, t_scale := 'values'
) AS TABLE
SELECT COLUMNS(lambda c: c IN ('records', 'classes', 'k_min', 'k_prime', 'uniques')
    OR (c IN ('entities', 'k_entities', 'alike_min', 'max_entity_share')
        AND len(microagg_internals._listed(entity)) > 0)
    OR (c IN ('l', 'max_share', 't') AND len(microagg_internals._listed(confidential)) > 0))
FROM microagg_internals._counted(source,
    columns, strata, entity, confidential, t_scale);

-- True, or an error if a number breaks a bound; null bounds nothing.
CREATE OR REPLACE MACRO microagg_internals._holds(number, bound, at_least, what) AS CASE
    WHEN number IS NULL OR bound IS NULL OR (if(at_least, number >= bound, number <= bound)) THEN true
    ELSE error('NotAnonymousError: The table does not keep ' || what || ': the worst class has '
        || number || ', and ' || if(at_least, 'at least ', 'at most ') || bound || ' is needed. '
        || 'Mask these columns together with this bound before releasing the table.') END;

-- The number that a parameter is, or null where it is of another type.
CREATE OR REPLACE MACRO microagg_internals._number(given) AS CASE
    WHEN regexp_matches(typeof(given), '^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL)')
    THEN try_cast(given AS DOUBLE) END;

-- Whether a parameter is a whole number of at least so many.
CREATE OR REPLACE MACRO microagg_internals._whole(given, least) AS coalesce(
    microagg_internals._number(given) >= least AND isfinite(microagg_internals._number(given))
    AND floor(microagg_internals._number(given)) = microagg_internals._number(given), false);

-- Whether a parameter is null or a number from 0 to 1, which NaN is not.
CREATE OR REPLACE MACRO microagg_internals._share(given) AS
    given IS NULL OR coalesce(microagg_internals._number(given) BETWEEN 0 AND 1, false);

-- The same row, or an error if a class has fewer than k records, or fewer than k entities, or breaks a
-- bound. It has to be run to say so: a WHERE or LIMIT 0 on its row checks nothing.
CREATE OR REPLACE MACRO microagg.verify(
    source, columns, k, strata := NULL, entity := NULL, entity_mode := NULL, confidential := NULL,
    l := NULL, max_entity_share := NULL, max_share := NULL, t := NULL, t_scale := 'values'
) AS TABLE
WITH __mg_v AS MATERIALIZED (
    FROM microagg_internals._counted(source,
        columns, strata, entity, confidential, t_scale)
)
SELECT COLUMNS(lambda c: c IN ('records', 'classes', 'k_min', 'k_prime', 'uniques')
    OR (c IN ('entities', 'k_entities', 'alike_min', 'max_entity_share')
        AND len(microagg_internals._listed(entity)) > 0)
    OR (c IN ('l', 'max_share', 't') AND len(microagg_internals._listed(confidential)) > 0))
FROM __mg_v
WHERE CASE
    WHEN NOT microagg_internals._whole(k, 2)
    THEN error('InvalidParameterError: k must be a whole number of at least 2.')
    WHEN coalesce(entity_mode, 'rows') NOT IN ('rows', 'mean', 'alike')
    THEN error('InvalidParameterError: entity_mode must be one of ''rows'', ''mean'', ''alike''.')
    WHEN entity_mode IS NOT NULL AND len(microagg_internals._listed(entity)) = 0
    THEN error('InvalidParameterError: entity_mode needs entity.')
    WHEN max_entity_share IS NOT NULL AND len(microagg_internals._listed(entity)) = 0
    THEN error('InvalidParameterError: max_entity_share needs entity.')
    WHEN NOT microagg_internals._share(max_entity_share)
    THEN error('InvalidParameterError: max_entity_share must be a number from 0 to 1.')
    WHEN (l IS NULL AND max_share IS NULL AND t IS NULL)
        != (len(microagg_internals._listed(confidential)) = 0)
    THEN error('InvalidParameterError: confidential needs l, max_share or t, and each of these needs it.')
    WHEN l IS NOT NULL AND NOT microagg_internals._whole(l, 1)
    THEN error('InvalidParameterError: l must be a whole number of at least 1.')
    WHEN NOT microagg_internals._share(max_share)
    THEN error('InvalidParameterError: max_share must be a number from 0 to 1.')
    WHEN NOT microagg_internals._share(t)
    THEN error('InvalidParameterError: t must be a number from 0 to 1.')
    ELSE true END
AND microagg_internals._holds(
    if(len(microagg_internals._listed(entity)) > 0, __mg_v.k_entities, __mg_v.k_min), k, true,
    if(len(microagg_internals._listed(entity)) > 0, 'k entities', 'k records'))
AND microagg_internals._holds(if(entity_mode = 'alike', __mg_v.alike_min, NULL), k, true,
    'k entities with the same records')
AND microagg_internals._holds(__mg_v.max_entity_share, max_entity_share, false, 'max_entity_share')
AND microagg_internals._holds(__mg_v.l, l, true, 'l')
AND microagg_internals._holds(__mg_v.max_share, max_share, false, 'max_share')
AND microagg_internals._holds(__mg_v.t, t, false, 't');

-- Comments that DuckDB keeps, written by docs/generate.py; do not edit.

COMMENT ON MACRO microagg_internals._told IS 'Not for use. What tells values apart that DuckDB takes for equal and a reader does not: 0.0 and -0.0, ''30 days'' and ''1 month'', or ''n'' and ''N'' where a collation makes them the same. Every NaN is the same one.';
COMMENT ON MACRO microagg.k_min IS 'Size of the smallest class of equal masked records. Example: SELECT microagg.k_min((age, income)) FROM masked;';
COMMENT ON MACRO microagg.k_prime IS 'Mean size of the classes of equal masked records. Example: SELECT microagg.k_prime((age, income)) FROM masked;';
COMMENT ON MACRO microagg_internals._unsigned IS 'Not for use. The value with one zero and one NaN, however deep. DuckDB compares nested values by a key that has one of each, and gives the smallest back from its key.';
COMMENT ON MACRO microagg_internals._shown IS 'Not for use. What tells values apart that DuckDB takes for equal and a reader does not: ''30 days'' and ''1 month'', or ''n'' and ''N'' where a collation makes them the same. 0.0 and -0.0 are one here, beside a text too.';
COMMENT ON MACRO microagg_internals._member IS 'Not for use. The class of a record, and what is counted in it.';
COMMENT ON MACRO microagg_internals._known IS 'Not for use. The value, or an error if it is null, also as a part of several: who is not known is not counted.';
COMMENT ON MACRO microagg.k_entities IS 'Fewest entities in a class. Example: SELECT microagg.k_entities((age, income), patient) FROM masked;';
COMMENT ON MACRO microagg.l IS 'Distinct confidential values of each group; null is not one, and a group of nulls has 1. Of all classes the worst. Example: SELECT microagg.l((age, income), sick) FROM masked;';
COMMENT ON MACRO microagg.max_share IS 'Share of the commonest confidential value among the members of each group that have one. Of all classes the worst. Example: SELECT microagg.max_share((age, income), sick) FROM masked;';
COMMENT ON MACRO microagg_internals._ordered IS 'Not for use. Whether the values of a type have an order that means something. INTERVAL has none: a month has no number of days.';
COMMENT ON MACRO microagg_internals._unordered_distance IS 'Not for use. Greatest distance of a class from all records where all values are equally far apart.';
COMMENT ON MACRO microagg_internals._ordered_distance IS 'Not for use. The same where values lie on a line, at equal steps or at the middle ranks of the records: the area between the distribution functions of the class and of all. Null is the first value. What one side of a join shows to the other has names that no column of a table has.';
COMMENT ON MACRO microagg_internals._rounded IS 'Not for use. A distance to 12 decimals, half to even.';
COMMENT ON MACRO microagg.t IS 'Earth mover''s distance between the confidential values of each group and those of the table. Of all classes the worst. Call it for groups: its time grows with the square of the records. Example: SELECT region, microagg.t((age, income), sick) FROM masked GROUP BY region;';
COMMENT ON MACRO microagg_internals._lower IS 'Not for use. A name as DuckDB compares it: only ASCII letters have no case.';
COMMENT ON MACRO microagg_internals._listed IS 'Not for use. The names in a parameter, which is a name, a list of names or null.';
COMMENT ON MACRO microagg_internals._among IS 'Not for use. Whether a column is among these, or is the one of ours that stands where there is none.';
COMMENT ON MACRO microagg_internals._keys IS 'Not for use. The names of what a reader compares, strata among them.';
COMMENT ON MACRO TABLE microagg_internals._there IS 'Not for use. One row, true: or an error, if a name is not that of a column.';
COMMENT ON MACRO TABLE microagg_internals._sizes IS 'Not for use. The sizes of the classes of records that a reader cannot tell apart.';
COMMENT ON MACRO TABLE microagg_internals._nameless IS 'Not for use. How many records have no entity.';
COMMENT ON MACRO TABLE microagg_internals._records IS 'Not for use. Each record by the numbers of its class and of its entity, and for each confidential column the number of its value in order, null first.';
COMMENT ON MACRO TABLE microagg_internals._areas IS 'Not for use. The distance of each class from the table where values lie on a line, as a whole number of parts of `whole`. Between two of its values the share of a class is flat and that of the table grows, so they cross at most once: running sums and that place give the area between them, all in whole numbers. `runs` has each class and value with how many have it, `totals` each value with how many have it.';
COMMENT ON MACRO TABLE microagg_internals._told_of IS 'Not for use. What classes tell of their confidential columns: of all classes and columns the worst.';
COMMENT ON MACRO TABLE microagg_internals._of_entities IS 'Not for use. What classes tell of entities: how many there are, the fewest of a class, the fewest that have the same records, as many of each, and the largest share of a class that is of one.';
COMMENT ON MACRO TABLE microagg_internals._counted IS 'Not for use. All that is counted of a table, whether it is asked for or null.';
COMMENT ON MACRO TABLE microagg.anonymity IS 'Count the classes of equal records, and what they tell about confidential columns. Example: FROM microagg.anonymity(''masked'', [''age'', ''income'']);';
COMMENT ON MACRO microagg_internals._holds IS 'Not for use. True, or an error if a number breaks a bound; null bounds nothing.';
COMMENT ON MACRO microagg_internals._number IS 'Not for use. The number that a parameter is, or null where it is of another type.';
COMMENT ON MACRO microagg_internals._whole IS 'Not for use. Whether a parameter is a whole number of at least so many.';
COMMENT ON MACRO microagg_internals._share IS 'Not for use. Whether a parameter is null or a number from 0 to 1, which NaN is not.';
COMMENT ON MACRO TABLE microagg.verify IS 'Check that at least k records, or entities, share each record, and raise if not. Example: FROM microagg.verify(''masked'', [''age'', ''income''], 3);';
