"""Artifacts by digest: rows of the table of payloads."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection

from leadhand.core.artifact import digest_of

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class DatabaseArtifacts:
    """The :class:`~leadhand.ports.ArtifactStore` of a database.

    ``write`` writes content by digest if it is not there, ``find`` reads it and raises KeyError; ``keep`` is as in the
    port.
    """

    def __init__(
        self,
        write: Callable[[str, bytes], Awaitable[None]],
        find: Callable[[str], Awaitable[bytes]],
        keep: Callable[[Collection[str]], Awaitable[set[str]]],
    ) -> None:
        self._write = write
        self._find = find
        self._keep = keep

    async def put(self, content: bytes) -> str:
        """Keep content and return its digest once it is committed. Raises StoreError."""
        digest = digest_of(content)
        await self._write(digest, content)
        return digest

    async def get(self, digest: str) -> bytes:
        """Return content. Raises KeyError for an unknown digest."""
        if _DIGEST.fullmatch(digest) is None:
            raise KeyError(digest)
        return await self._find(digest)

    async def has(self, digest: str) -> bool:
        """Whether content of this digest is kept."""
        try:
            await self.get(digest)
        except KeyError:
            return False
        return True

    async def keep(self, digests: Collection[str]) -> set[str]:
        """Keep content for a while, and return which of these digests are stored. Raises StoreError."""
        return await self._keep(digests)
