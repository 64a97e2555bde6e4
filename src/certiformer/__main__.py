"""`certiformer`, and `python -m certiformer`: the command line, which an interrupt ends from the first moment on."""

import atexit
import os
import signal
import sys
import threading
from typing import Any

STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)


def main() -> None:
    """Import the command line, then run it; nothing is begun while modules are imported."""
    watched = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if watched:
        signal.signal(signal.SIGINT, _leave)
    from certiformer.cli import main as run

    if watched:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.unraisablehook = _lost
    try:
        run()
    except SystemExit as end:
        if end.code in STOPPED:
            # Everything is cleaned up. A compiled program that still runs would crash while Python takes itself apart.
            atexit._run_exitfuncs()
            os._exit(int(end.code or 0))
        raise


def _lost(found: Any) -> None:
    """An interrupt that came inside a callback, where Python ignores what is raised, comes again outside of it."""
    if isinstance(found.exc_value, (KeyboardInterrupt, SystemExit)):
        again = signal.SIGINT if isinstance(found.exc_value, KeyboardInterrupt) else signal.SIGTERM
        threading.Timer(0.02, os.kill, (os.getpid(), again)).start()
    else:
        sys.__unraisablehook__(found)


def _leave(*_: object) -> None:
    os.write(2, b"stopped\n")
    os._exit(130)


if __name__ == "__main__":
    main()
