"""SIGTERM as an exception, so that a command can print what was finished before it ends by the signal."""

from __future__ import annotations

import os
import signal
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
