"""Credentials go, whatever tells of them; what only looks a little like one stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.model.catalogue import build_catalogue
from fadoctor.syntax.credentials import addresses, hide_credentials, hide_in_lines, is_secret_name
from fadoctor.syntax.credentials.document import hide_in
from tests.leaks.plants import HEX, HEX_LONG, Plant, credentials
from tests.work import examples, which_ends


@pytest.mark.parametrize("plant", credentials(), ids=lambda each: each.kind)
def test_each_plant_is_hidden_and_stays_so(plant: Plant) -> None:
    hidden = hide_credentials(plant.text)
    assert [secret for secret in plant.secrets if secret in hidden] == []
    assert "***" in hidden
    assert hidden.count("\n") == plant.text.count("\n")
    again = hide_credentials(hidden)
    assert [secret for secret in plant.secrets if secret in again] == []


@pytest.mark.parametrize(
    "text",
    [
        "pad_token_id=0, eos_token: </s>, max_tokens=4096, bos_token='<s>'",
        "tokens per second: 1234.5; tokenizer: LlamaTokenizerFast",
        "num_tokens: 8192, token_count=3, tokens=['Hello', 'world']",
        "KeyError: 'attn_implementation'",
        "query, key, value: torch.float32; key_states.dtype=torch.bfloat16",
        "key=query, cache_key: abc, CACHE_KEY=linux-py311",
        "unexpected token: }",
        "use_auth_token=True, token=None, password: null, HF_TOKEN=$HF_TOKEN, TOKEN=${T}",
        "forward pass: 12 ms, backward_pass=31 ms",
        "PWD=/srv/work OLDPWD=/srv",
        "check_user_token:433] [PID:6552]",
        "torch-2.6.0+cu124-cp311-cp311-linux_x86_64.whl",
        f"--hash=sha256:{HEX_LONG}",
        f"flash-attn @ git+https://github.com/a/flash-attention@{HEX}",
        f"Checking out commit {HEX}",
        f"HEAD is now at {HEX}",
        f"{HEX} refs/heads/main",
        f"/root/.cache/hub/snapshots/{HEX}/model.safetensors",
        f"revision: {HEX}",
        "https://github.com/a/b@v1.0 http://localhost:8080/a/b@v1",
        "git+ssh://git@github.com/a/b.git@main",
        r'File "C:\Users\ada\AppData\Local\Programs\@app-electron\run.py", line 4',
        "docker.io/nvidia/cuda:12.4.1-devel-ubuntu22.04@sha256:abc",
        "std::runtime_error: at::native::add",
        'File "/opt/v/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1739',
        "undefined symbol: _ZN3c104cuda9SetDeviceEa",
        "nvcc fatal: Unsupported gpu architecture 'compute_120'",
        "LlamaForTokenClassification, TFDebertaV2ForTokenClassification",
        "pip install sk-learn-contrib-something-long",
        "2026-11-21 10:22:33,123 step 12:34:56 ratio 3:4",
        "requirements: /etc/passwd is outside of the folder",
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert hide_credentials(text) == text


def test_no_fact_has_the_name_of_a_secret() -> None:
    assert [name for name in build_catalogue() if is_secret_name(name)] == []


def test_a_quote_that_was_cut_off_hides_no_name_of_the_next() -> None:
    """Regression: the next quote was its other half, and what stood in that one was shown."""
    for cut in ('export HF_TOKEN="sword...', '{"token": "sword...', "token='sword..."):
        for following in (
            '; MYSQL_PASS="ocean blue"',
            ', "password": "ocean blue"',
            " db_pwd='ocean blue'",
        ):
            assert "ocean" not in hide_credentials(cut + following)


def test_lines_stay_lines() -> None:
    lines = [
        "-----BEGIN PRIVATE KEY-----",
        "A" * 64,
        "B" * 64,
        "-----END PRIVATE KEY-----",
        "x",
        "",
    ]
    assert hide_in_lines(lines) == [lines[0], "***", "***", *lines[3:]]
    assert hide_in_lines([]) == []


def test_a_value_is_hidden_by_the_key_of_its_mapping_and_by_the_option_before_it() -> None:
    assert hide_in({"password": "x y", "a": ["--token", "abc", "b"], "n": 3}) == {
        "password": "***",
        "a": ["--token", "***", "b"],
        "n": 3,
    }


@settings(max_examples=examples(150), deadline=None, database=None)
@given(st.text(alphabet="ab:/=@\"'\\\n -_.TOKENtokenpassword{}[]<>%", max_size=80))
def test_no_text_raises_and_no_line_is_lost(text: str) -> None:
    assert hide_credentials(text).count("\n") == text.count("\n")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "piece",
    [
        "password=", "a@", "://", "https://a:b", "-----BEGIN A-----\n", "-----END A-----\n",
        "token ", "A" * 40, "-Lines: 1\n", "curl -u ", '\\"', "key:\n", "=sig=", ":AA", "docker ",
        "Cookie: a=b; ", "authorization: a=b, ", "a" * 39, "/", "%2F%2F", "login ", "mysql ", "{",
        " -----END A-----", "AAAA ", "0f" * 20, "eyJ", "name: ",
    ],
)  # fmt: skip
def test_hostile_texts_take_bounded_time(piece: str) -> None:
    with which_ends():
        hide_credentials(piece * (60_000 // len(piece)))


def test_only_tools_that_a_text_names_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once they were tried at every letter: the longest part of a report that names none."""
    used: list[str] = []

    def noted(pattern: str) -> re.Pattern[str]:
        used.append(pattern)
        return re.compile(pattern)

    monkeypatch.setattr(addresses, "compiled", noted)
    lines = ("mysql -u ada -pgeheim1 shop", "curl -u ada:geheim2 https://example.org/")
    for line, mine, other in ((lines[0], "mysql", "curl"), (lines[1], "curl", "mysql")):
        used.clear()
        assert [*addresses.secrets_in_addresses(line)]
        assert any(mine in pattern for pattern in used)
        assert not any(other in pattern for pattern in used)


def test_words_of_most_texts_alone_compile_no_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library and a network are in every report; a password by a letter follows an option."""
    tried: list[str] = []

    def note(pattern: str) -> re.Pattern[str]:
        tried.append(pattern)
        return re.compile(pattern)

    monkeypatch.setattr(addresses, "compiled", note)
    text = "the library of a network client: --python /proc/1, a zip\n"
    assert hide_credentials(text) == text
    assert [each for each in tried if r"\b" in each or "/p" in each] == []
    assert "secret1" not in hide_credentials("unrar x -psecret1 a.rar\n")
