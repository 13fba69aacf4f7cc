-- What masking has cost, as aggregate functions in plain SQL, without Python: they work in SELECT, with
-- GROUP BY and, from DuckDB 2.0 on, under their full name with OVER. o and m are lists of columns
-- before and after, as in [o.age, o.income], [m.age, m.income].

CREATE SCHEMA IF NOT EXISTS microagg;
CREATE SCHEMA IF NOT EXISTS microagg_internals;

-- Lists of numbers, or an error: what is no number would be shown by the error of a cast.
CREATE OR REPLACE MACRO microagg_internals._numbers(o) AS CASE
    WHEN regexp_matches(typeof(o), '^([A-Z]*INT[A-Z]*|FLOAT|DOUBLE|DECIMAL\([0-9, ]*\)|"NULL")\[[0-9]*\]$')
    THEN o ELSE error('InvalidParameterError: sse, sst and loss take lists of columns of numbers, as '
        || 'in [o.age, o.income], and got ' || typeof(o)
        || '. Cast dates and times to numbers; the macro assess measures categories.')
    END::DOUBLE[];

-- The lists of a record before and after, which must be of the same columns.
CREATE OR REPLACE MACRO microagg_internals._both(o, m) AS CASE
    WHEN len(o) = len(m) THEN {'o': microagg_internals._numbers(o), 'm': microagg_internals._numbers(m)}
    ELSE error('InvalidParameterError: the list before has ' || coalesce(len(o)::VARCHAR, 'no')
        || ' column(s) and the one after ' || coalesce(len(m)::VARCHAR, 'no')
        || '. List the same columns of both.') END;

-- Sum of squared differences in standard deviations of the column before; a cell that is null in
-- either list is passed over, a column that does not vary is left out. The lists of all records are
-- gathered once, so that there is one aggregate function, which is what OVER asks for.
CREATE OR REPLACE MACRO microagg.sse(o, m) AS
    list_transform([list(microagg_internals._both(o, m))], lambda __mg_all:
        coalesce(list_sum(list_transform(range(1, len(__mg_all[1].o) + 1), lambda __mg_j:
            list_sum(list_transform(__mg_all, lambda __mg_r:
                (__mg_r.o[__mg_j] - __mg_r.m[__mg_j]) ** 2))
            / nullif(list_var_pop(list_transform(__mg_all, lambda __mg_r: __mg_r.o[__mg_j])), 0)
        )), 0))[1];

-- Sum of squared differences from the mean in the same units: the cells of the columns that vary.
CREATE OR REPLACE MACRO microagg.sst(o) AS
    list_transform([list(microagg_internals._numbers(o))], lambda __mg_all:
        coalesce(list_sum(list_transform(range(1, len(__mg_all[1]) + 1), lambda __mg_j:
            CASE WHEN list_var_pop(list_transform(__mg_all, lambda __mg_r: __mg_r[__mg_j])) > 0
            THEN list_count(list_transform(__mg_all, lambda __mg_r: __mg_r[__mg_j])) END
        )), 0)::DOUBLE)[1];

-- Information loss 100 SSE/SST: 0 keeps everything, 100 leaves only the means.
CREATE OR REPLACE MACRO microagg.loss(o, m) AS
    list_transform([list(microagg_internals._both(o, m))], lambda __mg_all:
        list_transform([list_transform(range(1, len(__mg_all[1].o) + 1), lambda __mg_j: {
            'sse': list_sum(list_transform(__mg_all, lambda __mg_r:
                (__mg_r.o[__mg_j] - __mg_r.m[__mg_j]) ** 2)),
            'var': list_var_pop(list_transform(__mg_all, lambda __mg_r: __mg_r.o[__mg_j])),
            'n': list_count(list_transform(__mg_all, lambda __mg_r: __mg_r.o[__mg_j]))
        })], lambda __mg_columns: coalesce(
            100 * list_sum(list_transform(__mg_columns, lambda __mg_c:
                __mg_c.sse / nullif(__mg_c.var, 0)))
            / list_sum(list_transform(__mg_columns, lambda __mg_c:
                CASE WHEN __mg_c.var > 0 THEN __mg_c.n END)), 0)
        )[1])[1];

-- Comments that DuckDB keeps, written by docs/generate.py; do not edit.

COMMENT ON MACRO microagg_internals._numbers IS 'Not for use. Lists of numbers, or an error: what is no number would be shown by the error of a cast.';
COMMENT ON MACRO microagg_internals._both IS 'Not for use. The lists of a record before and after, which must be of the same columns.';
COMMENT ON MACRO microagg.sse IS 'Sum of squared differences on standardised columns. Example: SELECT microagg.sse([o.age], [m.age]) FROM patients o JOIN masked m USING (id);';
COMMENT ON MACRO microagg.sst IS 'Sum of squared differences from the mean on standardised columns. Example: SELECT microagg.sst([age, income]) FROM patients;';
COMMENT ON MACRO microagg.loss IS 'Information loss 100 SSE/SST: 0 keeps everything, 100 leaves only the means. Example: SELECT microagg.loss([o.age], [m.age]) FROM patients o JOIN masked m USING (id);';
