"""`python -m conductor` is `tollgate`."""

import sys

from conductor.cli import main

sys.exit(main(sys.argv[1:]))
