-- Classes by age and region: (30, N) of ann, bob and cem, (30, S) of dora and eve, (60, null) of fay and gus.
{% set rows = [
    ("'ann'", 30, "'N'", "'flu'", 10), ("'ann'", 30, "'N'", "'gout'", 20), ("'bob'", 30, "'N'", "'flu'", 10),
    ("'cem'", 30, "'N'", "'flu'", 40), ("'dora'", 30, "'S'", "'gout'", 20), ("'eve'", 30, "'S'", "'flu'", 30),
    ("'fay'", 60, "null", "'cold'", 40), ("'gus'", 60, "null", "null", "null")
] %}
{% for who, age, region, sick, wage in rows -%}
select cast({{ who }} as {{ dbt.type_string() }}) as patient, cast({{ age }} as {{ dbt.type_int() }}) as age,
    cast({{ region }} as {{ dbt.type_string() }}) as region,
    cast({{ sick }} as {{ dbt.type_string() }}) as sick, cast({{ wage }} as {{ dbt.type_int() }}) as wage
{% if not loop.last %}union all{% endif %}
{% endfor %}
