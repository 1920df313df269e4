"""hdparm's flags for timing, each with what it does here."""

from __future__ import annotations

from typing import Final

from mileage.dropin.flags import Flag, Tool

_SETTING: Final = "hdparm itself: this command changes no setting of a drive"

_OTHERS: Final = """
-b -c -C -d -D -E -g -H -J -k -K -L -m -M -n -N -p -P -Q -r -R -s -u -U -v -w -x -X -Y -z -Z --dco-freeze --dco-identify
--dco-restore --dco-setmax --drq-hsm-error --fallocate --fibmap --fwdownload --fwdownload-mode3 --fwdownload-mode3-max
--fwdownload-mode7 --fwdownload-modee --fwdownload-modee-max --idle-immediate --idle-unload --Iraw --Istdin --Istdout
--make-bad-sector --prefer-ata12 --read-sector --repair-sector --sanitize-antifreeze-lock --sanitize-block-erase
--sanitize-crypto-scramble --sanitize-freeze-lock --sanitize-overwrite --sanitize-overwrite-passes --sanitize-status
--security-disable --security-erase --security-erase-enhanced --security-freeze --security-help --security-mode
--security-prompt-for-password --security-set-pass --security-unlock --set-sector-size --trim-sector-ranges
--trim-sector-ranges-stdin --user-master --verbose --write-sector --yes-i-know-what-i-am-doing
--please-destroy-my-drive
"""
"""Further flags of hdparm 9.65, none of which is a timing."""

HDPARM: Final = Tool(
    name="hdparm",
    title="hdparm's timings of a drive: -T cached reads, -t reads from the drive.",
    flags=(
        Flag(
            "-t",
            "Read from the start in steps of 2 MiB for 3 seconds; the cache is emptied 3 seconds before.",
        ),
        Flag(
            "-T",
            "Read the first 2 MiB repeatedly for 2 seconds from the cache, which is emptied 1 second before.",
        ),
        Flag("--direct", "Bypass the page cache (O_DIRECT)."),
        Flag("--offset", "With -t: offset of the first read.", "GiB", example="1"),
        Flag("-h", "Show the flags."),
        Flag("-V", "Print the version of hdparm that is followed."),
        Flag("-q", "Print no line for the next flag.", instead="omit it and redirect the output."),
        Flag("-f", "Flushes the cache on exit.", instead="omit it: -t empties the cache before it reads."),
        Flag("-F", "Flushes the drive's write cache.", instead=f"{_SETTING}."),
        Flag("-i", "Shows what the kernel knows about the drive.", instead="`mileage doctor block:DEVICE`."),
        Flag("-I", "Asks the drive for its identity.", instead="`mileage doctor block:DEVICE`."),
        Flag(
            "-W",
            "Reads or sets the write cache.",
            instead='a study with state.write_cache = "back" or "through".',
        ),
        Flag("-a", "Reads or sets read-ahead.", instead=f"{_SETTING}."),
        Flag("-A", "Reads or sets the drive's read-ahead.", instead=f"{_SETTING}."),
        Flag("-B", "Reads or sets power management.", instead=f"{_SETTING}."),
        Flag("-S", "Sets the spin-down time.", instead=f"{_SETTING}."),
        Flag("-y", "Puts the drive to standby.", instead=f"{_SETTING}."),
    ),
    others=frozenset(_OTHERS.split()),
    usage="-t|-T|-tT [--direct] DEVICE...",
    operands="block devices, virtual:NAME or virtual:NAME@HOST",
    notes=(
        "A MB is 2^20 bytes. The time is that of the reads, without the loop around them, whose cost hdparm subtracts "
        "in -T. As in hdparm, one byte in each 512 of the buffer is modified after a read, included in its time, and "
        "before a timing dirty data is written back and the drive rests. Nothing is written to the device, so a "
        "mounted one may be read. A virtual drive (virtual:NAME) has no page cache: -T is refused, and -t reads as "
        "with --direct one GiB repeatedly, which is written first, without the rest and the modification. On a "
        "modelled host (virtual:NAME@HOST) both read a file of one GiB, -t once, which is written first; there too "
        "nothing rests and nothing is modified.",
    ),
    examples=("-t virtual:plain-64gib", "-t --direct virtual:plain-64gib"),
)
