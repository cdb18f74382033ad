"""Shell scripts: the programs that they start, with their arguments, and the variables they set."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.fact import printable
from fadoctor.sources.configs import READERS, settings
from fadoctor.sources.configs import words as meaning
from fadoctor.sources.configs.arguments import CALLERS, Arguments, read_arguments
from fadoctor.sources.configs.intent import Computed, Configuration, Intent
from fadoctor.sources.configs.kinds import (
    ACCELERATE,
    DEEPSPEED,
    LLAMAFACTORY,
    MS_SWIFT,
    TORCHTUNE,
    TRANSFORMERS,
    VLLM,
)
from fadoctor.sources.configs.launches import Launch, find_launch, given_variables
from fadoctor.sources.configs.serving import SERVERS
from fadoctor.sources.configs.shell_commands import ConfigCommand, ConfigWord, read_commands
from fadoctor.sources.configs.source import Source
from fadoctor.sources.configs.variables import is_asked
from fadoctor.sources.configs.words import Said
from fadoctor.syntax.tree import Node

KIND = "shell"
_SUFFIXES = (".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".pbs", ".lsf", ".qsub", ".fish", ".csh")
_SHELL = re.compile(r"#![^\n]{0,80}\b(?:bash|dash|zsh|ksh|sh)\b")
_FILE = re.compile(r"[\w./~${}-]{1,200}\.(?:ya?ml|json)")
_SCRIPT = re.compile(r"[\w./-]{1,200}\.py")
SERVER = "server"
"""Kind of a server without a reader of its own: its options are read as keys of any file."""
_STRONG = frozenset({
    "attn_implementation", "attn_impl", "torch_dtype", "bf16", "fp16", "load_in_4bit", "use_dora",
    "load_in_8bit", "use_flash_attention_2", "use_flash_attn", "mixed_precision",
})  # fmt: skip
"""Options that mean the same in whatever script takes them."""


def recognises(source: Source) -> bool:
    """Return whether it is one, by its name or its first line."""
    return source.base.endswith(_SUFFIXES) or _SHELL.match(source.text) is not None


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    return configuration_of(source, read_commands(source, source.text))


def configuration_of(
    source: Source, commands: list[ConfigCommand], *, are_apart: bool = False
) -> Configuration:
    """Return what commands ask for; what may not run is Computed.

    `are_apart`: targets or services, of which each is run by itself.
    """
    intents: list[Intent] = []
    started: list[list[Intent]] = []
    named: list[str] = []
    launches = [find_launch(command.words) for command in commands]
    pairs = zip(commands, launches, strict=True)
    if any(command.is_called and launch is not None for command, launch in pairs):
        commands = [command for command in commands if command.is_called]
        launches = [find_launch(command.words) for command in commands]
    is_only = sum(launch is not None for launch in launches) == 1
    unsure: list[tuple[str, list[Intent]]] = []
    for command, launch in zip(commands, launches, strict=True):
        given = (*command.variables, *given_variables(command.words))
        said = _variables(source, msgspec.structs.replace(command, variables=given))
        intents += said if command.is_sure else [_perhaps(intent) for intent in said]
        if launch is not None:
            found, files = _launched(source, launch)
            named += files
            # the only thing that a script starts is what it is for, whatever it asks before
            if command.is_sure or is_only:
                started.append(found)
            unsure.append((launch.program.text, [] if command.is_sure or is_only else found))
    started += _of_branches(unsure)
    intents += _one_run(started, are_apart=are_apart)
    return Configuration(
        source.name,
        KIND,
        tuple(intents),
        named=tuple(dict.fromkeys(named)),
        started="" if are_apart else _only_script(launches),
    )


def _only_script(launches: list[Launch | None]) -> str:
    """Return the one script of Python that is started, "" where there are several, or none."""
    found = {each.program.text if not each.kind else "" for each in launches if each is not None}
    only = found.pop() if len(found) == 1 else ""
    return only if _SCRIPT.fullmatch(only) else ""


def _of_branches(launched: list[tuple[str, list[Intent]]]) -> list[list[Intent]]:
    """Return what programs are told that a condition starts: sure is what each start of one says.

    `launched`: every program that the script starts; those that surely run with nothing.
    """
    found = []
    for program, intents in launched:
        same = [said for name, said in launched if name == program]
        agreed = {
            (each.name, str(each.value))
            for each in intents
            if len(same) > 1 and all(any(_says(one, each) for one in said) for said in same)
        }
        if intents:
            found.append([
                each if (each.name, str(each.value)) in agreed else _perhaps(each)
                for each in intents
            ])  # fmt: skip
    return found


def _says(one: Intent, other: Intent) -> bool:
    return one.name == other.name and one.value == other.value


def _one_run(started: list[list[Intent]], *, are_apart: bool) -> list[Intent]:
    """Return what the programs of a script are told: a server beside a training is not meant.

    Where several frameworks are left, attention is open: they have names of their own for it.
    """
    of = [_framework(found) for found in started]
    is_training = any(
        intent.name == "config.purpose" and intent.value == "training"
        for found, framework in zip(started, of, strict=True)
        for intent in found
        if framework is not None and framework.value not in SERVERS
    )
    kept = [
        found
        for found, framework in zip(started, of, strict=True)
        if not (is_training and framework is not None and framework.value in SERVERS)
    ]
    left_out = [found for found in started if found not in kept]
    kept = _alike(kept)
    intents = [intent for found in kept for intent in found]
    if are_apart:
        intents = _hardest(kept, left_out)
    frameworks = [each for found in kept if (each := _framework(found)) is not None]
    if len({each.value for each in frameworks}) > 1:
        why = Computed("the script starts programs of several frameworks")
        intents += [
            msgspec.structs.replace(frameworks[0], name=name, value=why)
            for name in ("config.framework", "config.attention")
        ]
    return intents


def _alike(started: list[list[Intent]]) -> list[list[Intent]]:
    """Return what programs are told, without switches that differ: bf16 of one, fp16 of another."""
    on = [{each.name for each in said if each.value is True} & _SWITCHES for said in started]
    if any(each == _SWITCHES for each in on) or set().union(*on) != _SWITCHES:
        return started
    return [[each for each in said if each.name not in _SWITCHES] for said in started]


_SWITCHES = {"config.bf16", "config.fp16"}


def _hardest(kept: list[list[Intent]], left_out: list[list[Intent]]) -> list[Intent]:
    """Return what programs are told; where one computes in fp16 and another in bf16, that counts.

    Whatever GPU bf16 runs on takes fp16 too: what the first asks of it fails or nothing does. A
    server that is left out beside a training counts here: it is started all the same.
    """
    computes = [_computes(found) for found in (*kept, *left_out)]
    if not {"bf16", "fp16"} <= set(computes):
        return [intent for found in kept for intent in found]
    intents = [
        intent
        for found in kept
        for intent in found
        if _computes(found) != "fp16" or intent.name not in _DTYPES
    ]
    return intents + [
        intent
        for found in left_out
        for intent in found
        if _computes(found) == "bf16" and intent.name in _DTYPES
    ]


def _computes(found: list[Intent]) -> str:
    """Return the half precision that a program surely computes in, "" where it says none."""
    said = {each.value for each in found if each.name in _DTYPES and isinstance(each.value, str)}
    return next((dtype for dtype in ("bf16", "fp16") if dtype in said), "")


_DTYPES = frozenset((
    "config.weights_dtype", "config.autocast", "config.accelerate_precision", "config.dtype",
    "config.fsdp_precision", "config.deepspeed_precision", "config.bf16", "config.fp16",
))  # fmt: skip


def _framework(found: list[Intent]) -> Intent | None:
    return next((intent for intent in found if intent.name == "config.framework"), None)


def _perhaps(intent: Intent) -> Intent:
    if intent.name in ("config.framework", "config.purpose"):
        return intent
    return msgspec.structs.replace(intent, value=Computed("it happens on a condition"))


def _variables(source: Source, command: ConfigCommand) -> list[Intent]:
    """Return the variables that are set for what is started, where anybody looks at them."""
    found = []
    for name, word in command.variables:
        if is_asked(name):
            value = value_of(word.text)
            written = f"{name}={word.text}" if word.text.find("=") < 0 else word.text
            place = source.at(word.line, word.column)
            found.append(Intent(f"env.{name}", value, place, printable(written, 120)))
    if command.words and command.words[0].text == "unset":
        for word in command.words[1:]:
            if is_asked(word.text):
                place = source.at(word.line, word.column)
                found.append(Intent(f"env.{word.text}", None, place, f"unset {word.text}"))
    return found


def value_of(text: str) -> str | Computed | None:
    """Return the value of a variable: None where it is empty, Computed where it is put together."""
    if "$" in text:
        return Computed("a variable of the shell")
    return printable(text, 200) or None


def _launched(source: Source, launch: Launch) -> tuple[list[Intent], list[str]]:
    """Return what a program is told, in the words of its framework."""
    arguments, loose = read_arguments(source, launch.arguments)
    intents = list(_of_kind(launch, _completed(launch, arguments, loose)))
    files = _files(loose, arguments)
    if launch.launcher:
        options, _ = read_arguments(source, launch.launcher)
        read_options: Configuration = import_module(READERS[ACCELERATE]).read(options)
        intents += read_options.intents
        files += _files((), options)
    # the arguments of its own caller count as none: the script is read as it stands
    is_open = any(word.text.startswith("$") and word.text not in CALLERS for word in loose)
    if files or is_open:  # the rest stands elsewhere: what is left out here is no default
        intents = [each for each in intents if each.written]
    return [_as_written(each, (*launch.launcher, *launch.arguments)) for each in intents], [
        *files,
        *meaning.named_files(arguments.tree, DEEPSPEED),
    ]


def _of_kind(launch: Launch, arguments: Arguments) -> tuple[Intent, ...]:
    """Return the intents of arguments, read by their framework's reader."""
    keys, program = arguments.tree.mapping, launch.program
    keys_said = Said(Source(arguments.name, ""))
    if launch.kind in ("", SERVER):
        settings.say(keys_said, arguments.tree)
    if launch.kind == SERVER or (not launch.kind and not _is_known(arguments)):
        if launch.kind:
            keys_said.default("config.purpose", arguments.tree, "inference")
        return tuple(_at_program(each, program, arguments.name) for each in keys_said.intents)
    if launch.kind:
        found: Configuration = import_module(READERS[launch.kind]).read(arguments)
        return tuple(_at_program(each, program, arguments.name) for each in found.intents)
    trainer = import_module(READERS["trainer"])
    intents: tuple[Intent, ...] = ()
    if trainer.recognises(arguments):
        intents = trainer.read(arguments).intents
    elif not _STRONG.isdisjoint(keys):
        said = [each for each in trainer.read(arguments).intents if each.written]
        intents = tuple(each for each in said if each.name != "config.framework")
    if "mixed_precision" in keys:
        accelerate: Configuration = import_module(READERS[ACCELERATE]).read(arguments)
        intents += accelerate.intents
    told = {each.name for each in intents}
    intents += tuple(each for each in keys_said.intents if each.name not in told)
    return tuple(_at_program(_meant(each), program, arguments.name) for each in intents)


def _meant(intent: Intent) -> Intent:
    """Return what a script means by the name of an attention: it may have names of its own.

    ``flash_2`` is OLMo-core's, ``flash_attn`` ms-swift's: a script that nobody knows may turn it
    into a name of transformers.
    """
    if intent.name != "config.attention" or not isinstance(intent.value, str):
        return intent
    found = _names_meant().get(intent.value, intent.value)
    return msgspec.structs.replace(intent, value=found)


@lru_cache(maxsize=1)
def _names_meant() -> dict[str, str]:
    rows = load_knowledge().tables["attention-names-meant"].rows
    return {
        name: str(row["meant"])
        for row in rows
        if TRANSFORMERS in str(row["framework"]).split()
        for name in str(row["name"]).split()
        if name != "xformers"
    }


def _is_known(arguments: Arguments) -> bool:
    """Return whether the arguments are those of a trainer, or some that any script may take."""
    trainer = import_module(READERS["trainer"])
    return trainer.recognises(arguments) or not _STRONG.isdisjoint(arguments.tree.mapping)


def _completed(launch: Launch, arguments: Arguments, loose: tuple[ConfigWord, ...]) -> Arguments:
    """Return the arguments with what the command itself says: that it trains, which model."""
    mapping = dict(arguments.tree.mapping)
    here = launch.program
    if launch.kind == TORCHTUNE:
        mapping.pop("config", None)
    if launch.kind in (MS_SWIFT, LLAMAFACTORY) and launch.verb in _TRAINS:
        mapping.setdefault("do_train", Node(value=True, line=here.line, column=here.column))
    if launch.kind == VLLM and launch.verb == "serve" and loose:
        mapping.setdefault("model", Node(loose[0].text, loose[0].line, loose[0].column))
    return Arguments(arguments.name, "", msgspec.structs.replace(arguments.tree, value=mapping))


_TRAINS = ("sft", "pt", "rlhf", "train")


def _at_program(intent: Intent, program: ConfigWord, file: str) -> Intent:
    """Place what no argument says at the program itself."""
    if intent.name != "config.framework" and intent.written:
        return intent
    place = msgspec.structs.replace(
        intent.place, file=file, line=program.line, column=program.column
    )
    written = printable(program.text, 120) if intent.written else ""
    return msgspec.structs.replace(intent, place=place, written=written)


def _as_written(intent: Intent, words: tuple[ConfigWord, ...]) -> Intent:
    """Say an intent as the command line does."""
    place = (intent.place.line, intent.place.column)
    at = next((i for i, word in enumerate(words) if (word.line, word.column) == place), None)
    if at is None or not intent.written or intent.name == "config.framework":
        return intent
    after = words[at + 1].text if at + 1 < len(words) else "-"
    is_alone = "=" in words[at].text or after.startswith("-")
    text = words[at].text if is_alone else f"{words[at].text} {after}"
    return msgspec.structs.replace(intent, written=printable(text, 120))


def _files(loose: tuple[ConfigWord, ...], arguments: Arguments) -> list[str]:
    """Return the configurations that the command line names."""
    options = [node.line for node in arguments.tree.mapping.values()]
    before = [word for word in loose if not options or word.line <= min(options)]
    found = [word.text for word in before if _FILE.fullmatch(word.text)]
    for key in ("config", "config_file", "cfg"):
        node = arguments.tree.get(key)
        if node is not None:
            found.append(meaning.shown(node))
    return found
