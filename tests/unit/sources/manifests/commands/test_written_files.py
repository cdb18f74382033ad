"""Lists of packages that the commands of a script write and then install."""

from __future__ import annotations

import pytest

from fadoctor.sources.manifests.images.dockerfile import read
from tests.unit.sources.manifests.given import given

FROM = "FROM python:3.11\nWORKDIR /app\n"


def _asked(script: str) -> dict[str, tuple[str, int, int]]:
    found = read(given(FROM + script, "Dockerfile"))
    return {
        each.name: (each.specifier, each.place.line, each.place.column)
        for each in found.requirements
    }


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        (
            "RUN echo 'torch==2.6.0' > /a && \\\n  echo 'einops>=0.8' >> /a && pip install -r /a\n",
            {"torch": ("==2.6.0", 3, 11), "einops": (">=0.8", 4, 9)},
        ),
        (
            "RUN printf '%s\\n' \\\n  torch==2.6.0 \\\n  einops > a && pip install -r /app/a\n",
            {"torch": ("==2.6.0", 4, 3), "einops": ("", 5, 3)},
        ),
        (
            "RUN cat > a.txt <<'END'\ntorch==2.6.0\n\neinops\nEND\nRUN pip install -r a.txt\n",
            {"torch": ("==2.6.0", 4, 1), "einops": ("", 6, 1)},
        ),
        # written anew
        (
            "RUN echo einops > a.txt\nRUN echo torch > a.txt && pip install -r a.txt\n",
            {"torch": ("", 4, 10)},
        ),
    ],
)
def test_a_list_that_commands_write(script: str, asked: dict[str, tuple[str, int, int]]) -> None:
    assert _asked(script) == asked


@pytest.mark.parametrize(
    "script",
    [
        "RUN echo torch > a.txt && echo $MORE >> a.txt && pip install -r a.txt\n",
        "RUN echo -e 'torch\\neinops' > a.txt && pip install -r a.txt\n",
        "RUN echo torch > a.txt && sort b.txt > a.txt && pip install -r a.txt\n",
        "RUN cat > a.txt <<END\ntorch==$VERSION\nEND\nRUN pip install -r a.txt\n",
        'RUN if [ -n "$X" ]; then echo torch > a.txt; fi\nRUN pip install -r a.txt\n',
        "RUN echo torch >> a.txt && pip install -r a.txt\n",
        "RUN echo torch > b.txt && pip install -r a.txt\n",
    ],
)
def test_what_only_a_run_would_tell_is_not_read(script: str) -> None:
    found = read(given(FROM + script, "Dockerfile"))
    assert found.requirements == ()
    assert any("a.txt is not read" in str(each) for each in found.notes)
