"""Drop-in faces: the command lines of other tools, done by Mileage and printed as those tools print.

`flags` is what a flag is, and reads a command line by it; help, completion, the pages and the manual pages are made of
the same objects. A face (`iozone`, `hdparm`, `dd` and so on) turns what was read into a study, has it done, and hands
the figures to a writer in `formats`. Every run leaves a study folder.
"""
