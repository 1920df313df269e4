"""Results of tools that were not run for the tests, written from their documented layouts with figures of our own."""

from __future__ import annotations

from typing import Final

SAMPLES_CSV: Final = """\
cell,repetition,value,unit,metric,queue depth
random read,1,51234,IOPS,,8
random read,1,0.75,ms,p99,8
random read,2,49870,IOPS,,8
random read,2,812.5,us,p99,8
random read,1,91234,IOPS,,32
"copy, large",1,1.5,GiB/s,throughput,
"copy, large",1,12.25,s,time,
"copy, large",2,1530.5,MB/s,,
unpack,1,31.5,s,time,
unpack,2,32.25,s,time,
"""
