"""`mileage metarates`: see `tools.metarates`."""

from mileage.cli.dropin import face

command = face("metarates")
