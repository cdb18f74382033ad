"""Commands as they are pasted into PowerShell and cmd, and lines of a batch file.

Microsoft, about_Parsing and about_Quoting_Rules (PowerShell); "Parsing C++ command-line arguments"
and the help of cmd (``cmd /?``). Double quotes serve both shells where a text has neither ``$`` nor
a backtick. PowerShell 5.1 has no ``&&``, and runs a quoted program only after ``&``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PLAIN = re.compile(r"[\w./:\\=+-]{1,4000}", re.ASCII)
# PowerShell cuts -Dname.x=1 after the name
_CUT = re.compile(r"-\w[^.:]{0,200}[.:]")


def powershell_line(argv: Iterable[str], env: Mapping[str, str] = {}) -> str:
    """Return a command for PowerShell, in one line."""
    words = [powershell_word(word) for word in argv]
    if words and words[0].startswith(("'", '"')):
        words.insert(0, "&")
    return "; ".join([*(powershell_set(n, v) for n, v in env.items()), " ".join(words)])


def powershell_word(text: str) -> str:
    """Return an argument for PowerShell; cmd reads it the same unless it is in single quotes."""
    if _PLAIN.fullmatch(text) and not _CUT.match(text):
        return text
    if not re.search(r"[$`\"\u201c-\u201f]", text):
        return f'"{_closed(text)}"'
    quoted = re.sub("['\u2018-\u201b]", lambda match: match[0] * 2, text)
    return f"'{quoted}'"


def powershell_set(name: str, value: str) -> str:
    """Return the line that sets a variable for this window."""
    quoted = re.sub("['\u2018-\u201b]", lambda match: match[0] * 2, value)
    return f"$env:{name} = '{quoted}'" if value else f"$env:{name} = $null"


def cmd_line(argv: Iterable[str]) -> str:
    """Return a command for cmd."""
    return " ".join(cmd_word(word) for word in argv)


def cmd_word(text: str) -> str:
    """Return an argument for cmd: in double quotes wherever a character may mean something."""
    if _PLAIN.fullmatch(text):
        return text
    inside = re.sub(r'(\\*)"', r'\1\1\\"', text)
    return f'"{_closed(inside)}"'


def cmd_set(name: str, value: str) -> str:
    """Return the line that sets a variable for this window."""
    return f'set "{name}={value}"' if value else f"set {name}="


def _closed(text: str) -> str:
    r"""Double the backslashes before the closing quote: ``C:\x\`` would escape it."""
    bare = text.rstrip("\\")
    return bare + (len(text) - len(bare)) * 2 * "\\"
