"""fio's jobs done as fio does them: files laid out, a process for each copy, groups one after the other.

`layout` checks and makes the files, `run` starts a group of processes, takes their results and says when what was
done so far is wanted, `process` is what each of them does, `steps` work that transfers nothing, `places` lists
operations that no pattern of the engine has, `link` has the messages between processes. The work is `plan.fio_work`.
"""
