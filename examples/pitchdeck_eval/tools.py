"""The tool of the orchestrator."""

from __future__ import annotations

from pathlib import Path

from leadhand import tool

HERE = Path(__file__).parent


@tool(effect="pure")
def list_decks() -> list[str]:
    """List the paths of the pitch decks of this project."""
    return sorted(f"decks/{deck.name}" for deck in (HERE / "decks").glob("*.md"))
