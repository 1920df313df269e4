"""Test whether this process may use io_uring: containers often forbid it, and old kernels do not have it.

Scope: one io_uring_setup(2) with the smallest ring, which is closed at once. Its number is the same on every
architecture that Mileage runs on.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

_SETUP: Final = 425
_PARAMETERS_BYTES: Final = 120
"""Size of struct io_uring_params."""


def has_io_uring() -> bool:
    """Whether a ring can be created."""
    parameters = ctypes.create_string_buffer(_PARAMETERS_BYTES)
    descriptor = int(ctypes.CDLL(None, use_errno=True).syscall(_SETUP, 1, parameters))
    if descriptor < 0:
        return False
    os.close(descriptor)
    return True
