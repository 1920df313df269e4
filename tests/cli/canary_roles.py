"""What each option is with regard to paths: by the table, and by what the kernel sees.

An option that is in no row fails the test: who adds one says here what it does with a path, and `test_canaries.py`
compares that with the calls of a command that has the option.
"""

from __future__ import annotations

from typing import Final, Literal

Role = Literal["work", "place", "result", "folder", "read", "program", "none"]
"""A file or device on which I/O is done, or whose name is made of it; a directory in which that is; a result file; what
must be new, such as a directory of results; what is only read; a program that is run; no path.
"""

WRITTEN: Final[tuple[Role, ...]] = ("work", "place", "result", "folder")
"""Roles of options that name what is made or written."""
ROLES: Final[dict[Role, dict[str, str]]] = {
    "work": {
        "check": "<targets>",
        "dd": "of",
        "fio": "--filename --filename_format --name",
        "iometer": "-t",
        "ior": "-F -f -m -o -u",
        "ior -O": "testfile",
        "iozone": "-F -f -t",
        "measure": "--target --workload",
        "run": "--target",
        "study": "IozoneSwitches.file IozoneSwitches.files Study.target",
        "target": "block: file:",
    },
    "place": {
        "drive serve": "--at",
        "fio": "--directory",
        "mdtest": "-d",
        "metarates": "-d",
        "mpirun": "--wdir",
        "target": "dir: loop:",
    },
    "result": {
        "drive array-tests": "--page",
        "drive control save": "<file>",
        "drive fit": "--log",
        "drive rates": "--page",
        "drive raw-tests": "--page",
        "drive run": "--save",
        "drive serve": "--data --nbd --save",
        "endurance over-provisioning": "--chart",
        "endurance watch": "--log",
        "fio": "--output --write_bw_log --write_iolog --write_iops_log --write_lat_log",
        "iometer": "-r",
        "ior": "-O",
        "ior -O": "saverankperformancedetailscsv stonewallingstatusfile summaryfile",
        "iozone": "-Q -b",
        "mdtest": "-x",
        "measure": "--log",
        "sweep": "--chart --out",
    },
    "folder": {
        "new": "<file> <study>",
        "check": "--save",
        "compare": "--out",
        "dd": "--study",
        "drive run": "--report",
        "export": "--out",
        "fio": "--study",
        "hdparm": "--study",
        "import": "--out",
        "iometer": "--study",
        "ior": "--study",
        "iozone": "--study",
        "mdtest": "--study",
        "measure": "--save",
        "merge": "--out",
        "metarates": "--study",
        "mpirun": "--study",
        "powercut": "--report",
        "report": "--out",
        "run": "--out",
    },
    "read": {
        "check": "--datasheet --destroy --for",
        "compare": "--against --published --spread --table <studies>",
        "dd": "--destroy if",
        "doctor": "<target>",
        "drive array-tests": "<study>",
        "drive control": "<at>",
        "drive fit": "<profile>",
        "drive rates": "<drives>",
        "drive raw-tests": "<drives>",
        "drive run": "--from <name>",
        "drive serve": "--state <profile>",
        "drive show": "<name>",
        "endurance choose": "--from",
        "endurance life": "--datasheet --target --wa-from",
        "endurance over-provisioning": "<drive>",
        "endurance watch": "--datasheet <target>",
        "export": "<folder>",
        "fio": "--destroy <words>",
        "hdparm": "--destroy <words>",
        "import": "<files>",
        "iometer": "--destroy -c <words>",
        "ior": "--destroy",
        "iozone": "-+m --destroy -U",
        "list": "--show <folders>",
        "mdtest": "--destroy",
        "measure": "--destroy",
        "merge": "<folders>",
        "metarates": "--destroy",
        "mpirun": "--destroy -machinefile",
        "new": "--like --target",
        "plan": "--destroy --target <study>",
        "powercut": "<drive>",
        "query": "<folders> <sql>",
        "report": "--datasheet <studies>",
        "run": "--destroy <study>",
        "study": "Factor.levels OwnWorkload.trace TraceFile.path",
        "sweep": "--target <study>",
        "target": "served: virtual:",
    },
    "program": {
        "mpirun": "<words>",
        "powercut": "--app",
        "study": "OwnWorkload.before OwnWorkload.cleanup OwnWorkload.command",
    },
    "none": {
        "check": "--json --max-writes --quick --runs --seconds",
        "compare": """
--allow-missing --allow-unjudged --fail-if --format --history --json --margin --runs --stage --workloads
        """,
        "dd": "--help --manual --version bs cbs conv count ibs iflag obs oflag seek skip status",
        "doctor": "--json --repair",
        "drive array-tests": "--json",
        "drive control age": "--drive-writes --seed",
        "drive control fault": "--length --offset --seconds <name>",
        "drive control power-cut": "--seed",
        "drive fit": "--json --write",
        "drive rates": "--held-out --json --processes",
        "drive raw-tests": "--json --processes",
        "drive run": """
--compressible --depth --discards --duplicates --fill --idle --json --passes --power-cut --record --seed
--size --workload
        """,
        "drive serve": "--loop --sector --speed --wait",
        "drive show": "--json --toml",
        "endurance case": "--json <name>",
        "endurance choose": """
--active --afr --budget --capacity --case --currency --drives --hot-swap --json --kwh --link --min-read
--min-write --pattern --plp --price --raid --repair --writes --years
        """,
        "endurance convert": "--capacity --cycles --dwpd --json --raw --tbw --wa --writes --years",
        "endurance life": """
--capacity --cycles --dwpd --json --raw --tbw --used --wa --writes --written --years
        """,
        "endurance over-provisioning": "--depth --give-up --json --seed --writes",
        "endurance watch": "--every --for --json --once --tbw --written",
        "export": "--json <form>",
        "fio": """
--bandwidth-log --blockalign --bs --bs_unaligned --bsrange --bssplit --buffer_compress_percentage --buffer_pattern
--buffered --bwavgtime --clat_percentiles --client --cmdhelp --continue_on_error --cpuchunks --cpuload --cpumode
--cpus_allowed --cpus_allowed_policy --create_fsync --create_on_open --create_only --create_serialize
--dedupe_percentage --description --direct --disable_bw --disable_bw_measurement --disable_clat --disable_lat
--disable_slat --do_verify --end_fsync --eta --eta-newline --exit_what --exitall --exitall_on_error
--experimental_verify --fadvise_hint --fallocate --fdatasync --file_service_type --filesize --fixedbufs --flow
--fsync --fsync_on_close --group_reporting --gtod_reduce --help --hipri --invalidate --io_size --io_submit_mode
--iodepth --iodepth_batch --iodepth_batch_complete --iodepth_batch_complete_max --iodepth_low --ioengine
--iopsavgtime --kb_base --lat_percentiles --latency_target --log_avg_msec --log_offset --loops --manual --minimal
--new_group --norandommap --nrfiles --number_ios --numjobs --offset --offset_align --offset_increment --openfiles
--output-format --overwrite --parse-only --per_job_logs --percentage_random --percentile_list --ramp_time
--random_distribution --random_generator --randrepeat --randseed --rate --rate_iops --rate_min --rate_process
--ratemin --read_iolog --readonly --refill_buffers --registerfiles --runtime --rw --rw_sequencer --rwmixread
--rwmixwrite --scramble_buffers --section --serialize_overlap --server --size --slat_percentiles --sqthread_poll
--startdelay --stat_type --status-interval --steadystate --stonewall --sync --sync_file_range --terse-version
--thinktime --thinktime_blocks --thread --time_based --unified_rw_reporting --unit_base --unlink --verify
--verify_async --verify_async_cpus --verify_backlog --verify_dump --verify_fatal --verify_interval --verify_only
--verify_pattern --verify_state_save --version --wait_for --write_hist_log
--zero_buffers --zonemode -h
        """,
        "hdparm": "--direct --help --manual --offset -A -B -F -I -S -T -V -W -a -f -h -i -q -t -y",
        "import": "--equal-files --json --layout --layouts --name --session --stage --strict",
        "iometer": "--help --manual --seconds -m -p",
        "ior": """
--dryRun --help --manual --random-offset-seed --randomPrefill --tasks --warningAsErrors -A -B -C -D -E -G -H
-I -J -K -M -N -P -Q -R -S -T -U -V -W -X -Y -Z -a -b -c -d -e -g -h -i -j -k -l -n -p -q -r -s -t -v -w -x -y
-z
        """,
        "ior -O": """
blocksize checkread checkwrite datapackettype deadlineforstonewalling direct dryrun dummy fileperproc fsync
fsyncperwrite interiodelay intertestdelay intratestbarriers keepfile keepfilewitherror maxtimeduration
memorypernode memorypertask mintimeduration multifile numtasks outlierthreshold randomoffset randomseed
readfile refnum reordertasks reordertasksrandom reordertasksrandomseed repetitions segmentcount
settimestampsignature singlexferattempt stonewallingwearout stonewallingwearoutiterations summaryformat
taskpernodeoffset transfersize uniquedir useexistingtestfile verbose warningaserrors writefile
        """,
        "iozone": """
-+A -+B -+C -+D -+E -+F -+H -+J -+K -+L -+N -+O -+P -+S -+T -+U -+V -+W -+X -+Z -+b -+c -+d -+h -+i -+k -+l
-+n -+p -+q -+r -+s -+t -+u -+w -+x -+y -+z --help --manual -A -B -C -D -E -G -H -I -J -K -L -M -N -O -P -R -S
-T -V -W -X -Y -Z -a -c -d -e -g -h -i -j -k -l -m -n -o -p -q -r -s -u -v -w -x -y -z <words>
        """,
        "list": "--json <what>",
        "mdtest": """
--dataPacketType --help --manual --random-seed --savePerOpDataCSV --saveRankPerformanceDetails
--showRankStatistics --tasks --verify-write --warningAsErrors -B -C -D -E -F -G -I -L -N -P -R -S -T -U -V -W
-X -Y -Z -a -b -c -e -f -g -h -i -k -l -n -p -r -s -t -u -v -w -y -z
        """,
        "measure": """
--api --append --as-study --block --burst --bytes --cap --cold --content --depth --direct --discards --dsync
--every --fidelity --files --for --generation --interval --json --latency-target --operations --pin --poisson
--power-cut --processes --rate --reads --record --reorder --repeat --seed --segments --session --sessions
--settle --size --start --stride --sync --sync-every --think --threads --timeout --touch --tree --vary
--verify --warm-up
        """,
        "merge": "--json",
        "metarates": "--help --manual --tasks -C -S -U -h -k -n -r -s -u",
        "mpirun": """
--allow-run-as-root --bind-to --bycore --bynode --byslot --display-map --help --manual --map-by --mca --quiet
--rank-by --report-bindings --show-progress --tag-output --timestamp-output --use-hwthread-cpus --verbose
--version -h -host -np -npernode -oversubscribe -x
        """,
        "plan": "--as --file --json --quick --scale --schema --seed",
        "powercut": "--barriers --cuts --flush --fs --json --power --seed --speed",
        "query": "--allow-files --json",
        "report": "--expect --json --method --report --stage --verbose",
        "run": """
--accept-change --allow-commands --band --file --json --label --max-writes --quick --report --scale --seed --verbose
        """,
        "selftest": "--json --quick --seed --studies",
        "study": """
Access.lines AccessLine.align_bytes AccessLine.burst AccessLine.delay_ms AccessLine.random_percent
AccessLine.read_percent AccessLine.share_percent AccessLine.size_bytes AccessRow.align AccessRow.burst
AccessRow.delay AccessRow.random AccessRow.reads AccessRow.share AccessRow.size Apart.baseline Apart.candidate
Apart.causes Apart.factor Apart.note Compare.arms Compare.baseline Compare.candidate Compare.relevance
Factor.found Factor.key Factor.kind HotCold.access_percent HotCold.hot_percent Ior.block_bytes Ior.order
IorOrder.reordered IozoneStride.step_records IozoneSwitches.close IozoneSwitches.compare
IozoneSwitches.exactly IozoneSwitches.flush IozoneSwitches.keep IozoneSwitches.manner IozoneSwitches.mix_reads
IozoneSwitches.mix_sequential IozoneSwitches.name IozoneSwitches.osync IozoneSwitches.pause
IozoneSwitches.processes IozoneSwitches.retests IozoneSwitches.stonewall IozoneSwitches.stride
IozoneSwitches.together MannerKeys.compute MannerKeys.compute_timed MannerKeys.copied MannerKeys.depth
MannerKeys.first_cpu MannerKeys.jitter MannerKeys.line MannerKeys.logs MannerKeys.mapped MannerKeys.purge
MannerKeys.remount Measure.api Measure.block Measure.burst Measure.cache Measure.cap Measure.content
Measure.depth Measure.discards Measure.dsync Measure.fidelity Measure.files Measure.generation
Measure.interval Measure.iozone Measure.log Measure.metric Measure.pin Measure.power_cut Measure.processes
Measure.ramp_over Measure.ramp_to Measure.rate Measure.reads Measure.record Measure.reorder Measure.repeat
Measure.segments Measure.settle Measure.spacing Measure.span Measure.span_start Measure.stop Measure.stride
Measure.sync Measure.sync_every Measure.think Measure.threads Measure.timeout Measure.touch Measure.tree
Measure.vary Measure.verify Measure.warm_up Measure.workload OwnWorkload.access OwnWorkload.api
OwnWorkload.block OwnWorkload.burst OwnWorkload.cache OwnWorkload.cap OwnWorkload.content OwnWorkload.discards
OwnWorkload.dsync OwnWorkload.files OwnWorkload.generation OwnWorkload.interval OwnWorkload.like
OwnWorkload.log OwnWorkload.pattern OwnWorkload.pin OwnWorkload.power_cut OwnWorkload.processes
OwnWorkload.ramp_over OwnWorkload.ramp_to OwnWorkload.rate OwnWorkload.reads OwnWorkload.reorder
OwnWorkload.segments OwnWorkload.settle OwnWorkload.spacing OwnWorkload.stride OwnWorkload.sync
OwnWorkload.sync_every OwnWorkload.think OwnWorkload.timed OwnWorkload.timeout OwnWorkload.title
OwnWorkload.touch OwnWorkload.tree OwnWorkload.verify OwnWorkload.warm_up PartlySequential.random_percent
PatternTable.access PatternTable.hot_cold PatternTable.ior PatternTable.iozone_stride
PatternTable.partly_sequential PatternTable.stride PatternTable.trace PatternTable.trace_file
PatternTable.zipf Relevance.iops Relevance.p99 Relevance.throughput Relevance.time ReorderedPart.tasks
Repeat.max Repeat.min Repeat.precision Stage.idle Stage.measure Stage.name Stage.prepare Stage.torture
State.aged State.cache State.carryover State.file State.filesystem State.fill State.governor State.mkfs
State.mount State.on_change State.precondition State.purge State.read_ahead State.scheduler State.start
State.write_cache StopRule.at_least StopRule.bytes StopRule.operations StopRule.time Stride.step_records
Study.aa Study.allow_wear Study.apart Study.band Study.compare Study.cycles Study.exclude Study.factor
Study.measure Study.name Study.notes Study.on_failure Study.order Study.published Study.question Study.report
Study.scale Study.seed Study.session Study.sham Study.stage Study.state Study.torture Study.workload
Torture.amount Torture.api Torture.block Torture.burst Torture.cache Torture.cap Torture.content Torture.depth
Torture.discards Torture.dsync Torture.files Torture.generation Torture.interval Torture.log Torture.pin
Torture.power_cut Torture.processes Torture.ramp_over Torture.ramp_to Torture.rate Torture.read_back
Torture.reads Torture.record Torture.reorder Torture.rounds Torture.segments Torture.settle Torture.spacing
Torture.span Torture.span_start Torture.stride Torture.sync Torture.sync_every Torture.tasks Torture.think
Torture.threads Torture.time Torture.timeout Torture.touch Torture.tree Torture.until Torture.verify
Torture.warm_up Torture.workload Trace.operations Trace.timed TraceFile.bytes TraceFile.duration_ns
TraceFile.end_bytes TraceFile.largest_bytes TraceFile.operations TraceFile.reads TraceFile.sha256
TraceFile.syncs TraceFile.timed TraceFile.unit_bytes TraceFile.writes TraceOp.at_ns TraceOp.kind
TraceOp.length_bytes TraceOp.offset_bytes Zipf.theta_hundredths
        """,
        "sweep": "--counter --json --processes",
        "target": "null:",
    },
}
"""For each role the options of each group, as `canary_options` has them."""


def roles() -> dict[tuple[str, str], Role]:
    """The role of each option by its group and spelling. Raises AssertionError for an option in two rows."""
    found: dict[tuple[str, str], Role] = {}
    for role, groups in ROLES.items():
        for group, spellings in groups.items():
            for spelling in spellings.split():
                assert (group, spelling) not in found, f"{group} {spelling} has two roles"
                found[group, spelling] = role
    return found
