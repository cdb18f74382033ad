"""Run the command line: ``python -m fadoctor`` and the console script ``fadoctor``."""

from fadoctor.cli.app import main

if __name__ == "__main__":
    main()
