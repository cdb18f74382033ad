"""Logs that are told otherwise keep their cause."""
