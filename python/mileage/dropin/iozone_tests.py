"""Tests of a command line of IOzone: the numbers of `-i`, the tests that IOzone skips, and the order.

What it refuses: nothing; of tests that IOzone skips without a word it prints a note.
"""

from __future__ import annotations

from typing import Final

from mileage.dropin.dropin_study import print_notes
from mileage.dropin.flags import GivenFlags
from mileage.dropin.iozone_manner import is_without_streams
from mileage.dropin.task_values import whole_number
from mileage.plan.iozone_suite import IOZONE as TESTS
from mileage.plan.iozone_suite import NUMBERED, RETESTS

_MISSING: Final = 11
"""The test that IOzone's builds for Linux do not have; they count every larger number as 0."""


def is_unknown(number: str) -> bool:
    """Whether IOzone counts this number of `-i` as 0, and prints a line that says so."""
    return number.isdecimal() and int(number.lstrip("0")[:9] or "0") > _MISSING


def tests_of(given: GivenFlags, together: bool) -> tuple[str, ...]:
    """Names of the tests, in the order in which they are done; none where IOzone does none. Raises Refused."""
    numbers = [
        whole_number(given, "-i", text, 0, 99) if text[:1].isdecimal() or text[:1] == "-" else 0
        for text in given.every("-i")
    ]
    print_notes(
        [
            f"-i {text}: IOzone takes 0 where there is no number"
            for text in given.every("-i")
            if not (text[:1].isdecimal() or text[:1] == "-")
        ]
    )
    if _MISSING in numbers:
        print_notes([f"-i {_MISSING}: no Linux build of IOzone has pwritev, and so nothing is done of it"])
    if set(numbers) == {_MISSING}:
        return ()
    if unknown := [number for number in dict.fromkeys(numbers) if number > _MISSING]:
        print_notes([f"-i {number}: IOzone does not have it and does test 0" for number in unknown])
    numbers = [0 if number > _MISSING else number for number in numbers if number != _MISSING]
    omitted = _omitted(given, together)
    wanted = {NUMBERED[number] for number in numbers} or set(NUMBERED) - omitted
    if numbers and (never := wanted & omitted):
        word = "with -t" if together else "without -t" if "mix" in never else "without -E"
        if is_without_streams(given):
            word = "with mmap or asynchronous I/O"
        print_notes(
            [
                f"{', '.join(sorted(never))}: IOzone leaves this test out {word}, and so nothing is printed of it"
            ]
        )
    wanted -= omitted
    retests = ("frewrite", "freread", "repwrite", "repread") if together else ()
    none = RETESTS if given.has("-+n") else retests
    order = _TOGETHER if together else tuple(TESTS)
    return tuple(test for test in order if TESTS[test][0] in wanted and test not in none)


def _omitted(given: GivenFlags, together: bool) -> set[str]:
    """Groups that IOzone does not do whatever -i says."""
    found = {"record_rewrite"} if together else {"mix"}
    if not together and not given.has("-E"):
        found |= {"pwrite", "pread"}
    return found | ({"fwrite", "fread", "pwrite", "pread"} if is_without_streams(given) else set())


_TOGETHER: Final = (
    *("write", "rewrite", "read", "reread", "backward_read", "stride_read", "random_read", "mix"),
    *("random_write", "pwrite", "pread", "fwrite", "fread"),
)
"""The order of children."""
