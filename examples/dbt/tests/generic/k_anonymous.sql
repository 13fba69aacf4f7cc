{% test k_anonymous(model, columns, k) %}
-- Fails with one row, which says how many classes there are and how small the smallest is. Records
-- that small_strata := 'null' has emptied release nothing and are left out.
WITH masked AS (SELECT COLUMNS(lambda name: name IN {{ columns }}) FROM {{ model }}),
released AS (FROM masked WHERE concat(*COLUMNS(*)) <> '')
SELECT *
FROM microagg.anonymity('released', {{ columns }})
WHERE k_min < {{ k }}
{% endtest %}
