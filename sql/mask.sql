-- The macros behind every masking macro. They need the functions that
-- polars_microagg.duckdb.register(con) adds: _microagg_columns chooses the columns of a table that
-- play a role in a call (it runs when the query is bound, so wrong parameters are errors then),
-- _microagg_mask and _microagg_groups see all records at once. `spec` is the call as JSON.
-- register() fills in the words with a dollar sign: types that kinds of columns take which are not
-- numbers, those of them that are categories, and the parameters that name tables of trees, or the
-- kinds of columns.

-- Which list carries the values of a type: d(ouble), i(nteger), t(ext), or none.
CREATE OR REPLACE MACRO microagg_internals._lane(type) AS CASE
    WHEN type LIKE '%]' THEN ''
    WHEN type IN ('DOUBLE', 'FLOAT', 'TINYINT', 'SMALLINT', 'INTEGER',
                  'UTINYINT', 'USMALLINT', 'UINTEGER') THEN 'd'
    WHEN type IN ('BIGINT', 'DATE', 'TIME') OR type LIKE 'TIMESTAMP%' THEN 'i'
    WHEN type IN ('UBIGINT', 'HUGEINT', 'UHUGEINT', 'TIME_NS') THEN 't'
    WHEN type LIKE 'DECIMAL(%' THEN
        CASE WHEN try_cast(regexp_extract(type, '\d+') AS INTEGER) <= 15 THEN 'd' ELSE 't' END
    WHEN type LIKE 'ENUM(%' OR list_contains([$kinds]::VARCHAR[], type) THEN 't'
    ELSE '' END;

-- Whether values of a type are categories, which have no means.
CREATE OR REPLACE MACRO microagg_internals._categories(type) AS
    type LIKE 'ENUM(%' OR list_contains([$categories]::VARCHAR[], type);

-- Steps, or the largest number of them where there is a value without any.
CREATE OR REPLACE MACRO microagg_internals._finite(steps, x) AS
    coalesce(steps, CASE WHEN x IS NOT NULL THEN 9223372036854775807 END);

-- Whole steps of a type that a 64-bit integer counts; 'infinity' is the largest.
CREATE OR REPLACE MACRO microagg_internals._steps(x) AS CASE typeof(x)
    WHEN 'BIGINT' THEN x::BIGINT
    WHEN 'DATE' THEN x::DATE - DATE '1970-01-01'
    WHEN 'TIME' THEN epoch_us(x::TIME)
    WHEN 'TIMESTAMP' THEN microagg_internals._finite(epoch_us(x::TIMESTAMP), x)
    WHEN 'TIMESTAMP_S' THEN microagg_internals._finite(epoch_us(x::TIMESTAMP_S) // 1000000, x)
    WHEN 'TIMESTAMP_MS' THEN microagg_internals._finite(epoch_us(x::TIMESTAMP_MS) // 1000, x)
    WHEN 'TIMESTAMP_NS' THEN microagg_internals._finite(epoch_ns(x::TIMESTAMP_NS), x)
    WHEN 'TIMESTAMP WITH TIME ZONE' THEN microagg_internals._finite(epoch_us(x::TIMESTAMPTZ), x)
    END;

-- Digits of a type that needs more than 64 bits.
CREATE OR REPLACE MACRO microagg_internals._digits(x) AS CASE
    WHEN typeof(x) = 'TIME_NS' THEN epoch_ns(x::TIME_NS)::VARCHAR
    ELSE x::VARCHAR END;

-- Whether a call counts entities or confidential values, which may be of any type.
CREATE OR REPLACE MACRO microagg_internals._counts(spec) AS
    (spec->>'entity') IS NOT NULL OR (spec->>'confidential') IS NOT NULL;

-- One row, true: or an error, if the lists of these columns and what is made of them would take more
-- than the memory_limit of the connection. Values are counted where they may be categories, each of
-- which takes a coordinate.
CREATE OR REPLACE MACRO microagg_internals._fits(source, spec) AS TABLE
WITH __mg_u AS (
    SELECT COLUMNS(system.main._microagg_columns((*), 'columns', spec)) FROM query_table(source)
),
__mg_a AS (
    SELECT
        count(*) AS __mg_rows,
        {
            'type': typeof(first(COLUMNS(*))),
            'values': approx_count_distinct(COLUMNS(*)) FILTER (
                microagg_internals._categories(typeof(COLUMNS(*)))
                OR list_has_any(json_keys(spec), [$named]::VARCHAR[]))
        }
    FROM __mg_u
),
__mg_n AS (
    SELECT __mg_rows, {
        'name': concat(alias(COLUMNS(* EXCLUDE (__mg_rows)))), 'seen': COLUMNS(* EXCLUDE (__mg_rows))
    }
    FROM __mg_a
)
SELECT system.main._microagg_fits(spec, current_setting('memory_limit'), __mg_rows,
    list_value(*COLUMNS(* EXCLUDE (__mg_rows)))) AS __mg_fits
FROM __mg_n;

-- One list a column, in the order that the threads found the records in; with `texts` those of
-- types that cannot be masked are lists of what is read of their values.
CREATE OR REPLACE MACRO microagg_internals._lists(source, texts) AS TABLE
WITH __mg_a AS (
    SELECT
        list(__mg_row) AS __mg_rows,
        list(__mg_key) AS __mg_keys,
        {
            'type': typeof(first(COLUMNS(* EXCLUDE (__mg_row, __mg_key)))),
            'd': CASE microagg_internals._lane(typeof(first(COLUMNS(* EXCLUDE (__mg_row, __mg_key)))))
                WHEN 'd' THEN list(COLUMNS(* EXCLUDE (__mg_row, __mg_key))::DOUBLE) END,
            'i': CASE microagg_internals._lane(typeof(first(COLUMNS(* EXCLUDE (__mg_row, __mg_key)))))
                WHEN 'i' THEN list(microagg_internals._steps(COLUMNS(* EXCLUDE (__mg_row, __mg_key)))) END,
            't': CASE microagg_internals._lane(typeof(first(COLUMNS(* EXCLUDE (__mg_row, __mg_key)))))
                WHEN 't' THEN list(microagg_internals._digits(COLUMNS(* EXCLUDE (__mg_row, __mg_key))))
                WHEN if(texts, '', 't') THEN list(microagg_internals._unsigned(
                    COLUMNS(* EXCLUDE (__mg_row, __mg_key)))::VARCHAR) END
        }
    FROM query_table(source)
)
SELECT
    __mg_rows, __mg_keys,
    {
        'name': concat(alias(COLUMNS(* EXCLUDE (__mg_rows, __mg_keys)))),
        'lists': COLUMNS(* EXCLUDE (__mg_rows, __mg_keys))
    }
FROM __mg_a;

-- The tables that a call names for columns, read by this very query: their rows as JSON. A name is
-- a text that query_table looks up, so nothing in it is run; an object of JSON is no name.
CREATE OR REPLACE MACRO microagg_internals._trees(spec) AS TABLE
FROM query('SELECT NULL::VARCHAR AS option, NULL::VARCHAR AS name, NULL::VARCHAR AS source, '
    || 'NULL::VARCHAR[] AS rows WHERE false'
    || coalesce(array_to_string(list_transform(
        flatten(list_transform([$trees]::VARCHAR[], lambda __mg_o: list_transform(
            map_entries(try_cast(spec->__mg_o AS MAP(VARCHAR, JSON))),
            lambda __mg_e: [__mg_o, __mg_e['key'],
                CASE json_type(__mg_e['value']) WHEN 'VARCHAR' THEN __mg_e['value']->>'$$' END]))),
        lambda __mg_t: CASE WHEN NOT starts_with(ltrim(__mg_t[3]), '{') THEN
            ' UNION ALL SELECT ''' || replace(__mg_t[1], '''', '''''')
            || ''', ''' || replace(__mg_t[2], '''', '''''')
            || ''', ''' || replace(__mg_t[3], '''', '''''')
            || ''', list(__mg_j::VARCHAR ORDER BY __mg_n) FROM ('
            || 'SELECT to_json(__mg_t) AS __mg_j, row_number() OVER () AS __mg_n FROM query_table('''
            || replace(__mg_t[3], '''', '''''') || ''') AS __mg_t)' END), ''), ''));

-- One row: the query that runs, the name of the source, what may qualify that name, and a number that
-- stands for all its records in their order. They include columns that are not masked: `_microagg_mask`
-- refuses a query in which one call meets other records than before. A hash combines those of its
-- columns so simply that rows could be exchanged; the hash of the hash does not.
CREATE OR REPLACE MACRO microagg_internals._read(records, source) AS TABLE
SELECT {
    'query': concat_ws(' ', current_connection_id(), current_query_id(), epoch_us(now())),
    'name': source,
    'path': [current_database(), current_schema()],
    'records': bit_xor(hash(hash(__mg_r)))
} AS __mg_source
FROM query_table(records) AS __mg_r;

-- The struct of a list that has this name.
CREATE OR REPLACE MACRO microagg_internals._found(structs, wanted) AS
    structs[list_position([__mg_c.name FOR __mg_c IN structs], wanted)];

-- The masked lists of one column in its own type again; `like_` is a list of that type.
CREATE OR REPLACE MACRO microagg_internals._typed(masked, type, like_) AS CASE
    WHEN microagg_internals._lane(type) = 'd' THEN cast_to_type(masked.d, like_)
    WHEN type = 'BIGINT' THEN cast_to_type(masked.i, like_)
    WHEN type = 'DATE' THEN cast_to_type(
        list_transform(masked.i, lambda __mg_step: DATE '1970-01-01' + __mg_step::INTEGER), like_)
    WHEN type = 'TIME' THEN cast_to_type(list_transform(masked.i, lambda __mg_step:
        CASE WHEN __mg_step = 86400000000 THEN TIME '24:00:00'
             ELSE TIME '00:00:00' + to_microseconds(__mg_step) END), like_)
    WHEN type = 'TIMESTAMP' THEN cast_to_type(
        list_transform(masked.i, lambda __mg_step: make_timestamp(__mg_step)), like_)
    WHEN type = 'TIMESTAMP_S' THEN cast_to_type(
        list_transform(masked.i, lambda __mg_step: make_timestamp(__mg_step * 1000000)), like_)
    WHEN type = 'TIMESTAMP_MS' THEN cast_to_type(
        list_transform(masked.i, lambda __mg_step: make_timestamp(__mg_step * 1000)), like_)
    WHEN type = 'TIMESTAMP_NS' THEN cast_to_type(
        list_transform(masked.i, lambda __mg_step: make_timestamp_ns(__mg_step)), like_)
    WHEN type = 'TIMESTAMP WITH TIME ZONE' THEN cast_to_type(
        list_transform(masked.i, lambda __mg_step: make_timestamptz(__mg_step)), like_)
    ELSE cast_to_type(masked.t, like_) END;

-- All records of a table, numbered in its order; the first place where a call is checked.
CREATE OR REPLACE MACRO microagg_internals._numbered(source, spec) AS TABLE
SELECT
    COLUMNS(system.main._microagg_columns((*), 'source', spec)),
    0 AS __mg_0,
    row_number() OVER () - 1 AS __mg_row
FROM query_table(source);

-- The columns to mask or to count, and the number of the first record in each record's stratum.
CREATE OR REPLACE MACRO microagg_internals._chosen(source, spec) AS TABLE
WITH __mg_u AS (
    SELECT
        COLUMNS(system.main._microagg_columns((*), 'columns', spec)), __mg_row,
        microagg_internals._unsigned(COLUMNS(system.main._microagg_columns((*), 'strata', spec)))
    FROM query_table(source)
),
__mg_x AS (
    SELECT
        COLUMNS(system.main._microagg_columns((*), 'columns', spec)), __mg_row,
        struct_pack(*COLUMNS(system.main._microagg_columns((*), 'strata', spec))) AS __mg_stratum,
        microagg_internals._shown(__mg_stratum) AS __mg_shown
    FROM __mg_u
),
__mg_k AS (
    SELECT __mg_stratum, __mg_shown, min(__mg_row) AS __mg_key
    FROM __mg_x GROUP BY __mg_stratum, __mg_shown
)
SELECT __mg_x.* EXCLUDE (__mg_stratum, __mg_shown), __mg_key
FROM __mg_x JOIN __mg_k
    ON __mg_x.__mg_stratum IS NOT DISTINCT FROM __mg_k.__mg_stratum
    AND __mg_x.__mg_shown IS NOT DISTINCT FROM __mg_k.__mg_shown;

-- Whether rows may be left out.
CREATE OR REPLACE MACRO microagg_internals._drops(spec) AS
    (spec->>'small_strata') = 'drop' OR (spec->>'max_rows_per_entity') IS NOT NULL;

-- True, or an error: what is put side by side must be the same record. Under a LIMIT the join
-- stops reading on the left and fills up with null, which no record is. DuckDB 2.0 numbers records once
-- for several uses of a source without an order, and its threads store them in any order.
CREATE OR REPLACE MACRO microagg_internals._aligned(place, masked_place) AS CASE
    WHEN place IS NULL THEN false
    WHEN place = masked_place THEN true
    ELSE error('InvalidDataError: The query reads a masked table in several places, and DuckDB read its '
        || 'source in another order than that of its row numbers. Write the masked rows to a table and '
        || 'read that, read them once with WITH masked AS MATERIALIZED (FROM ...), or give the source '
        || 'an ORDER BY without ties.') END;

-- The whole table with its columns masked: the lists go to Python and back, and are put beside the
-- columns that are not masked.
CREATE OR REPLACE MACRO microagg_internals._mask(source, spec) AS TABLE
WITH __mg_s AS MATERIALIZED (FROM microagg_internals._numbered(source, spec)),
__mg_m AS (
    SELECT __mg_x.*
    FROM microagg_internals._chosen('__mg_s', spec) AS __mg_x JOIN microagg_internals._fits('__mg_s', spec) ON __mg_fits
),
__mg_c AS (SELECT list(__mg_tree) AS __mg_trees FROM microagg_internals._trees(spec) AS __mg_tree),
__mg_y AS MATERIALIZED (
    SELECT system.main._microagg_mask(spec, __mg_rows, __mg_keys,
        list_value(*COLUMNS(* EXCLUDE (__mg_rows, __mg_keys, __mg_trees, __mg_source))),
        __mg_trees, __mg_source) AS __mg_y
    FROM microagg_internals._lists('__mg_m', microagg_internals._counts(spec)), __mg_c,
        microagg_internals._read('__mg_s', source)
),
-- No rows, only names and types: those that keep their type, and those that become DOUBLE if they
-- are no categories.
__mg_t AS (SELECT COLUMNS(system.main._microagg_columns((*), 'typed', spec)) FROM __mg_s LIMIT 0),
__mg_d AS (SELECT COLUMNS(system.main._microagg_columns((*), 'float', spec)) FROM __mg_s LIMIT 0),
__mg_f AS (
    SELECT struct_extract({'double': NULL::DOUBLE, 'own': COLUMNS(*)},
        if(microagg_internals._categories(typeof(COLUMNS(*))), 'own', 'double'))
    FROM __mg_d
),
__mg_l AS (
    SELECT
        unnest(__mg_y.rows) AS __mg_at,
        unnest(__mg_y.hidden) AS __mg_hidden,
        unnest(microagg_internals._typed(
            microagg_internals._found(__mg_y.columns, alias(COLUMNS(__mg_t.*))),
            typeof(COLUMNS(__mg_t.*)), [COLUMNS(__mg_t.*)])),
        unnest(microagg_internals._typed(
            microagg_internals._found(__mg_y.columns, alias(COLUMNS(__mg_f.*))),
            typeof(COLUMNS(__mg_f.*)), [COLUMNS(__mg_f.*)]))
    FROM __mg_y LEFT JOIN __mg_t ON true LEFT JOIN __mg_f ON true
),
__mg_o AS (
    SELECT
        __mg_0, COLUMNS(system.main._microagg_columns((*), 'passed', spec)), __mg_row,
        microagg_internals._unsigned(COLUMNS(system.main._microagg_columns((*), 'keys', spec)))
    FROM __mg_s
),
-- A key would tell who was in a small stratum: it is emptied where the masked cells are.
__mg_p AS (
    SELECT
        COLUMNS(system.main._microagg_columns((*), 'others', spec)),
        COLUMNS(system.main._microagg_columns((*), 'masked', spec)),
        if(__mg_hidden, NULL, COLUMNS(system.main._microagg_columns((*), 'strata', spec)))
    FROM __mg_o POSITIONAL JOIN __mg_l
    WHERE microagg_internals._aligned(__mg_row, __mg_at)
    AND NOT (__mg_hidden AND microagg_internals._drops(spec))
)
-- The first part has no rows: it puts the columns back into their order.
(
    SELECT if(COLUMNS(system.main._microagg_columns((*), 'all', spec)) IS NULL, NULL, NULL)
    FROM __mg_s LIMIT 0
)
UNION ALL BY NAME (
    SELECT COLUMNS(system.main._microagg_columns((*), 'all', spec)) FROM __mg_p
);

-- The same records with the number of their group.
CREATE OR REPLACE MACRO microagg_internals._groups(source, spec) AS TABLE
WITH __mg_s AS MATERIALIZED (FROM microagg_internals._numbered(source, spec)),
__mg_m AS (
    SELECT __mg_x.*
    FROM microagg_internals._chosen('__mg_s', spec) AS __mg_x JOIN microagg_internals._fits('__mg_s', spec) ON __mg_fits
),
__mg_c AS (SELECT list(__mg_tree) AS __mg_trees FROM microagg_internals._trees(spec) AS __mg_tree),
__mg_l AS (
    SELECT unnest(__mg_y.rows) AS __mg_at, unnest(__mg_y.groups) AS microagg_group
    FROM (
        SELECT system.main._microagg_groups(spec, __mg_rows, __mg_keys,
            list_value(*COLUMNS(* EXCLUDE (__mg_rows, __mg_keys, __mg_trees, __mg_source))),
            __mg_trees, __mg_source) AS __mg_y
        FROM microagg_internals._lists('__mg_m', microagg_internals._counts(spec)), __mg_c,
            microagg_internals._read('__mg_s', source)
    )
)
SELECT __mg_s.* EXCLUDE (__mg_0, __mg_row), microagg_group
FROM __mg_s POSITIONAL JOIN __mg_l
WHERE microagg_internals._aligned(__mg_row, __mg_at)
AND (microagg_group IS NOT NULL OR NOT microagg_internals._drops(spec));
