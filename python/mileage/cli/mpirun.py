"""`mileage mpirun`: see `tools.mpirun`."""

from mileage.cli.dropin import face

command = face("mpirun")
