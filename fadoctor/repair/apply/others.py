"""Say in lines what others have changed in an environment since a fix."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fadoctor.repair.apply.ownership import folders_above, is_compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.repair.apply.ownership import Claims, OwnedDistribution
    from fadoctor.repair.apply.snapshot import SnapshotEntry

    Installed = Mapping[str, tuple[OwnedDistribution, ...]]


def describe_distributions(names: tuple[str, ...], left: Installed, here: Installed) -> list[str]:
    """Return a line for each distribution that is another one than the fix had left."""
    lines = []
    for name in names:
        if name in here:
            lines.append(f"{name} {_versions(here[name])} (installed since)")
        else:
            lines.append(f"{name} {_versions(left[name])} (removed since)")
    return lines


def _versions(several: tuple[OwnedDistribution, ...]) -> str:
    return " and ".join(one.version for one in several)


def describe_files(
    paths: set[str],
    theirs: Claims,
    before: Mapping[str, SnapshotEntry],
    here: Mapping[str, SnapshotEntry],
) -> list[str]:
    """Return a line for each file, or for each folder that is new or gone as a whole.

    What Python compiles by itself, and what belongs to a distribution of theirs, has none.
    """
    around = folders_above(theirs)
    counted: Counter[tuple[str, str]] = Counter()
    singles = []
    for path in sorted(paths):
        if is_compiled(path) or theirs.own(path) or path in around:
            continue
        what = "new" if path not in before else "changed" if path in here else "removed"
        is_folder = (here.get(path) or before[path]).kind == "folder"
        known = before if what == "new" else here
        whole = "" if what == "changed" else _whole_folder(path, known, is_folder=is_folder)
        if whole and whole not in around:
            counted[whole, what] += not is_folder
        elif is_folder:
            singles.append(f"{path}/ ({what})")
        else:
            singles.append(f"{path} ({what})")
    wholes = (f"{folder}/ ({what}, {_files(n)})" for (folder, what), n in counted.items())
    return sorted([*singles, *wholes])


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"


def _whole_folder(path: str, known: Mapping[str, SnapshotEntry], *, is_folder: bool) -> str:
    """Return the uppermost folder of a path that is not there in the other state."""
    parts = path.split("/")
    ends = range(1, len(parts) + is_folder)
    folders = ("/".join(parts[:end]) for end in ends)
    return next((folder for folder in folders if folder not in known), "")
