"""Run `check` on every file of a folder of checked-out repositories, and draw findings to judge.

Usage: python -m tools.repositories FOLDER [--gpu V100] [--most 40] [--draw 100] [--json FILE]

Each folder below FOLDER is one repository. A file is read as what its name and text say: a
configuration, a list of packages, or both. Printed are counts for each repository, crashes, refused
files that train, serve or install, files over two seconds of processor time, and findings drawn at
random. Nothing of a repository is run. The exit status is 1 where a file crashes fadoctor.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.bars import Bars  # noqa: E402 -- the checkout that this file stands in
from fadoctor.api import check  # noqa: E402 -- the checkout that this file stands in
from fadoctor.model.errors import FadoctorError  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE_LIMIT = 400_000
SECONDS = 2.0
"""Processor time that one file may take, of a machine for which the bars of `bench` are stated."""

_CONFIG = re.compile(
    r".+\.(?:ya?ml|toml|json|sh|bash|slurm|sbatch|py|ipynb|bat|ps1|env)|(?:.+\.)?dockerfile.*"
    r"|makefile.*|\.?justfile|\.env.*",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"requirements.*\.(?:txt|in)|pyproject\.toml|setup\.cfg|environment.*\.ya?ml|.+\.lock|pixi\.toml"
    r"|(?:.+\.)?dockerfile.*|.+\.(?:sh|bash|slurm|sbatch)|makefile.*|\.?justfile|.+\.ipynb"
    r"|.*\.ya?ml|pipfile|.+\.(?:bat|ps1)",
    re.IGNORECASE,
)
_RUNS = re.compile(
    r"\b(?:torchrun|accelerate launch|deepspeed|vllm serve|sglang\.launch_server|lmdeploy serve"
    r"|from_pretrained|bf16|bfloat16|float16|fp16|attn_implementation|flash_attn|flash-attn|xformers"
    r"|mixed_precision|torch_dtype)\b"
)
_INSTALLS = re.compile(
    r"\b(?:pip3?|uv|conda|mamba|poetry|pdm|pixi)\b[^\n]{0,80}\b(?:install|sync|add)\b"
    r"|^\s*(?:torch|flash[-_]attn|vllm|xformers|transformers)\s*(?:[=<>~!\[]|$)",
    re.MULTILINE,
)
_STARTED = re.compile(r"__main__|from_pretrained\(|\bLLM\(|ArgumentParser|modal\.App|LLMConfig\(")
"""What a Python file has that somebody runs."""
_FIELD = re.compile(r"torch|flash|vllm|xformers|transformers|cuda|bf16|bfloat16|float16|fp16")
_SKIPPED = frozenset((".git", "node_modules", "third_party", "vendor"))


class Outcome(NamedTuple):
    """What one file came to."""

    file: str
    how: str
    """``config`` or ``requirements``."""
    status: str
    """``read``, ``refused`` or ``crash``."""
    seconds: float
    detail: str = ""
    findings: tuple[tuple[str, str, str, str], ...] = ()
    """Severity, rule, message, places."""


def main(arguments: list[str] | None = None) -> int:
    """Run it; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpu", default="V100")
    parser.add_argument("--driver", default="550.54.15")
    parser.add_argument("--python", default="", help="what files say themselves is then overruled")
    parser.add_argument("--site-packages", default="")
    parser.add_argument("--draw", type=int, default=100)
    parser.add_argument("--most", type=int, default=1000, help="files of one repository")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    repositories = sorted(each for each in given.folder.iterdir() if each.is_dir())
    outcomes: list[Outcome] = []
    with suppress(Exception):  # what the first one loads is not counted to its file
        check(gpu=given.gpu)
    for repository in repositories:
        files = list(_files(repository))
        if len(files) > given.most:
            files = sorted(random.Random(given.seed).sample(files, given.most))  # noqa: S311
        found = [_checked(file, how, given) for file, how in files]
        print(f"{repository.name}: {_counts(found)}", flush=True)
        outcomes += found
    _report(outcomes, given.draw, given.seed)
    if given.json is not None:
        given.json.write_text(json.dumps([each._asdict() for each in outcomes], indent=0))
    return int(any(each.status == "crash" for each in outcomes))


def _files(repository: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file that may say something of the field, and how it is given."""
    for path in sorted(repository.rglob("*")):
        if _SKIPPED.intersection(path.parts) or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size > SIZE_LIMIT:
            continue
        is_config, is_list = _CONFIG.fullmatch(path.name), _LIST.fullmatch(path.name)
        if not (is_config or is_list):
            continue
        text = path.read_text("utf-8", "replace")
        if _FIELD.search(text) is None:
            continue
        is_run = path.suffix != ".py" or _STARTED.search(text) is not None
        if is_config and is_run and _RUNS.search(text):
            yield path, "config"
        if is_list and _INSTALLS.search(text):
            yield path, "requirements"


def _checked(path: Path, how: str, given: argparse.Namespace) -> Outcome:
    """Return what `check` says of a file; any other error than a refusal is a crash."""
    before = time.process_time()
    status, detail = "read", ""
    findings: tuple[tuple[str, str, str, str], ...] = ()
    try:
        if how == "config":
            found = check(
                site_packages=given.site_packages, config=path, gpu=given.gpu, driver=given.driver,
                python_version=given.python,
            )  # fmt: skip
        else:
            found = check(
                requirements=path, gpu=given.gpu, driver=given.driver, python_version=given.python
            )
        findings = tuple(
            (each.severity.value, each.rule_id, each.message, ", ".join(map(str, each.locations)))
            for each in found.findings
        )
    except FadoctorError as error:
        status, detail = "refused", str(error)
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is what is looked for
        status, detail = "crash", f"{type(error).__name__}: {error}"
    return Outcome(str(path), how, status, time.process_time() - before, detail[:400], findings)


def _counts(found: list[Outcome]) -> str:
    status = Counter(each.status for each in found)
    told = sum(len(each.findings) for each in found)
    return (
        f"{len(found)} files, {status['read']} read, {status['refused']} refused, "
        f"{status['crash']} crashes, {told} findings"
    )


def _report(outcomes: list[Outcome], draw: int, seed: int) -> None:
    print(f"\nIn all: {_counts(outcomes)}")
    for each in outcomes:
        if each.status != "read":
            print(f"{each.status} {each.how} {each.file}: {each.detail}")
    bars = Bars()
    allowed = SECONDS * bars.slowness
    over_bar = sum(each.seconds > allowed for each in outcomes)
    print(f"{over_bar} files over {SECONDS:g} s of processor time ({allowed:.1f} s here)")
    for each in sorted(outcomes, key=lambda one: -one.seconds)[:10]:
        over = " OVER" if each.seconds > allowed else ""
        print(f"{each.seconds:.2f} s{over} {each.how} {each.file}")
    # what names no line is about the environment at hand, and the same for every file
    told = [(each, finding) for each in outcomes for finding in each.findings if finding[3]]
    drawn = random.Random(seed).sample(told, min(draw, len(told)))  # noqa: S311 -- a draw, no secret
    print(f"\n{len(drawn)} of {len(told)} findings with a line, drawn with seed {seed}:")
    for number, (each, (severity, rule, message, places)) in enumerate(drawn, 1):
        print(f"{number}. {each.how} {each.file}\n   {severity} {rule} [{places}]\n   {message}")


if __name__ == "__main__":
    sys.exit(main())
