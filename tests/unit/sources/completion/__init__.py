"""Tests of what completes facts."""
