-- A template, written by register() once for `mask`, for `groups` and for every registered method.
-- The words with a dollar sign are filled in: the name of the macro and of the one behind it, the
-- options with their defaults, and the same options as fields of a struct.

CREATE OR REPLACE MACRO microagg.$name(source, columns, k, $parameters) AS TABLE
FROM microagg_internals.$macro(source, to_json({'columns': columns, 'k': k, $call}));
