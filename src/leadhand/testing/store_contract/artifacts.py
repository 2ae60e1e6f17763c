"""Artifacts: content that is kept by its digest."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from leadhand.ports import ArtifactStore


class ArtifactStoreContract:
    """The contract of an :class:`~leadhand.ports.ArtifactStore`. Override ``artifacts``."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def artifacts(self) -> ArtifactStore:
        """A store of artifacts that is empty."""
        raise NotImplementedError("override the fixture `artifacts`")

    @pytest.mark.parametrize("content", [b"", b"a", bytes(range(256)) * 4_000], ids=["empty", "short", "binary"])
    async def test_content_comes_back_by_its_digest(self, artifacts: ArtifactStore, content: bytes) -> None:
        digest = await artifacts.put(content)
        assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert await artifacts.get(digest) == content
        assert await artifacts.has(digest)

    async def test_equal_content_is_kept_once_and_stays(self, artifacts: ArtifactStore) -> None:
        digests = await asyncio.gather(*(artifacts.put(b"the same") for _ in range(20)))
        assert len(set(digests)) == 1
        assert await artifacts.get(digests[0]) == b"the same"

    async def test_different_contents_do_not_disturb_each_other(self, artifacts: ArtifactStore) -> None:
        contents = [f"{number}".encode() for number in range(50)]
        digests = await asyncio.gather(*map(artifacts.put, contents))
        assert await asyncio.gather(*map(artifacts.get, digests)) == contents

    @pytest.mark.parametrize(
        "digest",
        ["", "sha256:", "sha256:" + "0" * 64, "sha256:" + "A" * 64, "sha256:../../etc/passwd", "md5:00", "\0", "../x"],
    )
    async def test_an_unknown_digest_is_a_key_error(self, artifacts: ArtifactStore, digest: str) -> None:
        await artifacts.put(b"another")
        assert not await artifacts.has(digest)
        with pytest.raises(KeyError):
            await artifacts.get(digest)
