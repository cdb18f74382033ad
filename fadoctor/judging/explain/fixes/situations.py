"""Where the program of a log runs: fixes that cannot be carried out there are left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.foreign import stands
from fadoctor.judging.engine.possible import QUESTION
from fadoctor.judging.explain.fixes.other_pythons import with_own_python
from fadoctor.judging.explain.fixes.own_python import (
    is_of_system,
    own_conda,
    own_folder,
    pip_by_path,
    typed_pip,
    uv_options,
    uv_python,
    whole_pip,
)
from fadoctor.judging.explain.fixes.program_python import program_python
from fadoctor.judging.explain.fixes.working_programs import without_working
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.fact import Known
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.either import either
from fadoctor.syntax.held_words import held_words
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Table
    from fadoctor.syntax.held_words import HeldWords

TABLE = "situations"
PARTS = "situation-parts"

LINES = 800
"""Lines at the beginning and at the end of a log that are searched."""

LINE = 400
"""Characters of a line that are searched."""

_PIP = "pip "
# CMAKE_ARGS="-DGGML_CUDA=on" pip install x: variables that hold for this command alone
_VARIABLES = compiled(r"(?:[A-Z][A-Z_]{1,40}=(?:\"[^\"\n]{0,120}\"|[^\s\"]{1,80}) ){1,3}(?=pip )")
_OF_UV, _YES = "uv pip", "-y "
"""uv asks nothing, and warns of the answer that pip needs."""
# With torch 2.8 and Python 3.12: pip install --no-deps FILE
_IN_WORDS = compiled(r"(?<!-m )(?<!uv )(?<!run )(?<![\w!%/\\.=-])pip ((?:un)?install) (-y )?")
# python -c "import torch" | python3 -m pip show torch
_PYTHON = compiled(r"(?<![\w!%/\\.-])python3? (?=-c |-m pip )")
_MODULE, _OF_A_RUNNER = " -m pip", " run pip"
# uv's environments have no pip of their own: a command that starts it there starts uv instead
_STARTS_PIP = compiled(r"\[sys\.executable, '-m', 'pip', 'install'")
_STARTS_UV = "['uv', 'pip', 'install', '--python', sys.executable"
_APT = "sudo apt install "
_EXPORT = "export "
_RUN = "Run it where"
_BY_CONDA = compiled(r"\b(?:conda|mamba) install\b")
_INSTALLS = compiled(r"\bpip\b|--index-url|--no-build-isolation|\bwheel\b|(?i:install) torch\b")
SENTENCE = compiled(r"(?<=[\w)`\"'][.!?]) {1,2}(?=\S)")
_DRIVER = compiled(r"\bdriver\b(?! of (?:Windows|the host))")
# What a fix makes a new environment for is not installed into that of the program
_ELSEWHERE = compiled(
    r"(?i)\b(?:new|separate|fresh|second|clean)(?: conda| python| virtual)? environment\b"
    r"|environment of (?:its|their) own|\bits own environment\b|\b(?:uv|-m) venv\b|conda create\b"
)


class Situation(msgspec.Struct, frozen=True):
    """One place where programs run."""

    name: str
    never: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    pip: str = ""
    option: str = ""
    """What stands behind the verb of pip here: `--system`."""
    python: str = ""
    """How Python is started here, where pip does not tell."""
    installs: str = ""
    drivers: str = ""
    title: str = ""
    instead: str = ""
    installer: str = ""
    """How a package of the system is installed here."""
    renames: tuple[str, ...] = ()
    """The names of Debian's packages here: `build-essential=gcc-c++`, `-dev=-devel` for an end.

    Without any, they are Debian's own."""
    sets: str = ""
    """The word that sets a variable here, where that is not the shell's."""
    shared: tuple[str, ...] = ()
    """The words of a fix for this place and others at once, such as a marker of systems."""
    leads: bool = False
    """Whether `never` counts in each sentence, and `instead` comes first."""

    def suits(self, fix: Fix) -> bool:
        """Return whether nothing in a fix is impossible here, or the fix is one for this place."""
        if self.leads:
            return self._is_done_here(fix)
        text = _text(fix)
        return self.owns(fix) or not any(stands(word, text) for word in self.never)

    def _is_done_here(self, fix: Fix) -> bool:
        """Return whether commands, title and the sentence that begins are none of other places."""
        whole = _text(fix)
        if any(stands(word, whole) for word in self.shared):
            return True
        runs = [step for step in fix.steps if step.kind is not StepKind.ADVICE]
        texts = [text for step in runs for text in (step.text, step.index, *step.items)]
        if any(stands(word, text) for text in texts for word in self.never):
            return False
        says = [step.text for step in fix.steps if step.kind is StepKind.ADVICE]
        if any(map(self.names, (fix.title, *(SENTENCE.split(text)[0] for text in says[:1])))):
            return True
        all_of_it = fix.id == QUESTION
        begins = says if all_of_it else [SENTENCE.split(text)[0] for text in says[: not runs]]
        return not any(map(self.forbids, (fix.title, *begins)))

    def names(self, text: str) -> bool:
        """Return whether words are about this place."""
        return any(stands(word, text) for word in self.own)

    def forbids(self, sentence: str) -> bool:
        """Return whether a sentence is about what this place lacks."""
        return not self.names(sentence) and any(stands(word, sentence) for word in self.never)

    def cut(self, fix: Fix) -> Fix:
        """Return a fix without the sentences that are about other places, where this one leads."""
        if not self.leads or self.names(fix.title):
            return fix
        steps = [self._cut_step(step) for step in fix.steps]
        kept = tuple(step for step in steps if step.text)
        return fix if kept == fix.steps else msgspec.structs.replace(fix, steps=kept)

    def _cut_step(self, step: Step) -> Step:
        if step.kind is not StepKind.ADVICE or not self.forbids(step.text):
            return step
        left = [each for each in SENTENCE.split(step.text) if not self.forbids(each)]
        return msgspec.structs.replace(step, text=" ".join(left))

    def owns(self, fix: Fix) -> bool:
        """Return whether a fix is one for this place."""
        return self.names(_text(fix))

    def started(self, fix: Fix) -> Fix:
        """Return a fix with pip, the system's installer and variables, as they are written here."""
        if not (self.pip or self.installer or self.sets or self.name == DESKTOP):
            return fix
        away = _elsewhere(fix) if self.name == OWN_PYTHON else len(fix.steps)
        texts = [
            self._written(step) if at < away else step.text for at, step in enumerate(fix.steps)
        ]
        steps = tuple(
            step if text == step.text else msgspec.structs.replace(step, text=text)
            for step, text in zip(fix.steps, texts, strict=True)
        )
        return msgspec.structs.replace(fix, steps=steps)

    def starts_pip(self, step: Step) -> bool:
        """Return whether a step shows how pip is started here, or has this Python start it."""
        by_python = bool(self._python) and step.text.startswith(self._python)
        return bool(self.pip) and (self.pip in step.text or (by_python and "pip" in step.text))

    def _written(self, step: Step) -> str:
        first = _VARIABLES.match(step.text) if step.kind in _STARTED else None
        if first is None or not self.pip or self.pip.startswith("!") or "\\" in self.pip:
            return self._command(step)
        bare = msgspec.structs.replace(step, text=step.text[first.end() :])
        return first[0] + self._command(bare)

    def _command(self, step: Step) -> str:
        if self.pip and step.kind in _STARTED and step.text.startswith(_PIP):
            verb, _, rest = step.text.removeprefix(_PIP).partition(" ")
            rest = rest.removeprefix(_YES) if self._is_uv else rest
            return " ".join(filter(None, (self.pip, verb, self.option, rest)))
        if (self.pip or self.name == DESKTOP) and step.kind is StepKind.ADVICE:
            named = _PYTHON.sub(lambda found: self._python or found[0], self._in_prose(step))
            return _IN_WORDS.sub(self._in_words, named)
        if self._python and step.kind is StepKind.SYSTEM and _PYTHON.match(step.text):
            text = _PYTHON.sub(lambda _: self._python, step.text, count=1)
            return _STARTS_PIP.sub(_STARTS_UV, text) if self.python else text
        if self.installer and step.kind is StepKind.SYSTEM and step.text.startswith(_APT):
            names = [self._renamed(name) for name in step.text.removeprefix(_APT).split()]
            return f"{self.installer} {' '.join(names)}" if all(names) else step.text
        if self.sets and step.kind in _OF_SHELL and step.text.startswith(_EXPORT):
            return f"{self.sets} {step.text.removeprefix(_EXPORT)}"
        return step.text

    def _in_prose(self, step: Step) -> str:
        return with_own_python(step.text, self._python.rstrip() or "python")

    def _in_words(self, found: re.Match[str]) -> str:
        yes = "" if self._is_uv else found[2] or ""
        return f"{self.pip} {found[1]} {yes}" if self.pip else found[0]

    @property
    def _is_uv(self) -> bool:
        return self.pip.endswith(_OF_UV)

    @property
    def _python(self) -> str:
        """Return how Python is started here, with a blank, "" where pip does not tell."""
        if self.pip.startswith("!"):
            return "!python "
        if self.python:
            return f"{self.python} "
        if self.pip.endswith(_OF_A_RUNNER):
            return f"{self.pip.removesuffix('pip')}python "
        return f"{self.pip.removesuffix(_MODULE)} " if self.pip.endswith(_MODULE) else ""

    def _renamed(self, name: str) -> str:
        """Return what a package of Debian is called here, "" where the table does not say."""
        if not self.renames:
            return name
        for each in self.renames:
            theirs, _, ours = each.partition("=")
            if name == theirs:
                return ours
            if theirs.startswith("-") and name.endswith(theirs):
                return name.removesuffix(theirs) + ours
        return ""

    def told(self, fix: Fix) -> str:
        """Return what is to be known here beside a fix, "" where nothing is."""
        text = _text(fix)
        if self.name == OWN_PYTHON and not _elsewhere(fix):
            return ""
        if any(step.kind in _OF_PIP for step in fix.steps) or _INSTALLS.search(text):
            return self.installs
        if self.name == OWN_PYTHON and _BY_CONDA.search(text):
            return self.installs if self.installs.startswith(_RUN) else ""
        return self.drivers if _DRIVER.search(text) else ""


_OF_PIP = (StepKind.INSTALL, StepKind.UNINSTALL)
_STARTED = (*_OF_PIP, StepKind.SYSTEM)
_OF_SHELL = (StepKind.SET, StepKind.SYSTEM)

OWN_PYTHON = "own-python"
"""The place that is no row of the table: a program whose Python a text shows by its path."""

OF_PROGRAM = "program-python"
"""The place that is no row either: a program whose Python its name tells."""

DESKTOP = "comfyui-desktop"
"""The place of the table whose Python is opened from inside: a path in the text is another one."""


def situations(
    lines: Sequence[str], environment: Environment, tables: Mapping[str, Table]
) -> tuple[Situation, ...]:
    """Return the places that a log shows, the first one foremost."""
    table = tables.get(TABLE)
    if table is None:
        return ()
    text = "\n".join(line[:LINE] for line in ends_of(lines, LINES))
    failing = without_working(text)
    held = held_words(failing.casefold())
    system = environment.facts.get("host.os")
    parts = tables[PARTS].rows if PARTS in tables else ()
    shown = tuple(
        _situation(row, text, parts)
        for row in table.rows
        if _shown(row, system, (text, failing), held)
    )
    cut = text.splitlines()
    option = uv_options(cut)
    if option is not None:
        mark = "!" if any(each.pip.startswith("!") for each in shown) else ""
        pip = f"{mark}uv pip"
        told = " ".join(filter(None, (f"Install it as this program does: {pip} install", option)))
        python = "" if mark else uv_python(cut, system)
        here = Situation(OWN_PYTHON, pip=pip, option=option, python=python, installs=f"{told}.")
        return (here, *shown)
    if any(each.pip or each.name == DESKTOP for each in shown):
        whole = (whole_pip(each.pip, cut) for each in shown)
        return tuple(
            msgspec.structs.replace(each, pip=pip) for each, pip in zip(shown, whole, strict=True)
        )
    typed, pip = typed_pip(cut), pip_by_path(cut)
    own = _of_own_pip(pip) if pip else None
    if typed and (own is None or typed.startswith("uv ")):
        own = Situation(OWN_PYTHON, pip=typed, option="--system" if is_of_system(cut) else "")
    if own is None and (active := own_conda(cut)):
        own = Situation(OWN_PYTHON, installs=f"{_RUN} the program runs, after `{active}`.")
    if own is None and (where := own_folder(cut)):
        own = Situation(OWN_PYTHON, installs=where)
    if own is None and (named := program_python(failing, system, tables)):
        own = Situation(OF_PROGRAM, pip=named.pip, installs=named.told)
    return (*shown, own) if own is not None else shown


def suiting(fixes: Iterable[Fix], here: Collection[Situation]) -> tuple[Fix, ...]:
    """Return the fixes that can be carried out in all places, as it is done there.

    Where none or only a question is left, one place says first what helps there. A cause without
    fixes has none afterwards.
    """
    offered = tuple(fixes)
    left = tuple(fix for fix in offered if all(each.suits(fix) for each in here))
    placed = tuple(_placed(fix, here) for fix in left)
    lead = next((each for each in here if each.leads), None)
    if lead is not None:
        return _led(lead, offered, tuple(map(lead.cut, placed)))
    if not offered or (left and (left[0].id != QUESTION or len(left) == len(offered))):
        return placed
    said = next((each for each in here if each.instead and not all(map(each.suits, offered))), None)
    return (_instead(said), *placed) if said is not None else placed or offered


def _led(lead: Situation, offered: Sequence[Fix], left: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """Return what is done in a place that leads: its own words, where the first fix is not."""
    if not offered or (lead.suits(offered[0]) and left):
        return left
    if left and lead.names(left[0].title):
        return left
    return (_instead(lead), *(fix for fix in left if fix.id != QUESTION))


def _of_own_pip(pip: str) -> Situation:
    return Situation(OWN_PYTHON, pip=pip, installs=f"pip of this program: {pip}.")


def _placed(fix: Fix, here: Collection[Situation]) -> Fix:
    """Return a fix with what is to be known beside it in the first of some places."""
    for each in here:
        fix = each.started(fix)
    named = next((each.told(fix) for each in here if each.name == OF_PROGRAM), "")
    if not named and any(each.owns(fix) for each in here):
        return fix
    shown = next((each.told(fix) for each in here if each.name == OWN_PYTHON), "")
    if shown and any(each.starts_pip(step) for each in here for step in fix.steps):
        return fix
    told = shown or named or next(filter(None, (each.told(fix) for each in here)), "")
    steps = (*fix.steps, Step(StepKind.ADVICE, told)) if told else fix.steps
    return msgspec.structs.replace(fix, steps=steps)


def _elsewhere(fix: Fix) -> int:
    """Return at which step a fix begins to work in a new environment; all its steps for none."""
    if _ELSEWHERE.search(fix.title):
        return 0
    places = (at for at, step in enumerate(fix.steps) if _ELSEWHERE.search(step.text))
    return next(places, len(fix.steps))


def _instead(here: Situation) -> Fix:
    step = Step(StepKind.ADVICE, here.instead)
    return Fix(f"instead-{here.name}", here.title, Safety.SAFE, (step,))


def _shown(row: Row, system: object, texts: tuple[str, str], held: HeldWords) -> bool:
    whole, failing = texts
    if isinstance(system, Known) and system.value == row.get("system"):
        return True
    only = row.get("os")
    if isinstance(only, str) and isinstance(system, Known) and system.value != only:
        return False
    if not any(held[word] for word in cell_words(row.get("anchors"))):
        return False
    unless = row.get("unless")
    if isinstance(unless, str) and either(unless).stands(whole):
        return False
    return either(str(row["shows"]), re.MULTILINE).stands(failing)


def _situation(row: Row, text: str, parts: Sequence[Row]) -> Situation:
    own = (each for each in parts if each["situation"] == row["situation"])
    part = next((each for each in own if compiled(str(each["words"])).search(text)), None)
    if part is not None:
        row = {**row, "title": part["title"], "instead": part["instead"]}
    texts = ("pip", "installs", "drivers", "title", "instead", "installer", "sets")
    return Situation(
        str(row["situation"]),
        tuple(cell_words(row.get("never"))),
        tuple(cell_words(row.get("own"))),
        shared=tuple(cell_words(row.get("shared"))),
        leads=row.get("leads") is True,
        renames=tuple(cell_words(row.get("renames"))),
        **{name: str(row[name]) for name in texts if isinstance(row.get(name), str)},
    )


def _text(fix: Fix) -> str:
    return "\n".join((fix.title, *(f"{step.text} {step.index}" for step in fix.steps)))
