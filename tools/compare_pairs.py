"""Import pairs of transformers and kernels, and compare with what `fadoctor check` says of them.

Usage: python -m tools.compare_pairs --cache FOLDER [--pair TRANSFORMERS/KERNELS]...

Downloads both into the cache folder (through the index that pip is configured for) and imports
transformers.integrations.hub_kernels beside the torch of this Python. `fadoctor check
--site-packages` of the same two must find hub-kernels-breaks-import where the import breaks, and
hub-kernels-out-of-range where transformers does not accept the kernels, and neither elsewhere. Ends
with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.compare_choice import helpers, unpacked

TRANSFORMERS = ("5.0.0", "5.2.0", "5.4.0", "5.12.1", "5.13.1")
KERNELS = ("0.10.5", "0.12.3", "0.14.1", "0.15.2", "0.17.2")
PAIRS = tuple(f"{transformers}/{kernels}" for transformers in TRANSFORMERS for kernels in KERNELS)
MORE = ("5.15.1/0.16.2", "5.17.0/0.17.2", "5.22.2/0.17.2", "5.23.0/0.17.2", "5.19.0/0.16.2")
BREAKS, OUT_OF_RANGE = "hub-kernels-breaks-import", "hub-kernels-out-of-range"
_SCRIPT = Path(__file__).with_name("_import_pair.py")
_MEANT = "Either a revision or a version must be specified"


def installed(transformers: str, cache: Path) -> Path:
    """Return the folder with a release of transformers, and with what it requires."""
    folder = cache / "transformers" / transformers
    if not folder.exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        subprocess.run([*install, f"transformers=={transformers}"], check=True)
    return folder


def imported(transformers: Path, kernels: Path, cache: Path) -> tuple[bool, str]:
    """Return whether transformers accepts the kernels, and the error of the import, "" for none."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, str(_SCRIPT)], capture_output=True, text=True, check=False,
            timeout=300, env={"PYTHONPATH": f"{kernels}:{transformers}:{helpers(cache)}",
                              "PATH": "", "HOME": home, "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip
    if not done.stdout:
        return False, done.stderr.strip().splitlines()[-1]
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["accepted"], answer["error"]


def found(transformers: Path, kernels: Path) -> set[str]:
    """Return the rules that `fadoctor check` finds broken where these two are installed."""
    with tempfile.TemporaryDirectory() as site:
        for folder, name in ((transformers, "transformers"), (kernels, "kernels")):
            for path in (folder / name, *folder.glob(f"{name}-*.dist-info")):
                (Path(site) / path.name).symlink_to(path.resolve())
        done = subprocess.run(
            [sys.executable, "-m", "fadoctor", "check", "--site-packages", site, "--format", "json",
             "--exit-zero"], capture_output=True, text=True, check=True,
        )  # fmt: skip
    findings = json.loads(done.stdout)["findings"]
    return {name for each in findings for name in (each["rule_id"], *each["consequences"])}


def difference(pair: str, cache: Path) -> str:
    """Return in words what differs for a pair, "" where nothing does."""
    one, other = pair.split("/")
    transformers, kernels = installed(one, cache), unpacked(other, cache)
    accepted, error = imported(transformers, kernels, cache)
    if error and _MEANT not in error:
        return f"the import fails otherwise: {error}"
    rules = found(transformers, kernels)
    if (BREAKS in rules) != bool(error):
        return f"{BREAKS} is {'' if BREAKS in rules else 'not '}found; the import says {error!r}"
    if (OUT_OF_RANGE in rules) == accepted:
        said = "" if OUT_OF_RANGE in rules else "not "
        return f"{OUT_OF_RANGE} is {said}found; transformers accepts it: {accepted}"
    return ""


def main() -> None:
    """Compare all pairs that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--pair", action="append", default=[])
    options = parser.parse_args()
    pairs, wrong = options.pair or (*PAIRS, *MORE), 0
    for pair in pairs:
        problem = difference(pair, options.cache)
        if problem:
            wrong += 1
            sys.stdout.write(f"{pair}: {problem}\n")
    sys.stdout.write(f"{len(pairs)} pairs, {wrong} differ\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
