"""Extras and groups that nobody chose, each as it would be installed by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.packages import package_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.sources.manifests.planned import Manifest

_LIMIT = 6
"""Lists that are judged: each is judged before and after a change."""


def other_choices(
    manifests: Iterable[Manifest],
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield the option that takes a list, and the extras and groups to choose with it.

    Of what was chosen all that the project does not keep apart from it. Only lists that name a
    package of which anything is known.
    """
    manifests = tuple(manifests)
    lists = dict.fromkeys(
        each.of
        for manifest in manifests
        for each in manifest.aside
        if each.of and package_of(each.name)
    )
    apart = [names for manifest in manifests for names in manifest.apart]
    choice = manifests[0].choice if manifests else None
    for of in list(lists)[:_LIMIT]:
        kind, _, name = of.partition(" ")
        chosen = {"extra": choice.extras, "group": choice.groups} if choice is not None else {}
        kept = {
            key: tuple(
                each for each in names if not any({of, f"{key} {each}"} <= both for both in apart)
            )
            for key, names in chosen.items()
        }
        kept[kind] = (*kept.get(kind, ()), name)
        yield f"--{kind} {name}", kept.get("extra", ()), kept.get("group", ())
