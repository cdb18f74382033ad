"""The nouns of fadoctor: facts, environments, rules, findings, verdicts, fixes, reports.

Plain frozen data. Nothing here reads a file, starts a process or decides anything, and nothing
here imports another part of fadoctor.
"""
