"""Runs whose members are the ranks of an MPI run: `mpiexec -n N mileage run STUDY`.

`joining` makes this process a rank, the leader of the others
or one that serves; `letters` carries messages and hears who is silent; `under_way` is a share at work in this process;
`leader` has the ranks do a step together; `loss_watch` reports a rank that died; `clocks` says how far their clocks
are apart; `futures` spreads independent work. mpi4py is imported when a launcher was seen (`cli/launcher.py`), and not
looked for without one.
"""
