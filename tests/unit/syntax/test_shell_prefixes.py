"""What a program starts on the same machine."""

from __future__ import annotations

import pytest

from fadoctor.syntax.shell_prefixes import program_index


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("pip install", "pip"),
        ("sudo pip", "pip"),
        ("sudo -E -u me A=b pip", "pip"),
        ("/usr/bin/sudo -- pip", "pip"),
        ("env -i -u A B=c pip", "pip"),
        ("time -p pip", "pip"),
        ("nice -n 10 pip", "pip"),
        ("timeout -k 5 30 pip", "pip"),
        ("taskset -c 0-3 pip", "pip"),
        ("exec -a name pip", "pip"),
        ("nohup setsid stdbuf -o L pip", "pip"),
        ("srun --ntasks 4 -N 1 --pty --gres=gpu:1 pip", "pip"),
        ("srun --exclusive -u pip", "pip"),
        ("conda run -n train --no-capture-output pip", "pip"),
        ("conda install x", "conda"),
        ("command -v pip", "command"),
        ("docker run pip", "docker"),
        ("sudo", ""),
        ("", ""),
    ],
)
def test_the_program_of_a_command(text: str, program: str) -> None:
    words = text.split()
    at = program_index(words)
    assert (words[at] if at < len(words) else "") == program


def test_prefixes_without_end() -> None:
    assert program_index(["sudo"] * 10_000) < 100
