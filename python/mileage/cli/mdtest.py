"""`mileage mdtest`: see `tools.mdtest`."""

from mileage.cli.face import face

command = face("mdtest")
