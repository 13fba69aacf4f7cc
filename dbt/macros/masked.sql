{# A model whose result is masked, for dbt-duckdb with the macros of polars_microagg registered:

    {{ config(materialized='masked', columns=['age', 'income'], k=5, keep=['region'], drop=['id']) }}
    select * from {{ ref('patients') }}

   Every column of the query has a role, as in microagg.release, and other settings are its parameters:
   method, strata, entity, confidential, l and so on. The table is checked before it takes the place of
   the one before, so that what breaks a bound is never there under its name. #}
{% materialization masked, adapter='duckdb' %}
  {%- set release = microagg.masking(sql) -%}
  {%- set target = this.incorporate(type='table') -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set intermediate = make_intermediate_relation(target) -%}
  {%- set backup = make_backup_relation(target, existing.type if existing else 'table') -%}
  {{ drop_relation_if_exists(load_cached_relation(intermediate)) }}
  {{ drop_relation_if_exists(load_cached_relation(backup)) }}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {% call statement('main') -%}
    {{ create_table_as(False, intermediate, release) }}
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

{# Configuration keys of dbt and of dbt-duckdb. #}
{% macro keys_of_dbt() %}
  {{ return(['access', 'alias', 'batch_size', 'begin', 'column_types', 'concurrent_batches', 'contract', 'database',
    'description', 'docs', 'enabled', 'event_time', 'freshness', 'full_refresh', 'grants', 'group',
    'incremental_strategy', 'indexes', 'latest_version_pointer', 'lookback', 'materialized', 'meta', 'on_configuration_change',
    'on_error', 'on_schema_change', 'packages', 'partitioned_by', 'persist_docs', 'post-hook', 'post_hook', 'pre-hook',
    'pre_hook', 'quoting', 'schema', 'sorted_by', 'sql_header', 'static_analysis', 'tags', 'unique_key']) }}
{% endmacro %}

{# Names of the parameters that a macro of polars_microagg has after the source. #}
{% macro parameters(name) %}
  {%- set catalog = var('microagg_catalog', 'microagg') -%}
  {%- set names = run_query("select distinct unnest(parameters) as name from duckdb_functions() where "
    ~ "lower(database_name) = lower(" ~ microagg.literal(catalog) ~ ") and function_name = "
    ~ microagg.literal(name) ~ " order by name").columns[0].values() | reject('equalto', 'source') | list -%}
  {%- if not names -%}
    {{ exceptions.raise_compiler_error("The connection has no macro " ~ catalog ~ "." ~ name ~ ". "
      ~ "List microagg_plugin under plugins in profiles.yml.") }}
  {%- endif -%}
  {{ return(names) }}
{% endmacro %}

{# The release of what a model selects. #}
{% macro masking(sql) %}
  {%- set known = microagg.parameters('release') -%}
  {%- do microagg.refuse_unknown('The materialization masked', 'setting', model.unrendered_config,
    known, microagg.keys_of_dbt(), 'Move settings of your own to meta.') -%}
  with microagg_source as (
    {{ sql }}
  )
  from {{ var('microagg_catalog', 'microagg') }}.release('microagg_source',
    {{ microagg.literal(config.require('columns')) }}, {{ microagg.literal(config.require('k')) }}
    {{- microagg.given(known | reject('in', ['columns', 'k'])) }})
{% endmacro %}

{# What is checked on the table before it is given its name: an entity that does not come out was counted
   where it was masked. #}
{% macro verifying(relation) %}
  from {{ var('microagg_catalog', 'microagg') }}.verify({{ microagg.literal(relation | string) }},
    {{ microagg.literal(config.require('columns')) }}, {{ microagg.literal(config.require('k')) }}
    {{- microagg.given(microagg.parameters('verify') | reject('in',
      ['columns', 'k', 'entity', 'entity_mode', 'max_entity_share'])) }})
{% endmacro %}
