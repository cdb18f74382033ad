"""What identifies people and machines in a text: mail, users, hosts, addresses, homes.

Names that a document tells in one place are hidden in all others, too: `identities_in` finds them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

USER, HOST, HOME = "<user>", "<host>", "~"

_NAME = r"[^\s/\\:*?\"'<>|,;()\[\]]+"
_SPACED = r"[^\s/\\:*?\"'<>|,;()\[\]]+(?: [^\s/\\:*?\"'<>|,;()\[\]]+){0,2}"

_HOMES = re.compile(
    r"(?:(?<![\w~>$])(?:/[\w.-]{1,40}){1,4}|)(?:/(?:home|homes|Users)|%2F(?:home|Users))(?:/[a-z](?=/)|)"
    rf"(?:/|%2F)(?P<unix>{_SPACED}(?=[/\\])|(?:(?!%2F){_NAME[:-1]})+)"
    rf"|(?i:[a-z]:(?:[\\/]{{1,4}})(?:Users|Documents and Settings)[\\/]{{1,4}})"
    rf"(?P<windows>[^\\/:*?\"<>|\n]{{1,60}}(?=[\\/])|{_NAME})"
    rf"|(?<![\w/.])~(?P<tilde>[A-Za-z][\w.-]{{1,40}})(?=/)"
)
# /scratch/users/alice, /gscratch/lab/alice, /data/people/alice, /afs/cell/user/a/alice
_FOLDERS = re.compile(
    r"(?i)(?P<before>/(?:users|user(?=/[a-z]/)|run/user|people|homes|staff|students|members|personal|u"
    r"|\w{0,8}scratch[\w-]{0,8})"
    r"/(?:users?/|people/|[a-z]/|[A-Z]{2,6}\d{2,6}/|labs?/|projects?/){0,3})"
    rf"(?P<name>{_NAME})"
)
_UNC = re.compile(
    r"(?<![\w\\:])(?:\\{4}(?P<a>[A-Za-z0-9][\w.$-]+)\\{2}(?P<b>[^\s\\\"']{2,})"
    r"|\\{2}(?P<c>[A-Za-z0-9][\w.$-]+)\\(?!\\)(?P<d>[^\s\\\"']{2,}))"
)
_MAIL = re.compile(
    r"(?<![\w/.+-])(?P<user>[A-Za-z_][\w.+-]{1,63})@(?P<host>(?!sha\d)[A-Za-z][\w-]+(?:\.[\w-]+){0,8}"
    r"|\d{1,3}(?:\.\d{1,3}){3})"
)
_USERS = re.compile(
    r"(?i)(?<![A-Za-z])(?:user(?:[ _]?name)?|login|logname|owner|author|account|maintainer"
    r"|committer|slurm_job_user|sudo_user|uid)[\"']?\s{0,4}[=:]\s{0,4}[\"']?(?:\d+\()?(?P<name>[A-Za-z_][\w.-]*"
    r"(?: [A-Z][\w.-]*){0,3})|(?:--user=|sudo -u |su - |ssh -l )(?P<option>[A-Za-z_][\w.-]*)"
)
_NAMED_HOSTS = re.compile(
    r"(?i)(?<![A-Za-z])(?P<sure>host[ _-]?name|master[_-]addr(?:ess)?|node[ _]?name"
    r"|computer[ _]?name|rdzv[_-]endpoint)[\"']?(?:\s{0,4}[=:]\s{0,4}|\s)[\"']?"
    r"(?P<a>[A-Za-z0-9][\w.-]*)"
    r"|(?<![A-Za-z])(?:hosts?|nodes?|nodelist|server)[\"']?(?:\s{0,4}[=:]\s{0,4}|\s)"
    r"[\"']?(?P<b>[A-Za-z][A-Za-z_-]*\d[\w-]*(?:\.[\w-]+)*|[A-Za-z]+-?\[[\d,-]+\])"
    r"|\[(?P<c>[a-z][a-z-]*\d[\w-]*):\d+\]"
)
_SCHEMED = re.compile(
    r"(?<=://)(?:[^\s/@]{1,200}@)?(?P<host>[A-Za-z0-9_-]+(?:\.[\w-]+)*)(?=[:/\s\"',;)?#]|\Z)"
)
_DOMAINS = re.compile(
    r"(?i)(?<![\w@/.-])(?P<host>(?:[a-z0-9][a-z0-9-]*\.){1,6}(?:com|org|net|edu|gov|mil)"
    r"|(?:[a-z0-9][a-z0-9-]*\.){2,6}(?:io|ai|dev|cloud|app|local|localdomain|internal|lan|corp|"
    r"intranet|private|cluster|de|uk|fr|ch|at|nl|be|se|no|fi|dk|it|es|pt|pl|cz|eu|us|ca|au|nz|jp|cn"
    r"|kr|tw|hk|sg|in|br|mx|ru|ua|tr|il|za)"
    r"|[a-z0-9]*[a-z][a-z0-9]*[\d-][a-z0-9-]*\.(?:local|localdomain|internal|lan|corp|intranet|"
    r"private|cluster))(?![\w.-]*\w)"
)
_IPV4 = re.compile(r"(?<![\w.+-])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\w)")
_VERSION_BEFORE = re.compile(
    r"(?i)(?:==|[<>~!]=|(?<![A-Za-z])v|(?:nvidia|cu[a-z]*|lib\w+|torch\w*|tensorrt|driver|version|release|toolkit"
    r"|build)[\w.+-]*[ :=(]{0,3})\Z"
)
_IPV6 = re.compile(
    r"(?i)(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}"
    r"|(?=[0-9a-f:]*\d)(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}|(?:[0-9a-f]{1,4}:){2,6}:"
    r")(?:%\w{1,15})?(?![\w:])"
)
_MAC = re.compile(r"(?i)(?<![\w:-])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![\w:])")
_IDS = re.compile(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")

GENERIC = frozenset({
    "root", "user", "admin", "ubuntu", "runner", "jovyan", "nobody", "dev", "usr", "lib", "bin",
    "opt", "mnt", "srv", "tmp", "var", "etc", "proc", "sys", "run", "home", "data", "env", "envs",
    "cuda", "conda", "python", "torch", "triton", "site", "prefix", "host", "linux", "docker",
})  # fmt: skip
"""Names of users that say nothing about a person, or that are words of every report."""

_SHORTEST = 3
_LOCAL = ("localhost", "0.0.0.0", "127.0.0.1", "host", "example")  # noqa: S104 -- nothing is bound
_MARKS = (USER, HOST, HOME, "***")


class Identities(NamedTuple):
    """Names that a text tells."""

    users: frozenset[str]
    hosts: frozenset[str]


def hide_identities(text: str, public: Collection[str] = ()) -> str:
    """Return a text without people and machines; hosts that are `public` stay."""
    text = _HOMES.sub(HOME, text)
    text = _FOLDERS.sub(lambda found: found["before"] + _as_user(found["name"]), text)
    text = _UNC.sub(_share, text)
    text = _MAIL.sub(lambda found: _mail(found, public), text)
    text = _USERS.sub(_user, text)
    text = _MAC.sub("<mac>", _IDS.sub("<uuid>", text))
    text = _IPV6.sub(HOST, text)
    text = _IPV4.sub(_address, text)
    for pattern in (_SCHEMED, _NAMED_HOSTS, _DOMAINS):
        text = pattern.sub(lambda found: _host(found, public), text)
    return text


def identities_in(text: str, public: Collection[str] = ()) -> Identities:
    """Return the names of users and hosts that a text tells by where they stand."""
    users = {
        found[group]
        for pattern in (_HOMES, _USERS, _MAIL)
        for found in pattern.finditer(text)
        for group in pattern.groupindex
        if group != "host" and found[group]
    }
    hosts = {found["host"] for found in _MAIL.finditer(text)}
    hosts |= {_named(found) for found in _NAMED_HOSTS.finditer(text)}
    hosts |= {found["host"] for found in _SCHEMED.finditer(text)}
    wanted = {host for host in hosts if not _is_public(host, public) and not host.isdecimal()}
    return Identities(frozenset(users), frozenset(wanted))


def domains_in(text: str) -> frozenset[str]:
    """Return the names of hosts in a text that are written without a scheme: ``pytorch.org``."""
    return frozenset(found["host"] for found in _DOMAINS.finditer(text))


def hide_names(told: Identities, text: str) -> str:
    """Return a text without names of users and hosts, wherever they stand."""
    for names, mark in ((told.users, USER), (told.hosts, HOST)):
        for name in sorted(names, key=len, reverse=True):
            if len(name) >= _SHORTEST and name.lower() not in GENERIC and name in text:
                text = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", mark, text)
    return text


def _as_user(name: str) -> str:
    is_kept = name in _MARKS or name.startswith(("<", "$")) or name.lower() in GENERIC
    return name if is_kept else USER


def _mail(found: re.Match[str], public: Collection[str]) -> str:
    if found["user"] in ("git", "hg") and _is_public(found["host"], public):
        return found[0]
    return f"{USER}@{HOST}"


def _share(found: re.Match[str]) -> str:
    is_escaped = found["a"] is not None
    return rf"\\\\{HOST}\\<share>" if is_escaped else rf"\\{HOST}\<share>"


def _user(found: re.Match[str]) -> str:
    """Return a match with the name in it replaced; one that tells nobody stays."""
    group = "name" if found["name"] else "option"
    if found[group].lower() in GENERIC:
        return found[0]
    return _with(found, group, USER)


def _with(found: re.Match[str], group: str, mark: str) -> str:
    start, end = found.start(group) - found.start(), found.end(group) - found.start()
    return found[0][:start] + mark + found[0][end:]


def _named(found: re.Match[str]) -> str:
    return found["a"] or found["b"] or found["c"] or ""


def _host(found: re.Match[str], public: Collection[str]) -> str:
    group = next(
        name for name in ("host", "a", "b", "c") if name in found.re.groupindex and found[name]
    )
    if _is_public(found[group], public):
        return found[0]
    return _with(found, group, HOST)


def _is_public(host: str, public: Collection[str]) -> bool:
    lowered = host.lower().strip(".")
    return (
        not lowered
        or lowered in _LOCAL
        or lowered in public
        or lowered.isdecimal()
        or re.fullmatch(r"\d{1,4}(?:\.\d{1,6}){1,3}", lowered) is not None
    )


def _address(found: re.Match[str]) -> str:
    """Return an IPv4 address hidden; a version of four numbers, or this machine, stays."""
    text, at = found.string, found.start()
    is_whole = found[0] == text.strip()
    is_ip = all(int(part) <= 255 for part in found[0].split("."))
    if not is_ip or is_whole or found[0] in _LOCAL:
        return found[0]
    if _VERSION_BEFORE.search(text[max(0, at - 60) : at]):
        return found[0]
    return HOST
