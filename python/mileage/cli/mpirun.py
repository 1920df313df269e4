"""`mileage mpirun`: see `tools.mpirun`."""

from mileage.cli.face import face

command = face("mpirun")
