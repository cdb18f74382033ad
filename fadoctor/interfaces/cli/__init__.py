"""The command line: one module a command; parse, call, render, exit code. Nobody else prints."""
