"""Redaction: what identifies somebody goes, everything else stays as it is."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.report.redact import redact
from tests.work import examples

ALICE = {"HOME": "/data/people/alice", "USER": "alice"}
HOST = "gpu01.cluster.example.org"
ROOTS = {"prefix": "/opt/envs/train", "site": "/opt/envs/train/lib/python3.11/site-packages"}


def cleaned(
    text: str, environ: dict[str, str] | None = None, host: str = HOST, **roots: str
) -> str:
    target = Target("environment", "x", "x", roots={**ROOTS, **roots})
    document = Environment("0.1.0", target, {"host.kernel": Known(text, "uname")})
    fact = redact(document, ALICE if environ is None else environ, host).facts["host.kernel"]
    assert isinstance(fact, Known)
    assert isinstance(fact.value, str)
    return fact.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data/people/alice/venv/bin/python", "~/venv/bin/python"),
        ("/data/people/alice", "~"),
        ("PATH=/data/people/alice/bin:/usr/bin", "PATH=~/bin:/usr/bin"),
        ("file:///data/people/alice/a.whl", "file://~/a.whl"),
        ("/scratch/alice/cache", "/scratch/<user>/cache"),
        ("by alice on gpu01.cluster.example.org.", "by <user> on <host>."),
        ("/home/bob/x and /Users/carol/y", "~/x and ~/y"),
        ("/home/bob", "~"),
        (r"C:\Users\Bob\venv", r"~\venv"),
        ("-I/home/bob/include", "-I~/include"),
        ("/opt/envs/train/bin/python", "$prefix/bin/python"),
        ("/opt/envs/train/lib/python3.11/site-packages/torch", "$site/torch"),
        ("/opt/envs/training/bin", "/opt/envs/training/bin"),
        ("malice alicent alice_x", "malice alicent alice_x"),
        ("GPU-8d0e6bb4-4d33-bb42-c2b5-0ed3e8c8ab4e", "GPU-<uuid>"),
        ("MIG-8D0E6BB4-4D33-BB42-C2B5-0ED3E8C8AB4E/1", "MIG-<uuid>/1"),
        ("https://bob:secret@example.org/x", "https://***@<host>/x"),
        ("https://alice:secret@example.org/x", "https://***@<host>/x"),
        ("git+https://tok@github.com/a/b@v1", "git+https://***@github.com/a/b@v1"),
        ("https://github.com/a/b@v1.0", "https://github.com/a/b@v1.0"),
        ("hf_abcdefghijklmnopqrstuv", "***"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ", "***"),
        ("TOKEN=sk-abcdefghijklmnopqrstuvwx;", "TOKEN=***;"),
        ("torch 2.6.0+cu124", "torch 2.6.0+cu124"),
        ("0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef01234567"),
        ("_ZN3c105ErrorC2ENS_14SourceLocationE", "_ZN3c105ErrorC2ENS_14SourceLocationE"),
        ("sdpa-flash on gpu[0] Tesla V100-SXM2-16GB", "sdpa-flash on gpu[0] Tesla V100-SXM2-16GB"),
        ("", ""),
    ],
)
def test_texts(text: str, expected: str) -> None:
    assert cleaned(text) == expected


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("/data/people/alice/x", "alice"),
        ("https://bob:p@ss@example.org/x", "ss"),
        ("github_pat_11ABCDEFG0123456789_abcdefghij", "11ABCDEFG"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIA"),
        ("index?token=abcdef0123456789", "abcdef"),
        ("/scratch/alice-venv/bin", "alice"),
        ("/scratch/ALICE/x", "ALICE"),
        ("host gpu01: no driver", "gpu01"),
    ],
)
def test_nothing_leaks(text: str, secret: str) -> None:
    assert secret not in cleaned(text)


@pytest.mark.parametrize("host", ["nvidia.com/drivers", "python.org", "amd.com/gpu: 1"])
def test_a_host_that_the_advice_of_rules_names_stays(host: str) -> None:
    """Markdown sent its reader to <host>/drivers."""
    text = f"The newest one is on {host}; install it."
    assert cleaned(text) == text
    assert "acme.com" not in cleaned("It is on gpu.acme.com; install it.")


def test_a_short_name_of_a_user_goes_too() -> None:
    assert cleaned("/scratch/bob/x", {"HOME": "/data/bob", "USER": "bob"}) == "/scratch/<user>/x"


@pytest.mark.parametrize("user", ["root", "user", "ubuntu", "runner"])
def test_a_name_that_says_nothing_about_a_person_is_kept(user: str) -> None:
    environ = {"HOME": f"/{user}", "USER": user}
    text = f"the {user} package of {user}-level /opt/{user}/x; chroot, superuser"
    assert cleaned(text, environ) == text
    assert cleaned("/root/x", {"HOME": "/root", "USER": "root"}) == "~/x"


@pytest.mark.parametrize("environ", [{}, {"HOME": "/"}, {"HOME": "", "USER": ""}, {"HOME": "/a"}])
def test_where_nothing_is_known_of_the_user_nothing_is_mangled(environ: dict[str, str]) -> None:
    text = "torch /usr/lib/a.so 2.6.0 //x"
    assert cleaned(text, environ, "") == text


def test_the_user_is_known_by_the_home_folder_alone() -> None:
    assert cleaned("/scratch/alice/x", {"HOME": "/data/alice"}) == "/scratch/<user>/x"


def document() -> Environment:
    facts: dict[str, Fact] = {
        "torch.version": Known("2.6.0", "/data/people/alice/v.py"),
        "torch.libraries": Known(("a.so", "/data/people/alice/b.so"), "s"),
        "packages.broken": Known({"x": "/data/people/alice/x"}, "s"),
        "gpu.count": Known(2, "s"),
        "host.wsl": Known(value=False, source="s"),
        "host.glibc": Absent("alice looked"),
        "driver.version": Unknown("alice cannot", "s"),
    }
    target = Target("environment", "/data/people/alice/venv", "--python", roots=ROOTS, may_run=True)
    return Environment("0.1.0", target, facts, ("--gpu V100",))


def test_the_structure_stays_and_every_text_is_cleaned() -> None:
    found = redact(document(), ALICE, HOST)
    assert b"alice" not in msgspec.json.encode(found)
    assert found.facts == {
        "torch.version": Known("2.6.0", "~/v.py"),
        "torch.libraries": Known(("a.so", "~/b.so"), "s"),
        "packages.broken": Known({"x": "~/x"}, "s"),
        "gpu.count": Known(2, "s"),
        "host.wsl": Known(value=False, source="s"),
        "host.glibc": Absent("<user> looked"),
        "driver.version": Unknown("<user> cannot", "s"),
    }
    assert found.target.label == "~/venv"
    assert found.target.may_run
    assert (found.fadoctor, found.overlays, found.schema_version) == ("0.1.0", ("--gpu V100",), 1)


def test_it_is_done_once_and_for_all() -> None:
    once = redact(document(), ALICE, HOST)
    assert redact(once, ALICE, HOST) == once


def test_keys_are_cleaned_too() -> None:
    broken = {"/data/people/alice/x.dist-info": "no Version"}
    found = Environment("0", Target("x", "x", "x"), {"packages.broken": Known(broken, "s")})
    assert b"alice" not in msgspec.json.encode(redact(found, ALICE, HOST))


@pytest.mark.parametrize("user", ["host", "prefix", "site"])
def test_what_was_put_in_is_not_replaced_again(user: str) -> None:
    text = f"/opt/envs/train/x on {HOST}, $site"
    assert cleaned(text, {"USER": user}) == "$prefix/x on <host>, $site"


@pytest.mark.parametrize("word", ["known", "unknown", "absent", "environment"])
def test_a_host_or_a_user_can_be_called_like_a_word_of_the_format(word: str) -> None:
    for environ, host in (({"USER": word}, ""), ({}, word)):
        found = redact(document(), environ, host)
        assert found.target.kind == "environment"
        assert isinstance(found.facts["torch.version"], Known)


@settings(max_examples=examples(100), deadline=None, database=None)
@given(st.text(max_size=60), st.text(max_size=12), st.text(max_size=12))
def test_no_text_raises(text: str, user: str, host: str) -> None:
    found = cleaned(text, {"HOME": f"/data/x/{user}", "USER": f"user{user}"}, f"host{host}")
    assert f"/data/x/user{user}/" not in found


def test_a_host_that_is_called_like_a_system_changes_no_fact() -> None:
    assert cleaned("linux", host="linux") == "linux"


@pytest.mark.parametrize("user", ["gpu", "driver", "flash", "vllm", "nvidia"])
def test_a_user_who_is_called_like_a_part_of_the_format_changes_no_name(user: str) -> None:
    for text in ("gpu[0]", "driver.version", "flash-attn==2.8.3", "vllm.version", "nvidia-smi"):
        assert cleaned(text, {"USER": user}) == text
