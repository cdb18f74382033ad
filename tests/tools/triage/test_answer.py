"""When an issue gets a comment, and what may stand in it."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from fadoctor.api import explain
from tools.triage.answer import Answer, Kind, answer_to, defused, digest_of

CERTAIN = """
flash-attn on our cluster

    Traceback (most recent call last):
      File "train.py", line 3, in <module>
    RuntimeError: FlashAttention only supports Ampere GPUs or newer.
"""
OTHER = "The download of the dataset stops at 3 %. I tried another network. Any idea, @ben?"


def answer(text: str, *, asked: bool = False) -> Answer | None:
    return answer_to(explain(text), text, asked=asked)


def test_a_certain_cause_gets_a_comment() -> None:
    found = answer(CERTAIN)
    assert found is not None
    assert (found.kind, found.rule_id) == (Kind.CAUSE, "gpu-too-old-fa2")
    assert "Nothing in it was run." in found.body
    assert len(digest_of(found.body)) == 16
    assert answer(CERTAIN) == found


def test_something_else_gets_none() -> None:
    assert answer(OTHER) is None
    assert answer("How do I use flash attention with my own mask?") is None


def test_no_question_where_no_container_starts() -> None:
    """An issue about Docker was asked for `collect_env` of a container that does not start."""
    refused = 'could not select device driver "" with capabilities: [[gpu]]'
    for said in (
        f"docker: Error response from daemon: {refused}.",
        "nvidia-container-cli: initialization error: cuda error: unknown error",
    ):
        text = f"My image of torch does not start.\n\n{said}"
        assert answer(text) is None
        found = answer(text, asked=True)
        assert found is not None
        assert found.rule_id == "driver-lib-missing-container"


RENAMED = "ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler'"


def test_a_question_needs_a_message_of_a_program() -> None:
    """A pull request that tells what it repairs was asked for a report."""
    found = answer(f"My node of ComfyUI is red.\n\n    {RENAMED}\n")
    assert found is not None
    assert found.kind is Kind.QUESTION
    told = "Loading the model fails where the package flash_attn is not installed. This repairs it."
    assert answer(f"Search the imports of remote code in transformers\n\n{told}") is None


def test_a_message_in_a_list_of_states_gets_no_comment() -> None:
    """A log that printed the state of the GPU among others was told to install another torch."""
    said = "Torch not compiled with CUDA enabled"
    state = f"DEBUG Ready: {{'ram': {{'free': 3}}, 'gpu': {{'used': 0, 'error': '{said}'}}}}"
    assert answer(f"The buttons of sdnext are gone\n\n{state}") is None
    assert answer(f"The buttons of sdnext are gone\n\n{state}", asked=True) is not None
    assert answer(f"The buttons are gone\n\n    AssertionError: {said}\n") is not None
    logged = f"{{'level': 'error', 'message': 'AssertionError: {said}'}}"
    assert answer(f"The buttons are gone\n\n{logged}") is not None


def test_a_module_of_a_namesake_gets_no_comment() -> None:
    """An issue of a solver that is called triton, too, was told to install torch's."""
    text = "I built it with cmake.\n\n    ModuleNotFoundError: No module named 'triton'\n"
    assert answer(text) is None
    found = answer(f"{text}\nThe node of ComfyUI is red.")
    assert found is not None
    assert found.rule_id == "triton-missing"
    assert answer(text, asked=True) is not None


@pytest.mark.parametrize("said", ["such as", "for example:", "e.g.", "例如"])
def test_a_wish_that_quotes_a_message_gets_no_comment(said: str) -> None:
    """A request for labels of GPUs quoted a refusal, and was told to use float16."""
    message = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
    wish = (
        f"Show what a GPU supports\n\nThe scheduler should know it, {said}\n\n```\n{message}\n```"
    )
    assert answer(wish) is None
    assert answer(wish, asked=True) is not None
    assert answer(wish.replace(said, "I get")) is not None


@pytest.mark.parametrize(
    "form",
    [
        "[Feature]: {0}\n\n{1}",
        "[FEATURE REQUEST] {0}\n\n{1}",
        "The documentation of masks is wrong\n\n{1}",
        "[Docs] {0}\n\n{1}",
        "{0}\n\n# \N{ROCKET} Feature\n\n{1}\n\n## Motivation\n\nTo train.",
        "{0}\n\n### \N{ROCKET} The feature, motivation and pitch\n\n{1}",
        "{0}\n\n### Feature request\n\n{1}",
        "{0}\n\n**Is your feature request related to a problem? Please describe.**\n{1}",
    ],
)
def test_a_form_for_wishes_gets_no_comment(form: str) -> None:
    """A wish for gradients to a bias told which error it got, and was told to install xformers."""
    message = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
    wish = form.format("Gradients for old GPUs", f"I got {message}")
    assert answer(wish) is None
    assert answer(wish, asked=True) is not None
    assert answer(f"Gradients of the feature map\n\nI got {message}") is not None


def test_whoever_asked_gets_an_answer() -> None:
    found = answer(OTHER, asked=True)
    assert found is not None
    assert found.kind is Kind.NOT_RECOGNISED
    assert found.body.count("?") == 0
    assert "fadoctor facts --markdown" in found.body
    assert "ben" not in found.body


HOSTILE = [
    "@anna", "mail me@here.org", "@team/all", "#12", "org/repo#12", "GH-12", "gh-3",
    "https://evil.example/x", "http://evil.example", "www.evil.example",
    "see 0123456789abcdef0123456789abcdef01234567 for it", "abcdef1",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_mentions_or_links(text: str) -> None:
    """What GitHub makes links of: a name, a number, a commit, an address."""
    alive = re.compile(
        r"@[0-9A-Za-z]|#[0-9]|[Gg][Hh]-[0-9]|https?://|www\.[0-9A-Za-z]|\b[0-9a-f]{7,40}\b"
    )
    assert alive.search(text)
    found = defused(f"before {text} after")
    assert not alive.search(found)
    assert found.replace("\N{ZERO WIDTH SPACE}", "") == f"before {text} after"


@pytest.mark.parametrize(
    "code",
    ["`pip install x @ https://a.example/x.whl`", "``a ` @anna``", "```sh\n@anna `\n#12\n```",
     "````\n```\n@anna\n```\n````"],
)  # fmt: skip
def test_code_stays_as_it_is(code: str) -> None:
    assert defused(f"@b\n\n{code}\n\n@c").split("\n\n", 1)[1].rsplit("\n\n", 1)[0] == code


def test_code_that_does_not_end_protects_nothing() -> None:
    for text in (
        "` @anna",
        "```\n@anna",
        "`` @anna `",
        r"\` @anna ` b",
        "a ` b\n\n@anna\n\nc ` d",
        "x ```\n@anna\n```",
    ):
        assert "@anna" not in defused(text)


def test_a_hostile_issue_stays_text() -> None:
    log = CERTAIN + "\n".join(f"    {each} </details> `{each}` ```{each}" for each in HOSTILE)
    found = answer(log, asked=True)
    assert found is not None
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(found.body):
        for each in token.children or []:
            if each.type == "text":
                assert not re.search(r"@\w|#\d|evil", each.content.replace("@torch", ""))
    assert found.body.count("<!--") == 1


def test_a_question_is_about_what_a_report_adds() -> None:
    """An error of torch was not asked about, because the issue named Python alone."""
    for told in ("Python version: 3.12.3", "GPU: RTX 5090", "torch 2.7.1"):
        found = answer(f"My node of ComfyUI is red.\n\n{told}\n\n    {RENAMED}\n")
        assert found is not None
        assert found.kind is Kind.QUESTION
    both = "GPU: RTX 5090\ntorch: 2.7.1"
    assert answer(f"My node of ComfyUI is red.\n\n{both}\n\n    {RENAMED}\n") is None
