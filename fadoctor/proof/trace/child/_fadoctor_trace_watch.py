"""Watch imports: say when torch comes, when a module with attention comes, and what fails.

Imports sys and os alone, as it is loaded in each Python process of the command.
"""

import os
import sys

_STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn")

_LOADER_NAME = "_find_and_load_unlocked"
"""Function of the import system that asks for a module in order to load it."""


def enter(here, folder):
    """Say that this process was entered, and begin to watch its imports."""
    if os.environ.get("FADOCTOR_TRACE_EXCEPT") == str(os.getpid()):
        return None
    argv = getattr(sys, "orig_argv", None) or [sys.executable] + list(getattr(sys, "argv", []))
    name = "%d-%s.entered" % (os.getpid(), os.urandom(4).hex())
    with open(os.path.join(folder, name), "w", encoding="utf-8", errors="replace") as file:
        file.write("\0".join(argv))
    with open(os.path.join(folder, "watched"), encoding="utf-8") as file:
        watched = file.read().split()
    watch = Watch(here, folder, watched)
    sys.meta_path.insert(0, watch)
    sys.addaudithook(watch.heard)
    if "torch" in sys.modules:
        watch.came("torch", sys.modules["torch"])
    return watch


class Watch:
    """A finder that finds nothing itself, and hears of what others find."""

    def __init__(self, here, folder, watched):
        self.here = here
        self.folder = folder
        self.names = {name for name in watched if "*" not in name}
        self.patterns = tuple(name.partition("*")[0] for name in watched if "*" in name)
        self.missing = []
        """(module, error) of imports that failed."""
        self.not_entered = []
        """(argv, reason) of processes that were started so that they cannot be entered."""
        self.faults = []
        self.tracer = None
        self._busy = set()

    def find_spec(self, name, path=None, target=None):
        """Return the spec that another finder has, with a loader that tells of its end."""
        if name not in self.names and not (name.startswith(self.patterns) and ".modeling_" in name):
            return None
        if name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = self._found(name, path, target)
            if spec is None:
                self._note_missing(name)
            elif spec.loader is not None and hasattr(spec.loader, "exec_module"):
                self._tell(name, spec.loader)
        except Exception as error:
            self.fault("import of %s" % name, error)
            return None
        finally:
            self._busy.discard(name)
        return spec

    def _found(self, name, path, target):
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                return spec
        return None

    def _note_missing(self, name):
        if "." in name:
            return
        frame = sys._getframe()
        for _ in range(9):
            if frame.f_back is None:
                return
            frame = frame.f_back
            if frame.f_code.co_name == _LOADER_NAME:
                self.failed(name, "ModuleNotFoundError: No module named %r" % name)
                return

    def _tell(self, name, loader):
        original = loader.exec_module

        def exec_module(module):
            loader.__dict__.pop("exec_module", None)
            try:
                original(module)
            except BaseException as error:
                self.failed(name, "%s: %s" % (type(error).__name__, error))
                raise
            self.came(name, module)

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader of slots: its modules are not seen
            pass

    def came(self, name, module):
        """Take a module that was imported; nothing of ours may end the import."""
        try:
            if name == "torch" and self.tracer is None:
                sys.path.insert(0, self.here)
                try:
                    import _fadoctor_trace_start as start
                finally:
                    sys.path.remove(self.here)
                self.tracer = start.start_process(self)
            elif self.tracer is not None:
                self.tracer.came(name, module)
        except Exception as error:
            self.fault("start at %s" % name, error)

    def failed(self, name, error):
        """Note an import that failed."""
        entry = (name, str(error)[:500])
        if entry not in self.missing and len(self.missing) < 64:
            self.missing.append(entry)
            self._changed()

    def fault(self, where, error):
        """Count a fault of ours; the patient goes on."""
        if len(self.faults) < 64:
            self.faults.append("%s: %s: %s" % (where, type(error).__name__, str(error)[:300]))

    def heard(self, event, args):
        """Take an audit event: a process that is started so that it cannot be entered."""
        if event not in _STARTS:
            return
        try:
            env = args[3] if event == "subprocess.Popen" else args[2]
            reason = _why_not_entered(args[0], args[1], env, self.here)
            if reason and len(self.not_entered) < 64:
                argv = [args[1]] if isinstance(args[1], (str, bytes)) else list(args[1])
                self.not_entered.append(([os.fsdecode(word) for word in argv][:64], reason))
                self._changed()
        except Exception as error:
            self.fault("child process", error)

    def _changed(self):
        if self.tracer is not None:
            self.tracer.changed()
        elif self.not_entered:
            name = "%d.started" % os.getpid()
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.writelines(
                    "\0".join([reason] + argv).replace("\n", " ") + "\n"
                    for argv, reason in self.not_entered
                )


def _why_not_entered(executable, argv, env, here):
    """Return why a Python that is started will not be entered; "" where it will, or is none."""
    if isinstance(argv, (str, bytes)):
        return ""
    words = [os.fsdecode(word) for word in argv]
    program = os.path.basename(os.fsdecode(executable) if executable else words[0])
    if not program.startswith("python"):
        return ""
    letter = _isolating(words[1:])
    if letter:
        return "it runs with -%s" % letter
    if env is None:
        env = os.environ
    given = env.get("PYTHONPATH") or env.get(b"PYTHONPATH") or ""
    if here not in os.fsdecode(given).split(os.pathsep):
        return "its PYTHONPATH lacks what enters it: the environment was changed"
    return ""


def _isolating(words):
    """Return the switch of an interpreter that keeps sitecustomize or PYTHONPATH out, else ""."""
    for word in words:
        if not word.startswith("-") or word == "-":
            return ""
        if word.startswith("--"):
            continue
        for letter in word[1:]:
            if letter in "IES":
                return letter
            if letter in "cmWX":
                break
        if word[1:2] in ("c", "m"):
            return ""
    return ""
