"""Which names say that their value is a secret: of variables, keys, options, headers, fields."""

from __future__ import annotations

import re
from itertools import pairwise

# secretAccessKey -> secret Access Key; APIKey -> API Key
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_ALWAYS = frozenset({
    "password", "passwords", "passwd", "passphrase", "passcode", "secret", "secrets", "credential",
    "credentials", "authorization", "cookie", "cookies", "apikey", "apikeys", "authtoken",
    "accesskey", "secretkey", "privatekey", "accesstoken", "userpassword", "pgpassword",
    "requirepass", "identitytoken", "mypwd", "userpwd", "csrftoken", "sessionid", "jsessionid",
    "phpsessid", "signingkey", "accountkey", "authkey", "rootpassword", "dbpassword",
    "keypassphrase", "sharedaccesskey", "awsaccesskeyid", "awssecretaccesskey", "masterkey",
    "kennwort", "passwort", "masterauth", "sshpass", "pgpass", "netrc",
})  # fmt: skip
"""Words with which any name is a secret's."""

_STRONG = ("password", "passwd", "passphrase", "secret", "apikey", "authtoken", "accesstoken")

_KEYS = frozenset({
    "access", "account", "admin", "api", "app", "auth", "client", "consumer", "crypt", "customer",
    "decryption", "deploy", "encryption", "fernet", "hmac", "host", "jwt", "license", "master",
    "private", "rsa", "sas", "secret", "service", "shared", "sign", "signing", "ssh",
    "ssl", "storage", "subscription", "tls", "user", "webhook",
})  # fmt: skip
"""Words before which ``key`` is one that opens something."""

_NO_KEYS = frozenset({
    "cache", "foreign", "host", "index", "lookup", "partition", "primary", "public", "registry",
    "size", "sort",
})  # fmt: skip
"""Words in capitals before ``KEY`` that make it none."""

_NO_TOKENS = frozenset({
    "added", "audio", "bad", "begin", "bos", "chat", "cls", "control", "count", "current", "decode",
    "decoder", "draft", "dummy", "end", "eos", "eot", "expected", "extra", "first", "fixed",
    "forced", "generated", "ids", "image", "input", "invalid", "last", "mask", "max", "min",
    "missing", "model", "new", "next", "num", "number", "output", "pad", "padding", "per",
    "placeholder", "prev", "previous", "prompt", "reserved", "sep", "special", "start", "stop",
    "suffix", "prefix", "syntax", "target", "text", "think", "tokenizer", "total", "tool",
    "unexpected", "unk", "unknown", "unrecognized", "video", "vision", "word", "illegal",
    "negative", "positive", "near", "classification",
})  # fmt: skip
"""Words that make a token one of text."""

_TOKEN_OWNERS = frozenset({
    "access", "api", "auth", "bearer", "bot", "client", "deploy", "gh", "github", "gitlab", "hf",
    "hub", "id", "identity", "jwt", "oauth", "refresh", "registry", "secret", "service", "session",
    "user",
})  # fmt: skip

_ABOUT = frozenset({
    "age", "algorithm", "class", "count", "dir", "enabled", "endpoint", "error", "expiry", "field",
    "file", "format", "helper", "id", "ids", "index", "length", "level", "limit", "manager", "mode",
    "name", "names", "not", "path", "policy", "prompt", "provider", "size", "source", "stdin",
    "store", "ttl", "type", "url", "version", "embedding", "embeddings", "logits", "per", "dim",
})  # fmt: skip
"""Last words of names that tell something about a secret."""


def is_secret_name(name: str) -> bool:
    """Say whether what has this name is a secret, whatever its value looks like."""
    parts = [part.lower() for part in _PARTS.findall(name[-80:])]
    if not parts:
        return False
    if parts[-1] in _ABOUT and not _is_id_of_a_key(parts):
        return False
    is_strong = any(part in _ALWAYS or part.endswith(_STRONG) for part in parts)
    return is_strong or _is_key(name, parts) or _is_other(name, parts)


def _is_id_of_a_key(parts: list[str]) -> bool:
    """Return whether a name is that of AWS's user: it is half of the pair."""
    return parts[-3:] == ["access", "key", "id"]


def _is_key(name: str, parts: list[str]) -> bool:
    """Return whether a key is named that opens something; any one in capitals does."""
    for before, part in pairwise(parts):
        if part in ("key", "keys") and before in _KEYS:
            return True
    is_capital = name[-80:].isupper() and len(parts) > 1
    return is_capital and parts[-1] == "key" and parts[-2] not in _NO_KEYS


def _is_other(name: str, parts: list[str]) -> bool:
    """Return whether a token, a password in short, or what proves who somebody is, is named."""
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    if "token" in parts:
        return not any(part in _NO_TOKENS for part in parts)
    if last == "tokens":
        return before in _TOKEN_OWNERS
    if last in ("pass", "pwd"):
        is_folder = name.upper().lstrip("-$") in ("PWD", "OLDPWD") and name.isupper()
        return bool(before) and before not in ("forward", "backward", "old") and not is_folder
    return last in ("auth", "jwt", "bearer") and before not in ("use", "no", "require")
