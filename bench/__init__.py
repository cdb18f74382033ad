"""Measurements by hand: each module is a program."""
