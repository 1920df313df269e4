"""Drop-in command lines: those of other tools, run by Mileage and printed as those tools print.

`flags` is what a flag is, and reads a command line by it; help, completion, the pages and the manual pages are made of
the same objects. A drop-in (`iozone`, `hdparm`, `dd` and so on) turns the arguments into a study, runs it, and hands
the figures to a writer in `formats`. Every run leaves a study folder.
"""
