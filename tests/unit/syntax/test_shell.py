"""Commands of a script as they run: variables, functions, conditions, shells in shells."""

from __future__ import annotations

import pytest

from fadoctor.syntax.shell import read_shell
from fadoctor.syntax.shell_commands import Depends, ShellCommand
from tests.work import which_ends

KNOWN: dict[str, str | None] = {"X": "one two", "EMPTY": "", "ASKED": None}


def commands(text: str) -> list[ShellCommand]:
    return [each for each in read_shell(text, KNOWN).commands if each.words]


def words(text: str) -> list[list[str]]:
    return [
        [("?" if word.is_open else "") + word.text for word in command.words]
        for command in commands(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b c' \"d e\"f", [["a", "b c", "d ef"]]),
        ("a\\ b c", [["a b", "c"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a && b; c | d\ne & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a # b\nc#d", [["a"], ["c#d"]]),
        ("a $X \"$X\" '$X'", [["a", "one", "two", "one two", "$X"]]),
        ("a x$X", [["a", "xone", "two"]]),
        ("a ${X}y z", [["a", "one", "twoy", "z"]]),
        ("a $EMPTY b", [["a", "b"]]),
        ('a "$EMPTY" b', [["a", "", "b"]]),
        ("a ${X:-y} ${NOT_SET:-y} ${EMPTY:-y} ${X:+y}", [["a", "one", "two", "y", "y", "y"]]),
        ('a ${NOT_SET:-b c} "${NOT_SET:-b c}"', [["a", "b", "c", "b c"]]),
        ("a ${NOT_SET:-${OTHER:-${X}}}", [["a", "one", "two"]]),
        ("a ${EMPTY-y}${EMPTY:=z} $EMPTY", [["a", "z", "z"]]),
        ("a $NOT_SET ${ASKED} ${ASKED:-b}", [["a", "?$NOT_SET", "?${ASKED}", "?${ASKED:-b}"]]),
        ("a $(b $(c) d) `e f` ${X%%y}", [["a", "?$(b $(c) d)", "?`e f`", "?${X%%y}"]]),
        ('V="--b $(c d)"\na $V', [["a", "--b", "?$(c d)"]]),
        ("a 2>&1 >b <c &>d", [["a"]]),
        ("a 'b", [["a", "b"]]),
        ('a "b', [["a", "b"]]),
        ("a $'b\\tc\\'' \"\\$d \\e\"", [["a", "b\tc'", "$d \\e"]]),
        ("", []),
        ("V=a\nV=b\nc $V", [["c", "b"]]),
        ("V=a\nV+=b\nc $V", [["c", "ab"]]),
        ("P=(a 'b c')\nP+=(d)\ne \"${P[@]}\" ${P[0]} \"${P[*]}\"", [
            ["e", "a", "b c", "d", "a", "a b c d"],
        ]),
        ("IFS=$'\\n\\t'\nV='a b'\nc $V", [["c", "a b"]]),
        ("IFS=,\nV=a,b\nc $V", [["c", "a", "b"]]),
        ("unset X\na ${X:-b}", [["unset", "X"], ["a", "b"]]),
        ("read X\na $X", [["read", "X"], ["a", "?$X"]]),
        ("V=a b $V", [["b", "?$V"]]),
        ("(V=a; b $V); c $V", [["b", "a"], ["c", "?$V"]]),
        ("if a; then V=b; fi; c $V", [["a"], ["c", "?$V"]]),
        ("for V in b; do c $V; done", [["c", "b"]]),
        ("for V in b d; do c $V; done", [["c", "?$V"]]),
        ('for V in b d; do W="$W x"; done; c $W', [["c", "?$W"]]),
        ('eval "a $X"', [["eval", "a one two"], ["a", "one", "two"]]),
    ],
)  # fmt: skip
def test_words(text: str, expected: list[list[str]]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "conditional"),
    [
        ("a; if b; then c; else d; fi; e", ["c", "d"]),
        ("if a; then b; elif c; then d; fi", ["b", "c", "d"]),
        ("for x in 1; do a; done\nb", []),
        ("for x in $(y); do a; done\nb", ["a"]),
        ("for x in *.txt; do a; done\nb", ["a"]),
        ("while a; do b; done", ["b"]),
        ("case a in b) c;; esac; d", ["c"]),
        ("a || b", ["b"]),
        ("a || b && c", ["b"]),
        ("[ -f x ] && b && c; d", ["b", "c"]),
        ("[[ -f x ]] && b; d", ["b"]),
        ("! a && b", ["b"]),
        ("command -v a && b; c", ["b"]),
        ("[ -f x ] && { a; b; }; c", ["a", "b"]),
        ("a || (b; c); d", ["b", "c"]),
        ("a && b", []),
        ("a &&\n  b", []),
        ("(a; b)", []),
        ("{ a; }", []),
        ("f() { a; }; b", ["a"]),
        ("f() { a; }; f; b", []),
        ("f() { a; }; if b; then f; fi", ["a"]),
        ("f() { g; }; g() { a; }; f", []),
        ("[ x ] && bash -c 'a; b'", ["bash", "a", "b"]),
    ],
)
def test_what_runs_under_a_condition(text: str, conditional: list[str]) -> None:
    found = [each for each in commands(text) if each.depends is not Depends.NOTHING]
    assert [each.words[0].text for each in found] == conditional


def test_a_function_is_followed_where_it_is_called() -> None:
    text = 'f() { pip install $1 "$V"; }\nrun() { "$@"; }\nV=a\nf x\nV=b\nf y\nrun c d\n'
    assert words(text) == [["pip", "install", "x", "a"], ["pip", "install", "y", "b"], ["c", "d"]]


def test_a_function_that_calls_itself_ends() -> None:
    assert words("f() { a; f; }\nf\n") == [["a"], ["f"]]
    deep = "".join(f"f{i}() {{ f{i + 1}; f{i + 1}; }}\n" for i in range(60))
    assert len(read_shell(f"{deep}f0\n").commands) <= 5_000


GIVEN = (
    "bash -c 'pip install x'",
    'bash -lc "pip install x"',
    "sh -e -c 'pip install x'",
    "bash -o pipefail -c 'pip install x'",
    "sudo -u me bash -c 'pip install x'",
    "srun -N 1 --gres gpu:1 bash -c 'pip install x'",
    "env A=b time nohup bash -c 'pip install x'",
    "su - me -c 'pip install x'",
    "eval 'pip install x'",
    "bash <<E\npip install x\nE\n",
    "bash -s <<'E'\npip install x\nE\n",
    "cat <<\\E | bash\npip install x\nE\n",
    "bash <<< 'pip install x'",
    "echo 'pip install x' | sh",
    "C='pip install x'\nbash -c \"$C\"",
)


@pytest.mark.parametrize("text", GIVEN)
def test_texts_for_a_shell_are_read(text: str) -> None:
    found = commands(text)
    assert found[-1].text == "pip install x"
    assert not found[-1].is_elsewhere
    assert any(each.is_shell for each in found)
    assert found[-1].words[0].at == text.index("pip install x")


@pytest.mark.parametrize(
    "text",
    [
        "cat <<E > run.sh\npip install x\nE\n",
        "python - <<E\npip install x\nE\n",
        "bash run.sh <<E\npip install x\nE\n",
        "echo 'pip install x'",
    ],
)
def test_texts_for_others_are_not(text: str) -> None:
    assert not any(each.words[0].text == "pip" for each in commands(text))


def test_a_shell_that_another_program_starts() -> None:
    outer, inner = commands("docker run image bash -c 'pip install x'")
    assert (outer.is_shell, outer.is_elsewhere) == (False, False)
    assert (inner.text, inner.is_elsewhere) == ("pip install x", True)


def test_a_bound_without_quotes_is_a_redirection() -> None:
    (command,) = commands("pip install torch>=2.0")
    assert command.text == "pip install torch"
    (redirection,) = command.redirections
    assert (redirection.operator, redirection.target.plain) == (">", "=2.0")


def test_words_stand_where_they_are_written() -> None:
    text = 'V=\'a  b\'\nP=(\n  c\n)\nd $V "${P[@]}" "$V" e\n'
    (command,) = commands(text)
    places = [text[word.at : word.at + 2] for word in command.words]
    assert places == ["d ", "a ", "b'", "c\n", '"$', "e\n"]


def test_a_default_may_be_left_open() -> None:
    text = "V=${V:-b}\na $V ${W:-c}\n"
    found = read_shell(text, takes_defaults=False).commands[-1]
    assert [(w.text, w.is_open) for w in found.words[1:]] == [("${V:-b}", True), ("${W:-c}", True)]


HOSTILE = (
    "(" * 100_000, "$(" * 50_000, '"$(' * 30_000, "a;" * 100_000, "$X " * 30_000, "`" * 9999,
    "V=a\n" + "V=$V$V\n" * 100 + "b $V\n",
    "A=(a a)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 100 + "b ${A[@]}\n",
    "bash -c '" * 1_000,
    "f() { f; f; f; f; f; f; f; f; }\n" + "f\n" * 1_000,
    "eval " * 3_000,
    "f() { " * 190 + "a; " + "}; f; " * 190,
    "shift\n" * 100_000,
)  # fmt: skip


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_scripts_end(text: str) -> None:
    with which_ends():
        assert len(read_shell(text, KNOWN).commands) <= 5_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('A=(x y); if t; then A+=(z); fi; go "${A[@]}"', ["go", "x", "y", "${A...}"]),
        ('A="x y"; if t; then A="$A z"; fi; go $A', ["go", "x", "y", "${A...}"]),
        ('A="x"; for i in $B; do A="$A $i"; done; go $A', ["go", "x", "${A...}"]),
        ('A="x"; if t; then A="y"; fi; go $A', ["go", "$A"]),
        ('if t; then A+=" z"; fi; go $A', ["go", "$A"]),
        ("A=(x); if t; then A[0]=z; fi; go ${A[@]}", ["go", "${A[@]}"]),
    ],
)
def test_what_is_only_added_to_leaves_the_rest_known(text: str, expected: list[str]) -> None:
    last = read_shell(text, {}).commands[-1]
    assert [word.text for word in last.words] == expected
    assert last.words[-1].is_open
