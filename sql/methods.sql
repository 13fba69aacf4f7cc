-- A template: register() fills in one row a registered method.

CREATE OR REPLACE MACRO microagg.methods() AS TABLE
FROM (VALUES $rows) AS methods(method, unit, sizes, cost, "limit", paper, summary);
