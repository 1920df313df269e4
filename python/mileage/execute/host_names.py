"""Hosts by name or address: which addresses a name has, and whether one of them is this machine's."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence


def addresses_of(host: str) -> list[str]:
    """The addresses of a host as this machine resolves its name; none for a name that it does not know."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_loopback(addresses: Sequence[str]) -> bool:
    """Whether addresses lead back to the machine that resolved them, as those of "localhost" do."""
    return any(ipaddress.ip_address(address).is_loopback for address in addresses)


def is_own_address(address: str) -> bool:
    """Whether an address is this machine's: only then can a socket be bound to it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family) as own:
            own.bind((address, 0))
    except OSError:
        return False
    return True


def is_this_machine(host: str) -> bool:
    """Whether a name or address is this machine's."""
    return host == socket.gethostname() or any(map(is_own_address, addresses_of(host)))
