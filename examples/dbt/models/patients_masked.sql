SELECT * EXCLUDE (patient_id)
FROM microagg.mdav(
    '{{ ref("patients") }}', ['age', 'income', 'admitted'], {{ var("k", 5) }}, strata := ['region']
)
