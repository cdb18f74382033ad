"""Nodes for tests: what they say, in every form."""

from __future__ import annotations

from typing import Any

import msgspec

from fadoctor.fleet.content import Content, sealed
from fadoctor.fleet.identity import NodeIdentity
from fadoctor.fleet.record import record_line

TREE = {
    "gpu": {"driver": "580.95.05", "cuda": "13.0", "models": "8x NVIDIA H100 80GB HBM3 9.0"},
    "py": {"version": "3.11.9", "kind": "cpython"},
    "torch": {"cuda": "12.8", "build": "pypi"},
    "pkg": {"torch": "2.8.0", "flash-attn": "2.8.3", "triton": "3.4.0"},
    "lib": {"numpy": "2.1.0", "*": "0a1b2c3d"},
    "nv": {"nccl": "2.27.3", "*": "11223344"},
    "bin": {"torch": "aaaaaaaaaa", "flash_attn": "bbbbbbbbbb"},
    "sys": {"glibc": "2.35", "kernel": "5.15.0"},
}


def content(code: int = 0, findings: tuple[str, ...] = (), **changed: Any) -> Content:
    """Return what a node says; `pkg={"torch": None}` takes a key away."""
    tree = {
        section: {
            key: text
            for key, text in {**keys, **changed.get(section, {})}.items()
            if text is not None
        }
        for section, keys in {**{key: {} for key in changed}, **TREE}.items()
    }
    worst = findings[0][0] if findings else ""
    counts = tuple(sum(each[0] == letter for each in findings) for letter in "ewn")
    return sealed(Content(x=code, w=worst, c=(*counts, 0), f=findings, v="0011223344", t=tree))


def node(number: int, total: int = 16, **named: Any) -> NodeIdentity:
    """Return a node of a job under Slurm."""
    name = f"n{number:02d}"
    return NodeIdentity(
        **{"n": name, "r": number, "e": total, "H": f"n[00-{total - 1:02d}]", **named}
    )


def line(number: int, said: Content | None = None, total: int = 16) -> bytes:
    """Return the record of a node."""
    return record_line(node(number, total), said if said is not None else content())


def dropped(said: Content, *sections: str) -> Content:
    """Return a content as a record carries it that has no room for some sections."""
    tree = {name: keys for name, keys in said.t.items() if name not in sections}
    return msgspec.structs.replace(said, t=tree, o=dict.fromkeys(sections, "0000000000"))
