"""Artifacts by digest: files next to an SQLite database, rows in a database that other machines share.

A file is written under a temporary name, synchronised to the disk and renamed, so that a digest names a whole file or
none. No symbolic link is followed below the folder's own parent, and only this user can read what is written.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import re
import stat
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from leadhand.core.artifact import ALGORITHM, digest_of
from leadhand.core.errors import StoreError
from leadhand.ports import ArtifactStore, ContextStore, HasArtifacts

Answer = TypeVar("Answer")

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A named pipe must not block the reader, so it is opened without waiting and then refused.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def artifacts_of(store: ContextStore, folder: Path) -> ArtifactStore:
    """Return the artifact store of a context store; files in ``folder`` if it has none."""
    return store.artifacts if isinstance(store, HasArtifacts) else FileArtifacts(folder)


class FileArtifacts:
    """Files in one folder: ``<folder>/<first two digits>/<the other 62 digits>``. The first write creates it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, content: bytes) -> str:
        """Keep content and return its digest once it is on the disk. Raises StoreError."""
        return await asyncio.to_thread(self.write, content)

    async def get(self, digest: str) -> bytes:
        """Return content. Raises KeyError for an unknown digest, StoreError for a file that is damaged."""
        content = await asyncio.to_thread(self.read, digest)
        if content is None:
            raise KeyError(digest)
        if digest_of(content) != digest:
            raise StoreError(
                f"the artifact {digest} in {self._folder} is damaged",
                "restore the folder from a backup; runs continue without it",
            )
        return content

    async def has(self, digest: str) -> bool:
        """Whether content with this digest is stored, even if it is damaged."""
        return await asyncio.to_thread(self._in_file, digest, _is_file) or False

    async def keep(self, digests: Collection[str]) -> set[str]:
        """Keep content for a while, and return which of these digests are stored. Raises StoreError."""
        return await asyncio.to_thread(self._keep, digests)

    def _keep(self, digests: Collection[str]) -> set[str]:
        with self._locked(fcntl.LOCK_SH):
            return {digest for digest in digests if self._in_file(digest, _touch)}

    def delete_others(self, kept: Collection[str], *, older_than: float) -> None:
        """Delete content whose digest is not in ``kept`` and that was last put before ``older_than``, in seconds since
        1970. Raises StoreError.
        """
        with self._explained("delete"), self._locked(fcntl.LOCK_EX):
            for path in self._folder.glob("??/*"):
                name = ALGORITHM + path.parent.name + path.name
                if name not in kept and path.lstat().st_mtime < older_than:
                    path.unlink(missing_ok=True)

    def read(self, digest: str) -> bytes | None:
        """Return content, even if it is damaged; None if it is missing. Raises StoreError. Blocks."""
        return self._in_file(digest, _read)

    def write(self, content: bytes) -> str:
        """Keep content and return its digest once it is on the disk. Raises StoreError. Blocks."""
        digest = digest_of(content)
        with self._explained("write"):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with opened(self._folder) as folder:
                fcntl.flock(folder, fcntl.LOCK_SH)  # so that content is not deleted that is put again
                shard, name = _place(digest)
                with suppress(FileExistsError):
                    os.mkdir(shard, 0o700, dir_fd=folder)
                with opened(shard, folder) as descriptor:
                    # A damaged file is replaced, so that the stored content can be read.
                    if _read(name, descriptor) != content:
                        _write(name, content, descriptor)
                    else:
                        os.utime(name, dir_fd=descriptor)  # it is in use again: see delete_others
                    os.fsync(descriptor)  # also for a file that another process has just renamed
                os.fsync(folder)
        return digest

    def _in_file(self, digest: str, read: Callable[[str, int], Answer]) -> Answer | None:
        """Return what ``read`` returns for a digest's file, given its name and its folder; None if there is no file."""
        if _DIGEST.fullmatch(digest) is None:
            return None
        shard, name = _place(digest)
        with (
            self._explained("read"),
            suppress(FileNotFoundError),
            opened(self._folder) as folder,
            opened(shard, folder) as descriptor,
        ):
            return read(name, descriptor)
        return None

    @contextmanager
    def _locked(self, kind: int) -> Generator[None]:
        """Hold the folder's lock, if there is a folder: those who delete are alone."""
        with ExitStack() as stack:
            with suppress(FileNotFoundError):
                fcntl.flock(stack.enter_context(opened(self._folder)), kind)
            yield

    @contextmanager
    def _explained(self, what: str) -> Generator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise StoreError(
                    f"cannot {what} artifacts in {self._folder}: it or a part of it is a link, or not a folder",
                    "remove the link or file, and move the folder to its place",
                ) from error
            raise StoreError(
                f"cannot {what} artifacts in {self._folder}: {error.strerror or error}",
                "check the disk, and that this user can read and write the folder",
            ) from error


class DatabaseArtifacts:
    """Rows in the table of payloads, for databases that several machines share.

    ``write`` writes content by digest if it is not there, ``find`` reads it and raises KeyError; ``keep`` is as in
    :class:`~leadhand.ports.KeepsArtifacts`.
    """

    def __init__(
        self,
        write: Callable[[str, bytes], Awaitable[None]],
        find: Callable[[str], Awaitable[bytes]],
        keep: Callable[[Collection[str]], Awaitable[set[str]]],
    ) -> None:
        self._write = write
        self._find = find
        self.keep = keep

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


def _place(digest: str) -> tuple[str, str]:
    digits = digest.removeprefix(ALGORITHM)
    return digits[:2], digits[2:]


@contextmanager
def opened(folder: Path | str, within: int | None = None) -> Generator[int]:
    """Open a folder, but not through a symbolic link, and return its descriptor."""
    descriptor = os.open(folder, _FOLDER, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(name: str, folder: int) -> bytes | None:
    """Return the content of a regular file, None if there is no such file. Raises OSError for a link or a device."""
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.ELOOP, "not a regular file", name)
        return file.read()


def _is_file(name: str, folder: int) -> bool:
    return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _touch(name: str, folder: int) -> bool:
    os.utime(name, dir_fd=folder, follow_symlinks=False)
    return _is_file(name, folder)


def _write(name: str, content: bytes, folder: int) -> None:
    """Write a file atomically: a process that is killed meanwhile leaves a ``.tmp`` file that is never read."""
    draft = f"{name}.{os.urandom(8).hex()}.tmp"
    try:
        with os.fdopen(os.open(draft, _CREATE, 0o600, dir_fd=folder), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
