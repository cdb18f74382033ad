"""What typer's completion lacks: in zsh, the first TAB of each new shell did nothing.

zsh loads the installed script at the first TAB and calls it as the completion itself; typer's only
defines the function there, so that the second TAB is the first that is answered.
"""

from __future__ import annotations

from contextlib import suppress

_REGISTERS = "compdef %(complete_func)s %(prog_name)s"
_ANSWERS = """\
if [[ "${funcstack[1]}" == _%(prog_name)s ]]; then
  %(complete_func)s "$@"
else
  compdef %(complete_func)s %(prog_name)s
fi"""


def answer_first_tab() -> None:
    """Let the script for zsh answer while it is loaded; a typer that is made otherwise stays so."""
    with suppress(ImportError, AttributeError, KeyError):
        from typer import _completion_classes as classes
        from typer import _completion_shared as shared

        scripts = shared._completion_scripts  # noqa: SLF001 -- there is no other way to it
        script = scripts["zsh"]
        if script.count(_REGISTERS) == 1 and "funcstack" not in script:
            scripts["zsh"] = script.replace(_REGISTERS, _ANSWERS)
            classes.ZshComplete.source_template = scripts["zsh"]
