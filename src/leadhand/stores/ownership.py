"""Liveness of processes: a lock that the operating system or PostgreSQL releases as soon as its process dies.

The lock is only for liveness: a run's epoch refuses the decisions of a host that was considered dead.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from leadhand.domain.errors import StoreError

from .connection import Connection, close_in_forked_child


def new_host() -> str:
    """Return an id for a process's hold on a store, never used twice: ``<hostname>-<pid>-<random>``."""
    hostname = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in os.uname().nodename)
    return f"{hostname[:64]}-{os.getpid()}-{os.urandom(4).hex()}"


class LockFileHold:
    """A file beside the database, ``<database>.hosts/<host>.lock``, locked by flock while the process lives."""

    def __init__(self, directory: Path) -> None:
        self.host = new_host()
        self._directory = directory
        self._descriptor: int | None = None

    def take(self) -> None:
        """Lock this host's file. Raises StoreError if it cannot be created."""
        if self._descriptor is not None:
            return
        try:
            self._directory.mkdir(exist_ok=True)
            self._descriptor = self._locked()
        except OSError as error:
            raise StoreError(
                f"cannot write in {self._directory}: {error.strerror or error}",
                "make the directory of the database writable, or choose another database with --database",
            ) from error
        close_in_forked_child(self)
        for path in self._directory.glob("*.lock"):
            if path != self._path(self.host):
                self._alive(path)  # removes the files of dead hosts

    def living(self, hosts: Collection[str], connection: Connection) -> set[str]:
        return {host for host in hosts if host == self.host or self._alive(self._path(host))}

    def release(self) -> None:
        """Remove this host's file; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._path(self.host).unlink(missing_ok=True)
            os.close(descriptor)

    def after_fork_in_child(self) -> None:
        """Close the child's copy of the descriptor, or the lock outlives the parent; unlocking would release it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _path(self, host: str) -> Path:
        return self._directory / f"{host}.lock"

    def _locked(self) -> int:
        path = self._path(self.host)
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                # Between the two calls another process may have found the file unlocked and removed it.
                if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _alive(self, path: Path) -> bool:
        """Whether a file is locked; an unlocked file belongs to a dead host and is removed.

        The check takes a shared lock, so that two processes that check at once do not take each other for the owner.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # no permission to check: a run that waits is better than a run driven twice
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:  # BlockingIOError: its host is alive
            return True
        else:
            with suppress(OSError):  # it stays where nothing can be written
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)
        return False


class AdvisoryLockHold:
    """A session-level advisory lock, keyed by a hash of the host's id, on a separate connection.

    It needs a permanent session: a connection pooler in transaction mode breaks it.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self.host = new_host()
        self._connect = connect
        self._connection: Connection | None = None

    def take(self) -> None:
        """Take the lock, or take it again if its session was lost. Raises StoreError."""
        if self._connection is not None:
            with suppress(StoreError):
                self._connection.execute("SELECT 1")  # a lost session is noticed only by using it
                return
        self.release()
        self._connection = self._connect()
        key = _lock_key(self.host)
        self._connection.execute("SELECT pg_advisory_lock(?)", (key - (1 << 64) if key >> 63 else key,))

    def living(self, hosts: Collection[str], connection: Connection) -> set[str]:
        """Read the list of locks, without taking any."""
        if not hosts:
            return set()
        held = {
            (upper << 32) | lower
            for upper, lower in connection.execute(
                "SELECT CAST(classid AS BIGINT), CAST(objid AS BIGINT) FROM pg_locks"
                " WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
                " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
        }
        return {host for host in hosts if _lock_key(host) in held}

    def release(self) -> None:
        """Close the session and the lock with it; a second call does nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _lock_key(host: str) -> int:
    """Return a host's 64-bit key. Two of a million hosts share one with a probability of 3e-8; both then seem alive."""
    return int.from_bytes(blake2b(host.encode(), digest_size=8).digest())
