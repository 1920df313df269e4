"""`mileage mpirun`: see `dropin.mpirun`."""

from mileage.cli.dropin import dropin_command

command = dropin_command("mpirun")
