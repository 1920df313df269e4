"""The one door: a path that a user named is opened for writing, made, cut off or removed here and nowhere else.

work         files and devices on which I/O is done, and what a killed command would have removed of them
directories  directories in which a tool makes its names, and device directories, in which no file is made
results      what is written where a user says            marks      how a file of Mileage's is known again

Invariant: nothing else in the package opens, makes or removes a path for writing, but what
`tests/house/test_one_door.py` lists with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.targets.door.directories import (
        NameDirectory,
        check_directory,
        make_directory,
        remove_empty_directory,
    )
    from mileage.targets.door.logs import ResultLog
    from mileage.targets.door.results import (
        ResultPlace,
        appended_result,
        check_result,
        refuse_folder,
        refuse_taken,
        result_file,
        write_result,
    )
    from mileage.targets.door.work import Door, WorkPath, remove_leftovers
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.targets.door.work": ("Door", "WorkPath", "remove_leftovers"),
            "mileage.targets.door.directories": (
                "NameDirectory",
                "check_directory",
                "make_directory",
                "remove_empty_directory",
            ),
            "mileage.targets.door.logs": ("ResultLog",),
            "mileage.targets.door.results": (
                "ResultPlace",
                "appended_result",
                "check_result",
                "refuse_folder",
                "refuse_taken",
                "result_file",
                "write_result",
            ),
        },
    )

__all__ = [
    "Door",
    "NameDirectory",
    "ResultLog",
    "ResultPlace",
    "WorkPath",
    "appended_result",
    "check_directory",
    "check_result",
    "make_directory",
    "refuse_folder",
    "refuse_taken",
    "remove_empty_directory",
    "remove_leftovers",
    "result_file",
    "write_result",
]
