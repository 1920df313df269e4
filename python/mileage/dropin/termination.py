"""Signals that end a command after it has printed what was finished, so that its caller sees the signal."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


class Termination(BaseException):
    """SIGTERM came."""


@contextmanager
def sigterm_as_exception() -> Iterator[None]:
    """Within it SIGTERM raises Termination in the main thread, as Ctrl-C raises KeyboardInterrupt."""

    def raise_terminated(_number: int, _frame: Any) -> NoReturn:
        raise Termination

    before = signal.signal(signal.SIGTERM, raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def end_by_sigterm() -> NoReturn:
    """End this process by SIGTERM, as if nothing had waited for it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
    raise AssertionError("SIGTERM ends the process")


def end_by_signal(number: int) -> NoReturn:
    """End this process by a signal, after what is written or removed at its end (`atexit`)."""
    sys.stdout.flush()
    sys.stderr.flush()
    atexit._run_exitfuncs()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    raise AssertionError("the signal ends the process")
