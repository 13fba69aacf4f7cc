{{ config(
    materialized='masked', columns=['age', 'income', 'admitted'], k=var('k', 5), strata=['region'],
    drop=['patient_id']
) }}
SELECT * FROM {{ ref('patients') }}
