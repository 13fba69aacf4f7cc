{# A model whose result is masked, for dbt-duckdb with the macros of polars_microagg registered:

    {{ config(materialized='masked', columns=['age', 'income'], k=5, keep=['region'], drop=['id']) }}
    select * from {{ ref('patients') }}

   Every column of the query has a role, as in microagg.release, and other settings are its parameters:
   method, strata, entity, confidential, l and so on. The table is checked before it takes the place of
   the one before, so that what breaks a bound is never there under its name. #}
{% materialization masked, adapter='duckdb' %}
  {%- set target = this.incorporate(type='table') -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set intermediate = make_intermediate_relation(target) -%}
  {%- set backup = make_backup_relation(target, existing.type if existing else 'table') -%}
  {{ drop_relation_if_exists(load_cached_relation(intermediate)) }}
  {{ drop_relation_if_exists(load_cached_relation(backup)) }}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {% call statement('main') -%}
    {{ create_table_as(False, intermediate, microagg.masking(sql)) }}
  {%- endcall %}
  {% call statement('verified', fetch_result=True) -%}
    {{ microagg.verifying(intermediate) }}
  {%- endcall %}
  {% if existing %}{{ adapter.rename_relation(existing, backup) }}{% endif %}
  {{ adapter.rename_relation(intermediate, target) }}
  {% do persist_docs(target, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {{ drop_relation_if_exists(backup) }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}

{# A value of the configuration as SQL. #}
{% macro literal(value) %}
  {%- if value is string -%}{{ return("'" ~ value | replace("'", "''") ~ "'") }}
  {%- elif value is mapping -%}
    {%- set fields = [] -%}
    {%- for name, each in value.items() -%}
      {%- do fields.append(microagg.literal(name) ~ ": " ~ microagg.literal(each)) -%}
    {%- endfor -%}
    {{ return("{" ~ fields | join(', ') ~ "}") }}
  {%- elif value is sequence -%}
    {%- set items = [] -%}
    {%- for each in value -%}{%- do items.append(microagg.literal(each)) -%}{%- endfor -%}
    {{ return("[" ~ items | join(', ') ~ "]") }}
  {%- else -%}{{ return(value | string | lower) }}{%- endif -%}
{% endmacro %}

{# Parameters of a macro that the configuration of a model gives. #}
{% macro given(names) %}
  {%- set found = [] -%}
  {%- for name in names -%}
    {%- set value = config.get(name) -%}
    {%- if value is not none -%}{%- do found.append(', "' ~ name ~ '" := ' ~ microagg.literal(value)) -%}{%- endif -%}
  {%- endfor -%}
  {{ return(found | join('')) }}
{% endmacro %}

{# The release of what a model selects. #}
{% macro masking(sql) %}
  {%- set bounds = ['entity_mode', 'confidential', 'l', 'max_share', 't', 't_scale'] -%}
  {%- set others = ['method', 'keep', 'drop', 'strata', 'scale', 'center', 'nulls', 'small_strata', 'dtype',
    'refine', 'seed', 'entity', 'cap_rows', 'circular', 'nominal', 'ordinal', 'taxonomy', 'weigh',
    'options'] -%}
  with microagg_source as (
    {{ sql }}
  )
  from {{ var('microagg_catalog', 'microagg') }}.release('microagg_source',
    {{ microagg.literal(config.require('columns')) }}, {{ microagg.literal(config.require('k')) }}
    {{- microagg.given(others + bounds) }})
{% endmacro %}

{# What is checked on the table before it is given its name: an entity that does not come out was counted
   where it was masked. #}
{% macro verifying(relation) %}
  {%- set bounds = ['strata', 'confidential', 'l', 'max_share', 't', 't_scale'] -%}
  from {{ var('microagg_catalog', 'microagg') }}.verify({{ microagg.literal(relation | string) }},
    {{ microagg.literal(config.require('columns')) }}, {{ microagg.literal(config.require('k')) }}
    {{- microagg.given(bounds) }})
{% endmacro %}
