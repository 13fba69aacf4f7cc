"""The macros of dbt/ without dbt: rendered by Jinja as dbt does, with an adapter for each dialect."""

import re
from pathlib import Path
from types import SimpleNamespace

import jinja2

__all__ = ["rendered", "rendered_model"]

MACROS = Path(__file__).parents[1] / "dbt" / "macros"

MACRO = re.compile(r"{%-?\s*(?:macro|test)\s+(\w+)\((.*?)\)\s*-?%}", re.S)


class Returned(Exception):
    """What a macro returns in place of its text."""


class Macros:
    """The macros of the package by name, for one dialect, and one model's settings and connection."""

    def __init__(self, dialect, settings=None, con=None):
        self.dialect = dialect
        self.settings = self.unrendered_config = settings or {}
        self.con = con
        environment = jinja2.Environment(extensions=["jinja2.ext.do"], autoescape=False)
        text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(MACROS.glob("*.sql")))
        text = re.sub(r"{%-?\s*materialization .*?endmaterialization\s*-?%}", "", text, flags=re.S)
        text = re.sub(r"{%\s*test (\w+)\(", r"{% macro test_\1(", text)
        text = re.sub(r"{%\s*endtest\s*%}", "{% endmacro %}", text)
        self.names = MACRO.findall(text)
        environment.globals |= {
            "microagg": self,
            "adapter": self,
            "return": self.returned,
            "exceptions": self,
            "config": self,
            "model": self,
            "run_query": self.run_query,
            "var": lambda _, default: default,
        }
        self.module = environment.from_string(text).module

    def returned(self, value):
        raise Returned(value)

    def raise_compiler_error(self, sentence):
        raise ValueError(sentence)

    def get(self, name):
        return self.settings.get(name)

    def require(self, name):
        return self.settings[name]

    def run_query(self, sql):
        rows = self.con.sql(sql).fetchall()
        return SimpleNamespace(columns=[SimpleNamespace(values=lambda: [row[0] for row in rows])])

    def dispatch(self, name, package):
        assert package == "microagg"
        own = f"{self.dialect}__{name}"
        return getattr(self, own if hasattr(self.module, own) else f"default__{name}")

    def __getattr__(self, name):
        macro = getattr(self.module, name)

        def called(*arguments, **options):
            try:
                return str(macro(*arguments, **options))
            except Returned as returned:
                return returned.args[0]

        return called


def rendered(dialect, test, model, **arguments):
    """The SQL of a generic test in a dialect."""
    return getattr(Macros(dialect), f"test_{test}")(model, **arguments)


def rendered_model(con, sql, **settings):
    """The SQL that masks a model of these settings, and the SQL that verifies the table `masked`."""
    macros = Macros("duckdb", settings, con)
    return macros.masking(sql), macros.verifying("masked")
