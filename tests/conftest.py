"""For all tests: one printed seed that replays the random ones, how thoroughly they search, and which overlap.

MILEAGE_TEST_SEED=N replays a run; MILEAGE_TEST_PROFILE=thorough searches twenty times longer.

Tests run in several processes. Those that share something of the whole machine (loop devices, the page cache, MPI) are
in a named group, and the tests of a group run one after another: `pytestmark = pytest.mark.xdist_group("devices")`.
Tests that share a fixture of their module are kept together here.
"""

from __future__ import annotations

import os
import secrets
import signal

import pytest
from hypothesis import settings

# Pictures are most of a small study's time. The tests that are about them ask for them.
os.environ.setdefault("MILEAGE_REPORT", "text")

settings.register_profile("fast", max_examples=100, deadline=None, print_blob=True)
settings.register_profile("thorough", max_examples=2000, deadline=None, print_blob=True)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile and the seed before the first property is collected, and let interrupts through.

    A shell that starts this in the background without job control has it, and all it starts, ignore SIGINT.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile(os.environ.get("MILEAGE_TEST_PROFILE", "fast"))
    # The processes that run the tests get the seed of the one that started them.
    seed = os.environ.setdefault("MILEAGE_TEST_SEED", str(secrets.randbelow(2**32)))
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = seed


def pytest_report_header(config: pytest.Config) -> str:
    """The line that says how to replay this run."""
    return f"random tests: MILEAGE_TEST_SEED={config.getoption('hypothesis_seed')} repeats them"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests together that share a fixture of their module: it would be built once per process."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None and _shares_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def _shares_fixture(item: pytest.Item) -> bool:
    known = getattr(item, "_fixtureinfo", None)
    found = known.name2fixturedefs.values() if known is not None else ()
    return any(definition[-1].scope in ("module", "class") for definition in found)
