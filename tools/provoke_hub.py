"""Provoke what fails on the way to a Hub kernel, with real packages, and ask explain for the cause.

Usage: python -m tools.provoke_hub --cache FOLDER [--only NAME]... [--logs FOLDER]

Each case runs released transformers and kernels, and the torch of this Python as if it were built
for CUDA 13.0, against a Hub on the loopback; `fadoctor explain` must name the cause first, and be
silent where nothing fails, or something else does.
``--logs`` keeps what was said. Ends with 1 where another cause is named, or none.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tools.compare_choice import helpers, unpacked
from tools.compare_pairs import installed
from tools.fake_hub import FakeHub
from tools.hub_failures import ALONE, CASES, FITS, publish

if TYPE_CHECKING:
    from tools.hub_failures import Case

NOWHERE = "http://127.0.0.1:9"
_SCRIPT = Path(__file__).with_name("_provoke.py")


def beside(wheel: str, cache: Path) -> Path:
    """Return the folder with a package, ``name-version``, and mostly with what it requires."""
    folder = cache / "beside" / wheel
    if not folder.exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        name, _, version = wheel.rpartition("-")
        alone = ["--no-deps"] if name in ALONE else []
        subprocess.run([*install, *alone, f"{name}=={version}"], check=True)
    return folder


def said(case: Case, origin: str, cache: Path) -> str:
    """Return what a case writes."""
    folders = [
        *([unpacked(case.kernels, cache)] if case.kernels else []),
        *([installed(case.transformers, cache)] if case.transformers else []),
        *(beside(wheel, cache) for wheel in case.wheels),
        helpers(cache),
    ]
    with tempfile.TemporaryDirectory() as home:
        environ = {
            "PATH": os.defpath, "HOME": home, "HF_ENDPOINT": origin, "HF_HUB_DISABLE_XET": "1",
            "no_proxy": "127.0.0.1", "PYTHONPATH": os.pathsep.join(map(str, folders)),
            "FADOCTOR_JOB": json.dumps(case.job), **case.environ,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, str(_SCRIPT)], capture_output=True, text=True, check=False,
            env=environ, stdin=subprocess.DEVNULL, timeout=300,
        )  # fmt: skip
    return done.stdout + done.stderr


def explained(log: str) -> list[str]:
    """Return the causes that `fadoctor explain` names, likeliest first; it takes no empty text."""
    if not log.strip():
        return []
    done = subprocess.run(
        [sys.executable, "-m", "fadoctor", "explain", "-", "--format", "json", "--exit-zero"],
        input=log, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [str(finding["rule_id"]) for finding in json.loads(done.stdout)["findings"]]


def main() -> None:
    """Run all cases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--logs", type=Path)
    options = parser.parse_args()
    names, wrong = options.only or list(CASES), 0
    with FakeHub() as trusted, FakeHub() as untrusted, FakeHub() as fitting:
        untrusted.trusted = False
        publish(trusted)
        publish(untrusted)
        publish(fitting, (FITS,))
        origins = {"trusted": trusted.origin, "untrusted": untrusted.origin, "nowhere": NOWHERE,
                   "fitting": fitting.origin}  # fmt: skip
        for name in names:
            case = CASES[name]
            log = said(case, origins[case.hub], options.cache)
            if options.logs is not None:
                options.logs.mkdir(parents=True, exist_ok=True)
                (options.logs / f"{name}.txt").write_text(log, encoding="utf-8")
            causes = explained(log)
            if causes[:1] != ([case.rule] if case.rule else []):
                wrong += 1
                last = (log.strip().splitlines() or [""])[-1]
                sys.stdout.write(f"{name}: {causes}, not {case.rule or 'silence'}: {last}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{len(names)} failures, {wrong} with another cause\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
