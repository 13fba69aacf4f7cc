"""What is computed stays as it is: digests of labels, values, manifests, refusals and signatures."""

import json

import pytest

from tools import golden

KEPT = json.loads(golden.FILE.read_text(encoding="utf-8"))
PARTS = 6
"""Parts of the cases of methods, which take most of the time, for several processes."""


def differences(cases):
    """Compute these cases, and name those that are not as they were."""
    now = {name: golden.guarded(call) for name, call in cases}
    assert now
    return golden.differences({name: KEPT.get(name) for name in now}, now)


@pytest.mark.parametrize("part", range(PARTS))
def test_exact_methods(part):
    assert differences(list(golden.method_cases())[part::PARTS]) == []


@pytest.mark.parametrize("interface", golden.INTERFACES)
def test_exact_interfaces(interface):
    assert differences(c for c in golden.interface_cases() if c[0].startswith(interface)) == []


@pytest.mark.usefixtures("defaults_of_users")
@pytest.mark.parametrize(
    "section", [section for section in golden.SECTIONS if section not in golden.EXACT]
)
def test_section(section):
    assert differences(section()) == []


def test_every_case_is_kept():
    names = [name for section in golden.SECTIONS for name, _ in section()]
    assert sorted(names) == sorted(KEPT)


def test_another_value_differs():
    name, value = next(iter(KEPT.items()))
    assert golden.differences({name: value}, {name: "0" * 12})
    assert golden.differences({name: value}, {})
    assert golden.differences({"number": 1.0}, {"number": 1.0 + 1e-6})
    assert not golden.differences({"number": 1.0}, {"number": 1.0 + 1e-12})
