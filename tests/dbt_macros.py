"""The macros of dbt/ without dbt: rendered by Jinja as dbt does, with an adapter for each dialect."""

import re
from pathlib import Path

import jinja2

__all__ = ["rendered"]

MACROS = Path(__file__).parents[1] / "dbt" / "macros"

MACRO = re.compile(r"{%-?\s*(?:macro|test)\s+(\w+)\((.*?)\)\s*-?%}", re.S)


class Returned(Exception):
    """What a macro returns in place of its text."""


class Macros:
    """The macros of the package by name, for one dialect."""

    def __init__(self, dialect):
        self.dialect = dialect
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
        }
        self.module = environment.from_string(text).module

    def returned(self, value):
        raise Returned(value)

    def raise_compiler_error(self, sentence):
        raise ValueError(sentence)

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
