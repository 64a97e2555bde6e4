"""`certiformer`, and `python -m certiformer`: the command line, which an interrupt ends from the first moment on."""

import os
import signal


def main() -> None:
    """Import the command line, then run it; nothing is begun while modules are imported."""
    watched = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if watched:
        signal.signal(signal.SIGINT, _leave)
    from certiformer.cli import main as run

    if watched:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _leave(*_: object) -> None:
    os.write(2, b"stopped\n")
    os._exit(130)


if __name__ == "__main__":
    main()
