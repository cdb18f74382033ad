"""Calls of the worker's scripts, and watched entry points, held against functions of releases."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from packaging.version import Version

from fadoctor.model.smoke_catalogue import CATALOGUE
from tools.signatures.cli import (
    CHILD,
    Repository,
    _clone,
    _hold_tags,
    _tag_reader,
    main,
    read_calls,
    watched_entries,
)
from tools.signatures.held import Call, Entry, Held
from tools.signatures.read import Called, Unreadable, call_in, refusal, signature_of

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = {
    "pkg/__init__.py": "from .inner import attend as attend_func\nfrom pkg.gone import lost\n",
    "pkg/inner.py": """
def attend(q, k, v, dropout_p=0.0, *, causal=False, window_size=(-1, -1)):
    pass

if True:
    from pkg.deep import Thing

shorter = attend
""",
    "pkg/deep/__init__.py": """
class Thing:
    def __init__(self, dim): pass
    def forward(self, qkv, **more): pass

def only(first, /, second, *rest): pass
""",
}
SCRIPT = """
def run(torch, trace):
    def attend(q, k, v, shape):
        return first(function(q, k, v, causal=shape.causal, **more))
    prove(torch, trace, attend)

def twice():
    function(1)
    function(1, 2)
"""


def test_call_is_read_in_the_script() -> None:
    assert call_in(SCRIPT, "run", "function") == Called(3, ("causal",))


@pytest.mark.parametrize(("within", "called"), [("twice", "function"), ("run", "other")])
def test_call_that_is_not_one_is_an_error(within: str, called: str) -> None:
    with pytest.raises(Unreadable, match="not one"):
        call_in(SCRIPT, within, called)


@pytest.mark.parametrize(
    ("module", "path", "names"),
    [
        ("pkg", "attend_func", "q k v dropout_p causal window_size"),
        ("pkg.inner", "shorter", "q k v dropout_p causal window_size"),
        ("pkg.inner", "Thing.forward", "self qkv more"),
        ("pkg.deep", "Thing", "self dim"),
        ("pkg.deep", "only", "first second rest"),
    ],
)
def test_function_is_found_where_it_is_defined(module: str, path: str, names: str) -> None:
    assert list(signature_of(SOURCES.get, module, path).parameters) == names.split()


@pytest.mark.parametrize(("module", "path"), [("pkg", "lost"), ("pkg", "none"), ("other", "x")])
def test_function_that_is_nowhere_is_an_error(module: str, path: str) -> None:
    with pytest.raises(Unreadable):
        signature_of(SOURCES.get, module, path)


@pytest.mark.parametrize(
    ("called", "fits"),
    [
        (Called(3, ("causal",)), True),
        (Called(2, ("causal",)), False),
        (Called(3, ("is_causal",)), False),
        (Called(5, ()), False),
        (Called(3, ("q",)), False),
    ],
)
def test_call_fits_a_function_or_not(called: Called, fits: bool) -> None:  # noqa: FBT001
    assert (refusal(signature_of(SOURCES.get, "pkg", "attend_func"), called) == "") is fits


def held(tmp_path: Path, keyword: str, *names: str) -> Held:
    (tmp_path / "_fadoctor_x.py").write_text(f"def run():\n    f(*three, {keyword}=1)\n")
    call = Call("x", "_fadoctor_x", "run", "f", "pkg", ("old:f", "pkg:attend_func"), stars=3,
                asked=("softcap",), since="2")  # fmt: skip
    entries = (Entry("pkg", ">=2", "pkg.inner", "attend", names),)
    return Held((call,), entries, tmp_path)


def test_release_that_a_call_fits_is_counted(tmp_path: Path) -> None:
    found = held(tmp_path, "causal", "q", "dropout_p")
    for version in ("1.0", "2.1"):
        found.release("pkg", version, SOURCES.get)
    assert found.wrong() == 0
    assert found.report() == [
        "note x: pkg 2.1: has no softcap; the script asks first",
        "x: fits 1 releases",
        "1 of 1 watched entry points agree with a release",
    ]


def test_call_and_entry_point_that_no_release_has_are_told(tmp_path: Path) -> None:
    found = held(tmp_path, "is_causal", "q", "attn_mask")
    found.release("pkg", "2.1", SOURCES.get)
    assert found.wrong() == 2
    assert [line for line in found.report() if line.startswith("DOES NOT FIT")] == [
        "DOES NOT FIT x: pkg 2.1: got an unexpected keyword argument 'is_causal'",
        "DOES NOT FIT pkg pkg.inner.attend: 2.1 has no attn_mask",
    ]


def test_function_that_a_release_lacks_is_not_read(tmp_path: Path) -> None:
    found = held(tmp_path, "causal")
    found.release("pkg", "2.1", dict[str, str]().get)
    assert found.wrong() == 0
    assert "NOT READ x: pkg 2.1: no old; no pkg" in found.report()


def test_every_call_is_in_its_script_and_has_four_releases() -> None:
    document = read_calls()
    Held(document.calls, watched_entries(), CHILD)
    tags = {name: each.tags for name, each in document.repositories.items()}
    read = {**tags, **document.releases}
    few = {each.backend for each in document.calls
           if sum(_is_new_enough(tag, each.since) for tag in read[each.package]) < 4}  # fmt: skip
    # Three releases of the first have SageAttention's layout, and the Hub's fa4 has three states.
    assert few <= {"hub-sage 1", "hub-fa4", "hub-fa4 varlen"}


def _is_new_enough(tag: str, since: str) -> bool:
    return Version(tag.partition("@")[0].removeprefix("v")) >= Version(since)


SAME = {
    "sdpa-flash": "sdpa",
    "sdpa-efficient": "sdpa",
    "sdpa-cudnn": "sdpa",
    "sdpa-math": "sdpa",
}
"""Backend -> the one whose call it makes."""


def test_every_backend_that_is_run_has_its_call_held() -> None:
    held = {each.backend.partition(" ")[0] for each in read_calls().calls}
    run = {entry.backend.value for entry in CATALOGUE}
    assert {name for name in run if SAME.get(name, name) not in held} == set()


def test_argument_that_some_release_requires_is_given_there(tmp_path: Path) -> None:
    (tmp_path / "_fadoctor_x.py").write_text("def run():\n    f(1, 2)\n")
    call = Call("x", "_fadoctor_x", "run", "f", "pkg", ("pkg:f",), filled=("used",))
    found = Held((call,), (), tmp_path)
    texts = ("q, k", "q, k, used", "q, k, used=None", "q, k, other")
    for version, given in enumerate(texts, 1):
        found.release("pkg", str(version), {"pkg.pyi": f"def f({given}): 0"}.get)
    assert [line for line in found.report() if line.startswith("DOES")] == [
        "DOES NOT FIT x: pkg 4: missing a required argument: 'other'"
    ]


def test_package_without_an_index_is_read_at_the_tags_of_its_repository(tmp_path: Path) -> None:
    clone = tmp_path / "owner+name"
    (clone / "below").mkdir(parents=True)
    (clone / "below" / "pkg.py").write_text("def f(q, k): 0")
    git = ("git", "-C", str(clone), "-c", "user.name=x", "-c", "user.email=x@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "x"), ("tag", "v1.0")):
        subprocess.run([*git, *words], check=True)
    read = _tag_reader(_clone(tmp_path, "owner/name"), "v1.0", "below")
    assert list(signature_of(read, "pkg", "f").parameters) == ["q", "k"]
    assert _tag_reader(clone, "v2.0", "below")("pkg.py") is None
    shown = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    (tmp_path / "_fadoctor_x.py").write_text("def run():\n    f(1, 2)\n")
    found = Held((Call("x", "_fadoctor_x", "run", "f", "pkg", ("pkg:f",)),), (), tmp_path)
    tags = ("v1.0", f"2026.7.20@{shown.stdout.strip()}", "v3.0")
    _hold_tags(found, tmp_path, "pkg", Repository("owner/name", tags, "below"))
    assert found.fits == {"x": 2}
    assert found.unread == ["x: pkg 3.0: no pkg"]


@pytest.mark.network
@pytest.mark.parametrize("package", ["flash-attn-4", "kernels", "xformers"])
def test_calls_fit_the_releases_of_the_index(
    package: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([package, "--cache", str(tmp_path)]) == 0
    assert "NOT READ" not in capsys.readouterr().out
