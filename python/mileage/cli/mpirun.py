"""`mileage mpirun`: see `dropin.mpirun`."""

from mileage.cli.dropin import face

command = face("mpirun")
