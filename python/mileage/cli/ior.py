"""`mileage ior`: see `tools.ior`."""

from mileage.cli.face import face

command = face("ior")
