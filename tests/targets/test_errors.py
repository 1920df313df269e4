"""Exceptions and the exit status each stands for."""

from __future__ import annotations

import errno

import pytest

from mileage.errors import Interrupted, JudgedFailure, MileageError, Refused, RunFailed, errno_name


@pytest.mark.parametrize(
    ("error", "status"),
    [(JudgedFailure("x"), 1), (Refused("x"), 2), (RunFailed("x"), 3), (Interrupted(), 3)],
)
def test_the_exit_status(error: MileageError, status: int) -> None:
    assert error.exit_status == status
    assert error.message == str(error)


def test_the_cause_of_a_failed_run() -> None:
    assert RunFailed("x").cause == "unknown"
    assert RunFailed("x", cause="EIO").cause == "EIO"
    assert Interrupted().cause == "EINTR"
    failure = RunFailed.from_os_error("writing", OSError(errno.ENOSPC, "No space left on device"))
    assert (failure.cause, failure.message) == ("ENOSPC", "writing: No space left on device")
    assert errno_name(OSError("odd")) == "unknown"
    assert errno_name(OSError(99999, "odd")) == "errno 99999"
