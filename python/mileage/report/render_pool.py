"""Drawing in processes of their own, as many as there are processors, up to four.

Scope: the renderer as what it is: one script engine in each process, which draws one picture at a time. Each process is
started when there is work for it, is kept for the next picture, and ends with this one. It knows none of the machine's
fonts, only those that come with the renderer: a picture is the same on every machine, and costs half, because a font
file of the machine is opened again for every letter. Pictures with characters that those fonts lack are drawn with the
machine's fonts. Refuses what the renderer refuses, as ValueError with its words.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import struct
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from mileage.report import vega

PROCESSES_MAX: Final = 4
_FONTS: Final = Path(__file__).with_name("templates") / "fonts.conf"
_FOREIGN: Final = re.compile(
    "[^\n -~\xa0-\u017f\u0384-\u03ce\u0400-\u045f\u2013-\u2015\u2018-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a"
    "\u20ac\u2122\u2190-\u2195\u2202\u2206\u220f\u2211\u2212\u221a\u221e\u2248\u2260\u2264\u2265\u25a0\u25a1\u25b2"
    "\u25ba\u25bc\u25c4\u25ca\u25cb\u25cf]"
)
"""A letter that the renderer's own fonts may lack."""
_SERVE: Final = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from mileage.report.render_pool import serve
serve()
"""
_LENGTH: Final = struct.Struct("<Q")


class Drawing(msgspec.Struct, frozen=True, tag=True):
    """A chart to be made an SVG, as `drawing.to_svg` has it."""

    chart: vega.Spec
    name: str
    title: str
    description: str


class SvgFiles(msgspec.Struct, frozen=True, tag=True):
    """An SVG to be made files: with the words around it, and as PNG."""

    svg: str
    where: str
    caption: str


class _Failure(msgspec.Struct, frozen=True, tag=True):
    words: str


class _Drawn(msgspec.Struct, frozen=True, tag=True):
    svg: str
    png: bytes = b""


def svg_of(chart: vega.Spec, *, name: str, title: str, description: str) -> Future[str]:
    """The chart as `drawing.to_svg` draws it, soon."""
    asked = Drawing(vega.whole(chart), name, title, description)
    return _pool().submit(lambda: _answer(asked).svg)


def files_of(svg: str, *, where: str, caption: str) -> Future[tuple[str, bytes]]:
    """The drawing with its title in one line and its caption (`svg.captioned`), as SVG and as PNG, soon."""

    def both() -> tuple[str, bytes]:
        found = _answer(SvgFiles(svg, where, caption))
        return found.svg, found.png

    return _pool().submit(both)


def get_ready() -> None:
    """Start the processes: the first picture of each waits half a second for the script engine."""
    layer = vega.Marks([{"x": 1}]).mark("point").encode(x="x:Q")
    blank = Drawing(vega.whole(vega.layered([layer], width=9, height=9)), "blank", "", "")
    for _ in range(_processes()):
        _pool().submit(_answer, blank)


class _Process:
    """A child process that renders Vega-Lite charts to SVG."""

    def __init__(self, *, foreign: bool) -> None:
        env = dict(os.environ) if foreign else {**os.environ, "FONTCONFIG_FILE": str(_FONTS)}
        paths = msgspec.json.encode([str(place) for place in sys.path]).decode()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
        )
        _STARTED.append(self._process)

    def ask(self, asked: bytes) -> bytes:
        """Send a request and return the answer. Raises OSError when it has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        _write(self._process.stdin, asked)
        answer = _read(self._process.stdout)
        if answer is None:
            raise OSError(f"the process that draws pictures ended with status {self._process.wait()}")
        return answer

    def close(self) -> None:
        """Let it end."""
        _STARTED.remove(self._process)
        _close(self._process)


_STARTED: Final[list[subprocess.Popen[bytes]]] = []
_OWN = threading.local()
"""Processes of each thread of the pool."""


def _answer(asked: Drawing | SvgFiles) -> _Drawn:
    message = msgspec.msgpack.encode(asked)
    foreign = _FOREIGN.search(msgspec.json.encode(asked).decode()) is not None
    key = "foreign" if foreign else "own"
    for last in (False, True):
        process: _Process | None = getattr(_OWN, key, None)
        if process is None:
            process = _Process(foreign=foreign)
            setattr(_OWN, key, process)
        try:
            answer = process.ask(message)
            break
        except OSError:
            process.close()
            delattr(_OWN, key)
            if last:
                raise
    found: _Drawn | _Failure = msgspec.msgpack.decode(answer, type=_Drawn | _Failure)
    if isinstance(found, _Failure):
        raise ValueError(found.words)
    return found


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_processes(), thread_name_prefix="drawing")


def _processes() -> int:
    return min(len(os.sched_getaffinity(0)), PROCESSES_MAX)


def _end() -> None:
    """Let the processes end: each does when nobody can ask it any more."""
    for process in _STARTED:
        _close(process)


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()
    process.wait()


def _forget() -> None:
    """In the child of a fork: the threads and processes are the parent's."""
    _pool.cache_clear()
    _STARTED.clear()


atexit.register(_end)
os.register_at_fork(after_in_child=_forget)


def serve() -> None:
    """Draw what is asked on standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    # Redirect the standard output of libraries, so that their prints do not mix with the answers.
    os.dup2(2, 1)
    while (message := _read(sys.stdin.buffer)) is not None:
        asked: Drawing | SvgFiles = msgspec.msgpack.decode(message, type=Drawing | SvgFiles)
        try:
            answer: _Drawn | _Failure = _made(asked)
        except Exception as cause:
            answer = _Failure(f"{type(cause).__name__}: {cause}")
        _write(answers, msgspec.msgpack.encode(answer))


def _made(asked: Drawing | SvgFiles) -> _Drawn:
    from mileage.report.svg import captioned, to_png, to_svg

    if isinstance(asked, Drawing):
        return _Drawn(to_svg(asked.chart, name=asked.name, title=asked.title, description=asked.description))
    svg = captioned(asked.svg, asked.where, asked.caption)
    return _Drawn(svg, to_png(svg))


def _write(stream: IO[bytes], message: bytes) -> None:
    stream.write(_LENGTH.pack(len(message)))
    stream.write(message)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes | None:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message: Any = stream.read(length)
    return message if len(message) == length else None
