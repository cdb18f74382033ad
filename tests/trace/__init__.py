"""Tracing: what runs inside a patient, and what is made of it."""
