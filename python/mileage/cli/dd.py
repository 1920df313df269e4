"""`mileage dd`: see `tools.dd`."""

from mileage.cli.face import face

command = face("dd")
