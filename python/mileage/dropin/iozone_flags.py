"""IOzone's flags, as version 3.471 has them, each with what it does here."""

from __future__ import annotations

from typing import Final

from mileage.dropin.flags import Flag, Tool

_ENGINE: Final = "`mileage measure -t TARGET --api mmap --no-direct`"

_SIZES: Final = (
    Flag(
        "-s",
        "Size of each file: kB, or with k, m or g (binary); repeated: rows for each size with each record.",
        "SIZE",
        example="1m",
    ),
    Flag(
        "-r",
        "Size of a record: kB, or with k, m or g (binary); repeated: a row for each.",
        "SIZE",
        example="64k",
    ),
    Flag("-a", "All sizes: files of 64 kB to 512 MB, records of 4 kB to 16 MB."),
    Flag("-n", "With -a or several sizes: the smallest file.", "SIZE", example="64k"),
    Flag("-g", "With -a or several sizes: the largest file.", "SIZE", example="128k"),
    Flag("-y", "With -a or several sizes: the smallest record.", "SIZE", example="32k"),
    Flag("-q", "With -a or several sizes: the largest record.", "SIZE", example="64k"),
    Flag("-z", "With -a: records under 64 kB for files of more than 16 MB as well."),
    Flag("-+x", "With -a or several sizes: factor from one size to the next; default 2.", "N", example="4"),
)
_TESTS: Final = (
    Flag(
        "-i",
        "Test to run; repeat it for several: 0 write and rewrite, 1 read and reread, 2 random read and write, "
        "3 backward read, 4 record rewrite, 5 stride read, 6 fwrite, 7 fread, 8 mix (with -t), 9 pwrite and "
        "repwrite, 10 pread and repread (both with -E or -t). Default: all.",
        "TEST",
        example="0",
    ),
    Flag("-E", "Of a single stream: the tests of pwrite and pread as well."),
    Flag("-+n", "No rewrite, reread, frewrite and freread; they are printed as 0."),
    Flag("-j", "Stride of the stride read in records; default 17.", "N", example="5"),
    Flag("-f", "Work file; default iozone.tmp.", "FILE", example="one.tmp"),
    Flag("-w", "Keep the file."),
    Flag(
        "-I", "Bypass the page cache (O_DIRECT), except in the four tests of C streams, as in the original."
    ),
    Flag("-o", "Every write is durable when it returns (O_SYNC)."),
    Flag("-+D", "Every write is durable when it returns (O_DSYNC)."),
    Flag("-e", "Include the flush in the time, of reading tests too."),
    Flag("-c", "Include the close in the time."),
)
_CHILDREN: Final = (
    Flag(
        "-t",
        "Number of parallel children, each with a file of its own; repeated: one row of figures for each number.",
        "N",
        example="2",
    ),
    Flag("-l", "Smallest number of children; with -u, every number between.", "N", example="1"),
    Flag("-u", "Largest number of children; with -l, every number between.", "N", example="2"),
    Flag(
        "-F",
        "With -t: the files of the children, up to the next flag.",
        "FILES",
        several=True,
        example="a.tmp",
    ),
    Flag(
        "-+m",
        "With -t: the children are on the clients of this file, whose lines have a host, a directory, a program and "
        "possibly a file's name, and all have one directory. Clients on other hosts need a rank each, in their order: "
        "mpiexec --host A,B --map-by seq -n 2 mileage iozone -+m FILE -t 2 ...; nothing is started by rsh.",
        "FILE",
    ),
    Flag("-+h", "With -+m: the name of this machine, printed in the head.", "HOST", example="here"),
    Flag("-T", "With -t: children are threads, not processes."),
    Flag(
        "-x",
        "With -t: the rate of a child is that of its whole file, not of its part when the first one ended.",
    ),
    Flag("-C", "With -t: print the bytes of each child."),
    Flag("-+p", "With -t: percent of the mix's children that read.", "PERCENT", example="50"),
    Flag("-+B", "With -t: the mix goes through its files in order."),
    Flag("-+k", "With -t: -s is the size of all files together."),
    Flag(
        "-+q",
        "With -t: seconds of rest after each test, in addition to IOzone's own 2.",
        "SECONDS",
        example="0",
    ),
)
_OUTPUT: Final = (
    Flag("-R", "Print the reports for a spreadsheet as well."),
    Flag(
        "-b",
        "Write a worksheet: BIFF2 as the original does, or .xlsx if FILE ends so.",
        "FILE",
        example="out.wks",
    ),
    Flag("-O", "Print operations per second."),
    Flag("-N", "Print microseconds per operation (not with -t)."),
    Flag(
        "-+u",
        "Print wall time, processor time and percent of each test, with -R a report of the percentages as well.",
    ),
    Flag("-M", "Print the machine, as uname does."),
    Flag("-v", "Print the version of IOzone that is followed, and exit."),
    Flag("-h", "Show the flags."),
    Flag(
        "-S",
        "Size of the processor's cache in kB, for -p and the head.",
        "kB",
        example="1024",
    ),
    Flag(
        "-L",
        "Length of a cache line in bytes, for -p and the head.",
        "BYTES",
        example="32",
    ),
)
_MANNER: Final = (
    Flag("-B", "Use the file through mmap; the tests of C streams are not done."),
    Flag("-D", "As -B, and msync without waiting after each record that is written."),
    Flag("-G", "With -B: msync that waits after each record that is written."),
    Flag(
        "-H",
        "POSIX asynchronous I/O with this many records in flight in addition to the current one, copied to one buffer; "
        "the tests of C streams are not done.",
        "DEPTH",
        example="4",
    ),
    Flag(
        "-k",
        "As -H, without the copy of what was read (with -V or -+d there is one, to compare it).",
        "DEPTH",
        example="4",
    ),
    Flag("-K", "Two short reads elsewhere before every hundredth record that is read in order."),
    Flag(
        "-p",
        "Before each record read as many lines of another buffer as the record has, at most those of -S.",
        trap="it empties the caches of processors only where -S is their size",
    ),
    Flag(
        "-J",
        "Compute cycle: keep the processor busy for this many milliseconds before each operation. Printed rates leave "
        "this time out, except that of the parent with -t; those of the study include it.",
        "MS",
        example="5",
    ),
    Flag(
        "-U",
        "Unmount this mount point and mount it again before each test, by `umount` and `mount`: as root, with a line "
        "of /etc/fstab. The file must be below it, the working directory must not.",
        "MOUNT",
    ),
    Flag("-+J", "With -J: rates include the compute cycles."),
    Flag(
        "-P",
        "Bind the stream, or the first child, to this processor, and further children to the next ones in turn.",
        "CPU",
        example="0",
    ),
    Flag(
        "-Q",
        "Append offset and latency of each record to files in the working directory: wol.dat, rwol.dat, rol.dat, "
        "rrol.dat; with -t Child_N_wol.dat and their like for each test.",
    ),
)
_PERCENT: Final = (
    "the original takes the three as nested: with -+w 98 -+y 98 -+C 98, 96 % of the data is compressible, "
)
_CONTENT: Final = (
    Flag(
        "-+w",
        "Percent of each record that equals that of other files.",
        "PERCENT",
        trap="alone it makes data that is duplicate across files but cannot be compressed",
        example="98",
    ),
    Flag(
        "-+y",
        "Percent of the share of -+w that repeats one word.",
        "PERCENT",
        trap=_PERCENT + "56 % with 75, 25 % with 50, 6 % with 25, none with 2",
        example="98",
    ),
    Flag(
        "-+C",
        "Percent of the share of -+y that differs between files.",
        "PERCENT",
        trap="changes duplicates, not compressibility",
        example="98",
    ),
    Flag(
        "-V",
        "Every byte that is written is this number, 0 for IOzone's own; every byte that is read is compared with it.",
        "BYTE",
        trap="the rates of reads include the comparison",
        example="3",
    ),
    Flag("-+Z", "Data of old versions: the byte 0xa5 in the first word of each page, the rest zero."),
    Flag(
        "-+d",
        "Diagnostic mode: every byte that is read is compared with the written data, inside the time of the read, and "
        "every byte of the files after the tests of a row.",
        trap="this is not random data: each word follows from the previous one, and compressors save 17 to 67 % of it "
        "(--content incompressible of measure cannot be compressed)",
    ),
)
_REFUSED: Final = (
    Flag("-A", "Like -a with all records.", instead="-az -i 0 -i 1, as the original itself advises."),
    Flag(
        "-m",
        "Uses several buffers.",
        instead="omit it: Mileage always writes from several buffers.",
    ),
    Flag("-W", "Locks the file while it is used.", instead="omit it; no workload here locks."),
    Flag(
        "-X",
        "Takes offsets to write from a file.",
        "FILE",
        instead="`mileage measure -t TARGET -w trace:FILE`.",
    ),
    Flag(
        "-Y",
        "Takes offsets to read from a file.",
        "FILE",
        instead="`mileage measure -t TARGET -w trace:FILE`.",
    ),
    Flag("-Z", "Mixes mmap with file I/O.", instead=f"{_ENGINE}."),
    Flag("-d", "Delays each child's start.", "US", instead="omit it: all children begin at one instant."),
    Flag("-+t", "Measures the network of -+m.", instead="a network benchmark."),
    Flag("-+r", "Opens with O_RSYNC and O_SYNC.", instead="-o; Linux takes O_RSYNC for O_SYNC."),
    Flag("-+A", "Gives madvise to mappings.", "N", instead=f"{_ENGINE}."),
    Flag("-+N", "Keeps an existing file's length.", instead="omit it: the file is made anew."),
    Flag(
        "-+S",
        "Sets the seed of the duplicate data.",
        "SEED",
        instead="omit it: the seed is IOzone's own.",
    ),
    Flag("-+W", "Shifts the numbers of the children in duplicate data.", "N", instead="omit it."),
    Flag(
        "-+V",
        "All children share one file.",
        instead="`mileage measure -t TARGET --threads N`, which shares one file.",
    ),
    Flag("-+l", "Locks records.", instead="omit it; no workload here locks."),
    Flag(
        "-+L",
        "Locks records of a shared file.",
        instead="`mileage measure -t TARGET --threads N`, without locks.",
    ),
    Flag("-+X", "Short circuit: no I/O is done.", instead="`mileage measure -t null:`."),
    Flag(
        "-+b",
        "Pauses between bursts.",
        "KB,MS",
        instead="`mileage measure -t TARGET --burst N --think TIME`.",
    ),
    Flag("-+E", "Reads a file that IOzone did not make.", instead="-i 1 -f FILE reads any file."),
    Flag("-+F", "Truncates files before the mix.", instead="omit it."),
    Flag("-+K", "Steers the mix by hand.", "N", instead="-+p PERCENT."),
    Flag("-+O", "Limits the rate.", "OPS", instead="`mileage measure -t TARGET --rate N`, or --cap."),
    Flag("-+T", "Prints time stamps.", instead="the study folder has the time of every run."),
    Flag("-+z", "Writes histograms of latency.", instead="the study folder has them: `mileage report DIR`."),
    Flag(
        "-+c",
        "Sets the controlling machine.",
        "HOST",
        instead="one `mileage run STUDY` on each machine and `mileage merge A B --out DIR`.",
    ),
    Flag("-+i", "Sets the port of the controlling machine.", "PORT", instead="omit it."),
    Flag("-+s", "Clients are silent.", instead="omit it."),
    Flag(
        "-+H",
        "Sets a time server.",
        "HOST",
        instead="omit it: clocks of several hosts are compared without one.",
    ),
    Flag(
        "-+P",
        "Sets the port of a time server.",
        "PORT",
        instead="omit it: clocks of several hosts are compared without one.",
    ),
    Flag("-+U", "Uses a call of Windows.", instead="-I."),
)

IOZONE: Final = Tool(
    name="iozone",
    title="IOzone's command line: its tests, its calls, its tables.",
    flags=(*_SIZES, *_TESTS, *_CHILDREN, *_OUTPUT, *_MANNER, *_CONTENT, *_REFUSED),
    others=frozenset(("-+a", "-+Q", "-+M")),
    operands="words that IOzone ignores too",
    usage="[-a] [-s SIZE] [-r SIZE] [-i TEST]... [-t N] [-R] [-b FILE] ...",
    notes=(
        "Calls, offsets and content are those of IOzone 3.471, as with `mileage measure --fidelity`; a kB is 1024 "
        "bytes. Children are processes, or threads with -T. They stay from test to test, where IOzone starts new "
        "ones; on a modelled host they are threads of the simulation, and under an MPI launcher its ranks, one each. "
        "Rows of several sizes are measured in IOzone's order, and each figure is printed when its test is done.",
        "With -+w, -+y and -+C IOzone generates the expected data inside the time of each read. Mileage does not, so "
        "its reads from the page cache are two to three times as fast; the output says so. "
        "With -+d every read is compared inside its time, as IOzone does.",
        "-k copies what is written as -H does, where IOzone makes its data in each buffer anew. With -B or -H and -t "
        "IOzone itself stops in its backward read and does not end; here the test is done.",
        "A file of -f that has content is written only with --destroy FILE.",
    ),
    examples=(
        "-Rb sheet.wks -s 16M -r 1M",
        "-O -i 0 -i 1 -i 2 -e -+n -r 4K -s 16M",
        "-e -+u -t 4 -r 64k -s 16m -i0 -i1",
    ),
)
