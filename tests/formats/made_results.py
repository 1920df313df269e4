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

CRYSTALDISKMARK_8: Final = """\
------------------------------------------------------------------------------
CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo
                                  Crystal Dew World: https://crystalmark.info/
------------------------------------------------------------------------------
* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]
* KB = 1000 bytes, KiB = 1024 bytes

[Read]
  SEQ    1MiB (Q=  8, T= 1):  3512.345 MB/s [   3349.6 IOPS] <  2386.12 us>
  SEQ  128KiB (Q= 32, T= 1):  3401.204 MB/s [  25949.1 IOPS] <  1232.40 us>
  RND    4KiB (Q= 32, T=16):  1512.345 MB/s [ 369224.9 IOPS] <  1386.12 us>
  RND    4KiB (Q=  1, T= 1):    61.203 MB/s [  14942.1 IOPS] <    66.80 us>

[Write]
  SEQ    1MiB (Q=  8, T= 1):  2901.118 MB/s [   2766.7 IOPS] <  2889.31 us>
  RND    4KiB (Q=  1, T= 1):   180.442 MB/s [  44053.2 IOPS] <    22.55 us>

Profile: Default
   Test: 1 GiB (x5) [D: 12% (57/466GiB)]
   Mode: [Admin]
   Time: Measure 5 sec / Interval 5 sec
   Date: 2026/11/22 2:03:04
     OS: Windows 10 Professional [10.0 Build 19045] (x64)
"""

CRYSTALDISKMARK_6: Final = """\
-----------------------------------------------------------------------
CrystalDiskMark 6.0.2 x64 (C) 2007-2018 hiyohiyo
                          Crystal Dew World : https://crystalmark.info/
-----------------------------------------------------------------------
* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]
* KB = 1000 bytes, KiB = 1024 bytes

   Sequential Read (Q= 32,T= 1) :   531.204 MB/s
  Sequential Write (Q= 32,T= 1) :   498.310 MB/s
  Random Read 4KiB (Q=  8,T= 8) :   401.220 MB/s [  97954.1 IOPS]
 Random Write 4KiB (Q=  1,T= 1) :   101.007 MB/s [  24659.9 IOPS]
         Sequential Read (T= 1) :   502.440 MB/s

  Test : 1024 MiB [C: 26.4% (122.8/465.2 GiB)] (x3)  [Interval=5 sec]
  Date : 2026/11/22 2:13:04
    OS : Windows 10  [10.0 Build 17134] (x64)
"""

CRYSTALDISKMARK_3: Final = """\
-----------------------------------------------------------------------
CrystalDiskMark 3.0.3 x64 (C) 2007-2013 hiyohiyo
                           Crystal Dew World : http://crystalmark.info/
-----------------------------------------------------------------------
* MB/s = 1,000,000 byte/s [SATA/300 = 300,000,000 byte/s]

           Sequential Read :   131.204 MB/s
         Random Read 512KB :    42.011 MB/s
    Random Read 4KB (QD=1) :     0.552 MB/s [   134.8 IOPS]
   Random Write 4KB (QD=32) :     1.204 MB/s [   293.9 IOPS]

  Test : 1000 MB [G: 0.1% (5.0/931.4 GB)] (x5)
  Date : 2026/11/22 2:23:04
    OS : Windows 8  [6.2 Build 9200] (x64)
"""

VDBENCH_50407: Final = """\
Copyright (c) 2000, 2018, Oracle and/or its affiliates. All rights reserved.
Vdbench distribution: vdbench50407 Tue June 05  9:49:29 MDT 2018
For documentation, see 'vdbench.pdf'.

16:24:23.960 input argument scanned: '-fparm'
16:24:25.470 All slaves are now connected
16:24:29.004 Starting RD=SD_format; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads=2 iorate=max

Nov 22, 2026  interval  i/o  MB/sec  bytes  read  resp  read  write  read  write  resp  queue  cpu%  cpu%
                               rate  1024**2  i/o  pct  time  resp  resp  max  max  stddev  depth sys+u  sys
16:24:30.181  avg_2-1  0.0  0.00  0  0.00  0.000  0.000  0.000  0.00  0.00  0.000  0.0  NaN  NaN
16:24:31.001 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=5; For loops: xfersize=4k threads=8

Nov 22, 2026  interval  i/o  MB/sec  bytes  read  resp  read  write  read  write  resp  queue  cpu%  cpu%
                               rate  1024**2  i/o  pct  time  resp  resp  max  max  stddev  depth sys+u  sys
16:24:32.018  1  20480.0  80.00  4096  50.02  0.390  0.310  0.471  12.03  14.05  0.106  8.0  19.2  1.5
16:24:33.011  2  20736.0  81.00  4096  49.97  0.385  0.306  0.465  11.44  13.91  0.101  8.0  18.2  1.5
16:24:36.013  avg_2-5  20608.0  80.50  4096  50.01  0.387  0.308  0.467  12.61  14.71  0.104  8.0  18.7  1.4
16:24:37.001 Starting RD=rd1; I/O rate: 100; elapsed=5; For loops: xfersize=64k threads=8

Nov 22, 2026  interval  i/o  MB/sec  bytes  read  resp  read  write  read  write  resp  queue  cpu%  cpu%
                               rate  1024**2  i/o  pct  time  resp  resp  max  max  stddev  depth sys+u  sys
16:24:42.013  avg_2-5  100.8  6.30  65536 100.00  0.512  0.512  0.000  2.11  0.00  0.052  0.1  0.7  0.1
16:24:42.523 Vdbench execution completed successfully. Output directory: /tmp/output
"""

VDBENCH_50406: Final = """\
Vdbench distribution: vdbench50406 Wed July 20 15:49:52 MDT 2016
17:44:05.001 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=120 warmup=30; For loops: None

Nov 22, 2026  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%
                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth sys+u   sys
17:46:25.060       149    2238.00  2238.00 1048576  29.80   28.448   22.487   30.979  376.343   50.317  63.6   1.4   0.2
17:46:26.051       150    2228.00  2228.00 1048576  31.15   28.218   23.507   30.349  446.971   55.617  63.6   0.9   0.3
17:46:26.090avg_31-150    2232.51  2232.51 1048576  30.11   28.331   22.901   30.671  501.213   51.002  63.6   1.2   0.3
"""

VDBENCH_FILES: Final = """\
Vdbench distribution: vdbench50407 Tue June 05  9:49:29 MDT 2018
07:21:49.001 Starting RD=rd2

Nov 22, 2026 ..Interval.. .ReqstdOps... ...cpu%...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer..
                            rate  resp total  sys   pct   rate  resp   rate  resp  read write  total    size
07:21:54.033            1  5000.0 1.281  16.1 1.36  79.9 3995.0 1.411 1005.0 0.762 31.21  7.85  39.06    8192
07:22:54.033     avg_2-12  5002.5 1.275  15.8 1.31  80.1 4007.0 1.402  995.5 0.764 31.30  7.78  39.08    8192
"""

ELBENCHO_TEXT: Final = """\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
MKDIRS      Elapsed time     :         2ms         3ms
            Dirs/s           :        2044        1980
            Dirs total       :           6           8
---
WRITE       Elapsed time     :     30.140s   1m30.196s
            Files/s          :         145         141
            IOPS             :         291         291
            Throughput MiB/s :        1164        1165
            Total MiB        :       35080       35156
            Files total      :        4380        4396
            IO latency       : [ min=211us avg=13.6ms max=1.21s ]
---
SYNC        Elapsed time     :       131ms       131ms
---
RWMIX70     Elapsed time     :      5.001s      5.002s
            IOPS write       :        3001        3000
            IOPS read        :        7004        7001
            IOPS total       :       10005       10001
            MiB/s write      :          11          11
            MiB/s read       :          27          27
            MiB/s total      :          39          39
---
"""

ELBENCHO_TEXT_2020: Final = """\
OPERATION RESULT TYPE        FIRST DONE  LAST DONE
========= ================   ==========  =========
DROPCACHE Elapsed ms       :       2955       3254
---
WRITE     Elapsed ms       :      75564      91348
          IOPS             :        726        715
          Throughput MiB/s :      11686      11505
          Total MiB        :     902432    1048576
---
RMFILES   Elapsed ms       :         42         56
---
"""

ELBENCHO_JSON: Final = (
    '{"phase_type":"WRITE","phase_id":"a1","label":"first","iso_start_date":"2026-11-22T02:03:04.005+0000",'
    '"config":{"path_type":"file","paths":"1","hosts":"1","threads":"4","file_size":"1073741824",'
    '"block_size":"4096","direct_io":"true","random_offsets":"true","random_aligned":"true","io_depth":"8",'
    '"truncate_files":"false","version":"3.0-1","command":"\\"elbencho\\" \\"-w\\" "},'
    '"first_done":{"elapsed_time_ms":"10011","iops":"40211","bytes\\/s":"164704256","bytes":"1640000000","cpu%":"12"},'
    '"last_done":{"elapsed_time_ms":"10020","iops":"40201","bytes\\/s":"164663296","bytes":"1650000000","cpu%":"12",'
    '"latency":{"IO":{"min_us":"90","avg_us":"795","max_us":"20011"}}}}\n'
    '{"phase_type":"SYNC","phase_id":"a2","config":{"threads":"4"},"first_done":{},"last_done":{"elapsed_time_ms":"9"}}\n'
    '{"phase_type":"RMFILES","phase_id":"a3","config":{"path_type":"dir","threads":"2"},'
    '"first_done":{"elapsed_time_ms":"11","entries\\/s":"8100","entries":"90"},'
    '"last_done":{"elapsed_time_ms":"12","entries\\/s":"8000","entries":"96"}}\n'
)

ELBENCHO_CSV: Final = (
    "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,random aligned,"
    "IO depth,shared paths,truncate,operation,time ms [first],time ms [last],entries/s [first],entries/s [last],"
    "IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],MiB [first],MiB [last],IO lat us [min],IO lat us [avg],"
    "IO lat us [max],version,command\n"
    "2026-11-22T02:03:04,first,file,1,1,4,,,1073741824,4096,1,1,1,8,,0,WRITE,10011,10020,,,40211,40201,157,157,1564,"
    '1573,90,795,20011,3.0-1,"elbencho" "-w"\n'
)
"""The first phase of that JSON."""

PHORONIX: Final = """\
<?xml version="1.0"?>
<!--Phoronix Test Suite v10.8.4-->
<PhoronixTestSuite>
  <Generated>
    <Title>disks</Title>
    <LastModified>2026-11-22 02:03:04</LastModified>
    <TestClient>Phoronix Test Suite v10.8.4</TestClient>
  </Generated>
  <System>
    <Identifier>before</Identifier>
    <Hardware>Processor: A &amp; B</Hardware>
    <Software>OS: Debian 12</Software>
    <TimeStamp>2026-11-22 02:03:04</TimeStamp>
  </System>
  <Result>
    <Identifier>pts/fio-2.1.0</Identifier>
    <Title>Flexible IO Tester</Title>
    <AppVersion>3.36</AppVersion>
    <Arguments>randread io_uring 4k</Arguments>
    <Description>Type: Random Read - Block Size: 4KB</Description>
    <Scale>IOPS</Scale>
    <Proportion>HIB</Proportion>
    <Data>
      <Entry>
        <Identifier>before</Identifier>
        <Value>40200</Value>
        <RawString>40100:40200:40300</RawString>
        <JSON></JSON>
      </Entry>
      <Entry>
        <Identifier>after</Identifier>
        <Value>41000</Value>
        <RawString></RawString>
      </Entry>
    </Data>
  </Result>
  <Result>
    <Identifier>pts/iozone-1.9.6</Identifier>
    <Title>IOzone</Title>
    <Description>Record Size: 4Kb - Disk Test: Write Performance</Description>
    <Scale>MB/s</Scale>
    <Data>
      <Entry>
        <Identifier>before</Identifier>
        <Value>161.5</Value>
        <RawString>160.25:162.75</RawString>
      </Entry>
    </Data>
  </Result>
  <Result>
    <Identifier>pts/unpack-linux-1.2.0</Identifier>
    <Title>Unpacking The Linux Kernel</Title>
    <Description>linux-5.19.tar.xz</Description>
    <Scale>Seconds</Scale>
    <Data>
      <Entry>
        <Identifier>before</Identifier>
        <Value>8.4</Value>
        <RawString>8.3:8.5</RawString>
      </Entry>
    </Data>
  </Result>
  <Result>
    <Identifier>pts/pgbench-1.14.0</Identifier>
    <Title>PostgreSQL</Title>
    <Scale>TPS</Scale>
    <Data>
      <Entry>
        <Identifier>before</Identifier>
        <Value>9000</Value>
        <RawString>9000</RawString>
      </Entry>
    </Data>
  </Result>
</PhoronixTestSuite>
"""
