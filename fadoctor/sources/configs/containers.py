"""Commands in YAML: compose, Kubernetes, Helm values, SkyPilot, workflows; one walk for all.

Any mapping may hold a command: command, args, entrypoint, run, script. Its image says whose
arguments they are where the command names no program.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.sources.configs import settings
from fadoctor.sources.configs.given_commands import (
    ConfigCommand,
    ConfigWord,
    Variables,
    text_commands,
    word_commands,
    words_of,
)
from fadoctor.sources.configs.kinds import LMDEPLOY, SGLANG, VLLM
from fadoctor.sources.configs.launches import OPTIONS, find_launch, of_image
from fadoctor.sources.configs.shell import configuration_of
from fadoctor.sources.configs.variables import is_asked
from fadoctor.sources.configs.words import Said
from fadoctor.syntax.hcl_tree import SUFFIXES
from fadoctor.syntax.tree import Node
from fadoctor.syntax.yaml_documents import first_line, read_documents, read_embedded
from fadoctor.syntax.yaml_walk import descend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.configs.intent import Configuration, Intent
    from fadoctor.sources.configs.source import Source

KIND = "container"
_YAML = (".yaml", ".yml")
_SCRIPTS = (
    "setup", "run", "script", "scripts", "before_script", "bash", "cmd", "commands", "runcmd",
    "user_data", "startup_script", "metadata_startup_script",
)  # fmt: skip
"""Keys whose text is a script of the shell."""
_STARTS = ("entrypoint", "command", "args", "extraargs", "extra_args", "arguments")
"""Keys that make one command, in this order."""
_IMAGES = ("image", "repository", "image_id", "dockerimage", "docker")
_ENGINES = {
    VLLM: "vllm/vllm-openai", SGLANG: "lmsysorg/sglang",
    "tgi": "huggingface/text-generation-inference",
    "huggingface": "huggingface/text-generation-inference",
    "text-generation-inference": "huggingface/text-generation-inference",
    LMDEPLOY: "openmmlab/lmdeploy",
}  # fmt: skip
"""What a resource calls its engine, in lower case -> the image that takes its arguments."""
_ENVIRONMENT = ("environment", "env", "envs", "extraenv", "variables")
_SHELLS = ("sh", "bash", "zsh", "dash")


class _Held(NamedTuple):
    """What the mappings above have said."""

    image: str = ""
    variables: Variables = ()


def recognises(source: Source) -> bool:
    """Return whether it is YAML, and a command in it starts something that is known."""
    if not source.base.endswith((*_YAML, ".json", *SUFFIXES)):
        return False
    if not source.base.endswith(SUFFIXES) and source.document() is None:
        return False
    if any(find_launch(each.words) is not None for each in _commands(source)):
        return True
    return any(settings.say(Said(source), each) for each in _embedded(source))


def read(source: Source) -> Configuration:
    """Return what its commands ask for, and the keys beside them that mean the same everywhere."""
    found = configuration_of(source, list(_commands(source)), are_apart=True)
    said = Said(source)
    for document in (*_documents(source), *_embedded(source)):
        settings.say(said, document)
    intents = (*found.intents, *_unsaid(found, said))
    image = " and ".join(sorted(_images(source)))
    return msgspec.structs.replace(found, kind=KIND, intents=intents, image=image)


def _images(source: Source) -> set[str]:
    """Return the images of the programs that are started; all of the file where none names one."""
    started = {
        image for command, image in _with_images(source) if find_launch(command.words) is not None
    }
    if started - {""}:
        return started - {""}
    named = (each for document in _documents(source) for each in settings.entries(document))
    return {
        str(node.scalar)
        for path, node in named
        if path[-1] in _IMAGES and isinstance(node.scalar, str) and node.scalar
    }


def _unsaid(found: Configuration, said: Said) -> list[Intent]:
    """Return what the keys say and no command does."""
    names = {each.name for each in found.intents if each.written}
    return [each for each in said.intents if each.name not in names]


def _documents(source: Source) -> Iterator[Node]:
    """Yield the documents of a file, each with its lines as they are in the file."""
    if source.base.endswith(".json"):
        if (only := source.document()) is not None:
            yield only
        return
    yield from read_documents(source)


def _embedded(source: Source) -> Iterator[Node]:
    for document in _documents(source):
        yield from read_embedded(source, document)


def _commands(source: Source) -> Iterator[ConfigCommand]:
    for command, _ in _with_images(source):
        yield command
    for document in _embedded(source):
        for key, node in document.mapping.items():
            if key.lower() in _ENGINES and node.mapping:
                yield _of_section(_ENGINES[key.lower()], node)


def _of_section(image: str, node: Node) -> ConfigCommand:
    """Return the command that a section of an engine comes to: ``vllm: {max-model-len: 4096}``."""
    words = [ConfigWord(image, node.line, node.column)]
    for key, value in node.mapping.items():
        if value.scalar is not None:
            word = _word(value)
            words.append(msgspec.structs.replace(word, text=f"--{key}={word.text}"))
    return ConfigCommand(tuple(words))


def _with_images(source: Source) -> Iterator[tuple[ConfigCommand, str]]:
    """Yield the commands, each with the image in which it runs."""
    for document in _documents(source):
        for node, held in descend(document, _Held(), _inside):
            for command in _of_mapping(source, node, held):
                yield command, held.image


def _inside(mapping: Node, _key: str, held: _Held) -> _Held:
    """Return what holds within a mapping: with the image and the variables that it names itself."""
    image, variables = held.image, list(held.variables)
    for key, node in mapping.mapping.items():
        if key.lower() in _IMAGES and isinstance(node.scalar, str):
            image = node.scalar
        elif key.lower() in _IMAGES and node.get("repository") is not None:
            image = str(node.mapping["repository"].scalar)
        elif key.lower() in ("engine", "modelformat", "framework"):
            named = node.get("name") or node
            image = _ENGINES.get(str(named.scalar).lower(), image)
        elif key.lower() in _ENVIRONMENT:
            variables += _variables(node)
    return _Held(image, tuple(variables))


def _variables(node: Node) -> Iterator[tuple[str, ConfigWord]]:
    """Yield the variables of a mapping, of ``NAME=value`` and of ``{name: ..., value: ...}``."""
    is_one = _is_one(node)
    for name, value in node.mapping.items() if not is_one else ():
        if not isinstance(value.value, dict | tuple):
            yield name, _word(value)
    for item in node.items if not is_one else (node,):
        named = item.get("name") or item.get("key")
        given = item.get("value") or item.get("input", "default")
        if named is not None and given is not None:
            yield str(named.scalar), _word(given)
        elif isinstance(item.scalar, str) and "=" in item.scalar:
            key, _, text = item.scalar.partition("=")
            yield key, ConfigWord(text, item.line, item.column, is_quoted=True)


def _is_one(node: Node) -> bool:
    """Return whether a mapping is one variable: ``env { name = "A", value = "1" }`` of HCL."""
    return node.mapping.keys() == {"name", "value"}


def _word(node: Node) -> ConfigWord:
    value = node.scalar
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return ConfigWord(text, node.line, node.column, is_quoted=True)


def _of_mapping(source: Source, mapping: Node, held: _Held) -> Iterator[ConfigCommand]:
    """Yield the commands of one mapping; its variables are those of each of them."""
    by_key = {key.lower(): node for key, node in mapping.mapping.items()}
    for key in (*_SCRIPTS, *(("source",) if "command" in by_key else ())):
        node = by_key.get(key)
        for text in (node, *node.items) if node is not None else ():
            if isinstance(text.scalar, str):
                yield from _script(source, text, held)
    words: list[ConfigWord] = []
    for key in _STARTS:
        node = by_key.get(key)
        if node is not None:
            words += _words(source, node)
    yield from _given(source, by_key)
    image = by_key.get("image")
    if words:
        yield from _started(source, words, held)
    elif image is not None and of_image(held.image):  # it starts what it is made for
        yield ConfigCommand((ConfigWord(held.image, image.line, image.column),), held.variables)
    elif any(key in by_key for key in _ENVIRONMENT) and (
        own := [each for each in held.variables if is_asked(each[0])]
    ):
        yield ConfigCommand((ConfigWord("env", own[0][1].line, 1),), tuple(own))


def _given(source: Source, by_key: dict[str, Node]) -> Iterator[ConfigCommand]:
    """Yield what variables of a container give its program: options, and keys of any file.

    ``CLI_ARGS=--xformers --medvram``, ``DTYPE=bfloat16``
    """
    for key in _ENVIRONMENT:
        words: list[ConfigWord] = []
        for name, value in _variables(by_key[key]) if key in by_key else ():
            if name.upper().endswith(_OPTIONS_IN) and value.text.lstrip().startswith("--"):
                words += words_of(source, value.text, value.line)
            elif settings.knows(name) and (not by_key[key].mapping or _is_one(by_key[key])):
                text = f"--{name.lower()}={value.text}"
                words.append(msgspec.structs.replace(value, text=text))
        yield from _optional(words)


_OPTIONS_IN = ("ARGS", "ARGUMENTS", "OPTS", "OPTIONS", "FLAGS", "PARAMS")


def _optional(words: list[ConfigWord]) -> Iterator[ConfigCommand]:
    """Yield the command of options whose program stands elsewhere, where one says something."""
    names = (word.text.lstrip("-").partition("=")[0] for word in words if word.text[:1] == "-")
    if any(map(settings.knows, names)):
        yield ConfigCommand((ConfigWord(OPTIONS, words[0].line, words[0].column), *words))


def _words(source: Source, node: Node) -> list[ConfigWord]:
    """Return the words of a command: of a list each as it is, of a text as the shell splits it."""
    if isinstance(node.scalar, str):
        return words_of(source, node.scalar, first_line(source.text, node))
    words = [_word(item) for item in node.items if item.scalar is not None]
    # a list whose items hold several words each: "--dtype bfloat16"
    return [
        msgspec.structs.replace(word, text=text)
        for word in words
        for text in (word.text.split() if word.text.startswith("--") else [word.text])
    ]


def _started(source: Source, words: list[ConfigWord], held: _Held) -> Iterator[ConfigCommand]:
    """Yield the command that words make, or those of the script that a shell is given."""
    names = [posixpath.basename(word.text) for word in words]
    if names[0] in _SHELLS and len(words) > 1:
        at = next((at for at, w in enumerate(words) if at and not w.text.startswith("-")), 0)
        if at and any(char.isspace() for char in words[at].text):
            node = Node(words[at].text, words[at].line, words[at].column)
            for command in _script(source, node, held):
                yield _filled(command, tuple(words[at + 2 :]))  # after the name of the script
            return
    if words[0].text.startswith("--") and not of_image(held.image):
        for command in _optional(words):
            yield msgspec.structs.replace(command, variables=held.variables)
        return
    for command in word_commands(source, words, held.variables):
        known = find_launch(command.words) is not None or not of_image(held.image)
        image = ConfigWord(held.image, words[0].line, words[0].column)
        whole = command.words if known else (image, *command.words)
        yield msgspec.structs.replace(
            command, words=whole, variables=(*held.variables, *command.variables)
        )


def _filled(command: ConfigCommand, given: tuple[ConfigWord, ...]) -> ConfigCommand:
    """Return a command with the arguments of its script in the place of ``"$@"``."""
    words = [each for word in command.words for each in (given if word.text in _ALL else (word,))]
    return msgspec.structs.replace(command, words=tuple(words)) if given else command


_ALL = ("${@}", "${*}", "$@", "$*")


def _script(source: Source, node: Node, held: _Held) -> Iterator[ConfigCommand]:
    line = first_line(source.text, node)
    for command in text_commands(source, str(node.scalar), line, held.variables):
        yield msgspec.structs.replace(command, variables=(*held.variables, *command.variables))
