"""Carry a plan out, with a way back: snapshot, journal, steps, undo. Only here things change."""
