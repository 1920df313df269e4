"""Drop-in commands compared with the tools themselves, in turn on one directory: `python -m benchmarks.dropins --help`.

Both are given the same command line. What they print is read by the same readers, so that layout and figures are
compared at once; bars hold where the device is the limit (past the page cache, flushed).
"""
