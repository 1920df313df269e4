"""The flags of IOR, mdtest and metarates, each with what it does here, and those of the mpirun in front of them."""

from __future__ import annotations

from typing import Final

from mileage.dropin.flags import Flag, Tool

TASKS: Final = Flag(
    "--tasks",
    "Number of tasks, each a process on this machine; default 1 (added by Mileage, as is `mileage mpirun -np N`).",
    "N",
    also=("-np",),
    example="2",
)
_ONCE: Final = "a study with more stages; see docs/reference/study-file.md."
_STAYS: Final = "omit it: files are in a directory that is made for the run and removed with it."
_MPI_IO: Final = "omit it: it belongs to MPI-IO, and only POSIX is built."

OTHER_APIS: Final = (
    *("MPIIO", "HDF5", "NCMPI", "MMAP", "HDFS", "S3-libs3", "S3-4c", "DFS", "CEPHFS", "RADOS", "GFARM"),
    *("BEEGFS", "AIO", "PMDK"),
)
_OF_BACKENDS: Final = """
--posix.rangelocks --dummy.delay-only-rank0 --dummy.delay-create --dummy.delay-close --dummy.delay-sync
--dummy.delay-xfer --mmap.madv_dont_need --mmap.madv_pattern
"""

IOR: Final = Tool(
    name="ior",
    title="IOR's command line (2.10 and 4) over POSIX: tasks write blocks of a file and read them back.",
    flags=(
        TASKS,
        Flag(
            "-a",
            "Interface: POSIX, or DUMMY, which calls nothing.",
            "API",
            also=("--api",),
            choices=("POSIX", "DUMMY"),
            other_choices=OTHER_APIS,
            example="POSIX",
        ),
        Flag(
            "-b",
            "Block: part of a segment that belongs to one task; bytes, or with k, m, g (binary); default 1 MiB.",
            "SIZE",
            example="64k",
        ),
        Flag("-t", "Transfer: size of an operation; default 256 KiB.", "SIZE", example="4k"),
        Flag("-s", "Segments; default 1.", "N", example="2"),
        Flag("-i", "Repetitions; default 1.", "N", example="2"),
        Flag("-F", "A file for each task instead of one for all."),
        Flag(
            "-o",
            "Test file; several joined by @ are dealt to the tasks. Default testFile.",
            "FILE",
            example="testFile",
        ),
        Flag("-w", "Write; without -w, -r, -W and -R both are done."),
        Flag("-r", "Read what is in the file."),
        Flag("-R", "Compare what is read with what is expected to be in the file."),
        Flag("-W", "After writing read back and compare, untimed."),
        Flag("-e", "fsync at the end of writing, included in its time."),
        Flag("-Y", "fsync after every write."),
        Flag("-C", "A task reads the data of the next task."),
        Flag("-Q", "With -C: distance to that task; default 1.", "N", example="1"),
        Flag("-Z", "A task reads the data of a task that is drawn; twice: every task's data is read by one."),
        Flag("-X", "Seed of -Z.", "SEED", example="7"),
        Flag("-z", "Transfers of a block in another order (IOR's own shuffle)."),
        Flag("--random-offset-seed", "Seed of -z; default: the time.", "SEED", example="5"),
        Flag("-B", "Bypass the page cache (O_DIRECT).", also=("--posix.odirect",)),
        Flag("-g", "Barriers between opening, moving and closing."),
        Flag("-k", "The file stays."),
        Flag("-K", "The file stays when a comparison failed."),
        Flag("-E", "Do not remove an existing file before writing."),
        Flag("-m", "A file for each repetition."),
        Flag("-u", "A directory for each file; with -F."),
        Flag("-d", "Seconds of rest before each phase.", "SECONDS", example="0"),
        Flag("-D", "Stonewall: end a phase after SECONDS.", "SECONDS", example="60"),
        Flag("-T", "No phase begins after MINUTES.", "MINUTES", example="5"),
        Flag("-f", "Script with directives, several tests.", "FILE"),
        Flag("-G", "Signature of the data in place of the time.", "N", example="27"),
        Flag(
            "-l",
            "Data: timestamp, offset, incompressible or random.",
            "TYPE",
            also=("--dataPacketType",),
            trap='IOR\'s own "incompressible" is one word again and again; random cannot be compressed',
            example="random",
        ),
        Flag("-M", "Memory to occupy: a size, or percent of all memory.", "SIZE", example="1m"),
        Flag("-N", "Work with N of the tasks.", "N", example="1"),
        Flag("-A", "Number of the test in the summary (RefNum).", "N", example="3"),
        Flag("-j", "Warn of times that are SECONDS away from the mean of the tasks.", "SECONDS", example="1"),
        Flag("-x", "A short transfer is an error."),
        Flag("--warningAsErrors", "A warning ends the run with the status 255."),
        Flag("-v", "Verbose; repeated up to -vvv."),
        Flag(
            "-O",
            "Directives, such as summaryFormat=JSON, summaryFile=F, stoneWallingWearOut=1.",
            "KEY=VALUE,...",
            example="summaryFormat=CSV",
        ),
        Flag("-c", "Collective calls.", also=("--collective",), instead=_MPI_IO),
        Flag("-y", "Two mount points.", instead="omit it; give both directories to -o, joined by @."),
        Flag("--dryRun", "Nothing is read or written.", instead="omit it."),
        Flag("--randomPrefill", "Fills before -z.", "SIZE", instead="a call with -w -k before."),
        Flag("-H", "Shows hints.", instead=_MPI_IO),
        Flag("-I", "A data set for each task.", instead="omit it: an option for HDF5 files."),
        Flag("-J", "Alignment of HDF5.", "N", instead="omit it: an option for HDF5 files."),
        Flag("-n", "No fill in HDF5.", instead="omit it: an option for HDF5 files."),
        Flag("-p", "Allocates the file first, with MPI-IO.", instead=_MPI_IO),
        Flag("-P", "Shared file pointer.", instead=_MPI_IO),
        Flag("-q", "Ends at the first error.", instead="omit it: an error of a call always ends the run."),
        Flag("-S", "Strided datatype.", instead=_MPI_IO),
        Flag("-U", "File of hints.", "FILE", instead=_MPI_IO),
        Flag("-V", "File view.", instead=_MPI_IO),
        Flag("-h", "Show the flags."),
    ),
    others=frozenset(_OF_BACKENDS.split()),
    usage="[--tasks N] [-b SIZE] [-t SIZE] [-s N] [-i N] [-F] ...",
    notes=(
        "The listing, the JSON and the CSV are those of IOR 4. Bandwidth is bytes over the time from the first "
        "open to the last close of any task; IOPS are transfers over the time from the first to the last transfer; "
        "Latency is the smallest of the tasks' means; StdDev divides by the number of repetitions.",
        "Files, calls and data are IOR's own, and nothing else is left: files stay with -k. The exit status is IOR's: "
        "twice the number of transfers that differ, or 255. With --study DIR the command is done and kept as a study, "
        "in files of its own; flags that a study cannot keep are refused then.",
    ),
    equals=True,
    examples=(
        "--tasks 4 -a POSIX -b 64k -F -i 2 -s 20 -t 4k -vv",
        "--tasks 2 -b 1M -t 256k -s 2 -e -C -O summaryFormat=CSV",
    ),
)

MDTEST: Final = Tool(
    name="mdtest",
    title="mdtest's command line over POSIX: several tasks make, stat and remove directories and files.",
    flags=(
        TASKS,
        Flag(
            "-a",
            "Interface: POSIX, or DUMMY, which calls nothing.",
            "API",
            also=("--api",),
            choices=("POSIX", "DUMMY"),
            other_choices=OTHER_APIS,
            example="POSIX",
        ),
        Flag("-n", "Items of each task.", "N", example="10"),
        Flag("-i", "Iterations; default 1.", "N", example="2"),
        Flag("-d", "Directory for all items, made if it is not there; default ./out.", "DIR", example="."),
        Flag("-F", "Files only."),
        Flag("-D", "Directories only."),
        Flag("-C", "Create; without -C, -T, -E and -r all phases are done."),
        Flag("-T", "Stat."),
        Flag("-E", "Read files."),
        Flag("-r", "Remove."),
        Flag("-U", "Rename directories."),
        Flag("-u", "A tree for each task."),
        Flag("-z", "Levels of the tree; default 0.", "N", example="1"),
        Flag("-b", "Directories in each directory of the tree; default 1.", "N", example="2"),
        Flag("-I", "Items of a task in each directory of the tree, in place of -n.", "N", example="2"),
        Flag("-L", "Items in the last level only."),
        Flag("-w", "Bytes that are written to each new file.", "BYTES", example="4096"),
        Flag("-e", "Bytes that are read of each file.", "BYTES", example="4096"),
        Flag("-y", "fsync after writing."),
        Flag("-Y", "sync after each phase, included in its time."),
        Flag("-N", "Stat, read and removal act on the items of the task N further on.", "N", example="1"),
        Flag("-R", "Stat and read in random order."),
        Flag("--random-seed", "Seed of -R.", "SEED", example="3"),
        Flag(
            "-W", "Stonewall: files are made for SECONDS, then as many by every task.", "SECONDS", example="5"
        ),
        Flag("-x", "File with the number of items of a stonewalled creation.", "FILE", example="status"),
        Flag("-X", "Compare what is read.", also=("--verify-read",)),
        Flag("-G", "Signature of the data in place of the time.", "N", example="27"),
        Flag(
            "--dataPacketType", "Data: timestamp, offset, incompressible or random.", "TYPE", example="random"
        ),
        Flag("-k", "Make files by mknod."),
        Flag("-S", "One set of names for all tasks; files only."),
        Flag("-c", "The first task makes and removes the files of all."),
        Flag(
            "-t",
            "Include the choice of the directories of -u in the time.",
            ignored="it is included in any case",
        ),
        Flag("-B", "No barriers between phases."),
        Flag("-p", "Seconds of rest before each kind.", "SECONDS", example="0"),
        Flag("-P", "Print rates and times."),
        Flag("-Z", "Print times in place of rates."),
        Flag("-v", "Verbose: the parameters, and the time and rate of each phase as it ends."),
        Flag("-V", "Verbosity; from 1 on as -v.", "N", example="0"),
        Flag("--warningAsErrors", "A warning ends the run with the status 255."),
        Flag("-h", "Show the flags."),
        Flag("-f", "Smallest number of tasks.", "N", instead="one call for each --tasks."),
        Flag("-l", "Largest number of tasks.", "N", instead="one call for each --tasks."),
        Flag("-s", "Step between numbers of tasks.", "N", instead="one call for each --tasks."),
        Flag("-g", "A layout of Lustre.", instead="omit it: only POSIX is built."),
        Flag("--verify-write", "Reads back after writing.", instead="-X."),
        Flag(
            "--showRankStatistics",
            "Columns for each rank.",
            instead="--study DIR, which has every task's times.",
        ),
        Flag("--saveRankPerformanceDetails", "A CSV of ranks.", "FILE", instead="--study DIR."),
        Flag("--savePerOpDataCSV", "A CSV of operations.", "FILE", instead="--study DIR."),
    ),
    others=frozenset(
        f"{_OF_BACKENDS} --posix.odirect --print-all-procs --run-cmd-before-phase --run-cmd-after-phase".split()
    ),
    usage="[--tasks N] -n N [-i N] [-d DIR] [-F|-D] ...",
    notes=(
        "The rate of an iteration is the smallest rate of a task times the number of tasks; a task's time runs from "
        "its first call to the end of the last task. Std Dev divides by the iterations less one.",
        "Names, paths and calls are mdtest's own. A directory of -d that does not exist is made and removed again; "
        "what -C leaves is there for -T, -E and -r. With --study DIR the command is done and kept as a study, in a "
        "directory of its own, where names are looked up from -d and stat rates are 2.2 to 2.5 times mdtest's.",
    ),
    equals=True,
    examples=("--tasks 2 -n 100 -i 3", "-n 50 -F -u"),
)

METARATES: Final = Tool(
    name="metarates",
    title="metarates' command line: rates of create, stat and utime.",
    flags=(
        TASKS,
        Flag("-d", "Directory of the files; made if it does not exist.", "DIR", example="junk"),
        Flag("-n", "Files of all tasks together, a multiple of the tasks.", "N", example="100"),
        Flag("-C", "Create and close."),
        Flag("-S", "stat."),
        Flag("-U", "utime."),
        Flag(
            "-u",
            "A directory for each task.",
            trap="a directory for each task, not unlink: removal is never timed",
        ),
        Flag("-s", "fsync before the close, in the create test."),
        Flag("-k", "Files stay.", instead=_STAYS),
        Flag(
            "-r",
            "Repetitions, of one version.",
            "N",
            instead="several calls; `mileage import OUTPUT...` joins their output.",
        ),
        Flag("-h", "Show the flags."),
    ),
    usage="[--tasks N] -d DIR -n N [-C] [-S] [-U] [-u] [-s]",
    by_launcher=True,
    notes=(
        "-n counts the files of all tasks together, as in the source of metarates; some texts call it files per task. "
        "The order is always create, stat, utime. The first task makes the files of stat and utime. The total rate is "
        "the slowest task's rate times the number of tasks.",
        "Names are looked up from the directory of -d, while metarates looks up all parts of the path for each call: "
        "rates of stat and utime are higher than its own if -d has several parts (the output says so).",
        "Under a real launcher its ranks are the tasks, also on several hosts that mount one file system: mpirun "
        "-machinefile hosts -np 4 mileage metarates -d junk -n 1000 -C.",
    ),
    examples=("--tasks 4 -d junk -n 1000 -C -U -S -u",),
)

_MPIRUN_OTHERS: Final = """
am app bind-to-core bind-to-socket cartofile cf continuous cpu-list cpu-set cpus-per-proc cpus-per-rank d debug
debug-daemons debug-daemons-file debug-devel debugger default-hostfile disable-recovery display-allocation
display-devel-allocation display-devel-map display-diffable-map display-topo do-not-launch do-not-resolve dvm
enable-instant-on-support enable-recovery fwd-mpirun-port get-stack-traces gmca hnp index-argv-by-rank launch-agent
leave-session-attached max-restarts max-vm-size merge-stderr-to-stdout nolocal nooversubscribe noprefix novm npersocket
ompi-server output-filename output-proctable path pernode personality ppr prefix preload-binary preload-files rankfile
report-child-jobs-separately report-events report-pid report-state-on-timeout report-uri rf s set-cwd-to-session-dir
stdin timeout tune tv use-regexp xml xml-file xterm
"""
_PLACED: Final = "the kernel places tasks"
_NOT_PRINTED: Final = "nothing is printed but what the tool prints"


def _noted(name: str, summary: str, why: str, *also: str) -> Flag:
    """A flag of mpirun without a value that has no effect here, with one dash or two."""
    return Flag(f"--{name}", summary, also=(f"-{name}", *also), ignored=why)


MPIRUN: Final = Tool(
    name="mpirun",
    title="mpirun in front of IOR, mdtest or metarates, on this machine.",
    flags=(
        Flag(
            "-np",
            "Number of tasks; without it the slots of the machine file, or the cores of this machine.",
            "N",
            also=("-n", "-c", "--np"),
            example="2",
        ),
        Flag(
            "-machinefile",
            "File with one host per line, or host slots=N; all must be this machine.",
            "FILE",
            also=("--machinefile", "-hostfile", "--hostfile"),
            example="machinefile",
        ),
        Flag(
            "-host",
            "Hosts, separated by commas, each with its slots as in localhost:2; all must be this machine.",
            "HOSTS",
            also=("--host", "-H"),
            example="localhost:2",
        ),
        Flag(
            "-x",
            "A variable of the environment of all tasks, NAME=VALUE; NAME alone has its value already.",
            "NAME=VALUE",
            example="LEVEL=1",
        ),
        Flag(
            "--wdir",
            "Working directory of all tasks.",
            "DIR",
            also=("-wdir", "--wd", "-wd"),
            example=".",
        ),
        Flag(
            "-npernode",
            "Number of tasks on each host, in place of -np; there is one host, this machine.",
            "N",
            also=("--npernode", "-N", "-ppn", "--ppn"),
            example="2",
        ),
        Flag("-oversubscribe", "More tasks than processors.", also=("--oversubscribe",)),
        Flag("--allow-run-as-root", "Run as root.", ignored="nothing more is needed for it"),
        Flag(
            "--mca",
            "A parameter of Open MPI.",
            "NAME VALUE",
            also=("-mca",),
            pair=True,
            example="pml ob1",
            ignored="tasks are processes of one machine, without MPI",
        ),
        Flag(
            "--map-by",
            "How tasks are placed.",
            "RULE",
            also=("-map-by",),
            example="core",
            ignored=_PLACED,
        ),
        Flag(
            "--bind-to",
            "To what tasks are bound.",
            "PART",
            also=("-bind-to",),
            example="core",
            ignored=_PLACED,
        ),
        Flag(
            "--rank-by",
            "How tasks are numbered.",
            "RULE",
            also=("-rank-by",),
            example="core",
            ignored=_PLACED,
        ),
        _noted("bynode", "A task on each host in turn.", _PLACED),
        _noted("byslot", "Tasks fill a host before the next.", _PLACED),
        _noted("bycore", "A task on each core in turn.", _PLACED),
        _noted("use-hwthread-cpus", "Threads of cores are processors.", _PLACED),
        _noted("report-bindings", "Print to what tasks are bound.", _NOT_PRINTED),
        _noted("display-map", "Print where tasks are placed.", _NOT_PRINTED),
        _noted("tag-output", "Mark each line with its task.", _NOT_PRINTED),
        _noted("timestamp-output", "Mark each line with the time.", _NOT_PRINTED),
        _noted("show-progress", "Print how far the start is.", _NOT_PRINTED),
        _noted("verbose", "Print more.", _NOT_PRINTED, "-v"),
        _noted("quiet", "Print less.", _NOT_PRINTED, "-q"),
        Flag("--version", "Print the version of Open MPI that is followed.", also=("-version", "-V")),
        Flag("-h", "Show the flags."),
    ),
    others=frozenset(f"{dashes}{name}" for dashes in ("-", "--") for name in _MPIRUN_OTHERS.split()),
    usage="-np N [-machinefile FILE] ior|mdtest|metarates FLAGS",
    operands="the tool and its flags",
    starts=True,
    notes=(
        "A program in any directory is recognised by its file name: ./IOR is `mileage ior`. Hosts other than this "
        "machine are refused.",
    ),
    examples=("-np 4 ior -a POSIX -b 64k -F -s 20 -t 4k", "-np 2 ./metarates -d junk -n 1000 -C -S -U -u"),
)
