"""Provoke what fails on the way to a Hub kernel, with real packages, and ask explain for the cause.

Usage: python -m tools.provoke_hub --cache FOLDER [--only NAME]... [--logs FOLDER]

Each case runs released transformers and kernels, and the torch of this Python as if it were built
for CUDA 13.0, against a Hub on the loopback; `fadoctor explain` must name the cause first.
``--logs`` keeps what was said. Ends with 1 where another cause is named, or none.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tools.compare_choice import helpers, unpacked
from tools.compare_pairs import installed
from tools.fake_hub import FakeHub, kernel

FITS = "torch213-cxx11-cu130-x86_64-linux"
OLD = ("torch212-cxx11-cu130-x86_64-linux", "torch211-cxx11-cu128-x86_64-linux")
FLASH, ONE = "kernels-community/flash-attn2", "kernels-community/one"
OFFLINE = {"HF_HUB_OFFLINE": "1"}
NOWHERE = "http://127.0.0.1:9"
_SCRIPT = Path(__file__).with_name("_provoke.py")


@dataclass(frozen=True)
class Case:
    """One failure: what is done, with what, and the rule that explain must name first."""

    rule: str
    transformers: str
    kernels: str
    job: dict[str, object]
    environ: dict[str, str] = field(default_factory=dict)
    hub: str = "trusted"
    """trusted, untrusted or nowhere."""


def model(name: str, **other: object) -> dict[str, object]:
    """Return the job of loading a model with an attention."""
    return {"model": name, **other}


CASES = {
    "A0": Case("hub-no-variant", "4.57.6", "0.9.0", model(FLASH)),
    "A": Case("hub-no-variant", "4.57.6", "0.10.5", model(FLASH)),
    "B": Case("hub-no-variant", "5.12.1", "0.12.3", model(FLASH)),
    "B, hidden": Case("hub-no-variant", "5.12.1", "0.12.3", model("flash_attention_2")),
    "C, 0.13": Case("hub-no-variant", "5.12.1", "0.13.0", model(FLASH)),
    "C, 0.14": Case("hub-no-variant", "5.12.1", "0.14.1", model(FLASH)),
    "D, 0.15": Case("hub-no-variant", "5.13.1", "0.15.2", model(FLASH)),
    "D, 0.16": Case("hub-no-variant", "5.17.0", "0.16.2", model(FLASH)),
    "D, 0.17": Case("hub-no-variant", "5.22.2", "0.17.2", model(FLASH)),
    "D, hidden": Case("hub-no-variant", "5.22.2", "0.17.2", model("flash_attention_2")),
    "range, 5.23": Case("hub-kernels-out-of-range", "5.23.0", "0.17.2", model(FLASH)),
    "range, 5.13": Case("hub-kernels-out-of-range", "5.13.1", "0.17.2", model(FLASH)),
    "none, 5.12": Case("hub-kernels-out-of-range", "5.12.1", "", model(FLASH)),
    "none, 4.57": Case("hub-kernels-out-of-range", "4.57.6", "", model(FLASH)),
    "none, hidden": Case("hf-fa2-not-installed", "5.22.2", "", model("flash_attention_2")),
    "import": Case("hub-kernels-breaks-import", "5.12.1", "0.17.2", model(FLASH)),
    "404, 0.10": Case("hub-old-repo-type", "4.57.6", "0.10.5", model("kernels-community/moved")),
    "404, 0.12": Case("hub-old-repo-type", "5.12.1", "0.12.3", model("kernels-community/moved")),
    "404, 0.13": Case("hub-old-repo-type", "5.12.1", "0.13.0", model("kernels-community/moved")),
    "404, 0.17": Case("hub-kernel-not-found", "5.22.2", "0.17.2", model("moonlab/model")),
    "branch": Case("hub-version-missing", "5.22.2", "0.17.2", model(f"{ONE}@v9")),
    "version": Case(
        "hub-version-missing", "", "0.17.2", {"kernel": ONE, "arguments": {"version": 4}}
    ),
    "version, 0.12": Case(
        "hub-version-missing", "", "0.12.3", {"kernel": ONE, "arguments": {"version": 4}}
    ),
    "no version": Case("hub-version-not-named", "", "0.15.2", {"kernel": ONE}),
    "number": Case(
        "hub-kernels-takes-no-version", "", "0.10.5", {"kernel": ONE, "arguments": {"version": 1}}
    ),
    "needs": Case("hub-dependency-missing", "5.22.2", "0.17.2", model("kernels-community/needs")),
    "needs, 0.11": Case(
        "hub-dependency-missing", "", "0.11.7", {"kernel": "kernels-community/needs"}
    ),
    "newer": Case("hub-kernel-wants-newer", "5.22.2", "0.17.2", model("kernels-community/newer")),
    "unknown": Case(
        "hub-kernel-wants-newer", "5.22.2", "0.17.2", model("kernels-community/unknown")
    ),
    "arch": Case(
        "hub-arch-refused",
        "5.22.2",
        "0.17.2",
        model("kernels-community/hopper", capability=[12, 0]),
    ),
    "trust": Case("hub-trust", "5.22.2", "0.17.2", model(ONE), hub="untrusted"),
    "trust, 0.14": Case("hub-trust", "5.12.1", "0.14.1", model(ONE), hub="untrusted"),
    "down, 0.17": Case("hub-trust", "5.22.2", "0.17.2", model(ONE), hub="nowhere"),
    "down, 0.13": Case("hub-offline", "5.12.1", "0.13.0", model(ONE), hub="nowhere"),
    "down, 0.12": Case("hub-offline", "5.12.1", "0.12.3", model(ONE), hub="nowhere"),
    "offline, 0.10": Case("hub-offline", "4.57.6", "0.10.5", model(ONE), OFFLINE),
    "offline, 0.12": Case("hub-offline", "5.12.1", "0.12.3", model(ONE), OFFLINE),
    "offline, 0.13": Case("hub-offline", "5.12.1", "0.13.0", model(ONE), OFFLINE),
    "offline, 0.14": Case("hub-trust", "5.12.1", "0.14.1", model(ONE), OFFLINE),
    "offline, 0.15": Case("hub-offline", "5.13.1", "0.15.2", model(ONE), OFFLINE),
    "offline, 0.17": Case("hub-offline", "5.22.2", "0.17.2", model(f"{ONE}@v1"), OFFLINE),
    "metadata": Case("hub-metadata-unreadable", "5.22.2", "0.17.2", model("moonlab/silent")),
    "no metadata": Case("hub-metadata-unreadable", "5.22.2", "0.17.2", model("moonlab/mute")),
    "no module": Case("hub-build-incomplete", "5.22.2", "0.17.2", model("moonlab/empty")),
    "question": Case("hf-fa2-not-installed", "4.54.1", "0.9.0", {"ask": "flash_attention_2"}),
    "FA4": Case("torch-activated-fa-refused", "", "", {"activate": "FA4"}),
    "FA3": Case("torch-activated-fa-refused", "", "", {"activate": "FA3"}),
    "FA9": Case("torch-activated-fa-refused", "", "", {"activate": "FA9"}),
}


def publish(hub: FakeHub) -> None:
    """Put a kernel there for each way to fail."""
    one = {"v1": kernel({FITS: ("8.0", "9.0")}, "one")}
    old = {
        f"v{n}": kernel(dict.fromkeys(OLD, ()), "flash-attn2", metadata={"version": n})
        for n in (1, 2, 3, 4)
    }
    hub.put(FLASH, old)
    hub.put("kernels-community/flash-attn", old)
    hub.put(ONE, one)
    hub.put("kernels-community/moved", one, kinds=("kernels",))
    hub.put("moonlab/model", one, kinds=("models",))
    hub.put("kernels-community/hopper", {"v1": kernel({FITS: ("8.0", "9.0a")}, "flash-attn3")})
    for name, said in (
        ("kernels-community/needs", {"python-depends": ["nvidia-cutlass-dsl"]}),
        ("kernels-community/unknown", {"python-depends": ["left-pad"]}),
        ("kernels-community/newer", {"kernels-minver": "0.99.0"}),
        ("moonlab/silent", {"license": None}),
    ):
        hub.put(name, {"v1": kernel({FITS: ()}, metadata=said)})
    whole = kernel({FITS: ()})
    for name, end in (("moonlab/mute", ".json"), ("moonlab/empty", ".py")):
        hub.put(
            name, {"v1": {path: body for path, body in whole.items() if not path.endswith(end)}}
        )


def said(case: Case, origin: str, cache: Path) -> str:
    """Return what a case writes."""
    folders = [
        *([unpacked(case.kernels, cache)] if case.kernels else []),
        *([installed(case.transformers, cache)] if case.transformers else []),
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
    """Return the causes that `fadoctor explain` names, likeliest first."""
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
    with FakeHub() as trusted, FakeHub() as untrusted:
        untrusted.trusted = False
        publish(trusted)
        publish(untrusted)
        origins = {"trusted": trusted.origin, "untrusted": untrusted.origin, "nowhere": NOWHERE}
        for name in names:
            case = CASES[name]
            log = said(case, origins[case.hub], options.cache)
            if options.logs is not None:
                options.logs.mkdir(parents=True, exist_ok=True)
                (options.logs / f"{name}.txt").write_text(log, encoding="utf-8")
            causes = explained(log)
            if causes[:1] != [case.rule]:
                wrong += 1
                last = (log.strip().splitlines() or [""])[-1]
                sys.stdout.write(f"{name}: {causes}, not {case.rule}: {last}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{len(names)} failures, {wrong} with another cause\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
