"""Errors of the operating system that code of users raises: those of the network may pass by themselves."""

from __future__ import annotations

import errno
import socket
import ssl

_UNREACHABLE = (errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH)
WRONG_PATH = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)


def is_passing(error: OSError) -> bool:
    """Whether an error is one of a network: itself, or what caused it, as libraries wrap their errors.

    Errors of files, rights and full disks do not pass by themselves.
    """
    if isinstance(error, (PermissionError, *WRONG_PATH)):
        return False  # whatever was being handled when it was raised
    found: BaseException | None = error
    for _ in range(10):  # a chain may be a circle
        if found is None:
            break
        if isinstance(found, ConnectionError | TimeoutError | socket.gaierror | ssl.SSLError):
            return True
        if isinstance(found, OSError) and found.errno in _UNREACHABLE:
            return True
        reason = getattr(found, "reason", None)  # of urllib.error.URLError
        found = reason if isinstance(reason, BaseException) else found.__cause__ or found.__context__
    status = getattr(error, "code", None)  # of urllib.error.HTTPError
    return isinstance(status, int) and status >= 500
