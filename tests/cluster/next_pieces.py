"""The flow `pieces` as a later release has it: a host with this file knows version 2 only."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cluster import pieces


class NextPieces(pieces.Pieces):
    """The same pieces."""

    version = 2
