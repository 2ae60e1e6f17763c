"""``python -m leadhand``: the command line."""

import sys

from leadhand.cli.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
