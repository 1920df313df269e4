"""Names of facts in the files of other tools that distinguish no cells, or only some of them.

Scope: names as the readers of fio, IOR, elbencho and others record them. In a table that a person wrote every column is
a setting, whatever its name: its reader records such a column under another name.
"""

from __future__ import annotations

from typing import Final

NO_SETTINGS: Final = (
    *("write_lat_log", "write_bw_log", "write_iops_log", "log", "concurrent", "began", "label"),
    "repetitions",
)
"""Facts of a file that are no settings: two runs that differ in nothing else are repetitions."""
INCIDENTAL: Final = (
    *("job", "filename", "directory", "drive", "host", "runtime", "test filename", "dirname", *NO_SETTINGS),
)
"""Settings in which two studies, or two files of one, may differ and still have measured the same."""
