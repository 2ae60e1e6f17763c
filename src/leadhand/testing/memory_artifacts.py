"""Artifacts in memory, for tests."""

from __future__ import annotations

from leadhand.domain.artifact import digest_of


class MemoryArtifacts:
    """An :class:`~leadhand.ports.ArtifactStore` in a dictionary."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    async def put(self, content: bytes) -> str:
        digest = digest_of(content)
        self._contents[digest] = bytes(content)
        return digest

    async def get(self, digest: str) -> bytes:
        return self._contents[digest]

    async def has(self, digest: str) -> bool:
        return digest in self._contents
