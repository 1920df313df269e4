"""Output to terminals: every printed line passes through this package.

It depends on no other package, and every package may use it.

`harmless` is the one function that takes the power from text of strangers; `guard_streams` puts it behind standard
output and standard error of the command line, so that no print can be forgotten. `columns_of`, `cut` and `wrapped`
count terminal columns rather than characters. `say` writes a report, in colours where a terminal wants them,
`report_width` columns wide.
"""

from mileage.terminal.columns import columns_of, command_lines, cut, padded, wrapped
from mileage.terminal.streams import ascii_of, beneath, guard_streams, harmless, is_coloured, one_line
from mileage.terminal.style import painted, report_width, say

__all__ = [
    "ascii_of",
    "beneath",
    "columns_of",
    "command_lines",
    "cut",
    "guard_streams",
    "harmless",
    "is_coloured",
    "one_line",
    "padded",
    "painted",
    "report_width",
    "say",
    "wrapped",
]
