-- Measures of whole tables: how many records share each record, and what masking has cost.
-- They need polars_microagg.duckdb.register(con), which checks names and does the arithmetic.

-- Sizes of the classes of records that a reader cannot tell apart; null is a value like any other.
CREATE OR REPLACE MACRO microagg_internals._classes(source, spec) AS TABLE
WITH __mg_s AS (FROM microagg_internals._numbered(source, spec)),
__mg_x AS (
    SELECT
        struct_pack(*COLUMNS(system.main._microagg_columns((*), 'columns', spec))) AS __mg_record,
        struct_pack(*COLUMNS(system.main._microagg_columns((*), 'strata', spec))) AS __mg_stratum,
        [microagg_internals._told(__mg_record), microagg_internals._told(__mg_stratum)] AS __mg_told
    FROM __mg_s
)
SELECT count(*) AS size FROM __mg_x GROUP BY __mg_record, __mg_stratum, __mg_told;

-- The columns that are counted in classes, and the number of the first record in each record's class.
CREATE OR REPLACE MACRO microagg_internals._members(source, spec) AS TABLE
WITH __mg_s AS (FROM microagg_internals._numbered(source, spec)),
__mg_x AS (
    SELECT
        COLUMNS(system.main._microagg_columns((*), 'counted', spec)), __mg_row,
        struct_pack(*COLUMNS(system.main._microagg_columns((*), 'columns', spec))) AS __mg_record,
        struct_pack(*COLUMNS(system.main._microagg_columns((*), 'strata', spec))) AS __mg_stratum,
        [microagg_internals._told(__mg_record), microagg_internals._told(__mg_stratum)] AS __mg_told
    FROM __mg_s
)
SELECT * EXCLUDE (__mg_record, __mg_stratum, __mg_told),
    min(__mg_row) OVER (PARTITION BY __mg_record, __mg_stratum, __mg_told) AS __mg_key
FROM __mg_x;

-- What is behind `anonymity` and `verify`: only the sizes of the classes go to Python, or all records
-- where entities or confidential columns are counted.
CREATE OR REPLACE MACRO microagg_internals._anonymity(source, spec) AS TABLE
WITH __mg_c AS (
    SELECT system.main._microagg_classes(spec, list(size), [], []) AS __mg_r
    FROM microagg_internals._classes(source, spec)
),
__mg_m AS (FROM microagg_internals._members(source, spec)),
__mg_e AS (
    SELECT system.main._microagg_classes(spec, [], __mg_keys,
        list_value(*COLUMNS(* EXCLUDE (__mg_rows, __mg_keys)))) AS __mg_r
    FROM microagg_internals._lists('__mg_m', true)
),
__mg_r AS MATERIALIZED (FROM query_table(if(microagg_internals._counts(spec), '__mg_e', '__mg_c'))),
__mg_a AS (
    SELECT
    $counts
    FROM __mg_r WHERE len(__mg_r) > 0
)
SELECT COLUMNS(system.main._microagg_columns((*), 'metrics', spec)) FROM __mg_a;

-- One row: records, classes of equal records, the smallest, their mean size, classes of one; with
-- `entity` and `confidential` what is counted of them.
CREATE OR REPLACE MACRO microagg.anonymity(source, columns, $asked) AS TABLE
FROM microagg_internals._anonymity(source, to_json({'columns': columns, $asked_call}));

-- The same row, or an error if fewer than k records share a record, or if what is counted breaks a
-- bound; those without any value are alike as well, and k of them are needed.
CREATE OR REPLACE MACRO microagg.verify(source, columns, k, $held) AS TABLE
FROM microagg_internals._anonymity(source, to_json({'columns': columns, 'k': k, $held_call}));

-- Records of one table with the number of their key, which is the same in the other table.
CREATE OR REPLACE MACRO microagg_internals._keyed(source, keys, spec) AS TABLE
WITH __mg_x AS (
    SELECT
        COLUMNS(system.main._microagg_columns((*), 'columns', spec)), __mg_row,
        struct_pack(*COLUMNS(system.main._microagg_columns((*), 'key', spec))) AS __mg_value
    FROM query_table(source)
)
SELECT __mg_x.* EXCLUDE (__mg_value), __mg_key
FROM __mg_x JOIN query_table(keys) AS __mg_k
    ON __mg_x.__mg_value IS NOT DISTINCT FROM __mg_k.__mg_value;

-- What is behind `assess`. The words with a dollar sign are filled in from the register: one column a
-- metric below, of which those are chosen that are given by default or named, and their names.
CREATE OR REPLACE MACRO microagg_internals._assess(original, masked, spec) AS TABLE
WITH __mg_o AS MATERIALIZED (FROM microagg_internals._numbered(original, spec)),
__mg_m AS MATERIALIZED (FROM microagg_internals._numbered(masked, spec)),
__mg_v AS (
    SELECT struct_pack(*COLUMNS(system.main._microagg_columns((*), 'key', spec))) AS __mg_value
    FROM __mg_o
    UNION
    SELECT struct_pack(*COLUMNS(system.main._microagg_columns((*), 'key', spec))) AS __mg_value
    FROM __mg_m
),
__mg_k AS MATERIALIZED (SELECT __mg_value, row_number() OVER () AS __mg_key FROM __mg_v),
__mg_ok AS (FROM microagg_internals._keyed('__mg_o', '__mg_k', spec)),
__mg_mk AS (FROM microagg_internals._keyed('__mg_m', '__mg_k', spec)),
__mg_c AS (
    SELECT count(*) AS __mg_size
    FROM (
        SELECT
            struct_pack(*COLUMNS(system.main._microagg_columns((*), 'known', spec))) AS __mg_value,
            struct_pack(*COLUMNS(system.main._microagg_columns((*), 'strata', spec))) AS __mg_stratum
        FROM __mg_m
    )
    GROUP BY __mg_value, microagg_internals._told(__mg_value), __mg_stratum, microagg_internals._told(__mg_stratum)
),
__mg_u AS (
    SELECT
        __mg_row,
        microagg_internals._unsigned(COLUMNS(system.main._microagg_columns((*), 'strata', spec)))
    FROM __mg_m
),
__mg_w AS (
    SELECT
        __mg_row,
        struct_pack(*COLUMNS(system.main._microagg_columns((*), 'strata', spec))) AS __mg_stratum,
        microagg_internals._shown(__mg_stratum) AS __mg_shown
    FROM __mg_u
),
__mg_p AS (
    SELECT __mg_row, min(__mg_row) OVER (PARTITION BY __mg_stratum, __mg_shown) AS __mg_first
    FROM __mg_w WHERE (spec->>'strata') IS NOT NULL
),
__mg_r AS MATERIALIZED (
    SELECT system.main._microagg_assess(
        spec,
        (SELECT {'rows': __mg_rows, 'keys': __mg_keys,
            'columns': list_value(*COLUMNS(* EXCLUDE (__mg_rows, __mg_keys)))}
            FROM microagg_internals._lists('__mg_ok', microagg_internals._counts(spec))),
        (SELECT {'rows': __mg_rows, 'keys': __mg_keys,
            'columns': list_value(*COLUMNS(* EXCLUDE (__mg_rows, __mg_keys)))}
            FROM microagg_internals._lists('__mg_mk', false)),
        (SELECT list(__mg_size) FROM __mg_c),
        (SELECT list(__mg_first ORDER BY __mg_row) FROM __mg_p),
        (SELECT list(__mg_tree) FROM microagg_internals._trees(spec) AS __mg_tree)
    ) AS __mg_r
),
__mg_a AS (
    SELECT
    $metrics
    FROM __mg_r
)
SELECT COLUMNS(system.main._microagg_columns((*), 'metrics', spec)) FROM __mg_a;

-- One row, one column a metric. Rows are matched by key, or by position where tables keep an order.
-- With metrics, only those are computed; the others that are given by default are null. With `entity`,
-- columns of the original that say whose a record is, persons are counted as well. With `strata`, columns
-- of the masked table that an attacker knows, records are linked and classes counted within them.
CREATE OR REPLACE MACRO microagg.assess(
    original, masked, columns := NULL, metrics := NULL, known := NULL, key := NULL, strata := NULL, entity := NULL, $keys
) AS TABLE
FROM microagg_internals._assess(original, masked,
    to_json({'columns': columns, 'metrics': metrics, 'known': known, 'key': key,
        'strata': strata, 'entity': entity, $keys_call,
        'offered': [$names], 'ordered': current_setting('preserve_insertion_order')}));
