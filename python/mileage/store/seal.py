"""Checksums that chain the lines of a journal, and those of the files that belong to a study.

Scope: each line ends in the members `after`, the checksum of the line before, and `seal`, its own: SHA-256
over `after` and the bytes of the line before these two members. The first line comes after the checksum of the plan's
hash. So a line that is edited, removed, added or moved is noticed, unless every later checksum is computed again; who
keeps the last one notices that too (`mileage report DIR --expect SEAL`).
A seal is no signature: it proves that a folder is as written only to who knows the last seal.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

import msgspec

_TAIL: Final = re.compile(rb',"after":"([0-9a-f]{64})","seal":"([0-9a-f]{64})"\}\Z')
_TAIL_BYTES: Final = len(b',"after":"","seal":""}') + 2 * 64
SEALED_MEMBERS: Final = ("after", "seal")
"""The members that are added to an entry on its line."""


class Seal(NamedTuple):
    """Seals of a journal line: that of the line before, its own, and whether its own is right."""

    after: str
    own: str
    is_right: bool


def checksum(data: bytes) -> str:
    """SHA-256 of a file's bytes, in 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def first_after(plan_hash: str) -> str:
    """Seal that the first line of a journal must follow."""
    return checksum(plan_hash.encode())


def sealed_line(entry: object, after: str) -> tuple[bytes, str]:
    """Encode a journal entry as a line, and its checksum, which includes that of the line before."""
    body = msgspec.json.encode(entry)[:-1]
    own = _seal_of(body, after.encode())
    return b'%b,"after":"%b","seal":"%b"}\n' % (body, after.encode(), own.encode()), own


def seal_of_line(line: bytes) -> Seal | None:
    """The seal of a line without its line feed; None when it has none."""
    found = _TAIL.search(line, max(len(line) - _TAIL_BYTES, 0))
    if found is None:
        return None
    after, own = found[1], found[2].decode()
    return Seal(after.decode(), own, own == _seal_of(memoryview(line)[: found.start()], after))


def _seal_of(body: bytes | memoryview, after: bytes) -> str:
    digest = hashlib.sha256(after)
    digest.update(body)
    return digest.hexdigest()
