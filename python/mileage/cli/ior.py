"""`mileage ior`: see `tools.ior`."""

from mileage.cli.dropin import face

command = face("ior")
