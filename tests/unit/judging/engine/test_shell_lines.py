"""Lines that are pasted into a shell."""

from __future__ import annotations

from fadoctor.judging.engine.shell_lines import assignment, unassignment


def test_lines_that_set_and_unset() -> None:
    assert assignment("A=x y", windows=False) == "export A='x y'"
    assert assignment("A=x y", windows=True) == "$env:A = 'x y'"
    assert unassignment("A", windows=False) == "unset A"
    assert unassignment("A", windows=True) == "$env:A = $null"


def test_several_on_one_line() -> None:
    assert assignment("A=1", "B=x y", windows=False) == "export A=1 B='x y'"
    assert assignment("A=1", "B=2", windows=True) == "$env:A = '1'; $env:B = '2'"
    assert unassignment("A", "B", windows=False) == "unset A B"
    assert unassignment("A", "B", windows=True) == "$env:A = $null; $env:B = $null"
