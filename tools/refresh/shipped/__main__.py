"""Run as ``python -m tools.refresh.shipped``."""

import sys

from tools.refresh.shipped.cli import main

sys.exit(main())
