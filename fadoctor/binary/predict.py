"""Predict whether an extension loads in an interpreter, from files alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.abi import StringAbi, c10_abi, imports_abi
from fadoctor.binary.check import level_problems, symbol_problems, version_problems
from fadoctor.binary.elf import read_elf
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.extension_report import described
from fadoctor.binary.files import Tree
from fadoctor.binary.interpreter_process import LoaderTarget, Started, start_process
from fadoctor.binary.loader import File, Loaded, LoadedFiles, Opened, Process
from fadoctor.binary.prediction import Library, LoadStage, LoadVerdict, Prediction, agreed
from fadoctor.binary.processor import possible_processors
from fadoctor.binary.reason import UNDECIDED, Reason, ReasonKind
from fadoctor.binary.symbol_families import Family, family_of, is_driver
from fadoctor.binary.torch_process import TorchImported, import_torch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from typing_extensions import Self

MAX_LISTED = 200
_OF_SYMBOLS = frozenset({ReasonKind.UNDEFINED_SYMBOL, ReasonKind.UNVERSIONED_PROVIDER})
_SOUND = Prediction("", True, None, LoadStage.TORCH, None)


def string_abi_of_torch(libc10: str) -> StringAbi | None:
    """Return the C++ string ABI of torch by what its libc10.so exports; None where that is unclear.

    BadBinaryError where the file cannot be read as a library.
    """
    with Tree() as tree:
        try:
            return c10_abi(File(read_elf(tree.open(libc10))).symbols)
        except OSError as error:
            raise BadBinaryError(f"cannot be read: {error.strerror}") from error


class Predictor:
    """The loader of one target; files stay open until it is closed."""

    def __init__(self, target: LoaderTarget) -> None:
        self._target = target
        self._tree = Tree(target.root)
        self._bare = LoadedFiles(self._tree, None)
        self._started: Started | Reason | None = None
        self._imported: TorchImported | None = None
        self._mixed: Prediction | None = None
        self._others: tuple[Predictor, ...] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every file."""
        self._tree.close()
        for other in self._others or ():
            other.close()

    def predict(self, path: str, *, after_torch: bool = True) -> Prediction:
        """Say what opening a library would do, after ``import torch`` or in a bare interpreter."""
        found = self._predict(path, after_torch=after_torch)
        for other in self._on_other_processors():
            found = agreed(found, other.predict(path, after_torch=after_torch))
        return found

    def _on_other_processors(self) -> tuple[Predictor, ...]:
        """Return the loader on each other processor that may be here; none where it is known."""
        started = self._started
        if not isinstance(started, Started) or started.is_processor_known:
            return ()
        search = started.process.search
        if not search.asked_processor:
            return ()
        if self._others is None:
            kinds = possible_processors(search.machine)[1:]
            targets = (msgspec.structs.replace(self._target, processor=kind) for kind in kinds)
            self._others = tuple(Predictor(target) for target in targets)
        return self._others

    def _predict(self, path: str, *, after_torch: bool) -> Prediction:
        started = self._start()
        if isinstance(started, Reason):
            return described(
                self._bare, Prediction(path, None, started, LoadStage.INTERPRETER, None)
            )
        process, stage, reason = started.process, LoadStage.INTERPRETER, started.problem
        if reason is None and after_torch and self._target.torch:
            imported = self._import()
            process, stage = imported.process, LoadStage.TORCH
            reason = imported.problem or self._mixed_torch_problem(imported)
        if reason is not None:
            loads = None if reason.kind in UNDECIDED else False
            return described(process.files, Prediction(path, loads, reason, stage, None))
        prediction = _open(process.copy(), path)
        if stage is LoadStage.TORCH and (driver := self._import().driver) is not None:
            beyond = LoadVerdict(prediction.loads, prediction.reason)
            return msgspec.structs.replace(
                prediction, loads=False, reason=driver, stage=stage, beyond_driver=beyond
            )
        return prediction

    def check_torch(self) -> Prediction:
        """Check torch's own libraries with all their symbols, in the scope of ``torch/_C``."""
        found = self._check_torch()
        for other in self._on_other_processors():
            found = agreed(found, other.check_torch())
        return found

    def _check_torch(self) -> Prediction:
        started = self._start()
        if isinstance(started, Reason):
            return Prediction(self._target.torch, None, started, LoadStage.INTERPRETER, None)
        imported = self._import()
        opened = imported.extension
        path = opened.closure[0].path if opened is not None else self._target.torch
        if imported.problem is not None or opened is None:
            loads = None if imported.problem and imported.problem.kind in UNDECIDED else False
            return Prediction(path, loads, imported.problem, LoadStage.TORCH, None)
        return _judge(imported.process, opened, path, LoadStage.TORCH)

    def string_abi(self, path: str) -> StringAbi | None:
        """Return the C++ string ABI of an extension; None where it cannot be read."""
        file = self._files().open(path)
        try:
            symbols = file.symbols.imports() if isinstance(file, File) else None
        except (BadBinaryError, OSError):
            return None
        return None if symbols is None else imports_abi(s.name.decode("latin-1") for s in symbols)

    def torch_string_abi(self) -> StringAbi | None:
        """Return the C++ string ABI of torch; None where its libc10.so does not tell."""
        file = self._files().open(f"{self._target.torch}/lib/libc10.so")
        try:
            return c10_abi(file.symbols) if isinstance(file, File) else None
        except (BadBinaryError, OSError):
            return None

    def torch_libraries(self) -> tuple[Loaded, ...]:
        """Return torch's own libraries in the process."""
        started = self._start()
        if isinstance(started, Reason):
            return ()
        objects = self._import().process.objects
        return tuple(one for one in objects if Family.TORCH.has(one.elf.soname))

    def foreign_torch_libraries(self) -> tuple[Library, ...]:
        """Return torch's own libraries that are not in its folder: two torches are mixed."""
        torch = self.torch_libraries()
        return tuple(_library(one) for one in torch if not self._is_in_torch(one.path))

    def libraries(self) -> tuple[Library, ...]:
        """Return what the process holds after ``import torch``, in the order of loading."""
        started = self._start()
        if isinstance(started, Reason):
            return ()
        process = self._import().process if self._target.torch else started.process
        return tuple(_library(one) for one in process.objects)

    def _mixed_torch_problem(self, imported: TorchImported) -> Reason | None:
        """Return what is wrong with a torch that gets its own libraries from elsewhere.

        Checking all its symbols takes a tenth of a second, so a torch in one piece is not checked.
        """
        opened = imported.extension
        if self._mixed is None and opened is not None:
            mixed = bool(self.foreign_torch_libraries())
            self._mixed = _judge(imported.process, opened, "", LoadStage.TORCH) if mixed else _SOUND
        if self._mixed is None:
            return None
        verdict = self._mixed.beyond_driver or self._mixed
        return verdict.reason

    def _is_in_torch(self, path: str) -> bool:
        torch = self._target.torch
        # The usual path needs no look at the disk.
        if path.rpartition("/")[0] == f"{torch}/lib":
            return True
        return self._tree.real(path).startswith(self._tree.real(torch) + "/")

    def _files(self) -> LoadedFiles:
        """Return the files of the process; without one, those of any machine."""
        started = self._start()
        return started.process.files if isinstance(started, Started) else self._bare

    def _start(self) -> Started | Reason:
        if self._started is None:
            self._started = start_process(self._tree, self._target)
        return self._started

    def _import(self) -> TorchImported:
        if self._imported is None:
            started = self._start()
            assert isinstance(started, Started)  # noqa: S101 -- the callers looked
            self._imported = import_torch(self._tree, self._target, started.process)
        return self._imported


def _open(process: Process, path: str) -> Prediction:
    opened = process.open_path(path)
    if isinstance(opened, Reason):
        loads = None if opened.kind in UNDECIDED else False
        return described(process.files, Prediction(path, loads, opened, LoadStage.EXTENSION, None))
    return described(process.files, _judge(process, opened, path, LoadStage.EXTENSION))


def _judge(process: Process, opened: Opened, path: str, stage: LoadStage) -> Prediction:
    versions = version_problems(process, opened.added)
    levels = level_problems(process, opened.closure, opened.added)
    unresolved = symbol_problems(process, opened.closure, opened.added)
    loaded = {name for one in opened.closure for name in one.elf.needed} | {
        one.elf.soname for one in process.objects
    }
    absent = {problem.name for problem in opened.problems}
    certain = [r for r in unresolved if not _may_be_in(r, absent, loaded - absent)]
    unchecked = [r.name for r in unresolved if _may_be_in(r, absent, loaded - absent)]
    problems = [*opened.problems, *versions, *levels, *certain]
    # Tables that cannot be read stand among the problems, but are neither version nor symbol.
    undefined = [r for r in certain if r.kind in _OF_SYMBOLS]
    lacking = [r for r in versions if r.kind not in UNDECIDED]
    verdict = _verdict(problems)
    return Prediction(
        path=path,
        loads=verdict.loads,
        reason=verdict.reason,
        stage=stage,
        beyond_driver=_beyond_driver(problems, unchecked) if is_driver(verdict.reason) else None,
        missing=opened.problems,
        versions=tuple(lacking[:MAX_LISTED]),
        undefined=tuple(undefined[:MAX_LISTED]),
        undefined_count=len(undefined),
        unchecked=tuple(unchecked[:MAX_LISTED]),
        libraries=tuple(_library(one) for one in opened.closure[1:]),
    )


def _verdict(problems: Sequence[Reason]) -> LoadVerdict:
    """Return the first problem that is certain; without one, the first that is not."""
    certain = next((p for p in problems if p.kind not in UNDECIDED), None)
    if certain is not None:
        return LoadVerdict(False, certain)
    return LoadVerdict(None, problems[0]) if problems else LoadVerdict(True, None)


def _beyond_driver(problems: Sequence[Reason], unchecked: Sequence[str]) -> LoadVerdict:
    """Return the verdict if the driver's libraries were there."""
    verdict = _verdict([problem for problem in problems if not is_driver(problem)])
    return LoadVerdict(None, None) if verdict.loads and unchecked else verdict


def _may_be_in(reason: Reason, absent: set[str], loaded: set[str]) -> bool:
    """Whether one of the absent libraries may have a symbol that was not found."""
    if not absent or reason.kind is not ReasonKind.UNDEFINED_SYMBOL:
        return False
    if reason.provider:
        return reason.provider in absent
    family = family_of(reason.name)
    if any(family.has(soname) for soname in absent):
        return True
    # Its own library is there and lacks it, so the others do not have it either.
    return family is not Family.PYTHON and not any(family.has(soname) for soname in loaded)


def _library(one: Loaded) -> Library:
    asked_by = one.asked_by.path if one.asked_by else ""
    return Library(one.elf.soname, one.path, one.origin, asked_by)
