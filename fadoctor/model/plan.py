"""A plan: one change that ends in a working environment, with what proves it and how to undo it."""

from __future__ import annotations

import enum

import msgspec

from fadoctor.model.environment import Target

PLAN_SCHEMA_VERSION = 2


class ActionKind(enum.Enum):
    """What an action does. Only the first four are ever run; declared in the order of running."""

    VENV = "venv"
    UNINSTALL = "uninstall"
    INSTALL = "install"
    BUILD = "build"
    UNSET = "unset"
    SET = "set"
    SETTING = "setting"
    SYSTEM = "system"
    ADVICE = "advice"

    @property
    def is_run(self) -> bool:
        """Whether `fix` runs it; the others are for a person."""
        return self in (ActionKind.VENV, ActionKind.UNINSTALL, ActionKind.INSTALL, ActionKind.BUILD)


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to do. What `fix` runs has an `argv`; everything else is printed only."""

    kind: ActionKind
    text: str
    """One line for a person: what it does, or the advice itself."""
    argv: tuple[str, ...] = ()
    """The command, never a shell string."""
    env: dict[str, str] = {}
    """Variables that the command needs, or that are set or (empty) unset."""
    requirements: tuple[str, ...] = ()
    """What is installed or removed: ``torch==2.8.0``, ``flash-attn @ https://...``."""
    index: str = ""
    """Package index, where it is not the configured one."""
    url: str = ""
    """The file, where one is installed directly."""
    sha256: str = ""
    """Its hash, where it is recorded."""
    why: str = ""
    findings: tuple[str, ...] = ()
    """Ids of the rules whose findings it removes."""
    side_effects: tuple[str, ...] = ()
    undo: str = ""
    """How to take it back without fadoctor."""
    safety: str = ""
    """``safe`` or ``unsafe``, for what comes from a rule."""

    @property
    def is_step(self) -> bool:
        """Whether it changes something itself: a command or a variable, not advice or a setting."""
        return self.kind.is_run or bool(self.env)


class Change(msgspec.Struct, frozen=True):
    """One distribution that is another one afterwards; empty where there is none."""

    distribution: str
    before: str
    after: str


class Alternative(msgspec.Struct, frozen=True):
    """What would be possible if something were given up."""

    give_up: str
    changes: tuple[Change, ...]
    needs: tuple[str, ...] = ()


class Conflict(msgspec.Struct, frozen=True):
    """Why a wish cannot be met."""

    wish: str
    because: tuple[str, ...]
    """The smallest set of facts and wishes that cannot hold together, in words."""
    alternatives: tuple[Alternative, ...]


class Proof(msgspec.Struct, frozen=True):
    """What the engine finds in the environment as it would be after the plan."""

    errors: tuple[str, ...] = ()
    """Ids of the rules that still find an error."""
    by_setting: tuple[str, ...] = ()
    """Ids of rules that find an error on one GPU only: the package works on another, and stays."""
    missed: tuple[str, ...] = ()
    """Wishes that are not met: ``fa2 on gpu[0]: unknown``."""
    lost: tuple[str, ...] = ()
    """Cells that are predicted to work before and not after: ``gpu[0] xformers fp16``."""
    requirements: tuple[str, ...] = ()
    """Requirements of installed packages that the plan would break."""
    unknown: tuple[str, ...] = ()
    """What could not be decided and matters to a wish."""

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong afterwards."""
        return not (self.errors or self.missed or self.lost or self.requirements)


class Answer(enum.Enum):
    """What an installer says of a plan."""

    RESOLVES = "resolves"
    REFUSED = "refused"
    DIFFERS = "differs"
    """It would do something else, and that is worse."""
    UNREACHABLE = "unreachable"
    """Nobody could be asked: no installer, no index, no network."""


class Verification(msgspec.Struct, frozen=True):
    """What the installer itself would do, held against its index."""

    answer: Answer
    by: str
    """Who was asked: pip or uv."""
    would_install: tuple[str, ...] = ()
    """Everything that it would install, dependencies included: ``torch 2.8.0``."""
    detail: str = ""
    """Why not, or what was not asked about."""


class Edit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a manifest: lines of it, or what its own tool is told."""

    file: str
    diff: str = ""
    """Unified diff, with the file's name in both headers."""
    command: tuple[str, ...] = ()
    """For a lock: the command of the tool that writes it."""
    text: str = ""
    """What to do by hand, or why a command."""


class PlanOutcome(enum.Enum):
    """What planning came to."""

    NOTHING = "nothing"
    """Nothing needs to change."""
    REPAIRS = "repairs"
    """The actions end in a clean environment; proved."""
    PARTIAL = "partial"
    """They improve it; what is left stands in the proof."""
    IMPOSSIBLE = "impossible"
    """No change of packages helps; the conflicts say why."""


class Plan(msgspec.Struct, frozen=True):
    """The ordered actions and what is known of their result."""

    outcome: PlanOutcome
    target: Target
    installer: str
    """Whose commands these are: pip, uv, uv-project, poetry, pixi, conda."""
    actions: tuple[Action, ...] = ()
    changes: tuple[Change, ...] = ()
    proof: Proof = Proof()
    conflicts: tuple[Conflict, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    """Other ways to what was asked for; each was proved, too."""
    wishes: tuple[str, ...] = ()
    verification: Verification | None = None
    """None where it was not asked for."""
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    """What was assumed of the machine, not read: ``--gpu A100``."""
    rule_errors: tuple[str, ...] = ()
    """Ids of rules that broke: what they would have said is missing."""
    edits: tuple[Edit, ...] = ()
    """For an environment that manifests describe: what to change in them."""
    windows: bool = False
    """Whether commands are written for a shell of Windows."""
    schema_version: int = PLAN_SCHEMA_VERSION
