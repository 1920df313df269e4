"""The command line called in this process, for tests that are not about processes.

A process of its own costs 0.3 to 0.8 s of processor time for each command. Here the streams, the working directory, the
environment, `sys.argv` and the signal handlers are this call's own and are restored after it. Tests of exit codes after
a kill, of streams, of start-up and of signals start a process instead.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from mileage.cli import main

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def mileage(
    *words: str, cwd: Path | str | None = None, env: Mapping[str, str] | None = None, stdin: str = ""
) -> CompletedProcess[str]:
    """`mileage WORDS`: exit status, standard output and standard error. `env` is added to the environment."""
    streams = {
        "stdin": io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"),
        "stdout": io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True),
        "stderr": io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True),
    }
    with (
        mock.patch.multiple(sys, **streams, argv=["mileage", *words]),
        mock.patch.dict(os.environ, env or {}),
        contextlib.chdir(cwd or "."),
        _own_signals(),
    ):
        status = _status()
    # Read from the bytes: the command has put guards before the streams and may have closed one.
    text = [_text(streams[name]) for name in ("stdout", "stderr")]
    return CompletedProcess(["mileage", *words], status, *text)


def _status() -> int:
    try:
        main()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    raise AssertionError("the command line returned without an exit status")


def _text(stream: io.TextIOWrapper) -> str:
    written = stream.buffer
    assert isinstance(written, io.BytesIO)
    return written.getvalue().decode()


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
