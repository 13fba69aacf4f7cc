-- A template: register() fills in one column a number, and the options that masking macros share.

-- What is behind `compare`: the columns go to Python as for masking, and one row a k and method comes back.
CREATE OR REPLACE MACRO microagg_internals._compare(source, spec) AS TABLE
WITH __mg_s AS MATERIALIZED (FROM microagg_internals._numbered(source, spec)),
__mg_m AS (
    SELECT __mg_x.*
    FROM microagg_internals._chosen('__mg_s', spec) AS __mg_x
    JOIN microagg_internals._fits('__mg_s', spec) ON __mg_fits
),
__mg_c AS (SELECT list(__mg_tree) AS __mg_trees FROM microagg_internals._trees(spec) AS __mg_tree),
__mg_r AS MATERIALIZED (
    SELECT unnest(system.main._microagg_compare(spec, __mg_rows, __mg_keys,
        list_value(*COLUMNS(* EXCLUDE (__mg_rows, __mg_keys, __mg_trees))), __mg_trees)) AS __mg_row
    FROM microagg_internals._lists('__mg_m', microagg_internals._counts(spec)), __mg_c
),
__mg_t AS (SELECT __mg_row.*, __mg_row.numbers AS __mg_r FROM __mg_r),
__mg_a AS (
    SELECT method, k,
    $numbers,
    pareto, note,
    $further
    FROM __mg_t
)
SELECT COLUMNS(system.main._microagg_columns((*), 'metrics', spec)) FROM __mg_a;

-- One row a k and method: what each loses and risks.
CREATE OR REPLACE MACRO microagg.compare(
    source, columns, methods := NULL, ks := [3, 5, 10], known := NULL, known_sample := NULL,
    seconds := NULL, metrics := NULL, $parameters
) AS TABLE
FROM microagg_internals._compare(source, to_json({'columns': columns, 'methods': methods, 'ks': ks,
    'known': known, 'known_sample': known_sample, 'seconds': seconds, 'metrics': metrics,
    'offered': [$names], $call}));

-- The row of a table of `compare` that loses least and meets what is required, and why.
CREATE OR REPLACE MACRO microagg.recommend(compared, require := 'dld<=10', k := 2) AS TABLE
WITH __mg_c AS MATERIALIZED (SELECT *, row_number() OVER () - 1 AS __mg_row FROM query_table(compared)),
__mg_j AS (SELECT to_json(__mg_c)::VARCHAR AS __mg_json, __mg_row FROM __mg_c),
__mg_r AS MATERIALIZED (
    SELECT system.main._microagg_recommend(to_json({'require': require, 'k': k}),
        list(__mg_json ORDER BY __mg_row ASC)) AS __mg_r
    FROM __mg_j
)
SELECT __mg_c.* EXCLUDE (__mg_row), __mg_r.met AS met, __mg_r.reason AS reason
FROM __mg_c JOIN __mg_r ON __mg_row = __mg_r.row;
