"""Credentials in text from outside: found by name, by shape or by place, and replaced by ``***``.

`hide_credentials` is for any text; `hide_in_lines` for the lines of one, which a secret can span;
`hide_in_document` for all that is about to be shown. Names of people and machines are another
matter: `fadoctor.syntax.identities`.
"""

from __future__ import annotations

from fadoctor.syntax.credentials.document import hide_in_document
from fadoctor.syntax.credentials.hiding import HIDDEN, hide_credentials, hide_in_lines
from fadoctor.syntax.credentials.names import is_secret_name

__all__ = ("HIDDEN", "hide_credentials", "hide_in_document", "hide_in_lines", "is_secret_name")
