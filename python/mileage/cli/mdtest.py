"""`mileage mdtest`: see `dropin.mdtest`."""

from mileage.cli.dropin import face

command = face("mdtest")
