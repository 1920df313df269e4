"""`mileage iozone`: see `tools.iozone`."""

from mileage.cli.face import face

command = face("iozone")
