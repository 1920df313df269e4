"""Whether a host's name or address is this machine's."""

from __future__ import annotations

import socket

import pytest

from mileage.execute.host_names import addresses_of, is_loopback, is_own_address, is_this_machine


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.77", socket.gethostname()])
def test_names_of_this_machine(host: str) -> None:
    assert is_this_machine(host)


@pytest.mark.parametrize("host", ["192.0.2.1", "host.invalid", "", "a" * 300, "a..b"])
def test_what_is_not_this_machine(host: str) -> None:
    """192.0.2.0/24 and .invalid belong to nobody (RFC 5737, RFC 6761)."""
    assert not is_this_machine(host)


def test_addresses() -> None:
    assert is_loopback(addresses_of("localhost"))
    assert not is_loopback(addresses_of("192.0.2.1"))
    assert is_own_address("127.0.0.1")
    assert not is_own_address("192.0.2.1")
