"""Artifacts by digest: the contract for each store of them, and files that neither crash nor trick can spoil."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from memory_store import MemoryArtifacts, MemoryStore
from refusals import refused
from stores.contract import ArtifactStoreContract

from leadhand.app.clock import SystemClock
from leadhand.core.artifact import digest_of
from leadhand.core.errors import StoreError
from leadhand.ports import ArtifactStore, HasArtifacts
from leadhand.stores.artifacts import FileArtifacts, artifacts_of
from leadhand.stores.opening import open_store


class TestMemoryArtifacts(ArtifactStoreContract):
    @pytest.fixture
    def artifacts(self) -> ArtifactStore:
        return MemoryArtifacts()


class TestFileArtifacts(ArtifactStoreContract):
    @pytest.fixture
    def artifacts(self, tmp_path: Path) -> ArtifactStore:
        return FileArtifacts(tmp_path / "home" / "artifacts")


class TestArtifactsOfADatabase(ArtifactStoreContract):
    @pytest.fixture
    async def artifacts(self, url: str) -> AsyncIterator[ArtifactStore]:
        async with aclosing(await open_store(url)) as store:
            yield store.artifacts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


def file_of(folder: Path, digest: str) -> Path:
    digits = digest.removeprefix("sha256:")
    return folder / digits[:2] / digits[2:]


async def test_every_process_on_a_database_reads_what_another_has_put(url: str) -> None:
    async with aclosing(await open_store(url)) as store, aclosing(await open_store(url)) as second:
        assert await second.artifacts.get(await store.artifacts.put(b"shared")) == b"shared"


async def test_artifacts_lie_beside_an_sqlite_database(sqlite_url: str, tmp_path: Path) -> None:
    async with aclosing(await open_store(sqlite_url)) as store:
        digest = await store.artifacts.put(b"content")
    assert file_of(tmp_path / "leadhand.db.artifacts", digest).read_bytes() == b"content"


async def test_a_store_without_artifacts_of_its_own_gets_files(sqlite_url: str, folder: Path) -> None:
    memory = MemoryStore(SystemClock())
    assert artifacts_of(memory, folder) is memory.artifacts
    async with aclosing(await open_store(sqlite_url)) as store:
        assert isinstance(store, HasArtifacts)

    class Bare:
        """A store that knows nothing of artifacts."""

    files = artifacts_of(Bare(), folder)  # type: ignore[arg-type]
    assert file_of(folder, await files.put(b"content")).exists()


async def test_only_this_user_can_read_artifacts(folder: Path) -> None:
    before = os.umask(0)
    try:
        digest = await FileArtifacts(folder).put(b"secret")
    finally:
        os.umask(before)
    path = file_of(folder, digest)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent, folder)] == [0o600, 0o700, 0o700]


async def test_nothing_else_is_left_behind(folder: Path) -> None:
    artifacts = FileArtifacts(folder)
    digests = await asyncio.gather(*(artifacts.put(b"%d" % (number % 5)) for number in range(40)))
    assert {path for path in folder.rglob("*") if path.is_file()} == {file_of(folder, digest) for digest in digests}


async def test_a_damaged_file_is_noticed_and_put_right_by_the_next_put(folder: Path) -> None:
    artifacts = FileArtifacts(folder)
    digest = await artifacts.put(b"content")
    file_of(folder, digest).write_bytes(b"conte")
    with refused(StoreError, digest):
        await artifacts.get(digest)
    assert await artifacts.put(b"content") == digest
    assert await artifacts.get(digest) == b"content"


async def test_a_file_is_whole_under_its_digest_or_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails while the content is synchronised, as when it is full."""
    artifacts = FileArtifacts(folder)
    await artifacts.put(b"another")

    def fails(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("leadhand.stores.artifacts.os.fsync", fails)
        with refused(StoreError, os.strerror(errno.ENOSPC)):
            await artifacts.put(b"content")
    assert not await artifacts.has(digest_of(b"content"))
    assert list(folder.rglob("*.tmp")) == []


async def test_content_is_synchronised_before_it_gets_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr("leadhand.stores.artifacts.os.fsync", lambda fd: (calls.append("fsync"), fsync(fd)))
    monkeypatch.setattr(
        "leadhand.stores.artifacts.os.replace", lambda *args, **more: (calls.append("rename"), replace(*args, **more))
    )
    await FileArtifacts(folder).put(b"content")
    assert calls == ["fsync", "rename", "fsync", "fsync"], "the file, its name, its folder, the folder above"


@pytest.mark.parametrize("trick", ["file", "shard", "folder"])
async def test_a_link_is_neither_read_nor_written_through(folder: Path, tmp_path: Path, trick: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    digest = digest_of(b"content")
    path = file_of(folder, digest)
    if trick == "file":
        path.parent.mkdir(parents=True)
        (outside / "victim").write_bytes(b"content")
        path.symlink_to(outside / "victim")
    elif trick == "shard":
        folder.mkdir()
        path.parent.symlink_to(outside)
    else:
        folder.symlink_to(outside)
    before = sorted(outside.rglob("*"))
    for call in (FileArtifacts(folder).put(b"content"), FileArtifacts(folder).get(digest)):
        with refused(StoreError, folder):
            await call
    assert sorted(outside.rglob("*")) == before


async def test_a_named_pipe_does_not_block_the_reader(folder: Path) -> None:
    path = file_of(folder, digest_of(b"content"))
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    async with asyncio.timeout(60):
        with pytest.raises(StoreError):
            await FileArtifacts(folder).get(digest_of(b"content"))
