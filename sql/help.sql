-- A template: register() fills in one row a macro, and one a parameter that macros share.

-- Behind help and options: true where a name is asked for, or an error that names the nearest one.
CREATE OR REPLACE MACRO microagg_internals._asked(macro, names, shown) AS CASE
    WHEN macro IS NULL THEN true
    WHEN list_contains(names, lower(macro)) THEN shown
    ELSE error('InvalidParameterError: There is no macro ''' || macro || '''. Did you mean '''
        || list_min(list_transform(names, lambda __mg_n:
            {'far': damerau_levenshtein(__mg_n, lower(macro)), 'name': __mg_n})).name || '''?') END;

CREATE OR REPLACE MACRO microagg.help(macro := NULL) AS TABLE
WITH __mg_h AS (FROM (VALUES $macros) AS help(name, what, options, example)),
__mg_n AS (SELECT list(name) AS __mg_names FROM __mg_h)
SELECT name, what, options, example FROM __mg_h, __mg_n
WHERE microagg_internals._asked(macro, __mg_names, name = lower(macro));

CREATE OR REPLACE MACRO microagg.options(macro := NULL) AS TABLE
WITH __mg_o AS (FROM (VALUES $options) AS options(option, "default", meaning, macros)),
__mg_n AS (SELECT list(name) AS __mg_names FROM microagg.help())
SELECT option, "default", meaning FROM __mg_o, __mg_n
WHERE microagg_internals._asked(macro, __mg_names, list_contains(macros, lower(macro)));
