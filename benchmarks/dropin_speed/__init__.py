"""What the drop-in commands cost next to the tools: rates in turn, processor time in turn and at once, start-up.

`cases` has the command lines and reads rates out of what they print, `pairs` runs a case on both sides and makes
ratios with intervals. Processor time is that of the whole command less that of its start-up, which has rows of its own.
"""
