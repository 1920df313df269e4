"""`mileage mdtest`: see `tools.mdtest`."""

from mileage.cli.dropin import face

command = face("mdtest")
