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
