"""``python -m leadhand``: the command line."""

import sys

from leadhand.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
