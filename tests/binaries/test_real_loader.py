"""Every reason, predicted and really met: verdict and error text must be the loader's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.predict import Predictor
from fadoctor.binary.reason import Kind, dlerror
from tests.binaries.elf_writer import Spec, Symbol, elf_file
from tests.binaries.forge import Forge, really_open, target_of
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
_WORDLESS = {Kind.TRUNCATED: _SIGBUS, Kind.UNVERSIONED_PROVIDER: _LOADER_ASSERTION}
"""How the process ends where there is no text."""


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
