"""Where an environment keeps its snapshot and its journal; and the lock that goes with it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fadoctor.model.errors import ApplyError
from fadoctor.model.typed import decode
from fadoctor.processes.own_files import (
    NotOurOwnError,
    open_own,
    own_folder,
    read_own,
    refuse_foreign,
    write_own,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_T = TypeVar("_T")

FOLDER = ".fadoctor"
"""Inside the environment: hard links need the same file system."""

_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND


class Store:
    """The folder of one environment."""

    def __init__(self, prefix: Path) -> None:
        """Take the environment's folder; nothing is made yet."""
        self.prefix = prefix
        self.folder = prefix / FOLDER
        self.journal = self.folder / "journal.json"
        self.snapshot = self.folder / "snapshot"
        self.manifest = self.folder / "manifest.json"
        self.likeness = self.folder / "before.json"
        self.changes = self.folder / "changes.json"
        self.decision = self.folder / "undo.json"
        self.project = self.folder / "project.json"
        """The files of a uv project as they were."""
        self.kept = self.folder / "kept"
        """What others had changed in the way of an undo, moved aside."""
        self.lock = self.folder / "lock"

    def refuse_foreign(self) -> None:
        """Raise ApplyError where something lies there that fadoctor did not make."""
        folders = (self.snapshot, self.kept)
        files = (self.journal, self.manifest, self.likeness, self.changes, self.decision,
                 self.project, self.lock)  # fmt: skip
        try:
            if refuse_foreign(self.folder, folder=True):
                for path in folders:
                    refuse_foreign(path, folder=True)
                for path in files:
                    refuse_foreign(path, folder=False)
        except NotOurOwnError as error:
            raise ApplyError(f"{error}; nothing was changed") from error
        except OSError as error:
            raise ApplyError(f"{self.folder} cannot be looked at: {error.strerror}") from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the environment; ApplyError where another process does. Death releases it.

        Without a journal nothing in it counts, and it is removed with the lock: an undone change
        leaves no trace, nor does one that was killed before it began. What was set aside stays.
        """
        is_held = False
        with ExitStack() as stack:
            try:
                try:
                    with interrupted_later():
                        stack.enter_context(self._held())
                        is_held = True
                    yield
                finally:
                    self._leave(is_held=is_held)
            except KeyboardInterrupt:
                self._leave(is_held=is_held)  # it may have come before that had begun
                raise

    def _leave(self, *, is_held: bool) -> None:
        with interrupted_later():
            if is_held and not self.journal.exists():
                self._clear()

    def _clear(self) -> None:
        with suppress(OSError):
            refuse_foreign(self.folder, folder=True)
            self._clear_own()

    def _clear_own(self) -> None:
        if not self.kept.exists():
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        shutil.rmtree(self.snapshot, ignore_errors=True)
        for path in self.folder.iterdir():
            if path.is_file():
                path.unlink()

    @contextmanager
    def _held(self) -> Iterator[None]:
        while True:
            try:
                own_folder(self.folder)
                self.refuse_foreign()
                handle = os.fdopen(open_own(self.lock, _LOCK_FLAGS), "a+b")
            except FileNotFoundError:
                continue  # whoever held it has just removed the folder
            except NotOurOwnError as error:
                raise ApplyError(f"{error}; nothing was changed") from error
            except OSError as error:
                raise ApplyError(f"{self.prefix} cannot be written to: {error.strerror}") from error
            with handle:
                try:
                    _lock(handle.fileno())
                except OSError as error:
                    message = f"another fadoctor is changing {self.prefix}: wait until it has ended"
                    raise ApplyError(message) from error
                if self._is_current(handle.fileno()):
                    yield
                    return

    def _is_current(self, descriptor: int) -> bool:
        """Return whether a lock that was taken is of the file that others would take."""
        try:
            return os.path.samestat(os.fstat(descriptor), self.lock.stat())
        except FileNotFoundError:
            return False


@contextmanager
def interrupted_later() -> Iterator[None]:
    """Let Ctrl-C wait: nobody would remove a lock half made, or what is half removed with it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if waiting and callable(before):
            before(signal.SIGINT, None)


def _lock(descriptor: int) -> None:
    """Take a lock that the system releases with the process; OSError where it is taken."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 -- exists there only

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl  # noqa: PLC0415 -- does not exist on Windows

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_safely(path: Path, document: object) -> None:
    """Write JSON so that a reader finds the old or the new text, whatever happens."""
    write_own(path, msgspec.json.encode(document))


def read_safely(path: Path) -> bytes:
    """Return what `write_safely` wrote; OSError for what it did not."""
    return read_own(path)


def read_record(path: Path, kind: type[_T]) -> _T | None:
    """Return the record in a file; None where there is none, ApplyError where it cannot be read."""
    try:
        return decode(read_safely(path), kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise ApplyError(f"{path} cannot be read: {error}") from error


def read_needed(path: Path, kind: type[_T]) -> _T:
    """Return the record in a file; ApplyError where it is gone or cannot be read."""
    found = read_record(path, kind)
    if found is None:
        raise ApplyError(f"{path} cannot be read: it is gone")
    return found
