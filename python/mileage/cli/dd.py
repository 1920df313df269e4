"""`mileage dd`: see `tools.dd`."""

from mileage.cli.dropin import face

command = face("dd")
