"""Tests of one group run in one process, one after another."""

from __future__ import annotations

import os

import pytest


@pytest.mark.xdist_group("devices")
def test_a_group_is_part_of_the_name_by_which_tests_are_handed_out(request: pytest.FixtureRequest) -> None:
    """pytest-xdist hands tests out by the end of their names; where it is missing, groups are silently ignored."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("the tests run in one process")
    assert request.node.nodeid.endswith("@devices")
