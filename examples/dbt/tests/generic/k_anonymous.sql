{% test k_anonymous(model, columns, k) %}
-- Fails with one row, which says how many classes there are and how small the smallest is.
SELECT *
FROM microagg.anonymity('{{ model }}', {{ columns }})
WHERE k_min < {{ k }}
{% endtest %}
