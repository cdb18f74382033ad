"""Make the tables that say from which release to which one a package has a name.

``python -m tools.refresh --table server-options`` compares one, ``--all`` compares all of them.
"""
