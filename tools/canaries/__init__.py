"""Locked environments whose answers may change only where a change of the tables names it."""
