{# The tests. Each gives no row where it holds, and else one row of counts: never a record's value. #}

{# At least k records share each record in these columns and strata. #}
{% test k(model, columns, k, strata=none) %}
{% do microagg.refuse_unknown('microagg.k', 'argument', kwargs, ['columns', 'k', 'strata']) %}
{% do microagg.required('k', 'columns', columns) %}
{% set keys = microagg.expressions(microagg.listed(columns) + microagg.listed(strata), 'c', false) %}
with mg_records as (select {{ keys | join(', ') }} from {{ model }}),
mg_classes as (
    select count(*) as mg_n from mg_records group by {{ microagg.names_of(keys) | join(', ') }}
)
select count(*) as classes, sum(mg_n) as records, min(mg_n) as smallest
from mg_classes where mg_n < {{ k }} having count(*) > 0
{% endtest %}

{# At least k distinct entities, such as patients, share each record; none of them is null. #}
{% test entities(model, columns, entity, k, strata=none) %}
{% do microagg.refuse_unknown('microagg.entities', 'argument', kwargs, ['columns', 'entity', 'k', 'strata']) %}
{% do microagg.required('entities', 'columns', columns) %}
{% do microagg.required('entities', 'entity', entity) %}
{% set keys = microagg.expressions(microagg.listed(columns) + microagg.listed(strata), 'c', false) %}
{% set people = microagg.expressions(entity, 'e', true) %}
{% set by = microagg.names_of(keys) | join(', ') %}
with mg_records as (
    select {{ (keys + people) | join(', ') }},
        case when {{ microagg.listed(entity) | join(' is null or ') }} is null then 1 else 0 end as mg_nameless
    from {{ model }}
),
mg_entities as (select distinct {{ by }}, {{ microagg.names_of(people) | join(', ') }} from mg_records),
mg_classes as (select count(*) as mg_n from mg_entities group by {{ by }}),
mg_few as (select count(*) as classes, min(mg_n) as fewest from mg_classes where mg_n < {{ k }}),
mg_unknown as (select coalesce(sum(mg_nameless), 0) as nameless from mg_records)
select classes, fewest, nameless from mg_few cross join mg_unknown where classes > 0 or nameless > 0
{% endtest %}

{# No entity has more than this share of the rows of a class; none of them is null. #}
{% test entity_share(model, columns, entity, max_entity_share, strata=none) %}
{% do microagg.refuse_unknown('microagg.entity_share', 'argument', kwargs,
  ['columns', 'entity', 'max_entity_share', 'strata']) %}
{% do microagg.required('entity_share', 'columns', columns) %}
{% do microagg.required('entity_share', 'entity', entity) %}
{% set keys = microagg.expressions(microagg.listed(columns) + microagg.listed(strata), 'c', false) %}
{% set people = microagg.expressions(entity, 'e', true) %}
{% set by = microagg.names_of(keys) | join(', ') %}
with mg_records as (
    select {{ (keys + people) | join(', ') }},
        case when {{ microagg.listed(entity) | join(' is null or ') }} is null then 1 else 0 end as mg_nameless
    from {{ model }}
),
mg_entities as (
    select {{ by }}, count(*) as mg_n from mg_records
    group by {{ by }}, {{ microagg.names_of(people) | join(', ') }}
),
mg_classes as (
    select cast(max(mg_n) as {{ microagg.double() }}) / sum(mg_n) as mg_share from mg_entities group by {{ by }}
),
mg_large as (
    select count(*) as classes, max(mg_share) as largest from mg_classes
    where mg_share > {{ max_entity_share }}
),
mg_unknown as (select coalesce(sum(mg_nameless), 0) as nameless from mg_records)
select classes, largest, nameless from mg_large cross join mg_unknown where classes > 0 or nameless > 0
{% endtest %}

{# At least l distinct values of a confidential column in each class; null is not one. #}
{% test l(model, columns, confidential, l, strata=none) %}
{% do microagg.refuse_unknown('microagg.l', 'argument', kwargs, ['columns', 'confidential', 'l', 'strata']) %}
{{ microagg.runs('l', model, columns, confidential, strata) }},
mg_told as (
    select mg_class, greatest(sum(mg_there), 1) as mg_l from mg_runs group by mg_class
)
select count(*) as classes, min(mg_l) as fewest from mg_told where mg_l < {{ l }} having count(*) > 0
{% endtest %}

{# No value of a confidential column is that of more than this share of those with one in a class. #}
{% test share(model, columns, confidential, max_share, strata=none) %}
{% do microagg.refuse_unknown('microagg.share', 'argument', kwargs, ['columns', 'confidential', 'max_share', 'strata']) %}
{{ microagg.runs('share', model, columns, confidential, strata) }},
mg_told as (
    select mg_class, cast(max(mg_n) as {{ microagg.double() }}) / sum(mg_n) as mg_share
    from mg_runs where mg_there = 1 group by mg_class
)
select count(*) as classes, max(mg_share) as largest
from mg_told where mg_share > {{ max_share }} having count(*) > 0
{% endtest %}

{# The values of a confidential column are at most this far from those of the table in each class: the
   earth mover's distance, to 12 decimals. With ordered, values lie on a line at equal steps, or with
   t_scale: ranks at the middle ranks of the records; else any two are equally far apart. #}
{% test t(model, columns, confidential, t, ordered=false, t_scale='values', strata=none) %}
{% do microagg.refuse_unknown('microagg.t', 'argument', kwargs, ['columns', 'confidential', 't', 'ordered', 't_scale', 'strata']) %}
{% if t_scale not in ('values', 'ranks') %}
  {{ exceptions.raise_compiler_error("microagg.t: t_scale must be one of 'values', 'ranks'.") }}
{% endif %}
{{ microagg.runs('t', model, columns, confidential, strata, ordered) }},
{% if ordered %}{{ microagg.areas(t_scale) }}{% else %}{{ microagg.differences() }}{% endif %},
mg_told as (
    select cast(mg_parts as {{ microagg.double() }}) / cast(mg_whole as {{ microagg.double() }}) as mg_t
    from mg_distances where mg_whole > 0
)
select count(*) as classes, max(mg_t) as largest
from mg_told where mg_t > {{ t }} + 0.0000000000005 having count(*) > 0
{% endtest %}
