"""`python -m mayavi` is the `mayavi` command."""

import sys

from mayavi.cli import main

if __name__ == "__main__":
    sys.exit(main())
