"""Readers and writers of other tools' files. Each refuses what it does not understand, with the line.

`result` is what every reader of results gives; `readers` lists them and finds the one for a file; `input_file` opens
files that come from strangers; `number_parser` and `histogram` turn their figures into ours.
One file per layout: `fio_json`, `fio_logs`, ... `published_table` and `trace` are for other commands.
"""
