"""`mileage ior`: see `dropin.ior`."""

from mileage.cli.dropin import face

command = face("ior")
