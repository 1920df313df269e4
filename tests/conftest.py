"""For all tests: one printed seed that replays the random ones, and how thoroughly they search.

MILEAGE_TEST_SEED=N replays a run; MILEAGE_TEST_PROFILE=thorough searches twenty times longer.
"""

from __future__ import annotations

import os
import secrets

import pytest
from hypothesis import settings

settings.register_profile("fast", max_examples=100, deadline=None, print_blob=True)
settings.register_profile("thorough", max_examples=2000, deadline=None, print_blob=True)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile and the seed before the first property is collected."""
    settings.load_profile(os.environ.get("MILEAGE_TEST_PROFILE", "fast"))
    seed = os.environ.get("MILEAGE_TEST_SEED") or str(secrets.randbelow(2**32))
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = seed


def pytest_report_header(config: pytest.Config) -> str:
    """The line that says how to replay this run."""
    return f"random tests: MILEAGE_TEST_SEED={config.getoption('hypothesis_seed')} repeats them"
