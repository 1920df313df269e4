"""The system calls by which a real target is accessed, and their options.

Scope: the `Options` and the `Api` of the Rust crate `mileage-engine`, and the words for an API in study
files and on the command line: "pread", "seek", "vectored:4", "mmap", "stdio:64KiB", "uring", "uring:batch=8".
What it refuses: words it does not know. What an API cannot do on a target, the engine refuses.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from mileage.plan.rules import U32_MAX

ApiName = Literal["positioned", "seek", "mmap", "null"]


class VectoredCalls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The calls `preadv` and `pwritev`, which take several buffers at once."""

    parts: int
    """Buffers of a call, 1..1024."""


class Stdio(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """C streams: `fread`, `fwrite`."""

    buffer_bytes: int = 0
    """Size of the stream's buffer; 0 for the record."""


class Uring(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`io_uring`."""

    registered: bool = True
    """Registered files and buffers."""
    batch: int = 0
    """Operations submitted with one call at most; 0 for the engine's choice."""
    sqpoll: bool = False
    """A kernel thread submits."""
    iopoll: bool = False
    """Completions are polled for."""


class ApiTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An API that has numbers: exactly one of these is given."""

    vectored: VectoredCalls | None = None
    stdio: Stdio | None = None
    uring: Uring | None = None


Api = ApiName | ApiTable

URING: Final = ApiTable(uring=Uring())


class EngineOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options for the engine's access to a real target. The default is `pread` and `pwrite` through the page cache."""

    direct: bool = False
    """Past the page cache (O_DIRECT)."""
    api: Api = "positioned"
    """The calls by which bytes are moved."""
    dsync: bool = False
    """Every write is durable when it completes (O_DSYNC)."""
    pin_cpus: tuple[int, ...] = ()
    """Processors that the threads are bound to, dealt out in turn; empty for the scheduler's choice."""
    timeout_ns: int = 0
    """An operation that has not completed after this long ends the run as failed; 0 for never."""
    log: str | None = None
    """Every operation is written to this file; execute names it, in the study folder."""
    interval_ns: int = 0
    """Length of the first intervals over time; 0 for the engine's own."""
    touch_bytes: int = 0
    """After each read, modify one byte per this many bytes of the buffer (in the measured time); 0 for none."""

    def to_json(self) -> str:
        """The JSON text that the Rust side reads."""
        return msgspec.json.encode(self).decode()


_WORDS: Final[dict[str, ApiName]] = {
    "pread": "positioned",
    "positioned": "positioned",
    "seek": "seek",
    "mmap": "mmap",
    "null": "null",
}
_FORMS: Final = (
    "pread, seek, vectored:PARTS, mmap, stdio[:BUFFER], uring[:plain,batch=N,sqpoll,iopoll] or null"
)


def read_api(text: str) -> Api:
    """The API that a text names. Raises ValueError; the message says what is expected."""
    from mileage.plan import sizes

    word, colon, rest = text.removeprefix("io_").partition(":")
    try:
        if not colon and word in _WORDS:
            return _WORDS[word]
        if word == "vectored":
            return ApiTable(vectored=VectoredCalls(_whole(rest or "2")))
        if word == "stdio":
            return ApiTable(stdio=Stdio(sizes.parse_bytes(rest) if rest else 0))
        if word == "uring":
            return ApiTable(uring=_uring(rest))
    except ValueError:
        pass
    raise ValueError(f"{text!r} is not an API: expected {_FORMS}")


def api_word(api: Api) -> str:
    """The name of an API for people, as `read_api` reads it: "pread", "uring"."""
    from mileage.plan import sizes

    if isinstance(api, str):
        return "pread" if api == "positioned" else api
    if api.vectored is not None:
        return f"vectored:{api.vectored.parts}"
    if api.stdio is not None:
        return "stdio" + (f":{sizes.exact_bytes(api.stdio.buffer_bytes)}" if api.stdio.buffer_bytes else "")
    uring = api.uring or Uring()
    words = [] if uring.registered else ["plain"]
    words += [f"batch={uring.batch}"] if uring.batch else []
    words += [word for word in ("sqpoll", "iopoll") if getattr(uring, word)]
    return "uring" + (f":{','.join(words)}" if words else "")


def _uring(text: str) -> Uring:
    uring = Uring()
    for word in text.split(",") if text else []:
        if word == "plain":
            uring = msgspec.structs.replace(uring, registered=False)
        elif word == "sqpoll":
            uring = msgspec.structs.replace(uring, sqpoll=True)
        elif word == "iopoll":
            uring = msgspec.structs.replace(uring, iopoll=True)
        elif word.startswith("batch="):
            uring = msgspec.structs.replace(uring, batch=_whole(word.removeprefix("batch=")))
        else:
            raise ValueError(word)
    return uring


def _whole(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and 1 <= int(text) <= U32_MAX):
        raise ValueError(text)
    return int(text)
