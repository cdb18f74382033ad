"""Hear every Ctrl-C.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a callback of the
interpreter itself (the lock of a module that was just imported, a destructor) an exception cannot
go on: it is printed as "Exception ignored in", and the program runs on as if nobody had asked.
"""

from __future__ import annotations

import sys
from typing import Any

_AGAIN_S = 0.02
"""When a lost Ctrl-C is sent anew, seconds: the callback has ended by then."""


def hear_every_interrupt() -> None:
    """Send a Ctrl-C anew that was lost in a callback."""
    print_it = sys.unraisablehook

    def hook(lost: Any) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            print_it(lost)
            return
        import threading  # noqa: PLC0415 -- hardly ever

        again = threading.Timer(_AGAIN_S, _interrupt)
        again.daemon = True
        again.start()

    sys.unraisablehook = hook


def _interrupt() -> None:
    """Send Ctrl-C to the main thread, as a signal where there are any: it ends what waits."""
    import _thread  # noqa: PLC0415 -- hardly ever
    import signal  # noqa: PLC0415
    import threading  # noqa: PLC0415

    main = threading.main_thread().ident
    if main is None or not hasattr(signal, "pthread_kill"):
        _thread.interrupt_main()
        return
    signal.pthread_kill(main, signal.SIGINT)
