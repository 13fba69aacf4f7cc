{% test k_anonymous(model, columns, k) %}
-- Fails with one row, which says how many classes there are and how small the smallest is. Records
-- that small_strata := 'null' has emptied are a class like any other.
WITH masked AS (SELECT COLUMNS(lambda name: name IN {{ columns }}) FROM {{ model }})
SELECT *
FROM microagg.anonymity('masked', {{ columns }})
WHERE k_min < {{ k }}
{% endtest %}
