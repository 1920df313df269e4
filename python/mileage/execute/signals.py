"""Signals that ask Mileage to end: SIGINT (Ctrl-C), SIGTERM, and SIGHUP when a terminal closes.

Scope: all three alike. One that was ignored when Mileage began stays ignored: so nohup(1) has it for SIGHUP,
and a shell for SIGINT of what runs in the background.
Where this is not the main thread, handlers are left as they are. A command that has printed what was finished ends by
the signal itself, so that its caller sees it.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def raise_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt in the main thread, as SIGINT does."""

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    with handled((signal.SIGTERM, signal.SIGHUP), interrupt):
        yield


@contextmanager
def count_signals(stop: threading.Event) -> Iterator[list[int]]:
    """A signal sets `stop` and is added to the list; none raises, so that nothing is left half-way."""
    received: list[int] = []

    def note(number: int, _frame: object) -> None:
        received.append(number)
        stop.set()

    with handled(ENDING, note):
        yield received


@contextmanager
def handled(numbers: tuple[signal.Signals, ...], handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Within the block the signals call `handler` in the main thread; signals that were ignored stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler that was not installed from Python is reported as None and cannot be restored.
    before = {number: signal.getsignal(number) for number in numbers}
    mine = [number for number, found in before.items() if found not in (signal.SIG_IGN, None)]
    try:
        for number in mine:
            signal.signal(number, handler)
        yield
    finally:
        for number in mine:
            signal.signal(number, before[number])


class Termination(BaseException):
    """SIGTERM came."""


@contextmanager
def sigterm_as_exception() -> Iterator[None]:
    """Within it SIGTERM raises Termination in the main thread, as Ctrl-C raises KeyboardInterrupt."""

    def raise_terminated(_number: int, _frame: object) -> NoReturn:
        raise Termination

    with handled((signal.SIGTERM,), raise_terminated):
        yield


def end_by_signal(number: int, *, at_once: bool = False) -> NoReturn:
    """End this process by a signal, after what is written or removed at its end (`atexit`), unless `at_once`."""
    sys.stdout.flush()
    sys.stderr.flush()
    if not at_once:
        atexit._run_exitfuncs()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    raise AssertionError("the signal ends the process")
