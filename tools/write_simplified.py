"""Write the characters of fadoctor/syntax/simplified.py anew, from OpenCC's list.

    python -m tools.write_simplified TSCharacters.txt

The list is in the package opencc-python-reimplemented. Only characters whose simplified form some
table of tellings holds are taken: others stand in no pattern.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parents[1]
MODULE = ROOT / "fadoctor" / "syntax" / "simplified.py"
TABLE = ROOT / "rules" / "matrix" / "told-words.yaml"

_WIDTH = 84
_LITERAL = "_{} = (\n{}\n)\n"


def pairs_in(source: str, held: str) -> list[tuple[str, str]]:
    """Return traditional and simplified characters, of those whose simplified form is held."""
    found = {}
    for line in source.splitlines():
        traditional, _, rest = line.partition("\t")
        simplified = rest.partition(" ")[0]
        is_pair = len(traditional) == len(simplified) == 1 and traditional != simplified
        if is_pair and simplified in held and ord(traditional) < 0x10000:
            found[traditional] = simplified
    return sorted(found.items())


def written(module: str, pairs: list[tuple[str, str]]) -> str:
    """Return the module with these characters in its two literals."""
    for name, place in (("TRADITIONAL", 0), ("SIMPLIFIED", 1)):
        escaped = "".join(f"\\u{ord(pair[place]):04x}" for pair in pairs)
        lines = "\n".join(f'    "{line}"' for line in wrap(escaped, _WIDTH))
        literal = _LITERAL.format(name, lines)
        module = re.sub(rf"_{name} = \([^)]*\)\n", lambda _, new=literal: new, module)  # type: ignore[misc]
    return module


def main() -> int:
    """Read the list that is named, and write the module."""
    source = Path(sys.argv[1]).read_text(encoding="utf-8")
    pairs = pairs_in(source, TABLE.read_text(encoding="utf-8"))
    MODULE.write_text(written(MODULE.read_text(encoding="utf-8"), pairs), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
