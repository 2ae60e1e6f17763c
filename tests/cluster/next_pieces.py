"""The flow of pieces under another name: a host with this file alone knows no other flow."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cluster.pieces import pieces
from leadhand.flows import FlowContext, flow


@flow
async def later(run: FlowContext, folder: str, count: int = 20, held: int | None = None) -> str:
    """The same pieces."""
    return await pieces(run, folder=folder, count=count, held=held)
