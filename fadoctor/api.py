"""What programs may call: `check`, `facts`, `explain`, `answer`, `plan`, `smoke` and `trace`.

    from fadoctor.api import check

    report = check(gpu="V100", driver="550.54.15")
    print(report.findings[0].message)

Each is the command of its name (`plan` is ``fix --dry-run``): the same options, the same documents,
the errors of `fadoctor.model.errors`. Nothing is printed, no signal handler is set, and the process
is never ended. Importing this module costs nothing; what a function needs is loaded when it is
called.
"""

from __future__ import annotations

TYPE_CHECKING = False  # without an import of typing, which takes longer than this module
if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from fadoctor.model.environment import Environment
    from fadoctor.model.verdict import Backend, Dtype
    from fadoctor.proof.trace.inside import Trace
    from fadoctor.report.results import (
        AnswerResult,
        CheckResult,
        ExplainResult,
        FactsResult,
        PlanResult,
        SmokeResult,
    )

    Name = str | os.PathLike[str]
    Names = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def check(
    target: Name = "",
    *,
    site_packages: Name = "",
    facts: Environment | Name | None = None,
    requirements: Names = (),
    extra: Names = (),
    group: Names = (),
    config: Names = (),
    config_kind: str = "",
    gpu: Names = (),
    driver: str = "",
    glibc: str = "",
    python_version: str = "",
    platform: str = "",
    resolve: bool = False,
    smoke: bool = False,
    thorough: bool = False,
    cache: bool = True,
    ignore: Names = (),
    rules: Names = (),
) -> CheckResult:
    """Say whether FlashAttention works, if not why, and what to do.

    `target` is an interpreter or the folder of an environment; without one it is the interpreter
    that runs this program. With `smoke`, attention is run by a process of the target's interpreter.
    With `resolve`, uv or pip is asked which releases `requirements` install; that uses the network.
    """
    from fadoctor.interfaces.commands import run
    from fadoctor.interfaces.commands.request import ProgramRequest

    what = ProgramRequest(target, site_packages, facts, requirements, extra, group, config,
                          config_kind, gpu, driver, glibc, python_version, platform,
                          resolve)  # fmt: skip
    return run.check(what, smoke=smoke, thorough=thorough, cache=cache, ignore=ignore, rules=rules)


def facts(
    target: Name = "",
    *,
    site_packages: Name = "",
    facts: Environment | Name | None = None,
    requirements: Names = (),
    extra: Names = (),
    group: Names = (),
    config: Names = (),
    config_kind: str = "",
    gpu: Names = (),
    driver: str = "",
    glibc: str = "",
    python_version: str = "",
    platform: str = "",
    resolve: bool = False,
    thorough: bool = False,
    cache: bool = True,
    rules: Names = (),
) -> FactsResult:
    """Return everything that was read; the other functions take it as their `facts`.

    With `resolve`, uv or pip is asked which releases come; this uses the network.
    """
    from fadoctor.interfaces.commands import run
    from fadoctor.interfaces.commands.request import ProgramRequest

    what = ProgramRequest(target, site_packages, facts, requirements, extra, group, config,
                          config_kind, gpu, driver, glibc, python_version, platform,
                          resolve)  # fmt: skip
    return run.facts(what, thorough=thorough, cache=cache, rules=rules)


def explain(
    log: str | bytes | os.PathLike[str] | BaseException,
    target: Name = "",
    *,
    site_packages: Name = "",
    facts: Environment | Name | None = None,
    gpu: Names = (),
    driver: str = "",
    glibc: str = "",
    python_version: str = "",
    platform: str = "",
    ignore: Names = (),
    rules: Names = (),
) -> ExplainResult:
    """Say what a log comes from, why, and what to do.

    A string is the text itself, a path names a file, an exception is explained with its traceback.
    """
    from fadoctor.interfaces.commands import run
    from fadoctor.interfaces.commands.request import ProgramRequest

    what = ProgramRequest(target, site_packages, facts, gpu=gpu, driver=driver, glibc=glibc,
                          python_version=python_version, platform=platform)  # fmt: skip
    return run.explain(log, what, ignore=ignore, rules=rules)


def answer(text: str, gpu: Names | None = None) -> AnswerResult:
    """Say what any text means: an error, an issue, a report, a requirements file, a configuration.

    The kind of the text is recognised by its content. Nothing of this machine is looked at; `gpu`
    names the GPU that is meant, and suffices without a text.
    """
    from fadoctor.interfaces.commands import answer as answering
    from fadoctor.interfaces.commands.request import names

    if not isinstance(text, str):
        from fadoctor.model.errors import UsageError

        raise UsageError(f"text: give a text, not {type(text).__name__}")
    return answering.answer(text, names(gpu or (), "gpu"))


def plan(
    target: Name = "",
    *,
    want: Names = (),
    keep: Names = (),
    allow_build: bool = False,
    no_hub: bool = False,
    installer: str = "auto",
    verify: bool = False,
    site_packages: Name = "",
    facts: Environment | Name | None = None,
    requirements: Names = (),
    extra: Names = (),
    group: Names = (),
    config: Names = (),
    config_kind: str = "",
    gpu: Names = (),
    driver: str = "",
    glibc: str = "",
    python_version: str = "",
    platform: str = "",
    resolve: bool = False,
    ignore: Names = (),
    rules: Names = (),
) -> PlanResult:
    """Return the smallest change that ends in a working environment; nothing is carried out.

    With `resolve`, uv or pip is asked which releases come; this uses the network.
    """
    from fadoctor.interfaces.commands import run
    from fadoctor.interfaces.commands.plan import PlanRequest
    from fadoctor.interfaces.commands.request import ProgramRequest, names

    what = ProgramRequest(target, site_packages, facts, requirements, extra, group, config,
                          config_kind, gpu, driver, glibc, python_version, platform,
                          resolve)  # fmt: skip
    wanted = PlanRequest(names(want, "want"), names(keep, "keep"), allow_build, installer,
                         names(ignore, "ignore"), verify, no_hub)  # fmt: skip
    return run.plan(what, wanted, rules=rules)


def smoke(
    target: Name = "",
    *,
    dtype: Dtype | str | Sequence[Dtype | str] = (),
    backend: Backend | str | Sequence[Backend | str] = (),
    device: str = "",
    timeout: float = 60.0,
    online: bool = False,
    imports: bool = False,
    thorough: bool = False,
    rules: Names = (),
) -> SmokeResult:
    """Run attention forward and backward under the target's interpreter; takes seconds."""
    from fadoctor.interfaces.commands import run

    return run.smoke(
        target,
        run.SmokeRequest(dtype, backend, device, timeout, online, imports, thorough),
        rules=rules,
    )


def trace(calls: int = 64) -> Trace:
    """Return a context that records the attention calls of its block, at most `calls` of them."""
    from fadoctor.proof.trace.inside import Trace

    return Trace(calls)
