"""Secrets in addresses: ``user:password@host``, signed query strings, connection strings."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from fadoctor.syntax.credentials.values import compiled, small, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_REACH = 2_000
"""Longest user with password that is looked for, in characters."""

_SLASHES = r"//|\\/\\/|%2[Ff]%2[Ff]"
_BEFORE_SLASHES = (":", "=", "(", '"', "'", " ", "\t", "\n", "a", "A")
_AUTHORITY = r"(?:[^\s\"'<>\\]|\\(?![nrt\"'])){1,2000}"
_HOST = r"(?:\[[0-9A-Fa-f:.]{2,40}\]|[A-Za-z0-9][\w.-]{0,200})"
_FULL_HOST = r"(?:[A-Za-z0-9-]{1,63}\.){1,8}[a-z]{2,12}(?:[:/]|\Z)|(?:\d{1,3}\.){3}\d{1,3}(?![\w.])"
_PORT = r"\d{1,5}\Z"

# bob:password@host, where no scheme stands before it; C:\\Programs\\@app is a path of Windows
_BARE = (
    r"(?<![\w/.@+-])(?![A-Za-z]:\\)(?P<user>[A-Za-z_][\w.+-]{0,63}):(?P<secret>(?![/\s:])[^\s:\"'<>@]{1,200})"
    r"@(?P<host>(?:[A-Za-z](?!ha\d)[\w-]{0,62}(?:\.[\w-]{1,63}){0,8}|\d{1,3}(?:\.\d{1,3}){3}))(?!\w)"
)
_NO_USERS = ("mailto", "npm", "pkg", "file", "http", "https", "git", "ssh", "image", "docker")
_THIN = r":thin:[\w-]{1,60}/(?P<secret>[^\s@]{1,200})@"

_QUERY = (
    r"(?:[?&;]|\\u0026|%26)(?:x-(?:amz|goog|ms)-(?:signature|credential|security-token)"
    r"|sig|signature|token|key|code|hmac|awsaccesskeyid|googleaccessid|policy|key-pair-id|pw|pwd"
    r"|ticket|assertion|nonce|state|session|sid|auth|h|st|hdnts|x-?token|se?cret)(?:=|%3d)"
)
_SIGNED = r"(?:sig|x-(?:amz|goog)-(?:signature|credential|security-token))=(?<![\w-]sig=)"
_LETTERS = (
    (
        ("curl",),
        r"\bcurl\b[^\n]{0,400}?[ \t](?:-[A-Za-z]{0,6}u|--user)[ \t=]{1,4}[\"']?[^\s:\"']{1,100}:",
    ),
    (("sshpass",), r"\bsshpass[ \t]{1,4}-p[ \t]{0,4}"),
    (("mysql", "mariadb"), r"\b(?:mysql|mysqldump|mariadb|mysqladmin)\b[^\n]{0,300}?[ \t]-p"),
    (
        ("login",),
        (
            r"\b(?:docker|podman|nerdctl|helm|oras|skopeo|az|oc)\b[^\n]{0,200}?\blogin\b[^\n]{0,200}?"
            r"[ \t]-p[ \t=]{1,4}"
        ),
    ),
    (
        ("login",),
        (
            r"\b(?:wandb|vault|ngc|comet|clearml|modal|runpod)[ \t]{1,4}login"
            r"(?:[ \t]{1,4}--?[\w-]{1,20}){0,3}[ \t]{1,4}"
        ),
    ),
    (("-cli",), r"\b(?:redis|keydb|valkey)-cli\b[^\n]{0,300}?[ \t]-a[ \t]{1,4}"),
    (
        ("mongo", "cqlsh"),
        r"\b(?:mongo|mongosh|mongodump|mongorestore|cqlsh)\b[^\n]{0,300}?[ \t]-p[ \t]{1,4}",
    ),
    (
        ("ldap",),
        r"\bldap(?:search|add|modify|delete|whoami|passwd)\b[^\n]{0,300}?[ \t]-w[ \t]{1,4}",
    ),
    (
        ("ipmitool", "zip", "sqlcmd", "bcp"),
        r"\b(?:ipmitool|unzip|zip|sqlcmd|bcp)\b[^\n]{0,300}?[ \t]-P[ \t]{1,4}",
        "-P",
    ),
    (("7z", "rar"), r"\b(?:7za?|7zr|rar|unrar)\b[^\n]{0,300}?[ \t]-p(?=[^\s-])", "-p"),
    (
        ("client", "net"),
        r"\b(?:smbclient|rpcclient|net)\b[^\n]{0,300}?[ \t]-U[ \t]{0,4}[\"']?[^\s%\"']{1,100}%",
        "-U",
    ),
    (("lftp",), r"\blftp\b[^\n]{0,300}?[ \t]-u[ \t]{1,4}[\"']?[^\s,\"']{1,100},"),
    (("net use", "net\t", "net  "), r"\bnet[ \t]{1,4}use\b[^\n]{0,300}?/user:\S{1,100}[ \t]{1,4}"),
    (
        ("htpasswd",),
        (
            r"\bhtpasswd\b[^\n]{0,60}?[ \t]-[A-Za-z]{0,6}b[A-Za-z]{0,4}"
            r"(?:[ \t]{1,4}[^\s-]\S{0,200}){2}[ \t]{1,4}"
        ),
    ),
    (("/p:", "/pass:", "/password:"), r"[ \t]/p(?:ass(?:word)?)?:"),
)
"""Command lines that take a password by a letter, each with words without one of which it is none.

Where those words are in most texts, the option comes last: it follows a space.

One at a time: together they are tried at every letter of a text, which takes thirty times as long.
"""
_NO_OPTION = r"(?![-/])"
_PGPASS = (
    r":(?<=[\w.*-]:)\d{2,5}:[A-Za-z_*][^\s:]{0,60}:[A-Za-z_][^\s:]{0,60}:"
    r"(?P<secret>[^\s:]{1,200})"
)
_ODBC = r"(?i)\b(?:pwd|password)[ \t]{0,2}=[ \t]{0,2}\{(?P<secret>[^}\n]{1,200})\}"


def secrets_in_addresses(text: str) -> Iterator[tuple[int, int]]:
    """Yield where users, passwords and signatures of addresses lie."""
    lowered = small(text)
    if "@" in text or "%40" in text:
        yield from _user_infos(text)
        yield from _bare(text)
    if "=" in text or "%3d" in lowered:
        for pattern in (_QUERY, _SIGNED):
            for found in compiled(pattern).finditer(lowered):
                yield from _up_to(text, found.end(), r"[^\s&\"'<>;\\]{6,4000}")
    yield from _behind_letters(text)
    if "{" in text:
        yield from (found.span("secret") for found in compiled(_ODBC).finditer(text))
    if ":" in text:
        yield from (found.span("secret") for found in compiled(_PGPASS).finditer(text))


def _behind_letters(text: str) -> Iterator[tuple[int, int]]:
    for words, pattern, *option in _LETTERS:
        if any(word in text for word in words) and _has_any(text, option):
            for found in compiled(pattern + _NO_OPTION).finditer(text):
                if span := value_at(text, found.end()):
                    yield span


def _has_any(text: str, options: Sequence[str]) -> bool:
    """Return whether one of the options follows a space, or none is named."""
    return not options or any(f"{space}{each}" in text for each in options for space in " \t")


def _up_to(text: str, at: int, pattern: str) -> Iterator[tuple[int, int]]:
    found = compiled(pattern).match(text, at)
    if found:
        yield found.span()


def _user_infos(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands between the slashes of an address and its host."""
    done = 0
    for found in compiled(_SLASHES).finditer(text):
        start, at = found.end(), found.start()
        if at and text[at - 1] not in _BEFORE_SLASHES:
            continue
        rest = compiled(_AUTHORITY).match(text, start)
        if rest is None or start < done:
            continue
        end = _end_of_user(rest[0])
        if end:
            yield start, start + end
            done = start + end


def _end_of_user(rest: str) -> int:
    """Return the length of the user with the password; 0 where an address has none."""
    sign, size = ("%40", 3) if "@" not in rest and "%40" in rest else ("@", 1)
    cut = min((at for at in (rest.find("/"), rest.find("\\/")) if at >= 0), default=len(rest))
    last = rest.rfind(sign, 0, cut + size - 1)
    if last < 0 and ":" in rest[:cut]:
        # A slash in the password; `host:8080/a/b@v1` has none.
        host, _, begun = rest[:cut].partition(":")
        is_port = compiled(_PORT).match(begun) is not None and ("." in host or host == "localhost")
        last = -1 if is_port or ("." in host and not begun) else rest.rfind(sign)
    final = rest.rfind(sign)
    if ":" in rest[:cut] and final > last > 0 and compiled(_FULL_HOST).match(rest, final + size):
        last = final  # both signs in the password
    if last <= 0 or not compiled(_HOST).match(rest, last + size):
        return 0
    return 0 if unquote(rest[:last]) in ("git", "***", "hg", "svn") else last


def _bare(text: str) -> Iterator[tuple[int, int]]:
    for found in compiled(_BARE).finditer(text):
        if found["user"].lower() not in _NO_USERS:
            yield found.span("secret")
    if ":thin:" in text:
        yield from (found.span("secret") for found in compiled(_THIN).finditer(text))
