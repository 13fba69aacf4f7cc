{# What the tests share: the records of a model by class, and the names of the columns that tell. #}

{# A list of names from a name or a list. #}
{% macro listed(names) %}
  {{ return([] if names is none else ([names] if names is string else names)) }}
{% endmacro %}

{# Refuse a test that names no column. #}
{% macro required(test, what, names) %}
  {% if not microagg.listed(names) %}
    {{ exceptions.raise_compiler_error("microagg." ~ test ~ " needs " ~ what ~ ", and none is named. "
      ~ "Name at least one column.") }}
  {% endif %}
{% endmacro %}

{# The expressions of some columns, one a name: mg_c0, mg_c1 and so on. #}
{% macro expressions(columns, prefix, values) %}
  {% set found = [] %}
  {% for column in microagg.listed(columns) %}
    {% for each in (microagg.counted(column) if values else microagg.seen(column)) %}
      {% do found.append(each ~ " as mg_" ~ prefix ~ found | length) %}
    {% endfor %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}

{# The names that `expressions` gives. #}
{% macro names_of(found) %}
  {% set names = [] %}
  {% for each in found %}{% do names.append(each.split(" as ") | last) %}{% endfor %}
  {{ return(names) }}
{% endmacro %}
