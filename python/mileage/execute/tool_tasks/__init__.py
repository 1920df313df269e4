"""The work of IOR and mdtest done as these tools do it, by tasks that are forked processes of one machine.

`ranks` has the processes with their barriers and messages; `ior` and `mdtest` do on each rank what `plan.ior_options`
and `plan.mdtest_options` say. What they print, an object of the caller prints.
"""
