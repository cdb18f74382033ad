"""The guard: ends what a fadoctor has started once that is gone, however it came to its end.

It reads from a pipe that its fadoctor alone holds open, which the kernel closes with it. Children
carry a mark in their environment, so that those are found which have left their group, and nobody
else is touched. The first line of the pipe is the mark; then ``+PID`` and ``-PID`` for groups that
begin and end, and ``q`` where nothing is to be ended. Standard library only, Python 3.8 and newer.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

NAME = "FADOCTOR_CHILD_OF"
"""Variable that carries the mark of the fadoctor that started a process."""

_LOOK_S = 0.5
_END_S = 1.5
_QUIET_S = 0.3
"""How long nobody may be found before it is believed: a child on its way has no mark yet, and one
that becomes another program has none for a moment."""

_PAUSE_S = 0.02
_ENVIRON_LIMIT = 1 << 21


def is_mark(word: str) -> bool:
    """Return whether a word is 32 hexadecimal digits. Without `re`, which takes 3 ms to import."""
    return len(word) == 32 and not word.strip("0123456789abcdef")


def carries(pid: int, name: str, mark: str) -> bool:
    """Return whether a process was started with ``name=mark`` in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read(_ENVIRON_LIMIT).split(b"\0")
    except OSError:
        return False
    return f"{name}={mark}".encode() in entries


def carriers(name: str, mark: str) -> list[int]:
    """Return the ids of the processes that carry a mark, ours apart."""
    try:
        ids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    except OSError:
        return []
    return [pid for pid in ids if pid != os.getpid() and carries(pid, name, mark)]


def end_carrier(pid: int, name: str, mark: str) -> None:
    """Kill a process if it carries the mark: by a descriptor, where a number cannot be another's.

    The mark is read after the descriptor was opened: if the number changes hands meanwhile, the
    signal goes to nobody.
    """
    try:
        if not hasattr(os, "pidfd_open") or not hasattr(signal, "pidfd_send_signal"):
            if carries(pid, name, mark):
                os.kill(pid, signal.SIGKILL)
            return
        descriptor = os.pidfd_open(pid)
        try:
            if carries(pid, name, mark):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)
    except OSError:
        pass


def end_carriers(name: str, mark: str, give_up_s: float, quiet_s: float = _QUIET_S) -> bool:
    """Kill whoever carries a mark until nobody does for a while; False where somebody stays."""
    begun = time.monotonic()
    last_seen = begun
    while True:
        found = carriers(name, mark)
        now = time.monotonic()
        if found:
            last_seen = now
        elif now - last_seen >= quiet_s:
            return True
        if now - begun > give_up_s:
            return not found
        for pid in found:
            end_carrier(pid, name, mark)
        time.sleep(_PAUSE_S)


class Groups:
    """The process groups that run, each with a descriptor of its leader where there is one."""

    def __init__(self) -> None:
        """Begin with none."""
        self.leaders: dict[int, int] = {}

    def add(self, pid: int) -> None:
        """Note a group."""
        try:
            self.leaders[pid] = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
        except OSError:  # it has ended already
            self.leaders.pop(pid, None)

    def remove(self, pid: int) -> None:
        """Forget a group."""
        descriptor = self.leaders.pop(pid, -1)
        if descriptor >= 0:
            os.close(descriptor)

    def end(self) -> None:
        """Kill the groups whose leader is there: the number is theirs then."""
        for pid, descriptor in self.leaders.items():
            if descriptor >= 0 and select.select([descriptor], [], [], 0)[0]:
                continue
            try:  # noqa: SIM105 -- importing `contextlib` takes 2 ms
                os.killpg(pid, signal.SIGKILL)
            except OSError:
                pass


def watch(parent: int) -> tuple[str, Groups] | None:
    """Read the pipe to its end; return the mark and the groups, None where nothing is to end."""
    rest, mark, groups = b"", "", Groups()
    while True:
        ready = select.select([0], [], [], _LOOK_S)[0]
        if not ready:
            if os.getppid() != parent:  # a process that it forked holds the pipe
                return mark, groups
            continue
        chunk = os.read(0, 4096)
        if not chunk:
            return mark, groups
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            word = line.decode("ascii", "replace")
            if word == "q":
                return None
            if word[:1] == "+":
                groups.add(int(word[1:]))
            elif word[:1] == "-":
                groups.remove(int(word[1:]))
            elif is_mark(word):
                mark = word


def main() -> None:
    """Wait for the end of the process whose id is the argument, and clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    found = watch(int(sys.argv[1]))
    if found is None:
        return
    mark, groups = found
    groups.end()
    if mark:
        end_carriers(NAME, mark, _END_S)


if __name__ == "__main__":
    main()
