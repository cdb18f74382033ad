"""Tests of carrying plans out."""
