"""What a test starts, to see its workers end with it: each says its number and sleeps."""

from __future__ import annotations

import os
import time
from pathlib import Path

from evaluator.rebuild.crew import each


def sleep(folder: Path) -> int:
    """Say who sleeps; for longer than any test waits."""
    (folder / str(os.getpid())).touch()
    time.sleep(600)
    return 0


def square(number: int) -> int:
    return number * number


def die(number: int) -> int:
    """As the system ends a process that takes too much memory."""
    if number == 3:
        os.kill(os.getpid(), 9)
    return number


if __name__ == "__main__":
    import sys

    try:
        print(list(each(sleep, [Path(sys.argv[1])] * 5, 2)))
    except KeyboardInterrupt:
        sys.exit(130)
