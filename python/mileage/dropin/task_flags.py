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
_DATA: Final = "omit it: data cannot be compressed here, and -R compares all of it."
_ONCE: Final = "a study with more stages; see docs/reference/study-file.md."
_STAYS: Final = "omit it: files are in a directory that is made for the run and removed with it."
_MPI_IO: Final = "omit it: it belongs to MPI-IO, and only POSIX is built."

IOR: Final = Tool(
    name="ior",
    title="IOR's command line (2.10 and 4) over POSIX: tasks write blocks of a file and read them back.",
    flags=(
        TASKS,
        Flag("-a", "Interface: POSIX.", "API", choices=("POSIX",), example="POSIX"),
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
            "Test file; files are made in its directory. Default testFile.",
            "FILE",
            example="testFile",
        ),
        Flag("-w", "Write; without -w and -r both are done."),
        Flag("-r", "Read the data that was written before (untimed without -w)."),
        Flag("-R", "Compare the data that is read with the data that was written."),
        Flag("-e", "fsync at the end of writing, included in its time."),
        Flag("-Y", "fsync after every write."),
        Flag("-C", "A task reads the data of the next task."),
        Flag("-Q", "With -C: distance to that task.", "N", example="1"),
        Flag("-Z", "A task reads the data of a task that is drawn from the seed."),
        Flag("-B", "Bypass the page cache (O_DIRECT).", also=("--posix.odirect",)),
        Flag("-v", "Verbose: -vv lists the tasks."),
        Flag("-O", "summaryFormat=default, JSON or CSV.", "KEY=VALUE", example="summaryFormat=CSV"),
        Flag(
            "-g",
            "Barriers between opening, moving and closing.",
            instead="omit it: phases are separated by each task's own times.",
        ),
        Flag(
            "-W",
            "Reads back and compares after writing.",
            instead="-R, which compares the data that is read.",
        ),
        Flag(
            "-z",
            "Transfers at random offsets.",
            instead="a study with a pattern of the family ior (see docs/reference/workloads.md).",
        ),
        Flag(
            "-X",
            "Seed of -Z.",
            "SEED",
            instead="omit it: the seed of the random order is in the study folder.",
        ),
        Flag("-N", "Uses N of the tasks.", "N", instead="--tasks N."),
        Flag("-A", "Number of the test in the log.", "N", instead="omit it."),
        Flag("-c", "Collective calls.", instead=_MPI_IO),
        Flag("-d", "Delay between repetitions.", "SECONDS", instead=_ONCE),
        Flag(
            "-D",
            "Ends a phase after SECONDS.",
            "SECONDS",
            instead="smaller -s: phases move all of their data.",
        ),
        Flag("-E", "Uses an existing file.", instead=_STAYS),
        Flag(
            "-f",
            "Reads options from a script.",
            "FILE",
            instead="the options on the command line, one call for each test.",
        ),
        Flag("-G", "Signature of the data.", "N", instead=_DATA),
        Flag("-H", "Shows hints.", instead=_MPI_IO),
        Flag("-I", "A data set for each task.", instead="omit it: an option for HDF5 files."),
        Flag("-J", "Alignment of HDF5.", "N", instead="omit it: an option for HDF5 files."),
        Flag("-k", "Files stay.", instead=_STAYS),
        Flag("-K", "Files stay after an error.", instead=_STAYS),
        Flag(
            "-l",
            "Kind of data.",
            "TYPE",
            instead=f'{_DATA} IOR\'s own "incompressible" is one word again and again.',
        ),
        Flag(
            "-m",
            "A file for each repetition.",
            instead="omit it: every repetition has files of its own.",
        ),
        Flag("-M", "Fills memory first.", "PERCENT", instead='a study with cache = "limited:SIZE", or -B.'),
        Flag("-n", "No fill in HDF5.", instead="omit it: an option for HDF5 files."),
        Flag(
            "-p",
            "Allocates the file first.",
            instead="`mileage measure -w sequential_write`, whose file is allocated first.",
        ),
        Flag("-P", "Shared file pointer.", instead=_MPI_IO),
        Flag("-q", "Ends at the first error.", instead="omit it: an error always ends the run."),
        Flag("-S", "Strided datatype.", instead=_MPI_IO),
        Flag("-T", "Largest duration in minutes.", "MINUTES", instead="smaller -s or -i."),
        Flag("-u", "A directory for each file.", instead="-F, whose files share one directory."),
        Flag("-U", "File of hints.", "FILE", instead=_MPI_IO),
        Flag("-V", "File view.", instead=_MPI_IO),
        Flag(
            "-x",
            "No retry of a short transfer.",
            instead="omit it: the rest of a short transfer is always moved.",
        ),
        Flag("-h", "Show the flags."),
    ),
    usage="[--tasks N] [-b SIZE] [-t SIZE] [-s N] [-i N] [-F] ...",
    notes=(
        "The listing, the JSON and the CSV are those of IOR 4. Bandwidth is bytes over the time from the first "
        "open to the last close of any task; IOPS are transfers over the time from the first to the last transfer; "
        "Latency is the smallest of the tasks' means; StdDev divides by the number of repetitions.",
        "The data that is written cannot be compressed; that of IOR compresses to a fifth of its size. The listing "
        "has no line for the removal of files, which is not timed.",
    ),
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
        Flag("-a", "Interface: POSIX.", "API", choices=("POSIX",), example="POSIX"),
        Flag("-n", "Items of each task.", "N", example="10"),
        Flag("-i", "Iterations; default 1.", "N", example="2"),
        Flag("-d", "Directory for all items; default: the working directory.", "DIR", example="."),
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
        Flag("-w", "Bytes of each file; with -e.", "BYTES", example="4096"),
        Flag("-e", "Bytes that are read of each file; must equal -w.", "BYTES", example="4096"),
        Flag("-y", "fsync after writing."),
        Flag("-N", "Stat, read and removal act on the items of the task N further on.", "N", example="1"),
        Flag("-v", "Verbose; the listing is the same."),
        Flag("-h", "Show the flags."),
        Flag("-A", "Syncs all before a phase.", instead="-y."),
        Flag("-B", "No barriers between phases.", instead="omit it: phases of all tasks begin together."),
        Flag(
            "-c",
            "One task does all the work of the tree.",
            instead="omit it: the first task makes the tree.",
        ),
        Flag("-f", "Smallest number of tasks.", "N", instead="one call for each --tasks."),
        Flag("-l", "Largest number of tasks.", "N", instead="one call for each --tasks."),
        Flag("-s", "Step between numbers of tasks.", "N", instead="one call for each --tasks."),
        Flag("-g", "A shared pattern of names.", instead="omit it."),
        Flag(
            "-G",
            "Seed of the data.",
            "N",
            instead="omit it: the seed of the random order is in the study folder.",
        ),
        Flag("-k", "mknod instead of open.", instead="omit it: files are made by open."),
        Flag("-p", "Delay between iterations.", "SECONDS", instead=_ONCE),
        Flag("-P", "Prints rate and time.", instead="omit it: the study folder has all times."),
        Flag("-R", "Stat in random order.", instead="`mileage measure -w metadata.stat`."),
        Flag("-S", "One file for all tasks.", instead="omit it: every task has files of its own."),
        Flag(
            "-t", "Measures the creation of directories.", instead="omit it; -u makes them before the time."
        ),
        Flag("-W", "Ends creation after SECONDS.", "SECONDS", instead="smaller -n."),
        Flag("-X", "Compares what is read.", instead="`mileage measure --verify all`."),
        Flag("-Y", "Syncs the file system after a phase.", instead="-y."),
        Flag("-Z", "Prints times instead of rates.", instead="omit it: the study folder has all times."),
        Flag("-V", "Verbosity.", "N", instead="-v."),
    ),
    usage="[--tasks N] -n N [-i N] [-d DIR] [-F|-D] ...",
    notes=(
        "The rate of an iteration is the smallest rate of a task times the number of tasks; a task's time runs from "
        "its first call to the end of the last task. Std Dev divides by the iterations less one.",
        "Stat rates are 2.2 to 2.5 times mdtest's own (the output says so): names are looked up from the directory of "
        "-d, while mdtest looks up all parts of the path for each call and clears two buffers of 4 KiB.",
    ),
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
            instead="several calls; `mileage import` joins their output.",
        ),
        Flag("-h", "Show the flags."),
    ),
    usage="[--tasks N] -d DIR -n N [-C] [-S] [-U] [-u] [-s]",
    notes=(
        "-n counts the files of all tasks together, as in the source of metarates; some texts call it files per task. "
        "The order is always create, stat, utime. The first task makes the files of stat and utime. The total rate is "
        "the slowest task's rate times the number of tasks.",
        "Names are looked up from the directory of -d, while metarates looks up all parts of the path for each call: "
        "rates of stat and utime are higher than its own if -d has several parts (the output says so).",
    ),
    examples=("--tasks 4 -d junk -n 1000 -C -U -S -u",),
)

MPIRUN: Final = Tool(
    name="mpirun",
    title="mpirun in front of IOR, mdtest or metarates, on this machine.",
    flags=(
        Flag("-np", "Number of tasks.", "N", also=("-n", "-c", "--np"), example="2"),
        Flag(
            "-machinefile",
            "File with one host per line; all must be this machine.",
            "FILE",
            also=("--machinefile", "-hostfile", "--hostfile"),
            example="machinefile",
        ),
        Flag(
            "-host",
            "Hosts, separated by commas.",
            "HOSTS",
            also=("--host", "-H"),
            instead="one call on each machine, and `mileage merge`.",
        ),
        Flag("-oversubscribe", "More tasks than processors.", also=("--oversubscribe",)),
        Flag("--allow-run-as-root", "Accepted."),
    ),
    usage="-np N [-machinefile FILE] ior|mdtest|metarates FLAGS",
    operands="the tool and its flags",
    starts=True,
    notes=(
        "A program in any directory is recognised by its file name: ./IOR is `mileage ior`. Hosts other than this "
        "machine are refused.",
    ),
    examples=("-np 4 ior -a POSIX -b 64k -F -s 20 -t 4k", "-np 2 ./metarates -d junk -n 1000 -C -S -U -u"),
)
