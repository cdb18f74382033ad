"""What a command does between its request and its document: for the command line and for programs.

Nothing here prints, exits, or changes how the process hears signals.
"""
