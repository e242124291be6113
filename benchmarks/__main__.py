"""`python -m benchmarks`: one thread, whatever the environment says."""

import os
import sys


def main() -> int:
    """Set the number of threads, which numerical libraries read when they are imported, then measure."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    from benchmarks.run import run

    return run()


if __name__ == "__main__":
    sys.exit(main())
