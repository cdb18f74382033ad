"""A ``Dockerfile``: what the image that it builds holds, as far as its text says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.typed import decode
from fadoctor.sources.manifests.container_image import read_image
from fadoctor.sources.manifests.docker_installs import Installs, shared_by
from fadoctor.sources.manifests.docker_text import Instruction, read_instructions
from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.planned import Setting, open_image, unseen_image
from fadoctor.sources.manifests.planned_stage import STAGE_LIMIT, Stage
from fadoctor.sources.manifests.shell_words import Word, assignment, read_commands
from fadoctor.sources.probes.metadata import clean_url

if TYPE_CHECKING:
    from fadoctor.model.errors import InputError
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source

KIND = "Dockerfile"
_NAME = re.compile(
    r"(?:Dockerfile|Containerfile)(?:\.(?!txt|in|md|toml|lock|ya?ml|json|py)[\w.-]{1,100})?|.{1,100}\.[Dd]ockerfile"
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

_VALUE_LIMIT = 10_000
"""Longest value of a variable that is followed, in characters."""

_SHELLS = re.compile(r"(?:/bin/|/usr/bin/)?(?:ba|da|z)?sh\b(?!\s+-c).{0,100}|\s*")


def recognises(name: str, head: str) -> bool:
    """Say whether a file is one, by its name, or by what it begins with."""
    return _NAME.fullmatch(name) is not None and (not head or _may_begin(head))


def _may_begin(head: str) -> bool:
    first = next((each for each in map(str.strip, head.split("\n")) if each and each[0] != "#"), "")
    return first == "" or first.split()[0].upper() in {"FROM", "ARG"}


def read(source: Source) -> Manifest:
    """Return what the last stage holds."""
    return _Build(source).manifest()


def _forget_cuda(stage: Stage) -> None:
    """Forget the CUDA of a torch that another one was installed over."""
    said = stage.facts.get("torch.cuda")
    torch = stage.packages.get("torch", [])
    if said and not any(each.manager or each.place == said.place for each in torch):
        del stage.facts["torch.cuda"]


class _Build:
    """Follows the instructions."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tables = load_knowledge().tables
        self.shared = shared_by(source, self.tables)
        self.arguments: dict[str, str | None] = {}
        self.stages: dict[str, Stage] = {}
        self.stage: Stage | None = None
        self.count = 0

    def manifest(self) -> Manifest:
        for each in read_instructions(self.source):
            self.instruction(each)
        if self.stage is None:
            raise self.source.error("no FROM: this is no Dockerfile that builds anything", line=1)
        stage, draft = self.stage, Draft(self.source, KIND)
        draft.is_in_steps = True
        draft.requirements = [each for asked in stage.packages.values() for each in asked]
        draft.constraints = stage.constraints
        draft.indexes = [*stage.indexes, *self.indexes(stage)]
        draft.python, draft.image = stage.python, stage.image
        draft.variables, draft.facts = stage.settings, stage.facts
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
                "stands before the first FROM", line=each.place.line, key=each.keyword
            )
        elif each.keyword == "ENV":
            self.environment(each, self.stage)
        elif each.keyword == "RUN":
            self.script(each, self.stage)
        elif each.keyword in {"COPY", "ADD"}:
            self.copy(each, self.stage)
        elif each.keyword not in _OTHERS:
            raise self.source.error(
                "no instruction of a Dockerfile", line=each.place.line, key=each.keyword
            )

    def error(self, each: Instruction, problem: str) -> InputError:
        return self.source.error(problem, line=each.place.line, key=each.keyword)

    def words(self, each: Instruction, variables: dict[str, str | None]) -> list[Word]:
        """Return the arguments as words, variables filled in."""
        commands = read_commands(each.text.text, variables, each.start)
        return [word for command in commands for word in command.words]

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
            stage.image = Setting(base.text, place)
            said = read_image(base.text, place, self.tables)
            stage.install(said.requirements)
            stage.facts, stage.python = dict(said.facts), said.python
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
            found = assignment(word)
            name = found[0] if found else word.text
            value = found[1] if found and not word.is_open else None
            value = None if value is None or len(value) > _VALUE_LIMIT else value
            if found is None and self.stage is not None:
                value = self.arguments.get(name)
            known[name] = None if name in _OF_BUILDKIT else value

    def environment(self, each: Instruction, stage: Stage) -> None:
        words = self.words(each, dict(stage.variables))
        pairs = [(assignment(word), word) for word in words]
        if words and pairs[0][0] is None:  # ENV NAME all the rest
            rest = " ".join(word.text for word in words[1:])
            is_open = any(word.is_open for word in words)
            pairs = [((words[0].text, rest), msgspec.structs.replace(words[0], is_open=is_open))]
        for pair, word in pairs:
            if pair is None:
                raise self.error(each, "not as ENV is written")
            is_known = not word.is_open and len(pair[1]) <= _VALUE_LIMIT
            stage.variables[pair[0]] = pair[1] if is_known else None
            if is_known:
                value = clean_url(pair[1]) if "://" in pair[1] else pair[1]
                stage.settings[pair[0]] = Setting(value, each.text.place(word.at))
            else:
                stage.settings.pop(pair[0], None)

    def script(self, each: Instruction, stage: Stage) -> None:
        """Follow the commands of a RUN."""
        text, start = each.text.text, each.start
        while text[start : start + 1].isspace():
            start += 1
        while option := _OPTION.match(text, start):
            start = option.end()
        if each.heredocs:
            self.heredocs(each, stage, text[start:])
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
            installs.run_words([Word(word, start) for word in words])

    def heredocs(self, each: Instruction, stage: Stage, command: str) -> None:
        """Follow a here-document that is a shell script; what feeds another program is not."""
        head = re.sub(r"<<-?\s{0,9}[\"']?\w{1,60}[\"']?", " ", command)
        if not _SHELLS.fullmatch(head.strip()):
            stage.note(each.place.line, f"not followed: {command[:120]}")
            return
        for body in each.heredocs:
            Installs(self.shared, stage, body).run(body.text)

    def copy(self, each: Instruction, stage: Stage) -> None:
        """Remember what is copied from beside, and what another stage brings."""
        text = each.text.text[each.start :]
        origin = re.search(r"--from=(\S{1,200})", text)
        words = [w for w in self.words(each, dict(stage.variables)) if not w.text.startswith("--")]
        if origin is None:
            for word in words[:-1]:
                if not word.is_open and "*" not in word.text:
                    stage.copied[word.text.rpartition("/")[2]] = word.text.removeprefix("/")
            return
        other = self.stages.get(origin[1].lower())
        if other is None or other is stage:
            return
        if any(_ENVIRONMENT.search(word.text) for word in words):
            stage.copy_from(other)
        elif other.packages:
            stage.note(each.place.line, f"what is copied from {origin[1]} is taken for no package")


_OTHERS = frozenset((
    "LABEL", "MAINTAINER", "EXPOSE", "VOLUME", "USER", "WORKDIR", "STOPSIGNAL", "HEALTHCHECK",
    "SHELL", "ONBUILD", "CMD", "ENTRYPOINT",
))  # fmt: skip
