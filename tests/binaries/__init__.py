"""Binaries: prediction against the real loader, hermetic files, mutations."""
