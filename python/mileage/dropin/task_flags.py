"""The flags of IOR, mdtest and metarates, each with what it does here, and those of the mpirun in front of them."""

from __future__ import annotations

from typing import Final

from mileage.dropin.flags import Flag, Tool

TASKS: Final = Flag(
    "--tasks",
    "So many tasks, each a process of this machine; 1 unless given (of Mileage; `mileage mpirun -np N` says it too).",
    "N",
    also=("-np",),
    example="2",
)
_DATA: Final = "leave it out: data cannot be compressed here, and -R compares all of it."
_ONCE: Final = "a study with more stages; see docs/reference/study-file.md."
_POSIX: Final = "POSIX, the one interface that is built."
_STAYS: Final = "leave it out: files lie in a directory that is made for the run and removed with it."
_MPI_IO: Final = "leave it out; it is of MPI-IO, and POSIX is what is built."

IOR: Final = Tool(
    name="ior",
    title="IOR's command line (2.10 and 4) over POSIX: tasks write blocks of a file, and read them back.",
    flags=(
        TASKS,
        Flag("-a", "Interface: POSIX.", "API", choices=("POSIX",), example="POSIX"),
        Flag(
            "-b",
            "Block: what a task has of a segment; bytes, or with k, m, g (binary); 1 MiB.",
            "SIZE",
            example="64k",
        ),
        Flag("-t", "Transfer: size of an operation; 256 KiB.", "SIZE", example="4k"),
        Flag("-s", "Segments; 1.", "N", example="2"),
        Flag("-i", "Repetitions; 1.", "N", example="2"),
        Flag("-F", "A file for each task instead of one for all."),
        Flag(
            "-o",
            "Test file; its directory is where files are made. testFile unless given.",
            "FILE",
            example="testFile",
        ),
        Flag("-w", "Write; with neither -w nor -r both are done."),
        Flag("-r", "Read what was written before (untimed without -w)."),
        Flag("-R", "What is read is compared with what was written."),
        Flag("-e", "fsync at the end of writing, inside its time."),
        Flag("-Y", "fsync after every write."),
        Flag("-C", "A task reads what the next one wrote."),
        Flag("-Q", "With -C: the task so many further on.", "N", example="1"),
        Flag("-Z", "A task reads what a task drawn by seed wrote."),
        Flag("-B", "Past the page cache (O_DIRECT).", also=("--posix.odirect",)),
        Flag("-v", "More words: -vv lists the tasks."),
        Flag("-O", "summaryFormat=default, JSON or CSV.", "KEY=VALUE", example="summaryFormat=CSV"),
        Flag(
            "-g",
            "Barriers between opening, moving and closing.",
            instead="leave it out: phases are told apart by each task's own times.",
        ),
        Flag("-W", "Reads back and compares after writing.", instead="-R, which compares what is read."),
        Flag(
            "-z",
            "Transfers at random places.",
            instead="a study with a pattern of the family ior (see docs/reference/workloads.md).",
        ),
        Flag("-X", "Seed of -Z.", "SEED", instead="leave it out: the seed is recorded in the study folder."),
        Flag("-N", "Uses so many of the tasks.", "N", instead="--tasks N."),
        Flag("-A", "Number of the test in the log.", "N", instead="leave it out."),
        Flag("-c", "Collective calls.", instead=_MPI_IO),
        Flag("-d", "Delay between repetitions.", "SECONDS", instead=_ONCE),
        Flag(
            "-D",
            "Ends a phase after so many seconds.",
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
        Flag("-I", "A data set for each task.", instead="leave it out; it is of HDF5."),
        Flag("-J", "Alignment of HDF5.", "N", instead="leave it out; it is of HDF5."),
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
            instead="leave it out: every repetition has files of its own.",
        ),
        Flag("-M", "Fills memory first.", "PERCENT", instead='a study with cache = "limited:SIZE", or -B.'),
        Flag("-n", "No fill in HDF5.", instead="leave it out; it is of HDF5."),
        Flag(
            "-p",
            "Allocates the file first.",
            instead="`mileage measure -w sequential_write`, whose file is allocated first.",
        ),
        Flag("-P", "Shared file pointer.", instead=_MPI_IO),
        Flag("-q", "Ends at the first error.", instead="leave it out: an error always ends the run."),
        Flag("-S", "Strided datatype.", instead=_MPI_IO),
        Flag("-T", "Most minutes.", "MINUTES", instead="smaller -s or -i."),
        Flag("-u", "A directory for each file.", instead="-F, whose files share one directory."),
        Flag("-U", "File of hints.", "FILE", instead=_MPI_IO),
        Flag("-V", "File view.", instead=_MPI_IO),
        Flag(
            "-x",
            "No second try of a short transfer.",
            instead="leave it out: the rest of a short transfer is always moved.",
        ),
        Flag("-h", "Show the flags."),
    ),
    usage="[--tasks N] [-b SIZE] [-t SIZE] [-s N] [-i N] [-F] ...",
    notes=(
        "The listing, the JSON and the CSV are those of IOR 4. Bandwidth is what was moved over the time from the "
        "first open to the last close of any task; IOPS are transfers over the time from the first to the last of "
        "them; Latency is the smallest of the tasks' own means; StdDev divides by the number of repetitions.",
        "Data cannot be compressed, where IOR's own compresses to a fifth. The line of the removal is left out: it is "
        "not timed.",
    ),
    examples=(
        "--tasks 4 -a POSIX -b 64k -F -i 2 -s 20 -t 4k -vv",
        "--tasks 2 -b 1M -t 256k -s 2 -e -C -O summaryFormat=CSV",
    ),
)

MDTEST: Final = Tool(
    name="mdtest",
    title="mdtest's command line over POSIX: directories and files of several tasks are made, looked at and removed.",
    flags=(
        TASKS,
        Flag("-a", "Interface: POSIX.", "API", choices=("POSIX",), example="POSIX"),
        Flag("-n", "Items of each task.", "N", example="10"),
        Flag("-i", "Iterations; 1.", "N", example="2"),
        Flag("-d", "Directory in which all is made; the working directory unless given.", "DIR", example="."),
        Flag("-F", "Files only."),
        Flag("-D", "Directories only."),
        Flag("-C", "Create; with none of -C -T -E -r all are done."),
        Flag("-T", "Stat."),
        Flag("-E", "Read files."),
        Flag("-r", "Remove."),
        Flag("-U", "Rename directories."),
        Flag("-u", "A tree for each task."),
        Flag("-z", "Levels of the tree; 0.", "N", example="1"),
        Flag("-b", "Directories in each directory of the tree; 1.", "N", example="2"),
        Flag("-I", "Items of a task in each directory of the tree, in place of -n.", "N", example="2"),
        Flag("-L", "Items in the last level only."),
        Flag("-w", "Bytes of each file; with -e.", "BYTES", example="4096"),
        Flag("-e", "Bytes that are read of each file: as many as -w has.", "BYTES", example="4096"),
        Flag("-y", "fsync after writing."),
        Flag("-N", "Stat, read and removal act on items of the task so many further on.", "N", example="1"),
        Flag("-v", "More words; the listing is the same."),
        Flag("-h", "Show the flags."),
        Flag("-A", "Syncs all before a phase.", instead="-y."),
        Flag(
            "-B", "No barriers between phases.", instead="leave it out: phases of all tasks begin together."
        ),
        Flag(
            "-c",
            "One task does all the work of the tree.",
            instead="leave it out: the first task makes the tree.",
        ),
        Flag("-f", "Fewest tasks.", "N", instead="one call for each --tasks."),
        Flag("-l", "Most tasks.", "N", instead="one call for each --tasks."),
        Flag("-s", "Step between numbers of tasks.", "N", instead="one call for each --tasks."),
        Flag("-g", "A shared pattern of names.", instead="leave it out."),
        Flag(
            "-G", "Seed of the data.", "N", instead="leave it out: the seed is recorded in the study folder."
        ),
        Flag("-k", "mknod instead of open.", instead="leave it out: files are made by open."),
        Flag("-p", "Delay between iterations.", "SECONDS", instead=_ONCE),
        Flag("-P", "Prints rate and time.", instead="leave it out: the study folder has all times."),
        Flag("-R", "Stat in random order.", instead="`mileage measure -w metadata.stat`."),
        Flag("-S", "One file for all tasks.", instead="leave it out: every task has files of its own."),
        Flag(
            "-t", "Times the making of directories.", instead="leave it out; -u makes them before the time."
        ),
        Flag("-W", "Ends creation after so many seconds.", "SECONDS", instead="smaller -n."),
        Flag("-X", "Compares what is read.", instead="`mileage measure --verify all`."),
        Flag("-Y", "Syncs the file system after a phase.", instead="-y."),
        Flag("-Z", "Prints times instead of rates.", instead="leave it out: the study folder has all times."),
        Flag("-V", "Level of words.", "N", instead="-v."),
    ),
    usage="[--tasks N] -n N [-i N] [-d DIR] [-F|-D] ...",
    notes=(
        "Of an iteration, the rate is the smallest of the tasks' times the number of tasks, where a task's time runs "
        "from its first call to the end of the last task; Std Dev divides by the iterations less one.",
        "Stat rates are 2.2 to 2.5 times mdtest's own, which is printed with them: names are looked up from the "
        "directory of -d, where mdtest looks up all parts of its path for each, and mdtest clears two buffers of 4 KiB "
        "for each.",
    ),
    examples=("--tasks 2 -n 100 -i 3", "-n 50 -F -u"),
)

METARATES: Final = Tool(
    name="metarates",
    title="metarates' command line: rates of creating, looking at and changing the times of files.",
    flags=(
        TASKS,
        Flag("-d", "Directory of the files; made when it is not there.", "DIR", example="junk"),
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
            instead="several calls; `mileage import` joins what they print.",
        ),
        Flag("-h", "Show the flags."),
    ),
    usage="[--tasks N] -d DIR -n N [-C] [-S] [-U] [-u] [-s]",
    notes=(
        "-n is of all tasks together, as metarates' source has it, though texts say that it is of each. The order is "
        "always create, stat, utime. Files that are looked at were made by the first task. The total rate is the "
        "slowest task's times the number of tasks.",
        "Names are looked up from the directory of -d, where metarates looks up all parts of its path for each: rates "
        "of stat and utime are higher than its own when -d has several parts, which is printed with them.",
    ),
    examples=("--tasks 4 -d junk -n 1000 -C -U -S -u",),
)

MPIRUN: Final = Tool(
    name="mpirun",
    title="mpirun in front of IOR, mdtest or metarates, on this machine.",
    flags=(
        Flag("-np", "So many tasks.", "N", also=("-n", "-c", "--np"), example="2"),
        Flag(
            "-machinefile",
            "File with a host a line: this machine, as often as it likes.",
            "FILE",
            also=("--machinefile", "-hostfile", "--hostfile"),
            example="machinefile",
        ),
        Flag(
            "-host",
            "Hosts, with commas between.",
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
        "A program in any directory is taken by its name: ./IOR is `mileage ior`. Hosts other than this machine are "
        "refused.",
    ),
    examples=("-np 4 ior -a POSIX -b 64k -F -s 20 -t 4k", "-np 2 ./metarates -d junk -n 1000 -C -S -U -u"),
)
