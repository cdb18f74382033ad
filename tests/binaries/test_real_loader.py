"""Every reason, predicted and really met: verdict and error text must be the loader's."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.interpreter_process import LoaderTarget
from fadoctor.binary.predict import Predictor
from fadoctor.binary.reason import LOADER_ASSERTION, ReasonKind, dlerror
from tests.binaries.elf_writer import Spec, Symbol, elf_file
from tests.binaries.forge import Forge, offers, really_open, target_of, uses
from tests.binaries.loads import CASES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.binaries.loads import Case

pytestmark = [
    pytest.mark.gcc,
    pytest.mark.skipif(sys.platform != "linux", reason="the model is of glibc's loader"),
]

_SIGBUS, _LOADER_ASSERTION = -7, 127
_WORDLESS = {ReasonKind.TRUNCATED: _SIGBUS, ReasonKind.UNVERSIONED_PROVIDER: _LOADER_ASSERTION}
"""How the process ends where there is no text."""


@pytest.mark.long
@pytest.mark.thinned
@pytest.mark.parametrize("build", CASES.values(), ids=CASES)
def test_prediction_is_what_happens(build: Callable[[Forge], Case], forge: Forge) -> None:
    case = build(forge)
    with Predictor(target_of(case.torch, case.environ())) as predictor:
        found = predictor.predict(str(case.path), after_torch=case.torch is not None)
    real = really_open(case.path, case.torch, case.environ())
    assert (found.loads, found.reason and found.reason.kind) == (case.kind is None, case.kind)
    assert found.loads == real.loads, real
    assert found.stage is case.stage
    assert found.stage.value == real.stage or real.status
    if found.reason is not None:
        assert found.reason.name == case.name
        text = dlerror(found.reason)
        assert text == real.text
        assert text or real.status == _WORDLESS[found.reason.kind]
        assert (real.status == _LOADER_ASSERTION) == (LOADER_ASSERTION in real.said)


def test_files_written_by_hand_are_real(tmp_path: Path) -> None:
    """The loader itself takes them, so that tests in hand-made trees mean something."""
    exports = (Symbol("a"), Symbol("bb", "V_2"), Symbol("ccc"))
    library = tmp_path / "libdep.so"
    library.write_bytes(elf_file(Spec(soname="libdep.so", exports=exports)))
    imports = (Symbol("ccc"), Symbol("bb", "V_2", "libdep.so"), Symbol("gone", "V_2", "libdep.so"))
    extension = tmp_path / "ext.so"
    spec = Spec(needed=("libdep.so",), runpath="$ORIGIN", imports=imports)
    extension.write_bytes(elf_file(spec))
    with Predictor(target_of(None, {})) as predictor:
        found = predictor.predict(str(extension), after_torch=False)
    real = really_open(extension, None, {})
    assert found.reason is not None
    assert dlerror(found.reason) == real.text == f"{extension}: undefined symbol: gone, version V_2"


@pytest.mark.parametrize("tags", ["--disable-new-dtags", "--enable-new-dtags"])
def test_search_path_of_the_executable(forge: Forge, tags: str) -> None:
    """Its DT_RPATH serves what it opens, its DT_RUNPATH does not."""
    dep = forge.below("dep").library("libdep.so", offers("f"))
    extension = forge.library("ext.so", uses("f"), needs=(dep,))
    source = (
        "#include <dlfcn.h>\n#include <stdio.h>\nint main(int count, char **words) {"
        "if (!dlopen(words[1], RTLD_NOW)) puts(dlerror()); return 0; }"
    )
    program = forge.program("opens", f"-Wl,-rpath,$ORIGIN/dep,{tags}", source=source)
    with Predictor(LoaderTarget(str(program))) as predictor:
        found = predictor.predict(str(extension), after_torch=False)
    real = subprocess.run([program, extension], capture_output=True, text=True, check=True).stdout
    assert (dlerror(found.reason) if found.reason else "") == real.strip()
    assert found.loads is (tags == "--disable-new-dtags")


@pytest.mark.parametrize("size", [1100, 2000])
def test_between_what_fits_and_what_does_not_nothing_is_said(forge: Forge, size: int) -> None:
    source = f'__thread char a[{size}] __attribute__((tls_model("initial-exec")));'
    path = forge.library("ext.so", source + "char *get(void) { return a; }")
    with Predictor(target_of(None, {})) as predictor:
        found = predictor.predict(str(path), after_torch=False)
    assert (found.loads, found.reason and found.reason.kind) == (None, ReasonKind.STATIC_TLS_UNSURE)
