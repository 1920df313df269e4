"""The bytes that IOzone writes with -+d, and the comparison of files with them.

Scope: `fill_buffer` and `verify_buffer` of IOzone 3.471 with -w, where the time of start is taken as 0: the
words of a record follow from the first number of the C library's `rand` after `srand(child + record)`.
A file that cannot be read is an OSError.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mileage.errors import RunFailed
from mileage.plan import PlannedRun
from mileage.plan.iozone_suite import Suite
from mileage.targets.door import WorkPath

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHUNK_BYTES: Final = 8 << 20
_WORD_BYTES: Final = 8
_FIRST: Final = 0x0102030405060708
"""Constant added to the number of a record to make its first word (`value` in IOzone)."""
_STEP: Final = 0x0101010101010101
"""From one word to the next (`value1` in IOzone)."""


class Difference(NamedTuple):
    """The first byte of a file that is not what was written."""

    path: Path
    position: int
    """From the start of the file, in bytes."""
    found: int | None
    """The byte that is there; None behind the end of the file."""
    expected: int


def first_difference(path: Path, file_bytes: int, record_bytes: int, child: int) -> Difference | None:
    """Offset of the first byte that differs from the data that `iozone -+d` writes for this child; None when all agree.

    `record_bytes` is a multiple of 8. Raises OSError.
    """
    import numpy as np

    records = max(_CHUNK_BYTES // record_bytes, 1)
    steps = np.arange(record_bytes // _WORD_BYTES, dtype=np.uint64) * np.uint64(_STEP)
    with open(path, "rb") as file:
        for start in range(0, file_bytes // record_bytes, records):
            numbers = np.arange(start, min(start + records, file_bytes // record_bytes), dtype=np.int64)
            expected = (_first_words(numbers + child)[:, None] + steps).astype("<u8").view(np.uint8).ravel()
            found = np.frombuffer(file.read(len(expected)), dtype=np.uint8)
            wrong = np.flatnonzero(found != expected[: len(found)])
            if len(wrong) or len(found) < len(expected):
                at = int(wrong[0]) if len(wrong) else len(found)
                byte = int(found[at]) if at < len(found) else None
                return Difference(path, start * record_bytes + at, byte, int(expected[at]))
    return None


def _first_words(seeds: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The first word of a record for each seed, below 2^31."""
    import numpy as np

    drawn = _first_rand(seeds).astype(np.uint64)
    folded = (drawn << np.uint64(48)) | (drawn << np.uint64(32)) | (drawn << np.uint64(16)) | drawn
    words: NDArray[np.uint64] = folded + np.uint64(_FIRST)
    return words


def _first_rand(seeds: NDArray[np.int64]) -> NDArray[np.uint32]:
    """First value of `rand` of the GNU C library after `srand(seed)`: an additive generator over 31 numbers."""
    import numpy as np

    numbers = [np.where(seeds == 0, 1, seeds)]
    for _ in range(30):
        numbers.append(numbers[-1] * 16_807 % 0x7FFFFFFF)
    state = [number.astype(np.uint32) for number in numbers]
    # The generator discards 310 sums at the start, each of the numbers 31 and 3 positions before (glibc random_r.c).
    for place in range(31, 31 + 3 + 310 + 1):
        state.append(state[place - 31] if place < 34 else state[place - 31] + state[place - 3])
    return state[-1] >> np.uint32(1)


def difference_text(difference: Difference, record_bytes: int) -> str:
    """Message that IOzone prints for a data mismatch."""
    found = "nothing" if difference.found is None else f"{difference.found:x}"
    return (
        f"\n\nError in file: Position {difference.position} \n"
        f"Record # {difference.position // record_bytes} Record size {record_bytes >> 10} kb \n"
        f"Found pattern: Hex >>{found}<< Expecting >>{difference.expected:x}<<\n"
    )


def remove_files(files: Iterable[WorkPath]) -> None:
    """Remove files that the engine has made."""
    for file in files:
        if file.exists():
            file.adopt()
            file.remove()
        # The file system may be unmounted before the next test.
        file.door.release()


class Diagnosis:
    """The comparison of the files of -+d after each row, and their removal.

    `files` are those of all children in order, `made` those that the tests make; with `stays` none is removed.
    """

    def __init__(self, files: Sequence[Path], made: Sequence[WorkPath], *, stays: bool) -> None:
        self._files = files
        self._made = () if stays else tuple(made)
        self.damaged: list[Difference] = []
        """The first difference of each file that has one."""

    def compare(self, run: PlannedRun) -> str:
        """Compare the files that a run has used, and remove them; what IOzone prints of the differences."""
        assert isinstance(run.job, Suite)
        value = run.job.value
        used = self._files[: value.workers or 1]
        try:
            found = [
                first_difference(path, value.file_bytes, value.record_bytes, child)
                for child, path in enumerate(used)
            ]
        except OSError as error:
            raise RunFailed.from_os_error("iozone: -+d: cannot compare a file", error) from error
        wrong = [difference for difference in found if difference is not None]
        self.damaged += wrong
        self.clean_up()
        return "".join(difference_text(difference, value.record_bytes) for difference in wrong)

    def clean_up(self) -> None:
        """Remove the files that were made."""
        remove_files(self._made)

    def check(self) -> None:
        """Raise RunFailed where a file differed."""
        if not self.damaged:
            return
        damage = "; ".join(_sentence(difference) for difference in self.damaged)
        raise RunFailed(
            f"iozone: -+d: {damage}. The figures of damaged data are not printed; look at the drive, its cable and "
            "what else writes to the file",
            cause="verification",
        )


def _sentence(difference: Difference) -> str:
    found = "the file ends there" if difference.found is None else f"found byte 0x{difference.found:02x}"
    return (
        f"{difference.path} differs from what was written at position {difference.position}: {found}, expected "
        f"0x{difference.expected:02x}"
    )
