"""Forms that programs read: code scanning, test reports, annotations.

Each writes a `Listing`, so that what a command found looks the same in every service.
"""
