"""Artifacts as files by digest (placeholder until the store's own module is merged)."""

from __future__ import annotations

from pathlib import Path

from leadhand.ports import ArtifactStore, ContextStore


def open_artifacts(home: Path, store: ContextStore) -> ArtifactStore | None:
    return None
