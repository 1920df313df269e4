"""Runs whose members are the ranks of an MPI run: `mpiexec -n N mileage run STUDY`.

`bootstrap` makes this process a rank, the leader or a serving one; `messages` carries messages and detects silent
ranks; `leader` has the ranks do a step together, does its own share in this process, estimates clock offsets and
reports a rank that died; `futures` spreads independent work. mpi4py is imported only when a launcher was detected
(`cli/launcher.py`).
"""
