"""Secrets that show by their shape, whoever names them: tokens of services, digests, hashes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.syntax.credentials.values import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGINNINGS = {
    "AKIA": "[A-Z0-9]{16}", "ASIA": "[A-Z0-9]{16}", "AROA": "[A-Z0-9]{16}", "AIDA": "[A-Z0-9]{16}",
    "AIza": r"[\w-]{30,60}", "ya29.": r"[\w.-]{10,2000}", "GOCSPX-": r"[\w-]{20,60}",
    "1//0": r"[\w-]{20,200}", "nvapi-": r"[\w-]{20,200}",
    "ghp_": "[A-Za-z0-9]{20,300}", "gho_": "[A-Za-z0-9]{20,300}", "ghu_": "[A-Za-z0-9]{20,300}",
    "ghs_": "[A-Za-z0-9]{20,300}", "ghr_": "[A-Za-z0-9]{20,300}", "github_pat_": r"\w{20,300}",
    "hf_": "[A-Za-z0-9]{20,300}", "api_org_": "[A-Za-z0-9]{20,300}",
    "sk-": r"(?=[\w-]{0,120}\d)[\w-]{20,500}", "glpat-": r"[\w.-]{16,300}",
    "gldt-": r"[\w-]{16,300}", "glrt-": r"[\w-]{16,300}", "glptt-": r"[\w-]{16,300}",
    "glcbt-": r"[\w-]{16,300}", "xoxa-": r"[\w-]{10,500}", "xoxb-": r"[\w-]{10,500}",
    "xoxe-": r"[\w-]{10,500}", "xoxe.": r"[\w.-]{10,500}", "xoxp-": r"[\w-]{10,500}",
    "xoxr-": r"[\w-]{10,500}", "xoxs-": r"[\w-]{10,500}", "xapp-": r"[\w-]{10,500}",
    "pypi-": r"(?=[\w-]{0,80}[A-Z])(?=[\w-]{0,80}\d)[\w-]{20,500}", "npm_": "[A-Za-z0-9]{30,100}",
    "eyJ": r"[\w-]{10,4000}[\w.-]{0,4000}", "SG.": r"[\w-]{16,64}\.[\w-]{16,100}",
    "sk_live_": r"\w{16,200}", "sk_test_": r"\w{16,200}", "rk_live_": r"\w{16,200}",
    "rk_test_": r"\w{16,200}", "whsec_": r"[\w+/=]{16,200}", "r8_": "[A-Za-z0-9]{30,60}",
    "gsk_": "[A-Za-z0-9]{30,100}", "dapi": "[0-9a-f]{32}", "dckr_pat_": r"[\w-]{20,60}",
    "dckr_oat_": r"[\w-]{20,60}", "dop_v1_": "[0-9a-f]{40,80}", "doo_v1_": "[0-9a-f]{40,80}",
    "hvs.": r"[\w-]{20,300}", "hvb.": r"[\w-]{20,300}", "AGE-SECRET-KEY-1": "[A-Z0-9]{20,100}",
    "shpat_": "[0-9a-fA-F]{32}", "shpss_": "[0-9a-fA-F]{32}", "tskey-": r"[\w-]{16,100}",
    "lsv2_": r"\w{30,100}", "rpa_": "[A-Za-z0-9]{30,60}", "pplx-": "[A-Za-z0-9]{30,80}",
    "xai-": "[A-Za-z0-9]{40,120}", "tvly-": r"[\w-]{20,60}", "wandb_v1_": r"\w{20,200}",
    "ATATT3x": r"[\w=-]{20,400}", "ATCTT3x": r"[\w=-]{20,400}", "key-": "[0-9a-f]{32}",
    "NRAK-": "[A-Z0-9]{20,40}", "dp.pt.": r"\w{30,80}", "dp.st.": r"[\w.]{30,100}",
    "PMAK-": r"[0-9a-f-]{40,80}", "ntn_": "[A-Za-z0-9]{30,80}", "lin_api_": "[A-Za-z0-9]{30,60}",
    "figd_": r"[\w-]{30,80}", "sntrys_": r"[\w+/=-]{30,300}", "sntryu_": "[0-9a-f]{40,80}",
    "vck_": r"\w{20,80}", "csk-": "[a-z0-9]{30,80}", "fw_": "[A-Za-z0-9]{20,60}",
    "ops_eyJ": r"[\w-]{30,2000}", "EAACEdEose0c": r"\w{10,300}", "sl.": r"[\w-]{100,300}",
    "cfut_": r"\w{30,80}", "nfp_": r"\w{30,60}", "rnd_": r"[A-Za-z0-9]{28,40}",
}  # fmt: skip
"""How services begin their tokens, and what follows."""

_LEFT = r"(?<![A-Za-z0-9_])"
_WORDS_LIKE = ("sk-", "key-", "sl.", "SG.", "fw_", "csk-", "dapi", "xai-", "rnd_", "pypi-")
_NO_PATH = r"(?<![A-Za-z0-9][/.-])"
"""What stands before a beginning that names of files have, too."""

_OTHERS = {
    ":AA": r"(?<!\d)\d{8,12}:AA[\w-]{30,40}",
    "hooks.slack": r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/-]{10,200}",
    "/webhooks/": r"(?<=/webhooks/)\d{5,25}/[\w-]{20,200}",
    "webhook.office": r"(?<=webhook\.office\.com/)[\w@/-]{20,400}",
    "$apr1$": r"\$apr1\$[\w./$]{8,200}",
    "$": r"\$(?:2[abxy]|[1567]|y|gy|argon2(?:id|i|d))\$[\w./$=,+-]{12,300}",
    "earer ": r"(?<=earer )(?!token\b|auth)[\w.~+/-]{8,4000}={0,2}",
    "asic ": r"(?<=asic )(?=[A-Za-z0-9+/]{0,200}(?:[A-Z][a-z]|[0-9]))"
             r"(?:[A-Za-z0-9+/]{4}){3,500}(?:[A-Za-z0-9+/]{2,3}={1,2})?(?![\w])",
}  # fmt: skip

_HEX = r"(?<![\w/@.+-])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![\w/.-])"
_DIGESTED = (
    r"(?i)(?:commit|sha-?\d{0,3}|rev(?:ision)?|git|hash|checkout|head|snapshot|blob|tree|digest"
    r"|checksum|image|build.?id|layer|fingerprint|branch|ref|merge|version|md5|parent|tag|resolved"
    r"|container|cache|id)s?\b[^\n\w]{0,6}(?:(?:at|is|to|of|id|now|from|hash|sha)[^\n\w]{1,4}){0,3}\Z"
)
"""What stands before digits that name a state of files: it must stay readable."""
_GIT_LINE = r"(?:^|\n)[^\n\w]{0,6}\Z"
_GIT_REST = r"[ \t]{1,4}(?:refs/|HEAD|\S{1,60}/|\(|[A-Z]?[a-z]{2,20} [a-z]{1,20} )"


def shaped_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield where tokens of known shapes lie."""
    for beginning, rest in _BEGINNINGS.items():
        if beginning in text:
            left = _LEFT + (_NO_PATH if beginning in _WORDS_LIKE else "")
            pattern = f"{left}{re.escape(beginning)}{rest}"
            yield from (found.span() for found in compiled(pattern).finditer(text))
    for mark, pattern in _OTHERS.items():
        if mark in text:
            yield from (found.span() for found in compiled(pattern).finditer(text))


def digits(text: str) -> Iterator[tuple[int, int]]:
    """Yield where 40 or 64 hexadecimal digits stand that nobody calls a commit or a digest."""
    for found in compiled(_HEX).finditer(text):
        start, end = found.span()
        if end - start == len(text.strip()):
            continue  # a field of its own, whose name says what it is
        before = text[max(0, start - 60) : start]
        is_listed = compiled(_GIT_LINE).search(before) and compiled(_GIT_REST).match(text, end)
        if not is_listed and not compiled(_DIGESTED).search(before):
            yield start, end
