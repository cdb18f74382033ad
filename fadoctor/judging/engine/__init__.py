"""The engine: three-valued conditions over facts and matrix, and the findings they give.

Pure: facts and rules in, outcomes out. Nothing here reads a file or starts a process.
"""
