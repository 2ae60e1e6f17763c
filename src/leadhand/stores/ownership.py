"""Liveness of processes: a lock that the operating system releases as soon as its process dies.

The lock is only for liveness: a run's epoch refuses the decisions of a host that was considered dead.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from leadhand.core.errors import StoreError

from .connection import Connection, Hold


def new_host() -> str:
    """Return an id for a process's hold on a store, never used twice: ``<hostname>-<pid>-<random>``."""
    hostname = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in os.uname().nodename)
    return f"{hostname[:64]}-{os.getpid()}-{os.urandom(4).hex()}"


class LockFileHold(Hold):
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
        # The lock would outlive the parent while the child has a copy of the descriptor; unlocking would release it.
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
