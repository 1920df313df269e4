"""Command lines in which each option is tried.

Scope: for each group of options one short line with a place for an option (`BASES`), under which strace shows what is
done with its value; and lines that meet what is at a path (`CASES`): one or more for each option that names a work file
or a result. `{p}` is the path of the user, `{w}` another new file, other names are inputs of `canary_shop`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.cli.canary_shop import STUDY

BASES: Final = {
    "check": "check {option} <targets=virtual:optane-16gb> --quick --seconds 0.05",
    "compare": "compare <studies={study}> {other_study} {option}",
    "dd": "dd if=/dev/zero of={w} bs=4k count=16 {option}",
    "doctor": "doctor {option} <target=dir:.>",
    "drive array-tests": "drive array-tests {option} <study={study}>",
    "drive control": "drive control <at={served}> stats",
    "drive control fault": "drive control {served} fault none {option}",
    "drive control save": "drive control {served} save <file={w}>",
    "drive fit": "drive fit {option} <profile={drive}>",
    "drive rates": "drive rates {option} <drives=hpe-7k2-500gb>",
    "drive raw-tests": "drive raw-tests {option} <drives=hpe-7k2-500gb>",
    "drive run": "drive run <name={drive}> --passes 0.00001 {option}",
    "drive serve": "drive serve <profile={drive}> --nbd {w} {option}",
    "drive show": "drive show <name={drive}>",
    "endurance case": "endurance case <name=zfs-zil>",
    "endurance choose": "endurance choose --capacity 400GB --writes 75TB/year {option}",
    "endurance convert": "endurance convert --capacity 400GB --dwpd 1 {option}",
    "endurance life": "endurance life --capacity 400GB --tbw 400TB --writes 75TB/year {option}",
    "endurance over-provisioning": "endurance over-provisioning --give-up 0 <drive={small}> {option}",
    "endurance watch": "endurance watch <target=dir:.> --log {w} --once {option}",
    "export": "export csv <folder={study}> {option}",
    "fio": "fio --name=a --rw=write --size=64k --filename={w} {option} <words=>",
    "hdparm": "hdparm -t {option} <words=virtual:plain-64gib>",
    "import": "import <files={results}> --out {w} {option}",
    "iometer": "iometer -t null: --seconds 1 {option} <words={icf}>",
    "ior": "ior -b 64k -t 4k {option}",
    "ior -O": "ior -b 64k -t 4k -O {option}",
    "iozone": "iozone -s 64k -r 4k -i 0 -+n -t 1 {option} <words=>",
    "list": "list studies {option} <folders=>",
    "mdtest": "mdtest -n 2 -d {w} {option}",
    "measure": "measure -t dir:. -w sequential_write --record 4KiB --size 64KiB --operations 16 {option}",
    "merge": "merge <folders={study}> {other_study} --out {w} {option}",
    "metarates": "metarates -d {w} -n 2 -C {option}",
    "mpirun": "mpirun -np 1 {option} ior -b 64k -t 4k",
    "new": "new <study={w}> {option}",
    "new <file>": "new datasheet <file={w}.toml>",
    "plan": "plan <study={toml}> {option}",
    "powercut": "powercut <drive=intel-x25e-64gb> --cuts 1 {option}",
    "query": "query <sql=select/**/1> <folders={study}> {option}",
    "report": "report <studies={study}> {option}",
    "run": "run <study={toml}> --report none {option}",
    "study": "run {probe} --out {w} --report none --allow-commands",
    "sweep": "sweep <study={factors}> {option}",
    "target": "measure -w sequential_write --record 4KiB --size 64KiB --operations 16 -t {option}",
}
"""`<name=VALUE>` is an argument, `{option}` the place of an option; an option may have a line of its own."""


@dataclass(frozen=True)
class Case:
    """A command line that meets what is at `at`."""

    option: str
    words: str
    at: str = "{p}"
    """What is derived of the user's path is met at another place."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Job files and scripts in the working directory."""
    maker: str = ""
    """The line that makes what a second call finds; empty: the same line."""
    limit_s: float = 20.0
    reads: bool = False
    """It only reads what is at the path: what it finds there may be wrong for the tool, which ends with its own status.
    """

    @property
    def name(self) -> str:
        words = self.words if self.at == "{p}" else f"{self.words} [{self.at}]"
        return " ".join([words, *(f"{name}: {text!r}" for name, text in self.files.items())])


_READS: Final = (
    *("--rw=read", "--rw=randread", "--rw=read --ioengine=filestat", "--rw=write --ioengine=null"),
    *("-i 1", "-i 1 -w"),
)
"""Words of lines of fio and IOzone that only read, or nothing at all."""


def _fio() -> list[Case]:
    job = "fio --name=a --size=64k"
    on_file = f"{job} --filename={{p}}"
    works = [
        *(f"--rw={word}" for word in ("read", "write", "randwrite", "rw", "randread")),
        *(f"--rw=write --ioengine={word}" for word in ("mmap", "libaio --iodepth=4", "io_uring")),
        "--rw=read --ioengine=filedelete",
        "--rw=write --ioengine=filecreate",
        "--rw=read --ioengine=filestat",
        "--rw=read --size=1m",
        "--rw=read --size=1m --ioengine=mmap",
        "--rw=read --unlink=1",
        "--rw=write --unlink=1",
        "--rw=randread --overwrite=1",
        "--rw=write --verify=crc32c",
        "--rw=write --create_only=1",
        "--rw=write --create_on_open=1",
        "--rw=write --fallocate=native",
        "--rw=trim",
    ]
    found = [Case("fio --filename", f"{on_file} {words}", reads=words in _READS) for words in works]
    found += [
        Case("fio --filename", f"{job} --rw=write --filename={{w}}:{{p}}"),
        Case("fio --filename", f"{job} --rw=write --filename=name --directory={{folder}}", "{folder}/name"),
        Case("fio --filename_format", f"{job} --rw=write --filename_format={{p}}"),
        Case("fio --filename_format", f"{job} --rw=write --filename_format={{p}}.$jobnum", "{p}.0"),
        Case("fio --directory", f"{job} --rw=write --directory={{p}}", "{p}/a.0.0"),
        Case("fio --directory", f"{job} --rw=write --directory={{p}}"),
        Case("fio --name", f"{job} --rw=write --nrfiles=2", "a.0.1"),
        Case("fio --name", f"{job} --rw=write --numjobs=2", "a.1.0"),
    ]
    for key in ("filename", "filename_format"):
        text = f"[a]\nrw=write\nsize=64k\n{key}={{p}}\n"
        found.append(Case(f"fio --{key}", "fio job.fio", files={"job.fio": text}))
    results = (
        ("output", "", ""),
        ("output", "", " --output-format=json"),
        ("write_iolog", "", ""),
        ("write_bw_log", "_bw.1.log", ""),
        ("write_iops_log", "_iops.1.log", ""),
        ("write_lat_log", "_lat.1.log", ""),
        ("write_lat_log", "_clat.1.log", ""),
        ("write_bw_log", "_bw.log", " --per_job_logs=0"),
    )
    for key, end, more in results:
        words = f"{job} --rw=write --filename={{w}} --{key}={{p}}{more}"
        found.append(Case(f"fio --{key}", words, f"{{p}}{end}"))
        if key != "output":
            text = f"[a]\nrw=write\nsize=64k\nfilename={{w}}\n{key}={{p}}\n"
            found.append(Case(f"fio --{key}", f"fio job.fio{more}", f"{{p}}{end}", {"job.fio": text}))
    return found


def _ior() -> list[Case]:
    base = "ior -b 64k -t 4k"
    writes = f"{base} -w -k -o {{p}}"
    works = (
        *("-r", "-R -G 7", "-w", "-w -k", "-w -E -k", "-w -E", "-W", "-w -r", "-w -B -k", "-w -e -i 2"),
        *("-r -K -R -G 7", "-w -D 1 -k"),
    )
    found = [
        Case("ior -o", f"{base} {words} -o {{p}}", maker=writes, reads="-w" not in words) for words in works
    ]
    found += [
        Case("ior -o", f"{base} -w -k --tasks 2 -o {{p}}@{{w}}"),
        Case("ior -o", f"mpirun -np 2 {base} -w -k -o {{p}}"),
        Case("ior -o", f"mpirun -np 2 {base} -r -o {{p}}", maker=f"mpirun -np 2 {writes}", reads=True),
        Case("ior -o", f"{base} -w -k", "testFile"),
        Case("ior -o", base, "testFile", maker=f"{base} -w -k"),
        Case("ior -F", f"{base} -w -k -F -o {{p}}", "{p}.00000000"),
        Case(
            "ior -F",
            f"{base} -r -F --tasks 2 -o {{p}}",
            "{p}.00000001",
            maker=f"{writes} -F --tasks 2",
            reads=True,
        ),
        Case("ior -m", f"{base} -w -k -m -i 2 -o {{p}}", "{p}.1"),
        Case("ior -u", f"{base} -w -k -F -u -o {{folder}}/t", "{folder}/0/t.00000000"),
        Case("ior -f", "ior -f script", files={"script": _script("{p}")}),
        Case("ior -O testfile", f"{base} -w -k -O testFile={{p}}"),
        Case("ior -O", f"{base} -w -O useExistingTestFile=1,testFile={{p}}"),
        Case("ior -O summaryfile", f"{base} -w -o {{w}} -O summaryFile={{p}}"),
        Case("ior -O summaryfile", f"{base} -w -o {{w}} -O summaryFormat=JSON,summaryFile={{p}}"),
        Case(
            "ior -O stonewallingstatusfile",
            f"{base} -w -k -D 1 -o {{w}} -O stoneWallingWearOut=1,stoneWallingStatusFile={{p}}",
        ),
        Case(
            "ior -O saverankperformancedetailscsv",
            f"{base} -w -o {{w}} -O saveRankPerformanceDetailsCSV={{p}}",
        ),
    ]
    return found


def _script(path: str) -> str:
    lines = ("IOR START", f"testFile={path}", "blockSize=64k", "transferSize=4k", "writeFile=1", "keepFile=1")
    return "\n".join((*lines, "RUN", "IOR STOP", ""))


def _trees() -> list[Case]:
    """mdtest and metarates."""
    tree = "{p}/test-dir.0-0"
    names = f"{tree}/mdtest_tree.0"
    files = "metarates -d {p} -n 4 -C -S -U"
    return [
        Case("mdtest -d", "mdtest -n 2 -d {p}"),
        Case("mdtest -d", "mdtest -n 2 -d {p}", tree),
        Case("mdtest -d", "mdtest -n 2 -d {p}", names),
        Case("mdtest -d", "mdtest -n 2 -F -w 4096 -d {p}", f"{names}/file.mdtest.0.0"),
        Case(
            "mdtest -d", "mdtest -n 2 -F -r -d {p}", f"{names}/file.mdtest.0.0", maker="mdtest -n 2 -C -d {p}"
        ),
        Case(
            "mdtest -d", "mdtest -n 2 -D -r -d {p}", f"{names}/dir.mdtest.0.0", maker="mdtest -n 2 -C -d {p}"
        ),
        Case("mdtest -d", "mdtest -n 2 -F -C -k -d {p}", f"{names}/file.mdtest.0.0"),
        Case("mdtest -d", "mpirun -np 2 mdtest -n 2 -d {p}"),
        Case("mdtest -x", "mdtest -n 2 -F -C -W 1 -x {p} -d {w}"),
        Case("metarates -d", files),
        Case("metarates -d", f"mpirun -np 2 {files}"),
    ]


def _iozone() -> list[Case]:
    base = "iozone -s 64k -r 4k -+n"
    found = [
        Case("iozone -f", f"{base} {words} -f {{p}}", maker=f"{base} -i 0 -w -f {{p}}", reads=words in _READS)
        for words in ("-i 0", "-i 0 -w", "-i 1", "-i 1 -w", "-i 2", "-i 0 -B", "-i 6", "-i 0 -I", "-i 0 -H 2")
    ]
    child = "Child_0_wol.dat"
    return [
        *found,
        Case("iozone -f", f"{base} -i 0 -w", "iozone.tmp"),
        Case("iozone -F", f"{base} -i 0 -t 1 -w -F {{p}}"),
        Case("iozone -F", f"{base} -i 1 -t 1 -F {{p}}", maker=f"{base} -i 0 -t 1 -w -F {{p}}", reads=True),
        Case("iozone -t", f"{base} -i 0 -t 1 -w", "iozone.DUMMY.0"),
        Case(
            "iozone -f", f"{base} -i 0 -w -+m clients -t 1", files={"clients": "localhost {cwd} iozone {p}\n"}
        ),
        Case("iozone -b", f"{base} -i 0 -R -b {{p}} -f {{w}}"),
        Case("iozone -b", f"{base} -i 0 -R -b {{p}}.xlsx -f {{w}}", "{p}.xlsx"),
        Case("iozone -Q", f"{base} -i 0 -Q -f {{w}}", "wol.dat"),
        Case("iozone -Q", f"{base} -i 0 -Q -t 1 -F {{w}}", child),
    ]


def _targets() -> list[Case]:
    """What takes a target."""
    measure = "measure --record 4KiB --size 64KiB --operations 16"
    found = [
        Case(f"target {scheme}", f"{measure} -w {workload} -t {scheme}{{p}}")
        for scheme in ("file:", "block:", "dir:")
        for workload in ("sequential_write", "random_read")
    ]
    study = STUDY.replace("virtual:plain-64gib", "file:{p}")
    return [
        *found,
        Case("measure --target", f"{measure} -w sequential_write -t {{p}}"),
        Case("measure --target", f"{measure} -w discard --discards 100 -t {{p}}"),
        Case("measure --workload", f"{measure} -w trace:trace.csv -t {{p}}", files={"trace.csv": _TRACE}),
        Case("run --target", "run {toml} --out {w} --report none --target file:{p}"),
        Case("run --target", "run {toml} --out {w} --report none --target {p}"),
        Case("study Study.target", "run s.toml --out {w}", files={"s.toml": study}),
        Case("check <targets>", "check file:{p} --quick", limit_s=60),
        Case("check <targets>", "check {p} --quick", limit_s=60),
        Case("check <targets>", "check file:{p} --for sqlite-wal --seconds 0.05", limit_s=60),
        Case("check <targets>", "check {p} --for ceph-journal --seconds 0.05", limit_s=60),
        Case("iometer -t", "iometer -t file:{p} --seconds 1 {icf}", limit_s=60),
        Case("iometer -t", "iometer -t {p} --seconds 1 {icf}", limit_s=60),
        *(
            Case("dd of", f"dd if=/dev/zero of={{p}} bs=4k count=16 {more}".rstrip())
            for more in ("", "conv=notrunc", "oflag=direct", "seek=1", "conv=fsync")
        ),
        Case("dd of", "dd if=/dev/urandom of={p} bs=4k count=1"),
        Case("dd if", "dd if={p} of=/dev/null bs=4k count=1", reads=True),
    ]


_TRACE: Final = "at_ns,kind,offset_bytes,length_bytes\n0,write,0,4096\n1000,write,4096,4096\n"


def _results() -> list[Case]:
    """Result files of the commands that are Mileage's own."""
    small = "--record 4KiB --size 64KiB --operations 16"
    serve = "drive serve {drive}"
    return [
        Case("measure --log", f"measure -t dir:. -w sequential_write {small} --log {{p}}"),
        Case("sweep --out", "sweep {factors} --out {p}"),
        Case("sweep --chart", "sweep {factors} --chart {p}.svg", "{p}.svg"),
        Case("sweep --chart", "sweep {factors} --chart {p}.png", "{p}.png"),
        Case("new <study>", "new {p}"),
        Case("new <file>", "new datasheet {p}.toml", "{p}.toml"),
        Case("drive fit --log", "drive fit {drive} --log {p}"),
        Case("drive rates --page", "drive rates hpe-7k2-500gb --page {p}"),
        Case("drive raw-tests --page", "drive raw-tests hpe-7k2-500gb --page {p}"),
        Case("drive run --save", "drive run {drive} --passes 0.00001 --save {p}"),
        Case("drive control save <file>", "drive control {served} save {p}"),
        Case("drive serve --save", f"{serve} --nbd {{w}} --save {{p}}"),
        Case("drive serve --data", f"{serve} --nbd {{w}} --data {{p}}"),
        Case("drive serve --nbd", f"{serve} --nbd {{p}}"),
        Case("endurance over-provisioning --chart", _OP, "{p}.svg"),
        Case("endurance watch --log", "endurance watch dir:. --once --log {p}"),
        Case("iometer -r", "iometer -t null: --seconds 1 -r {p} {icf}"),
        Case("drive serve --at", f"{serve} --at {{p}} --no-loop"),
        Case("drive serve --at", f"{serve} --at {{p}} --no-loop", "{p}/drive"),
    ]


_OP: Final = "endurance over-provisioning {small} --give-up 0 --chart {p}.svg"


def _folders() -> list[Case]:
    """New folders of results."""
    own = "--record 4KiB --size 64KiB --operations 16"
    tools = {
        "dd": "dd if=/dev/zero of={w} bs=4k count=16",
        "hdparm": "hdparm -t virtual:plain-64gib",
        "iometer": "iometer -t null: --seconds 1 {icf}",
        "ior": "ior -b 64k -t 4k -o {w}",
        "iozone": "iozone -s 64k -r 4k -i 0 -f {w}",
        "mdtest": "mdtest -n 2 -d {folder}",
        "metarates": "metarates -d {w} -n 2 -C",
    }
    return [
        *(Case(f"{tool} --study", f"{words} --study {{p}}") for tool, words in tools.items()),
        Case("mpirun --study", "mpirun --study {p} -np 1 ior -b 64k -t 4k -o {w}"),
        Case("check --save", "check virtual:optane-16gb --quick --seconds 0.05 --save {p}", limit_s=60),
        Case("measure --save", f"measure -t null: -w random_read {own} --save {{p}}"),
        Case("run --out", "run {toml} --report none --out {p}"),
        Case("report --out", "report {study} {other_study} --out {p}"),
        Case("export --out", "export csv {study} --out {p}"),
        Case("export --out", "export parquet {study} --out {p}"),
        Case("compare --out", "compare --table {table} --out {p}"),
        Case("merge --out", "merge {study} {other_study} --out {p}"),
        Case("import --out", "import {results} --out {p}"),
        Case("drive run --report", "drive run {drive} --passes 0.00001 --report {p}"),
        Case("powercut --report", "powercut intel-x25e-64gb --cuts 1 --report {p}"),
    ]


CASES: Final = tuple(
    {
        case.name: case
        for case in (
            *_fio(),
            *_ior(),
            *_trees(),
            *_iozone(),
            *_targets(),
            *_results(),
            *_folders(),
        )
    }.values()
)

WITHOUT_CASE: Final = {
    "drive array-tests --page": "a minute of simulation; written as the pages of rates and raw-tests are",
    "fio --study": "refused in every line",
    "mpirun --wdir": "a directory to change to; what is done below it is done by the tools",
    "target loop:": "makes a file of its own in a folder",
    "study IozoneSwitches.file": "a size",
    "study IozoneSwitches.files": "names of files without a folder, below the target's own",
}
"""Options that name a path and have no line, each with its reason."""
