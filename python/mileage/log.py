"""The log of privileged steps and of how the engine was set up, by Python's `logging` below the logger "mileage".

Scope: two loggers: "mileage.steps" has what was done to the machine, on what, and the result; "mileage.engine" forwards
what the compiled core logs by `tracing`. `MILEAGE_LOG=info` or `debug` prints them to standard error. A program that
uses Mileage as a library configures `logging` itself, and calls `start_log` for the engine's part.
Nothing here imports `logging` before it is wanted, since that takes as long as all of `mileage --help`: a program that
has not imported it has no handler that could receive a record.
Refuses a level of another name.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mileage.errors import Refused
from mileage.terminal import one_line

if TYPE_CHECKING:
    from logging import Logger

LOG_VARIABLE: Final = "MILEAGE_LOG"
LEVELS: Final = ("info", "debug")
_STEPS: Final = "mileage.steps"
_ENGINE: Final = "mileage.engine"


def start_log(level: str) -> None:
    """Print the log from this level on to standard error. Raises Refused for a level that is not in LEVELS."""
    if level not in LEVELS:
        raise Refused(
            f"{LOG_VARIABLE}={level!r}",
            expected=" or ".join(LEVELS),
            advice="without it nothing is logged",
            code="unknown-word",
        )
    import logging

    from mileage import _core

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("mileage")
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False
    engine = logging.getLogger(_ENGINE)
    _core.forward_log(
        level, lambda name, text: engine.log(getattr(logging, name.upper()), "%s", one_line(text))
    )


def is_log_on() -> bool:
    """Whether the log goes to standard error, where a progress line would be torn by it."""
    return os.environ.get(LOG_VARIABLE) in LEVELS


def log_step(what: str, on: str, result: str) -> None:
    """Log a privileged step: what was done, on what, and what came of it."""
    if logger := _steps():
        logger.info("%s", one_line(f"{what}: {on}: {result}"))


@contextmanager
def logged_step(what: str, on: str) -> Iterator[None]:
    """Log a privileged step when it has ended, with the seconds that it took or why it failed."""
    began_s = time.monotonic()
    if logger := _steps():
        logger.debug("%s", one_line(f"{what}: {on}: begins"))
    try:
        yield
    except BaseException as error:
        log_step(
            what, on, f"failed after {time.monotonic() - began_s:.3f} s: {error or type(error).__name__}"
        )
        raise
    log_step(what, on, f"done in {time.monotonic() - began_s:.3f} s")


def _steps() -> Logger | None:
    logging = sys.modules.get("logging")
    return None if logging is None else logging.getLogger(_STEPS)
