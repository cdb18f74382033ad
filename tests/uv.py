"""uv, a development tool of this project: an activated environment finds it, others look here."""

from __future__ import annotations

import shutil
import sysconfig

UV = shutil.which("uv", path=sysconfig.get_path("scripts")) or shutil.which("uv") or ""
"""The uv of the environment that runs the tests, or another one; empty where there is none."""
