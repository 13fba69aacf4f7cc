{# How the dialects write what differs: which values a reader takes for one, and exact numbers. #}

{# Expressions that are equal where a reader cannot tell two values of a column apart. #}
{% macro seen(column) %}{{ return(adapter.dispatch('seen', 'microagg')(column)) }}{% endmacro %}

{% macro default__seen(column) %}{{ return([column]) }}{% endmacro %}

{# DuckDB takes 0.0 and -0.0, or 'n' and 'N' under a collation, for equal. #}
{% macro duckdb__seen(column) %}
  {{ return([column, "case when regexp_matches(typeof(" ~ column ~ "), "
    ~ "'FLOAT|DOUBLE|VARCHAR|JSON|INTERVAL|TIME WITH TIME ZONE|VARIANT') "
    ~ "then encode(replace(cast(" ~ column ~ " as varchar), '-nan', 'nan')) end"]) }}
{% endmacro %}

{# As text, so that json and 1.0 beside 1.00 are told apart as well. #}
{% macro postgres__seen(column) %}{{ return(["cast(" ~ column ~ " as text)"]) }}{% endmacro %}

{# BigQuery groups no arrays and no structs, but their text. #}
{% macro bigquery__seen(column) %}{{ return(["to_json_string(" ~ column ~ ")"]) }}{% endmacro %}

{# The same for entities and confidential values, of which -0.0 and 0.0 are one. #}
{% macro counted(column) %}{{ return(adapter.dispatch('counted', 'microagg')(column)) }}{% endmacro %}

{% macro default__counted(column) %}{{ return([column]) }}{% endmacro %}

{# The smallest of a list comes from its key, in which nested numbers have one zero and one NaN. #}
{% macro duckdb__counted(column) %}
  {{ return([column, "case when regexp_matches(typeof(" ~ column ~ "), "
    ~ "'VARCHAR|JSON|INTERVAL|TIME WITH TIME ZONE|VARIANT') then encode(cast("
    ~ "case when regexp_matches(typeof(" ~ column ~ "), 'FLOAT|DOUBLE|VARIANT') "
    ~ "then list_min([[" ~ column ~ "]])[1] else " ~ column ~ " end as varchar)) end"]) }}
{% endmacro %}

{% macro postgres__counted(column) %}
  {{ return(["case cast(" ~ column ~ " as text) when '-0' then '0' else cast(" ~ column ~ " as text) end"]) }}
{% endmacro %}

{% macro bigquery__counted(column) %}
  {{ return(["regexp_replace(to_json_string(" ~ column ~ "), r'^-0(\\.0)?$', '0')"]) }}
{% endmacro %}

{# A type of whole numbers that does not overflow where numbers of records are multiplied. #}
{% macro whole() %}{{ return(adapter.dispatch('whole', 'microagg')()) }}{% endmacro %}
{% macro default__whole() %}{{ return("numeric(38, 0)") }}{% endmacro %}
{% macro duckdb__whole() %}{{ return("hugeint") }}{% endmacro %}
{% macro postgres__whole() %}{{ return("numeric") }}{% endmacro %}
{% macro bigquery__whole() %}{{ return("bignumeric") }}{% endmacro %}

{# A type of numbers in double precision. #}
{% macro double() %}{{ return(adapter.dispatch('double', 'microagg')()) }}{% endmacro %}
{% macro default__double() %}{{ return("double precision") }}{% endmacro %}
{% macro duckdb__double() %}{{ return("double") }}{% endmacro %}
{% macro bigquery__double() %}{{ return("float64") }}{% endmacro %}
