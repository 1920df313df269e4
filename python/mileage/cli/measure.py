"""`mileage measure`: one measurement or one scan, without a study file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from mileage.cli.elsewhere import Command, whole_rate


@click.command("measure", cls=Command)
@click.option(
    "--target",
    "-t",
    metavar="T",
    help="dir:PATH, file:PATH, block:PATH, virtual:NAME or null:",
)
@click.option("--workload", "-w", metavar="W", help="See below; default random_read.")
@click.option(
    "--record", "-r", metavar="SIZE", help="Size of an operation; default 4KiB, or 1MiB if sequential."
)
@click.option("--depth", "-d", type=int, metavar="N", help="Operations in flight per thread; default 1.")
@click.option("--threads", "-j", type=int, metavar="N", help="Threads; default 1, or one per process.")
@click.option("--processes", type=int, metavar="N", help="Processes that share the threads; default 1.")
@click.option(
    "--files", type=click.Choice(["shared", "per_thread"]), help="One file for all threads, or one each."
)
@click.option("--for", "time", metavar="TIME", help="Length of a run, such as 30s; default 10s.")
@click.option("--bytes", "size_limit", metavar="SIZE", help="End a run after so many bytes.")
@click.option("--operations", type=int, metavar="N", help="End a run after so many; of metadata.*: files.")
@click.option(
    "--size", metavar="SIZE", help="The part that is visited; default 1GiB, or all of a file or device."
)
@click.option("--start", metavar="SIZE", help="Where that part begins; default 0.")
@click.option(
    "--vary", multiple=True, metavar="KEY=LIST", help="Scan: depth=1,2,4..64; repeat for several keys."
)
@click.option("--repeat", "-n", type=int, default=1, metavar="N", help="Runs of each; default 1.")
@click.option("--reads", type=int, metavar="PERCENT", help="Share of reads; the others write.")
@click.option("--discards", type=int, metavar="PERCENT", help="Share of discards (TRIM, holes).")
@click.option("--api", metavar="API", help="pread, uring, mmap, stdio, vectored:N, seek; default by depth.")
@click.option("--direct/--no-direct", default=None, help="Bypass the page cache; default where possible.")
@click.option("--cold", is_flag=True, help="Use the page cache, emptied of the target before each run.")
@click.option(
    "--rate", callback=whole_rate, metavar="N", help="Open loop: operations per second that are due."
)
@click.option("--poisson", is_flag=True, help="With --rate: random gaps instead of even ones.")
@click.option("--latency-target", metavar="P=TIME", help="Search the highest --rate that keeps it: p99=1ms.")
@click.option("--cap", metavar="RATE", help="Not faster than so many operations per second, or 100MiB/s.")
@click.option("--think", metavar="TIME", help="Pause after each operation (after each --burst).")
@click.option("--burst", type=int, metavar="N", help="With --think: operations between pauses.")
@click.option("--warm-up", metavar="TIME", help="Time at the start that is not counted.")
@click.option("--content", metavar="C", help="incompressible, zeros, compressible=50,duplicate=20.")
@click.option(
    "--sync", type=click.Choice(["none", "fsync", "fdatasync"]), help="At the end, timed; default fdatasync."
)
@click.option("--sync-every", type=int, metavar="N", help="Also after every N writes of a thread.")
@click.option("--dsync", is_flag=True, help="Each write is durable when it completes (O_DSYNC).")
@click.option("--verify", metavar="V", help='Compare reads with what was written: all, or "1 in 100".')
@click.option(
    "--generation", type=int, metavar="N", help="Number of the writing, for --verify on another day."
)
@click.option("--timeout", metavar="TIME", help="An operation that takes longer ends the run as failed.")
@click.option(
    "--log", type=click.Path(path_type=Path), metavar="FILE", help="Write every operation to a CSV file."
)
@click.option("--interval", metavar="TIME", help="With --save: first intervals over time, 10ms to 1h.")
@click.option("--settle", metavar="TIME", help="Rest before each run, all dirty data written out before.")
@click.option("--touch", metavar="BYTES", help="Change one byte in so many of what was read, in its time.")
@click.option("--pin", metavar="CPUS", help="Processors of the threads: 0,2 or node0.")
@click.option("--block", metavar="SIZE", help="Of ior.*: a task's part of a segment; default 1MiB.")
@click.option("--segments", type=int, metavar="N", help="Of ior.*: segments of the file; default 1.")
@click.option("--reorder", metavar="N", help="Of ior.*: read what the task N further on wrote; or random.")
@click.option("--tree", metavar="DxB", help="Of mdtest.*: levels and branches of directories, such as 2x3.")
@click.option("--stride", type=int, metavar="N", help="Of mdtest.*: look at what the task N further on made.")
@click.option("--fidelity", is_flag=True, help="IOzone's tests as IOzone does them, not as they are named.")
@click.option("--seed", type=int, default=1, metavar="N", help="Source of every random choice; default 1.")
@click.option("--destroy", metavar="PATH", help="Allow the loss of what is in this file or device.")
@click.option("--save", type=click.Path(path_type=Path), metavar="DIR", help="Keep the study folder.")
@click.option("--as-study", is_flag=True, help="Print the study file that does the same; measure nothing.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(**given: Any) -> None:
    """Measure W on T and print rate, operations, latency and their cost.

    Nothing is lost: in a directory, Mileage works in a file of its own and
    removes it; a file or device with content is only read, unless --destroy
    names it. What is to be read is written first.

    \b
    mileage measure -t dir:/mnt/scratch -w random_read --depth 32 --for 30s
    mileage measure -t dir:/mnt/scratch --vary depth=1,2,4..64
    mileage measure -t virtual:intel-x25e-64gb -w random_write --repeat 5
    mileage measure -t block:/dev/sdb -w sequential_read --save first-look

    \b
    Workloads: sequential, random, shuffled, backward, stride[:N], fixed,
    zipf[:EXPONENT], hot_cold[:HOT/ACCESS], partly_sequential[:PERCENT], each
    with _read or _write; mix, sequential_mix, discard, trace:FILE; iometer.*,
    hdparm.*, dd.*, sqlio.*, and in a directory iozone.* and metadata.*: see
    `mileage list workloads`.
    """
    from mileage.cli.measured import run

    run(given, sys.argv[1:])
