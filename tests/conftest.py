"""The quick loop and `--deep`, short searches, no waiting for disks, processes that start quickly.

`python -m pytest` tries every test in few examples, and of a product of parameters every value of
each; `--deep` tries all of it. HYPOTHESIS_PROFILE=thorough draws all that tests can, and a thousand
examples of a law.
"""

import gc
import os
import signal
import sys
import tempfile
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings

from polars_microagg.core import registry
from tests.loop import DEEP, QUICK, left_out

SHORT = {"generations": 30, "effort": 0.1}
"""The laws hold however long a method searches, and are tried thousands of times."""


def set_defaults(given):
    """Set the defaults of options of all methods, by method and name; return those before."""
    before = {}
    for (method, name), value in given.items():
        entry = registry.methods()[method]
        before[method, name] = entry.options[name].default
        entry.function.__kwdefaults__[name] = value
        entry.options[name] = replace(entry.options[name], default=value)
    return before


DEFAULTS = set_defaults(
    {
        (method, name): SHORT[name]
        for method, entry in registry.methods().items()
        for name in SHORT.keys() & entry.options.keys()
    }
)


@pytest.fixture
def defaults_of_users():
    """Search as long as for users: for tests of what is shown to them."""
    short = set_defaults(DEFAULTS)
    yield
    set_defaults(short)


always = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=QUICK, derandomize=True, database=None, **always)
settings.register_profile("deep", max_examples=DEEP, derandomize=True, **always)
settings.register_profile("thorough", max_examples=1000, **always)


def pytest_addoption(parser):
    parser.addoption("--deep", action="store_true", help="run every case, in many examples")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Use every core for the whole suite, where pytest-xdist is there and no number was asked."""
    asked = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    alone = config.option.usepdb or config.option.collectonly
    # Workers come through here, too, and must start none themselves.
    if asked or alone or "PYTEST_XDIST_WORKER" in os.environ:
        return
    if getattr(config.option, "numprocesses", 0) is None:
        config.option.numprocesses = "auto"
        config.option.dist = "worksteal"
        # There is a worker for each processor: more threads of algebra would wait for each other.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_configure(config):
    # What runs in the background or by nohup has signals ignored, and so has what it starts; one
    # that has a handler is as ever in programs that are started.
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    profile = "deep" if config.option.deep else "quick"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))


def pytest_report_header(config):
    return "every case" if config.option.deep else "the quick loop: every case is run by --deep"


def pytest_collection_modifyitems(config, items):
    if config.option.deep or any("::" in asked for asked in config.args):
        return
    left = set(left_out(items))
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Spare the collector of garbage what stays: thousands of cases, and all that is imported."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionfinish(session):
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_disks():
    """Let no file wait for the device: no test cuts the power, and a release waits six times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        yield


@pytest.fixture(autouse=True, scope="session")
def _bytecode_for_processes():
    """Let programs that tests start share bytecode where the environment forbids to keep any.

    Hundreds are started, and to compile what one of them imports takes three times as long as the
    rest of its start.
    """
    if not sys.dont_write_bytecode:
        yield
        return
    folders = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with folders as folder, pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", folder)
        yield


@pytest.fixture
def toys():
    """Register methods that are gone after the test."""
    before = dict(registry.methods())
    yield registry.method
    registry._METHODS.clear()
    registry._METHODS.update(before)
