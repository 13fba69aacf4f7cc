"""The stubs say what the functions say of themselves: every argument, its type and its default."""

import ast
import inspect
from pathlib import Path

import pytest

import polars_microagg as mg
from polars_microagg import functions
from polars_microagg.analysis.counted_classes import confidential_models
from polars_microagg.core import registry

PACKAGE = Path(__file__).resolve().parents[1] / "polars_microagg"
FUNCTIONS, NAMESPACE = (
    (PACKAGE / f"{name}.pyi").read_text(encoding="utf-8") for name in ("functions", "namespace")
)
CLASSES = {
    node.name: node
    for text in (FUNCTIONS, NAMESPACE)
    for node in ast.parse(text).body
    if isinstance(node, ast.ClassDef)
}
REQUIRED = inspect.Parameter.empty


def shared(name):
    """Annotation and default of each option of a TypedDict, those that it inherits among them."""
    node = CLASSES[name]
    assert {k.arg: ast.unparse(k.value) for k in node.keywords} == {"total": "False"}
    (base,) = map(ast.unparse, node.bases)
    found = {} if base == "TypedDict" else shared(base)
    for field in node.body[1:]:
        _, there, default = FUNCTIONS.splitlines()[field.lineno - 1].partition("  # default ")
        assert there
        assert field.target.id not in found
        found[field.target.id] = (ast.unparse(field.annotation), ast.literal_eval(default))
    return found


def written(node):
    """Annotation and default of each argument of a stub, and whether it is by keyword only."""
    plain, keyword = node.args.args, node.args.kwonlyargs
    assert not node.args.vararg
    defaults = [*[None] * (len(plain) - len(node.args.defaults)), *node.args.defaults]
    found = {
        a.arg: (
            a.annotation and ast.unparse(a.annotation),
            ast.literal_eval(default) if default else REQUIRED,
            a in keyword,
        )
        for a, default in zip([*plain, *keyword], [*defaults, *node.args.kw_defaults], strict=True)
    }
    if node.args.kwarg:
        options = shared(node.args.kwarg.annotation.slice.id)
        assert not options.keys() & found.keys()
        found |= {name: (*option, True) for name, option in options.items()}
    return found


def told(function):
    """The same of each argument, as ``help`` tells it."""
    return {
        p.name: (
            None if p.name == "self" else ast.unparse(ast.parse(p.annotation)),
            p.default,
            p.kind == p.KEYWORD_ONLY,
        )
        for p in inspect.signature(function).parameters.values()
    }


DOORS = (
    (mg, ast.parse(FUNCTIONS), registry.methods() | registry.metrics()),
    (mg.MicroaggFrame, CLASSES["MicroaggFrame"], registry.methods()),
    (mg.MicroaggExpr, CLASSES["MicroaggExpr"], registry.methods() | confidential_models()),
)
PAIRS = {
    f"{door.__name__}.{name}": (
        getattr(door, name),
        [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name],
    )
    for door, tree, names in DOORS
    for name in names
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_stub_has_the_arguments_of_its_function(name):
    function, nodes = PAIRS[name]
    (node,) = nodes
    assert written(node) == told(function)


@pytest.mark.parametrize("name", sorted(CLASSES.keys() - set(mg.__all__)))
def test_what_calls_share_is_for_type_checkers_only(name):
    assert [ast.unparse(d) for d in CLASSES[name].decorator_list] == ["type_check_only"]
    assert not hasattr(functions, name)
    assert ast.get_docstring(CLASSES[name])
