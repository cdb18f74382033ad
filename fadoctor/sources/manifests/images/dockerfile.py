"""A ``Dockerfile``: what the image that it builds holds, as far as its text says so."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.fact import printable
from fadoctor.model.typed import decode
from fadoctor.sources.manifests.commands.docker_installs import Installs, shared_by
from fadoctor.sources.manifests.commands.install_options import is_installer
from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.images.container_image import read_image
from fadoctor.sources.manifests.images.image_facts import IN_IMAGE
from fadoctor.sources.manifests.images.planned_stage import STAGE_LIMIT, Stage
from fadoctor.sources.manifests.images.system_python import OTHERS, asked_python, default_python
from fadoctor.sources.manifests.planned import Setting, open_image, unseen_image
from fadoctor.sources.probes.metadata import clean_url
from fadoctor.syntax.dockerfile import Instruction, read_instructions
from fadoctor.syntax.loose_words import pairs, read_words
from fadoctor.syntax.shell_filled_words import FilledWord

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.model.errors import InputError
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source
    from fadoctor.syntax.dockerfile import Text

KIND = "Dockerfile"
_NAME = re.compile(
    r"(?:Dockerfile|Containerfile)(?:[._-](?![\w.-]{0,80}\b(?:txt|in|md|toml|lock|ya?ml|json|py)$)[\w.-]{1,100})?"
    r"|.{1,100}\.[Dd]ockerfile"
)
_FROM = re.compile(r"^\s{0,20}FROM\s{1,20}\S", re.MULTILINE | re.IGNORECASE)
_OPTION = re.compile(r"--[a-z]{1,30}(?:=(?:\"[^\"]{0,500}\"|\S{0,500}))?\s{0,200}")
_ENVIRONMENT = re.compile(
    r"venv|virtualenv|site-packages|dist-packages|/conda|/usr/local(?:/lib|/?$)|\.local|/install|/env"
)
_OF_BUILDKIT = frozenset((
    "TARGETPLATFORM", "TARGETOS", "TARGETARCH", "TARGETVARIANT", "BUILDPLATFORM", "BUILDOS",
    "BUILDARCH", "BUILDVARIANT",
))  # fmt: skip
_INDEXES = (
    "PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX", "PIP_INDEX_URL", "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
)  # fmt: skip
"""Variables that name indexes, those that are added to another first."""

# apt-get install cuda-nvcc-12-4, conda env create, ./install.sh, cuda_12.4.1_linux.run
_MAY_BRING_NVCC = re.compile(
    r"(?i)cuda|nvcc|nvhpc|conda|mamba|pixi|spack|nix\b|\.(?:sh|run|deb)\b|\b(?:bash|sh)\s"
)
_ADDRESS = re.compile(r"https?://[^\s'\"]{1,2000}\.whl|https?://[\w.]{1,100}/whl/\w{1,20}")

# $NAME, *.txt, https://...
_OPEN = re.compile(r"[$*?\[]|://")

_STARTS = ("ENTRYPOINT", "CMD")
"""What a container begins with, in this order; the last of each counts."""

_BUILDS_NOTHING = "FLASH_ATTENTION_SKIP_CUDA_BUILD"
"""With it flash-attn's setup needs no nvcc, and compiles nothing."""
_VALUE_LIMIT = 10_000
"""Longest value of a variable that is followed, in characters."""


def recognises(name: str, head: str) -> bool:
    """Say whether a file is one, by its name, or by what it begins with."""
    return _NAME.fullmatch(name) is not None and (not head or _may_begin(head))


def _may_begin(head: str) -> bool:
    first = next((each for each in map(str.strip, head.split("\n")) if each and each[0] != "#"), "")
    return first == "" or first.split()[0].upper() in {"FROM", "ARG"}


def read(source: Source) -> Manifest:
    """Return what the last stage holds."""
    return _Build(source).manifest()


def read_built(source: Source, target: str, arguments: Mapping[str, str | None]) -> Manifest:
    """Return what a stage holds that is built with some arguments; "" names the last stage."""
    return _Build(source, target, arguments).manifest()


def _forget_cuda(stage: Stage) -> None:
    """Forget the CUDA of a torch that another one was installed over."""
    said = stage.facts.get("torch.cuda")
    torch = stage.packages.get("torch", [])
    if said and not any(each.manager or each.place == said.place for each in torch):
        del stage.facts["torch.cuda"]


class _Build:
    """Follows the instructions."""

    def __init__(
        self, source: Source, target: str = "", given: Mapping[str, str | None] | None = None
    ) -> None:
        self.source, self.target, self.given = source, target.lower(), dict(given or {})
        self.tables = load_knowledge().tables
        self.instructions = list(read_instructions(source))
        self.shared = shared_by(source, self.tables, _copied(self.instructions))
        self.arguments: dict[str, str | None] = {}
        self.stages: dict[str, Stage] = {}
        self.stage: Stage | None = None
        self.count = 0

    def manifest(self) -> Manifest:
        for each in self.instructions:
            self.instruction(each)
        if self.stage is None:
            raise self.source.error("no FROM: this is no Dockerfile that builds anything", line=1)
        if self.target not in ("", *self.stages):
            raise self.source.error(f"no stage {printable(self.target, 60)}", line=1)
        stage = self.stages[self.target] if self.target else self.stage
        for keyword in _STARTS:  # what a start installs is there when the program runs
            if keyword in stage.starts:
                self.script(stage.starts[keyword], stage)
        draft = Draft(self.source, KIND)
        draft.is_in_steps = True
        draft.requirements = [each for asked in stage.packages.values() for each in asked]
        draft.constraints = stage.constraints
        draft.indexes = [*stage.indexes, *self.indexes(stage)]
        draft.python, draft.image = stage.python, stage.image
        draft.variables, draft.facts = stage.settings, stage.facts
        draft.refused, draft.later, draft.early = stage.refused, stage.later, stage.early
        draft.steps = stage.steps
        _forget_cuda(stage)
        for line, text in stage.notes:
            draft.note(line, text)
        return draft.manifest()

    def indexes(self, stage: Stage) -> list[Setting]:
        found = []
        for name in _INDEXES:
            setting = stage.settings.get(name)
            if setting is not None:
                urls = setting.value.split()
                found += [Setting(clean_url(url), setting.place) for url in urls]
        return found

    def instruction(self, each: Instruction) -> None:
        if each.keyword == "FROM":
            self.begin(each)
        elif each.keyword == "ARG":
            self.argument(each)
        elif self.stage is None:
            raise self.source.error(
                "found before the first FROM", line=each.place.line, key=each.keyword
            )
        elif each.keyword == "ENV":
            self.environment(each, self.stage)
        elif each.keyword == "RUN":
            self.script(each, self.stage)
        elif each.keyword in {"COPY", "ADD"}:
            self.copy(each, self.stage)
        elif each.keyword == "WORKDIR":
            self.workdir(each, self.stage)
        elif each.keyword in _STARTS:
            self.stage.starts[each.keyword] = each
        elif each.keyword not in _OTHERS:
            shown = each.text.text.strip()[:80]
            self.stage.note(each.place.line, f"no instruction of a Dockerfile: {shown}")

    def error(self, each: Instruction, problem: str) -> InputError:
        return self.source.error(problem, line=each.place.line, key=each.keyword)

    def words(self, each: Instruction, variables: dict[str, str | None]) -> list[FilledWord]:
        """Return the arguments as words, variables filled in."""
        return read_words(each.text.text, variables, each.start)

    def begin(self, each: Instruction) -> None:
        """Begin a stage: on an image, or on another stage."""
        words = [w for w in self.words(each, self.arguments) if not w.text.startswith("--")]
        if not words or (len(words) > 1 and (len(words) != 3 or words[1].text.lower() != "as")):
            raise self.error(each, "not as FROM is written")
        if self.count >= STAGE_LIMIT:
            raise self.error(each, f"more than {STAGE_LIMIT} stages")
        base, place = words[0], each.text.place(words[0].at)
        parent = self.stages.get(base.text.lower())
        if parent is not None:
            stage = parent.on_top()
        else:
            stage = Stage()
            stage.workdir = "/"
            stage.image = Setting(base.text, place)
            said = read_image(base.text, place, self.tables)
            stage.install(said.requirements)
            stage.facts, stage.python = dict(said.facts), said.python
            stage.system = said.system
            if said.has_nvcc is False:
                stage.facts[IN_IMAGE] = Setting("no nvcc", place)
            if base.is_open:
                stage.note(place.line, open_image(base.text[:160]))
            elif not said.is_known and base.text != "scratch":
                stage.note(place.line, unseen_image(base.text[:160]))
        self.stage = stage
        self.stages[str(self.count)] = stage
        if len(words) == 3:
            self.stages[words[2].text.lower()] = stage
        self.count += 1

    def argument(self, each: Instruction) -> None:
        """Take arguments with their defaults; one without is given by whoever builds."""
        known = self.stage.variables if self.stage else self.arguments
        for word in self.words(each, known):
            name, equals, said = word.text.partition("=")
            value = said if equals and not word.is_open and len(said) <= _VALUE_LIMIT else None
            if not equals and self.stage is not None:
                value = self.arguments.get(name)
            elif name in self.given:
                value = self.given[name]
            known[name] = None if name in _OF_BUILDKIT else value

    def environment(self, each: Instruction, stage: Stage) -> None:
        found = pairs(self.words(each, dict(stage.variables)))
        if found is None:
            raise self.error(each, "not as ENV is written")
        for name, word in found:
            is_known = not word.is_open and len(word.text) <= _VALUE_LIMIT
            stage.variables[name] = word.text if is_known else None
            if name == _BUILDS_NOTHING:
                stage.facts.pop(IN_IMAGE, None)
            if is_known:
                value = clean_url(word.text) if "://" in word.text else word.text
                stage.settings[name] = Setting(value, each.text.place(word.at))
            else:
                stage.settings.pop(name, None)

    def workdir(self, each: Instruction, stage: Stage) -> None:
        """Change the folder in which commands begin."""
        words = self.words(each, dict(stage.variables))
        if len(words) == 1 and not words[0].is_open:
            stage.workdir = posixpath.join(stage.workdir or "/", words[0].text)

    def script(self, each: Instruction, stage: Stage) -> None:
        """Follow the commands of a RUN."""
        text, start = each.text.text, each.start
        if stage.python is None and not OTHERS.search(self.source.text):
            python = asked_python(text, default_python(stage.system, self.tables))
            stage.python = Setting(f"=={python}.*", each.place) if python else None
        if _MAY_BRING_NVCC.search(_ADDRESS.sub("", text)):
            stage.facts.pop(IN_IMAGE, None)
        while text[start : start + 1].isspace():
            start += 1
        while option := _OPTION.match(text, start):
            start = option.end()
        if each.heredocs and each.script is not None:
            self.heredocs(each, each.script, stage, start)
            return
        installs = Installs(self.shared, stage, each.text)
        if text[start : start + 1] != "[":
            installs.run(text, start)
            return
        try:
            words = decode(text[start:].strip(), list[str])
        except msgspec.DecodeError:
            installs.run(text, start)  # Docker takes what is no JSON for shell, too
            return
        if words:
            installs.run_words([FilledWord(word, start) for word in words])

    def heredocs(self, each: Instruction, script: Text, stage: Stage, start: int) -> None:
        """Follow a RUN with here-documents; what feeds another program than a shell is not."""
        installs = Installs(self.shared, stage, script)
        if script.text.startswith("<<", start) and installs.run(script.text, start) == 0:
            for body in each.heredocs:  # no command: Docker gives them to a shell
                Installs(self.shared, stage, body).run(body.text)
            return
        if not script.text.startswith("<<", start):
            installs.run(script.text, start)
        if any(is_installer(body.text) for body in each.heredocs) and not installs.has_shell:
            stage.note(each.place.line, f"not followed: {each.text.text[start:][:120]}")

    def copy(self, each: Instruction, stage: Stage) -> None:
        """Remember what is copied from beside, and what another stage brings."""
        text = each.text.text[each.start :]
        origin = re.search(r"--from=(\S{1,200})", text)
        words = [w for w in self.words(each, dict(stage.variables)) if not w.text.startswith("--")]
        if origin is None:
            for word in words[:-1]:
                if not word.is_open and "*" not in word.text:
                    _take_along(stage, word.text, words[-1].text, is_alone=len(words) == 2)
            return
        stage.facts.pop(IN_IMAGE, None)  # a toolkit may be among the files
        other = self.stages.get(origin[1].lower())
        if other is None or other is stage:
            return
        if any(_ENVIRONMENT.search(word.text) for word in words):
            stage.copy_from(other)
            stage.indexes += [*other.indexes, *self.indexes(other)]  # where its packages came from
        elif other.packages:
            stage.note(
                each.place.line, f"files copied from {origin[1]} are not treated as packages"
            )


def _copied(instructions: Iterable[Instruction]) -> list[str]:
    """Return the paths that are copied from the build context and need no value."""
    found = []
    for each in instructions:
        text = each.text.text[each.start :]
        if each.keyword in {"COPY", "ADD"} and "--from=" not in text:
            words = [w.text for w in read_words(text, {}, 0) if not w.text.startswith("--")]
            found += [w.removeprefix("/") for w in words[:-1] if not _OPEN.search(w)]
    return found


def _take_along(stage: Stage, source: str, to: str, *, is_alone: bool) -> None:
    """Remember what is copied where; whether it is a folder the text does not say."""
    source = source.removeprefix("/")
    name = posixpath.basename(source)
    stage.copied[name] = source
    there = posixpath.join(stage.workdir or "/", to)
    stage.folders.setdefault(posixpath.normpath(posixpath.join(there, name)), source)
    is_renamed = is_alone and not to.endswith("/")
    if is_renamed or posixpath.normpath(source) == "." or name == "":
        stage.folders[posixpath.normpath(there)] = source
    elif "." not in name:  # a folder: what is in it is copied, not itself
        stage.folders.setdefault(posixpath.normpath(there), source)


_OTHERS = frozenset((
    "LABEL", "MAINTAINER", "EXPOSE", "VOLUME", "USER", "STOPSIGNAL", "HEALTHCHECK",
    "SHELL", "ONBUILD",
))  # fmt: skip
