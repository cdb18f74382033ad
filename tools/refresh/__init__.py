"""Compare the tables with published packages and print what would change, as a diff.

One way through: settings of pip -> index pages -> byte ranges of wheels -> derived rows -> diff.
"""
