"""The plug-in for pytest: tests that need an attention backend run where it is known to work.

    @pytest.mark.attention("fa2", "bf16")
    def test_flash(): ...

pytest loads this module in every run of an environment that has fadoctor: it imports nothing, and
looks at nothing before a test that carries the mark, or the fixture, asks.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False  # without an import of typing
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.interfaces.commands.backends import Backends
    from fadoctor.proof.trace.inside import Trace

_MARK = "attention"
_FOUND: pytest.StashKey[Backends] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--attention``."""
    group = parser.getgroup("fadoctor")
    group.addoption(
        "--attention",
        choices=("skip", "require", "run"),
        default="skip",
        help="What becomes of tests marked `attention` whose backend is not known to work here: "
        "skip them (default), require: they fail, run: they are run all the same.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers",
        f"{_MARK}(backend, dtype='bf16'): runs where fadoctor can tell that this backend works "
        "with this dtype on every GPU that is visible",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose backend is not known to work, with the reason; fail where it must."""
    for mark in item.iter_markers(_MARK):
        asked = _cell(mark)
        how = item.config.getoption("--attention")
        if how == "run":
            continue
        reason = _backends(item.config).why_not(*asked)
        if reason and how == "require":
            pytest.fail(f"required by --attention=require: {reason}", pytrace=False)
        if reason:
            # by pytest's own mark, which is looked at next: the reason then stands at the test
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def attention_backends(request: pytest.FixtureRequest) -> Backends:
    """Return a mapping: the backends that work here -> their dtypes."""
    return _backends(request.config)


@pytest.fixture
def attention_trace(request: pytest.FixtureRequest) -> Iterator[Trace]:
    """Record the attention calls of a test; where it fails, its report says what was seen."""
    from fadoctor.proof.trace.fixture import traced_test

    yield from traced_test(request)


def _cell(mark: pytest.Mark) -> tuple[str, str]:
    """Return backend and dtype of a mark; what nobody knows is a fault of the test, not a skip."""
    from fadoctor.interfaces.commands.backends import cell_of
    from fadoctor.model.errors import UsageError

    try:
        backend, dtype = cell_of(*mark.args, **mark.kwargs)
    except UsageError as error:
        problem = str(error)
    except TypeError as error:
        said = str(error).removeprefix("cell_of() ")
        problem = f"{said}. Write a backend, and a dtype if it is not bf16: {_MARK}('fa2', 'fp16')"
    else:
        return backend.value, dtype.value
    # outside of the clause: pytest would print both, the sentence twice
    return pytest.fail(f"@pytest.mark.{_MARK}: {problem}", pytrace=False)


def _backends(config: pytest.Config) -> Backends:
    """Return what works in this interpreter, found out once a run (a worker of xdist has its own).

    Only files are read and the driver is asked; torch is not imported.
    """
    if _FOUND not in config.stash:
        from fadoctor.interfaces.commands.backends import of_this_interpreter

        config.stash[_FOUND] = of_this_interpreter()
    return config.stash[_FOUND]
