"""`python -m benchmarks`: one thread, then everything else."""

from __future__ import annotations

import sys

from benchmarks.threads import one_thread

if __name__ == "__main__":
    one_thread()
    from benchmarks.run import main

    sys.exit(main())
