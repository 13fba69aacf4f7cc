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

{# Refuse names that are not known, with the nearest one. #}
{% macro refuse_unknown(owner, what, names, known, also=[], way='') %}
  {% for name in names if name not in known + also %}
    {% set near = microagg.nearest(name, known + also) %}
    {{ exceptions.raise_compiler_error(owner ~ " has no " ~ what ~ " '" ~ name ~ "'. "
      ~ ("Did you mean '" ~ near ~ "'?" if near else "Choose from " ~ known | join(', ') ~ ".")
      ~ (" " ~ way if way)) }}
  {% endfor %}
{% endmacro %}

{# The known name that shares most pairs of adjacent letters with a name, if the two share 60 % of theirs. #}
{% macro nearest(name, known) %}
  {% set best = namespace(name=none, share=0.6) %}
  {% for one in known %}
    {% set wanted, padded = " " ~ name | lower ~ " ", " " ~ one ~ " " %}
    {% set pairs = namespace(shared=0) %}
    {% for at in range(name | length + 1) if wanted[at:at + 2] in padded %}
      {% set pairs.shared = pairs.shared + 1 %}
    {% endfor %}
    {% set share = 2 * pairs.shared / (name | length + one | length + 2) %}
    {% if share >= best.share %}{% set best.name, best.share = one, share %}{% endif %}
  {% endfor %}
  {{ return(best.name) }}
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
