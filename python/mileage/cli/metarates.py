"""`mileage metarates`: see `tools.metarates`."""

from mileage.cli.face import face

command = face("metarates")
