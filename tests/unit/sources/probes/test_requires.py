"""Requirements as saved facts keep them."""

from __future__ import annotations

from fadoctor.sources.probes.requires import conditional_lines


def test_conditions_are_kept_as_they_are_written_without_addresses() -> None:
    lines = (
        'triton==3.4.0; platform_system == "Linux"',
        'ours @ https://ada:secret@example.org/x.whl ; python_version < "3.12"',
        "filelock",
        'pytest; extra == "test"',
    )
    assert conditional_lines(lines) == (
        'triton==3.4.0; platform_system == "Linux"',
        'ours; python_version < "3.12"',
        "filelock",
    )
    assert conditional_lines(("filelock", 'pytest; extra == "test"')) == ()
