"""Verification of a fio job: whether what was written is read back, and what is compared.

Scope: blocks of the engine have an identity that follows from their place; they are compared whole, whatever the kind
of checksum, and any job can compare what another one wrote with verify. fio's own headers are not written or read.
Of a mix of reads and writes, the places that were written are taken from the engine's log of operations.
What it refuses: kinds that fio does not know, and contents without an identity.
"""

from __future__ import annotations

from typing import Final

from mileage.dropin.fio_jobs import FioJob
from mileage.plan.fio_work import Verification

_KINDS: Final = (
    *("md5", "crc64", "crc32", "crc32c", "crc32c-intel", "crc16", "crc7", "xxhash", "meta"),
    *("sha1", "sha256", "sha512", "sha3-224", "sha3-256", "sha3-384", "sha3-512"),
)
_CONTENTS: Final = ("zero_buffers", "buffer_compress_percentage", "dedupe_percentage")
_PLACES: Final = ("randseed", "randrepeat")


def verification_of(job: FioJob, reads: int, *, timed: bool) -> tuple[Verification, list[str]]:
    """The verification of a job, and notes for the user. Raises Refused."""
    wanted = job.text("verify", "0")
    if wanted == "0":
        return Verification(), []
    if wanted == "null":
        kind = "read"
    elif wanted in _KINDS:
        kind = "compare"
    else:
        raise job.refuse("verify", expected=f"0, null, {', '.join(_KINDS)}", code="unsupported")
    _refuse(job)
    if job.is_on("verify_only") and reads < 100:
        if reads or "bssplit" in job.options or "bsrange" in job.options:
            raise job.refuse(
                "verify_only", "is not built for a mix or blocks of several sizes", code="not-built"
            )
        if timed:
            raise job.refuse("verify_only", "is not built together with time_based", code="not-built")
    notes = [
        f"{key}: with verify, places and data follow from one seed" for key in _PLACES if key in job.options
    ]
    reads_back = reads < 100 and job.is_on("do_verify", True)
    if timed and reads_back and "verify_backlog" not in job.options:
        # As in fio: writing takes the whole runtime.
        reads_back = False
        notes.insert(0, "verify: nothing is read back, since writing uses all of the runtime")
    return Verification(kind, reads_back), notes


def _refuse(job: FioJob) -> None:
    if job.number("ramp_time", 0) > 0 and job.text("rw") in ("rw", "readwrite", "randrw"):
        raise job.refuse("ramp_time", "is not built together with verify and a mix", code="not-built")
    if job.text("ioengine") == "null":
        raise job.refuse("verify", "the engine null keeps nothing that could be compared", code="conflict")
    if "buffer_pattern" in job.options:
        raise job.refuse("buffer_pattern", "is not built together with verify", code="conflict")
    for key in _CONTENTS:
        if job.options.get(key, "0") != "0":
            raise job.refuse(key, "is not built together with verify", code="conflict")
