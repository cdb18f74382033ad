"""Answers to issues of a repository, as comments: what `explain` says about their text.

`event` reads what GitHub tells, `answer` decides whether a comment is due and writes it, `thread`
reads and writes the comments of one issue; ``python -m tools.triage`` joins them.
Nothing that an issue names is opened or run.
"""
