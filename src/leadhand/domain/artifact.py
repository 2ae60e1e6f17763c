"""Artifacts: files that a run keeps, named by relative paths that cannot lead out of it."""

from __future__ import annotations


def confined(path: str) -> str:
    """Return a relative path in its normal form. Raises ValueError for one that leads elsewhere."""
    parts = path.split("/")
    if (
        not path
        or path.startswith("/")
        or "\\" in path
        or "\0" in path
        or any(part in ("", ".", "..") for part in parts)
    ):
        raise ValueError(
            f"{path!r} is not a relative path within the run: leave out .., a leading slash and backslashes"
        )
    return path
