"""One made-up run of DiskSpd as its text output and its XML output have it, from the same numbers.

The forms follow ResultParser.cpp, XmlResultParser.cpp and Common.cpp of DiskSpd 2.2; no figure was measured.
"""

from __future__ import annotations

from typing import Final

import msgspec


class Made(msgspec.Struct, frozen=True):
    """A target of a timespan, and what each of its threads did: reads and writes."""

    path: str = r"D:\made.dat"
    block: int = 8192
    depth: int = 4
    write_percent: int = 25
    random: bool = True
    threads: tuple[tuple[int, int], ...] = ((30_000, 10_000), (45_000, 15_000))


SECONDS: Final = 10
FILE_SIZE: Final = 1 << 30
PERCENTILES: Final = {
    "0": ("min", 0.010),
    "50": ("50th", 0.700),
    "90": ("90th", 1.200),
    "99": ("99th", 2.500),
    "99.9": ("3-nines", 4.500),
    "99.99": ("4-nines", 6.000),
    "100": ("max", 10.000),
}
"""Percentile in the XML, its row in the text, and milliseconds."""
MEAN_MS: Final = 0.8


def text_of(*timespans: tuple[Made, ...]) -> str:
    """The text output of several timespans, each with its targets."""
    lines = ["", r"Command Line: diskspd.exe -d10 -L D:\made.dat", "", "Input parameters:", ""]
    for at, targets in enumerate(timespans, 1):
        lines += [f"\ttimespan: {at:3d}", "\t-------------", f"\tduration: {SECONDS}s", "\twarm up time: 5s"]
        lines += ["\tcool down time: 0s", "\tmeasuring latency", "\trandom seed: 0"]
        for made in targets:
            lines += _text_target(made)
        lines.append("")
    lines += ["System information:", "", "\tcomputer name: HOST", "\tstart time: 2026/11/22 02:00:00 UTC"]
    for at, targets in enumerate(timespans, 1):
        rows = [(made, *done) for made in targets for done in made.threads]
        lines += ["", f"Results for timespan {at}:", "*" * 79, "", f"actual test time:\t{SECONDS:.2f}s"]
        lines += [f"thread count:\t\t{len(rows)}", ""]
        for title, reads, writes in (("Total", 1, 1), ("Read", 1, 0), ("Write", 0, 1)):
            lines += [f"{title} IO", "thread | bytes | I/Os | MiB/s | I/O per s | AvgLat | LatStdDev | file"]
            totals = [0, 0]
            for number, (made, read, written) in enumerate(rows):
                ops = reads * read + writes * written
                totals = [totals[0] + ops * made.block, totals[1] + ops]
                lines.append(f"{number} | {_columns(ops * made.block, ops)} | {made.path} (1GiB)")
            lines += ["-" * 80, f"total: {_columns(*totals)}", ""]
        lines += ["Total latency distribution:", "  %-ile |  Read (ms) | Write (ms) | Total (ms)", "-" * 46]
        lines += [f"{row:>7} | 0.1 | 0.2 | {value:10.3f}" for row, value in PERCENTILES.values()]
    return "\n".join(lines) + "\n"


def _columns(moved: int, ops: int) -> str:
    return f"{moved} | {ops} | {moved / SECONDS / 2**20:.2f} | {ops / SECONDS:.2f} | {MEAN_MS:.3f} | 0.100"


def _text_target(made: Made) -> list[str]:
    mixed = f"mix test (read/write ratio: {100 - made.write_percent}/{made.write_percent})"
    does = {0: "read test", 100: "write test"}.get(made.write_percent, mixed)
    size = f"{made.block // 1024}KiB"
    pattern = f"random I/O (alignment: {size})" if made.random else f"sequential I/O (stride: {size})"
    return [
        f"\tpath: '{made.path}'",
        *("\t\tthink time: 0ms", "\t\tburst size: 0", "\t\tsoftware cache disabled"),
        "\t\thardware write cache disabled, writethrough on",
        *(f"\t\tperforming {does}", f"\t\tblock size: {size}", f"\t\tusing {pattern}"),
        f"\t\tnumber of outstanding I/O operations per thread: {made.depth}",
        f"\t\tthreads per file: {len(made.threads)}",
        *(("\t\tusing I/O Completion Ports",) if made.depth > 1 else ()),
        "\t\tIO priority: normal",
    ]


def xml_of(*timespans: tuple[Made, ...]) -> str:
    """The XML output of the same."""
    lines = ["<Results>", "  <System>", "    <ComputerName>HOST</ComputerName>", "    <Tool>"]
    lines += ["      <Version>2.2.0</Version>", "      <VersionDate>2024/6/3</VersionDate>", "    </Tool>"]
    lines += [
        "    <RunTime>2026/11/22 02:00:00 UTC</RunTime>",
        '    <ProcessorTopology Heterogeneous="false">',
    ]
    lines += ['      <Node Node="0">', '        <Group Group="0" Mask="0x3"/>', "      </Node>"]
    lines += [
        "    </ProcessorTopology>",
        "  </System>",
        "  <Profile>",
        "    <ResultFormat>xml</ResultFormat>",
    ]
    lines += ["    <TimeSpans>"]
    for targets in timespans:
        lines += ["      <TimeSpan>", "        <MeasureLatency>true</MeasureLatency>"]
        lines += [f"        <Duration>{SECONDS}</Duration>", "        <ThreadCount>0</ThreadCount>"]
        lines += ["        <RequestCount>0</RequestCount>", "        <Targets>"]
        for made in targets:
            lines += _xml_target(made)
        lines += ["        </Targets>", "      </TimeSpan>"]
    lines += ["    </TimeSpans>", "  </Profile>"]
    for targets in timespans:
        lines += _xml_results(targets)
    return "\n".join([*lines, "</Results>"]) + "\n"


def _xml_target(made: Made) -> list[str]:
    size = f"<Random>{made.block}</Random>" if made.random else f"<StrideSize>{made.block}</StrideSize>"
    inner = [
        *(f"<Path>{made.path}</Path>", f"<BlockSize>{made.block}</BlockSize>"),
        *("<BaseFileOffset>0</BaseFileOffset>", "<RandomAccess>false</RandomAccess>"),
        *(
            "<DisableOSCache>true</DisableOSCache>",
            "<WriteThrough>true</WriteThrough>",
            "<WriteBufferContent>",
        ),
        *("  <Pattern>sequential</Pattern>", "</WriteBufferContent>", size),
        *(() if made.random else ("<InterlockedSequential>false</InterlockedSequential>",)),
        *("<ThreadStride>0</ThreadStride>", f"<RequestCount>{made.depth}</RequestCount>"),
        *(f"<WriteRatio>{made.write_percent}</WriteRatio>", "<Throughput>0</Throughput>"),
        *(f"<ThreadsPerFile>{len(made.threads)}</ThreadsPerFile>", "<IOPriority>3</IOPriority>"),
    ]
    return [
        "          <Target>",
        *(f"            {line}" for line in inner),
        "          </Target>",
    ]


def _xml_results(targets: tuple[Made, ...]) -> list[str]:
    rows = [(made, *done) for made in targets for done in made.threads]
    lines = ["  <TimeSpan>", f"    <TestTimeSeconds>{SECONDS:.2f}</TestTimeSeconds>"]
    lines += [f"    <ThreadCount>{len(rows)}</ThreadCount>", "    <CpuUtilization>", "      <CPU>"]
    lines += ["        <Id>0</Id>", "      </CPU>", "    </CpuUtilization>", "    <Latency>"]
    lines += [f"      <AverageTotalMilliseconds>{MEAN_MS:.3f}</AverageTotalMilliseconds>"]
    for share, (_, value) in PERCENTILES.items():
        lines += ["      <Bucket>", f"        <Percentile>{share}</Percentile>"]
        lines += [f"        <TotalMilliseconds>{value:.3f}</TotalMilliseconds>", "      </Bucket>"]
    lines += ["    </Latency>"]
    for number, (made, reads, writes) in enumerate(rows):
        counts = {
            "BytesCount": (reads + writes) * made.block,
            "FileSize": FILE_SIZE,
            "IOCount": reads + writes,
            "ReadBytes": reads * made.block,
            "ReadCount": reads,
            "WriteBytes": writes * made.block,
            "WriteCount": writes,
        }
        lines += ["    <Thread>", f"      <Id>{number}</Id>", "      <Target>"]
        lines += [f"        <Path>{made.path}</Path>"]
        lines += [f"        <{name}>{value}</{name}>" for name, value in counts.items()]
        lines += ["      </Target>", "    </Thread>"]
    return [*lines, "  </TimeSpan>"]
