"""The fixes of a finding that a person with this log can carry out."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fadoctor.judging.engine.fixes import begun
from fadoctor.judging.explain.fixes.before_it_runs import with_what_is_needed
from fadoctor.judging.explain.fixes.companions import are_absent, are_used, with_companions
from fadoctor.judging.explain.fixes.fetched_elsewhere import CAUSE as UNREACHED
from fadoctor.judging.explain.fixes.fetched_elsewhere import fetched_elsewhere
from fadoctor.judging.explain.fixes.given_settings import GivenSettings
from fadoctor.judging.explain.fixes.index_for_gpu import for_this_gpu
from fadoctor.judging.explain.fixes.missing_on_arm import without_missing
from fadoctor.judging.explain.fixes.newer_torch import with_breaks
from fadoctor.judging.explain.fixes.nightly_torch import on_a_release
from fadoctor.judging.explain.fixes.older_glibc import TOO_NEW, for_older_glibc
from fadoctor.judging.explain.fixes.own_program import OwnProgram
from fadoctor.judging.explain.fixes.own_system import for_linux
from fadoctor.judging.explain.fixes.shells import for_cmd, for_either, is_cmd, is_powershell
from fadoctor.judging.explain.fixes.situations import situations, suiting
from fadoctor.judging.explain.fixes.told_sizes import with_told_sizes
from fadoctor.judging.explain.fixes.torch_for_python import for_this_python
from fadoctor.judging.explain.fixes.useless_fixes import IN_VAIN, without_vain
from fadoctor.judging.explain.fixes.uv_project import SITUATION, as_uv_adds
from fadoctor.judging.explain.fixes.vendor import NVIDIA, Vendor
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Absent, Fact, Known, fact_text
from fadoctor.model.fix import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fadoctor.judging.engine.scope import Scope
    from fadoctor.judging.explain.fixes.situations import Situation
    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.cleaning import Line

TELLING = frozenset({"CUDA_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "NCCL_DEBUG"})
"""Variables that make a run say more, and repair nothing."""

BUILDS = "build"
"""The area of rules about builds that fail: a file that is built already helps most."""

OTHERS_FIXES = "Fixes for other vendors' GPUs than the one in the log are left out."


class FixSelection:
    """Whose GPU a log is about, and where its program runs; what was left out, as `notes`."""

    def __init__(
        self, lines: Sequence[Line], knowledge: Knowledge, said: Environment | None
    ) -> None:
        """`said`: what the log says of its environment; None where another one is named."""
        self._knowledge = knowledge
        self._lines = lines
        self._said = said
        self.notes: list[str] = []

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(line.text for line in self._lines)

    @cached_property
    def _given(self) -> GivenSettings:
        return GivenSettings(self._texts)

    @cached_property
    def _vendor(self) -> Vendor:
        return Vendor(self._lines, self._knowledge, self._said)

    def vendor(self) -> Fact:
        """Return whose GPU the log is about; Absent where it tells of none, or of several."""
        name = self._vendor.name
        return Known(name, "the log") if name else Absent("the log tells of no one vendor's GPU")

    @cached_property
    def _here(self) -> tuple[Situation, ...]:
        if self._said is None:
            return ()
        return situations(self._texts, self._said, self._knowledge.tables)

    @cached_property
    def _are_companions_used(self) -> bool:
        """Whether torch comes with its companions, as PyTorch's own page installs it."""
        texts = self._texts
        return self._said is not None and (are_used(texts) or not are_absent(texts))

    @cached_property
    def _in_shell(self) -> Callable[[Fix], Fix]:
        if self._said is None or is_powershell(self._texts):
            return _as_it_is
        return for_cmd if is_cmd(self._texts) else for_either

    def select(self, fixes: tuple[Fix, ...], scope: Scope) -> tuple[Fix, ...]:
        """Return the fixes that are for this GPU and this place, the first of which begins."""
        asked = map(self._vendor.asking, _by_use(fixes))
        own = begun(fix for fix in asked if self._vendor.suits(fix))
        if len(own) < len(fixes):
            self._note(OTHERS_FIXES)
            own = own or self._vendor.instead()
        useful = without_vain(own, scope, self._knowledge, self._texts)
        if useful is not own:
            self._note(IN_VAIN)
        if self._said is not None:
            useful = without_missing(useful, scope, self._texts)
        named = self._with_files(useful, scope)
        if self._said is not None:
            named = on_a_release(named, scope)
        whole = self._vendor.asked(_file_first(named) if scope.rule.area == BUILDS else named)
        loadable = for_older_glibc(whole, scope, self._knowledge, self._texts)
        if loadable is not whole:
            self._note(TOO_NEW.format(fact_text(scope.environment.fact("host.glibc"), "older")))
        used = self._are_companions_used
        whole = tuple(
            with_companions(fix, scope.matrix, used=used, labelled=self._is_labelled(fix))
            for fix in loadable
        )
        if any(each.name == SITUATION for each in self._here):
            whole = tuple(as_uv_adds(fix, scope.matrix) for fix in whole)
        is_for_cuda = self._vendor.may_be_nvidia
        whole = with_what_is_needed(whole, scope, self._texts, cuda=is_for_cuda)
        whole = for_this_gpu(for_this_python(whole, scope, self._texts), scope)
        whole = with_breaks(whole, self._texts, self._knowledge.tables)
        if self._said is not None:
            whole = tuple(map(OwnProgram(scope, self._texts).advised, whole))
            whole = for_linux(whole, self._said, self._texts)
            whole = self._given.told(with_told_sizes(whole, self._texts))
        here = suiting(whole, self._here)
        return begun(map(self._in_shell, here))

    def _is_labelled(self, fix: Fix) -> bool:
        """Return whether companions need torch's label: on Windows, and of the same release.

        pip keeps those of that release that were built for another CUDA.
        """
        if self._said is None or self._said.is_windows:
            return self._said is not None
        here = version_part(fact_text(self._said.fact("torch.version"), ""), "base")
        return any(item.startswith(f"torch=={here}+") for step in fix.steps for item in step.items)

    def _with_files(self, fixes: tuple[Fix, ...], scope: Scope) -> tuple[Fix, ...]:
        """Return fixes with the prebuilt files that they tell to choose, where a text decides."""
        chosen = {fix.id: fix.wheel for fix in scope.rule.fixes if fix.wheel}
        if self._said is None or not any(fix.id in chosen for fix in fixes):
            return fixes
        if self._vendor.name not in ("", NVIDIA):
            return fixes
        # Late: most fixes name no file, and the tables of files are large.
        from fadoctor.judging.explain.fixes.wheel_files import WheelFiles  # noqa: PLC0415

        files = WheelFiles(scope, self._texts)
        named = [files.named(fix, chosen.get(fix.id, "")) for fix in fixes]
        if scope.rule.id == UNREACHED:
            named = [fetched_elsewhere(*each) for each in zip(fixes, named, strict=True)]
        says = ["\n".join(step.text for step in fix.steps) for fix in named]
        return tuple(fix for at, fix in enumerate(named) if not _is_said(fix, says[:at]))

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _is_said(fix: Fix, before: Sequence[str]) -> bool:
    """Return whether fixes before this one say the same, or install the same file."""
    text = "\n".join(step.text for step in fix.steps)
    files = [item for step in fix.steps for item in step.items if item.startswith("https:")]
    return text in before or any(file in each for each in before for file in files)


def _file_first(fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """Return fixes of a build with the one foremost that installs its file instead.

    One that installs something else stays foremost.
    """
    if any(step.kind is StepKind.INSTALL for fix in fixes[:1] for step in fix.steps):
        return fixes
    return tuple(sorted(fixes, key=lambda fix: not _installs_one_file(fix)))


def _installs_one_file(fix: Fix) -> bool:
    items = [item for step in fix.steps for item in step.items]
    return len(items) == 1 and items[0].startswith("https:") and items[0].endswith(".whl")


def _by_use(fixes: Iterable[Fix]) -> list[Fix]:
    """Return fixes with those last that repair nothing: they make the next run say more."""
    return sorted(fixes, key=_only_tells)


def _only_tells(fix: Fix) -> bool:
    does = [step for step in fix.steps if step.kind is not StepKind.ADVICE]
    return bool(does) and all(
        step.kind is StepKind.SET and all(item.partition("=")[0] in TELLING for item in step.items)
        for step in does
    )


def _as_it_is(fix: Fix) -> Fix:
    return fix
