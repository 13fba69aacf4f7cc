-- Stands for the table that a real project would take from a source.
SELECT
    i AS patient_id,
    ['Aller', 'Brede', 'Corve'][1 + i % 3] AS region,
    (18 + hash(i) % 70)::SMALLINT AS age,
    (20000 + hash(i + 1000000) % 60000)::BIGINT AS income,
    DATE '2024-01-01' + (hash(i + 2000000) % 366)::INTEGER AS admitted
FROM range(3000) r(i)
