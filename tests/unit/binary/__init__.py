"""Tests of fadoctor.binary."""
