{# How often each value of a confidential column is in each class, and how far that is from the table. #}

{# One row a class and value: mg_class, mg_code (from 1, null first), mg_there and mg_n. #}
{% macro runs(test, model, columns, confidential, strata, ordered=false) %}
{% do microagg.required(test, 'columns', columns) %}
{% do microagg.required(test, 'confidential', confidential) %}
{% if microagg.listed(confidential) | length > 1 %}
  {{ exceptions.raise_compiler_error("microagg." ~ test ~ " takes one confidential column at a time. "
    ~ "Write one test for each.") }}
{% endif %}
{% set column = microagg.listed(confidential)[0] %}
{% set keys = microagg.expressions(microagg.listed(columns) + microagg.listed(strata), 'c', false) %}
{% set values = microagg.expressions(column, 'v', true) %}
{% set by = microagg.names_of(keys) | join(', ') %}
{% set of = microagg.names_of(values) | join(', ') %}
with mg_records as (
    select {{ (keys + values) | join(', ') }},
        {{ column ~ " as mg_value," if ordered }}
        case when {{ column }} is null then 0 else 1 end as mg_there
    from {{ model }}
),
mg_numbered as (
    select dense_rank() over (order by {{ by }}) as mg_class, mg_there,
        dense_rank() over (order by mg_there, {{ "mg_value" if ordered else of }}) as mg_code
    from mg_records
),
mg_runs as (
    select mg_class, mg_code, mg_there, cast(count(*) as {{ microagg.whole() }}) as mg_n
    from mg_numbered group by mg_class, mg_code, mg_there
)
{% endmacro %}

{# Values that are all equally far apart: those that a class lacks add their shares. #}
{% macro differences() %}
mg_all as (
    select mg_class, mg_n, sum(mg_n) over (partition by mg_code) as mg_of_all,
        sum(mg_n) over (partition by mg_class) as mg_members, sum(mg_n) over () as mg_total
    from mg_runs
),
mg_distances as (
    select sum(abs(mg_n * mg_total - mg_of_all * mg_members))
            + (max(mg_total) - sum(mg_of_all)) * max(mg_members) as mg_parts,
        2 * max(mg_members) * max(mg_total) as mg_whole
    from mg_all group by mg_class
)
{% endmacro %}

{# Values on a line. Between two values of a class its share is flat and that of the table grows, so they
   cross at most once: running sums and that place give the area between them, in whole numbers. The place
   is the first whose sum is not below the level, the least among those that come before it from above. #}
{% macro areas(t_scale) %}
mg_counts as (select mg_code, sum(mg_n) as mg_n from mg_runs group by mg_code),
mg_sums as (
    select mg_code, mg_n, sum(mg_n) over (order by mg_code) as mg_below from mg_counts
),
mg_places as (
    select mg_code, mg_below,
        cast({{ "2 * mg_below - mg_n" if t_scale == 'ranks' else "mg_code" }} as {{ microagg.whole() }}) as mg_place
    from mg_sums
),
mg_steps as (
    select mg_code, mg_below, mg_place,
        mg_below * (coalesce(lead(mg_place) over (order by mg_code), mg_place) - mg_place) as mg_step
    from mg_places
),
mg_line as (
    select mg_code, mg_below, mg_place, sum(mg_step) over (order by mg_code) - mg_step as mg_area,
        max(mg_below) over () as mg_total, min(mg_place) over () as mg_start,
        max(mg_place) over () as mg_finish, sum(mg_step) over () as mg_whole_area
    from mg_steps
),
mg_members as (
    select r.mg_class, l.*,
        sum(r.mg_n) over (partition by r.mg_class order by r.mg_code) as mg_upto,
        sum(r.mg_n) over (partition by r.mg_class) as mg_size,
        lead(l.mg_place) over (partition by r.mg_class order by r.mg_code) as mg_next_place,
        lead(l.mg_area) over (partition by r.mg_class order by r.mg_code) as mg_next_area,
        row_number() over (partition by r.mg_class order by r.mg_code) as mg_turn
    from mg_runs r join mg_line l on r.mg_code = l.mg_code
),
mg_levels as (
    select 0 as mg_kind, null as mg_class, mg_code, mg_below * mg_size as mg_level, mg_place, mg_area, mg_size
    from mg_line cross join (select distinct mg_size from mg_members) s
    union all
    select 1, mg_class, mg_code, mg_upto * mg_total, null, null, mg_size from mg_members
),
mg_crossings as (
    select mg_kind, mg_class, mg_code,
        min(mg_place) over (partition by mg_size order by mg_level desc, mg_kind
            rows between unbounded preceding and current row) as mg_cross_place,
        min(mg_area) over (partition by mg_size order by mg_level desc, mg_kind
            rows between unbounded preceding and current row) as mg_cross_area
    from mg_levels
),
mg_crossed as (
    select m.*,
        least(greatest(c.mg_cross_place, m.mg_place), m.mg_next_place) as mg_at,
        least(greatest(c.mg_cross_area, m.mg_area), m.mg_next_area) as mg_area_at
    from mg_members m join mg_crossings c
        on c.mg_kind = 1 and c.mg_class = m.mg_class and c.mg_code = m.mg_code
),
mg_distances as (
    select sum(
            case when mg_turn = 1 then mg_size * mg_area else 0 end
            + case when mg_next_place is null
                then mg_total * mg_size * (mg_finish - mg_place) - mg_size * (mg_whole_area - mg_area)
                else mg_upto * mg_total * (2 * mg_at - mg_place - mg_next_place)
                    - mg_size * (2 * mg_area_at - mg_area - mg_next_area) end
        ) as mg_parts,
        max(mg_total * mg_size * (mg_finish - mg_start)) as mg_whole
    from mg_crossed group by mg_class
)
{% endmacro %}
