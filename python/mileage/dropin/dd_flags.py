"""dd's operands, each with what it does here."""

from __future__ import annotations

from typing import Final

from mileage.dropin.flags import Flag, Tool

_COPY: Final = "dd itself: Mileage measures one side of a copy and does not convert data."

DD: Final = Tool(
    name="dd",
    title="dd's command line, where one side is a target and the other is /dev/zero, /dev/urandom or /dev/null.",
    style="operands",
    flags=(
        Flag("if", "Input: a device or file, /dev/zero or /dev/urandom.", "FILE", example="/dev/zero"),
        Flag("of", "Output: a device or file, or /dev/null.", "FILE", example="/dev/null"),
        Flag(
            "bs",
            "Size of a record: a number with c, w, b, kB, K, MB, M, GB, G, or KiB and so on; default 512.",
            "SIZE",
            example="1M",
        ),
        Flag("count", "Largest number of records; default: all of a device or file.", "N", example="8"),
        Flag("skip", "Records of the input to skip.", "N", also=("iseek",), example="1"),
        Flag("seek", "Records of the output to skip.", "N", also=("oseek",), example="1"),
        Flag(
            "conv",
            "fdatasync or fsync: a flush at the end, in the time; notrunc: do not truncate; noerror: accepted.",
            "WORDS",
            example="fdatasync",
        ),
        Flag("iflag", "direct: bypass the page cache; fullblock: accepted.", "WORDS", example="direct"),
        Flag(
            "oflag",
            "direct: bypass the page cache; dsync: every write is durable.",
            "WORDS",
            example="direct",
        ),
        Flag(
            "status",
            "none, noxfer or progress.",
            "WORD",
            choices=("none", "noxfer", "progress"),
            example="none",
        ),
        Flag("--version", "Print the version of dd that is followed."),
        Flag(
            "ibs",
            "Reads in records of this size.",
            "SIZE",
            instead="bs=, the record size of reading and writing.",
        ),
        Flag(
            "obs",
            "Writes in records of this size.",
            "SIZE",
            instead="bs=, the record size of reading and writing.",
        ),
        Flag("cbs", "Converts records of this size.", "SIZE", instead=_COPY),
    ),
    usage="if=FILE of=FILE [bs=SIZE] [count=N] [conv=fdatasync] ...",
    notes=(
        "if=/dev/zero writes zeros. if=/dev/urandom writes data that cannot be compressed; it is generated outside the "
        "measured path. A device or file whose content would be lost is written only with --destroy PATH, and never "
        "while it is in use. A file that was written stays, as with dd.",
        "Ctrl-C prints what was copied until then and leaves that much in the file; SIGTERM prints nothing. Both end "
        "the command by the signal, as dd's do. SIGUSR1 prints what was copied until then, and the copy continues.",
        "The three lines go to standard error, as dd's do. A target may be virtual:NAME, "
        "or virtual:NAME@HOST: a file on a modelled host, which is there before it is written or read, and not in "
        "the page cache.",
    ),
    examples=(
        "if=/dev/zero of=scratch.bin bs=1M count=16 conv=fdatasync",
        "if=virtual:plain-64gib of=/dev/null bs=1M count=64",
    ),
)
